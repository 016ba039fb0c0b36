import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { contractRoles } from "../../src/client/index.js";
import type { ContractAddresses } from "../../src/client/index.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts } from "../helpers/distinct-state.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { keysOf } from "../helpers/keys-of.js";
import { directProvider, deployProtocol } from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { asLiveNode, startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

async function connect(
  url: string | undefined,
  addresses: ContractAddresses = contracts,
): Promise<NetworkConnection> {
  const vault = { contracts: { ...addresses } };
  const hre = await createTestHre({
    networks: {
      test:
        url === undefined
          ? { type: "edr-simulated", vault }
          : httpNetwork(url, { vault }),
    },
  });
  return await hre.network.create("test");
}

describe("mocks - at given addresses and on a live network", () => {
  const anvil = useAnvil("--chain-id", "56");
  let live: RpcServer;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;

  before(async () => {
    live = await startRpcServer({ upstream: anvil.url });
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
    await (await protocol.mocks.publicPool.setLPAmountInfo(5n, 6n, 7n)).wait();
    await (await protocol.mocks.vault.setVolume(88n)).wait();
    await (await protocol.mocks.vault.setMarginBalance(1n, 2n)).wait();
  });

  beforeEach(() => {
    live.handler = asLiveNode({ client: "Geth/v1.16.4-stable", chainId: 56 });
    live.requests.length = 0;
  });

  after(async () => {
    provider.destroy();
    await live.stop();
  });

  for (const [client, chainId, metadata] of [
    ["Geth/v1.16.4-stable/linux-amd64", 56],
    ["Geth/v1.16.4-stable/linux-amd64", 31337],
    ["anvil/v1.7.1", 1],
    ["HardhatNetwork/2.29.0", 56, { result: null }],
    ["HardhatNetwork/2.29.0", 56, { result: true }],
  ] as const) {
    it(`deployMocks() and mockAt() send nothing to ${client} on chain ${chainId}${metadata === undefined ? "" : `, with the hardhat_metadata ${String(metadata.result)}`}: VAULT_LIVE_NETWORK`, async () => {
      const handler = asLiveNode({ client, chainId });
      live.handler = (exchange) =>
        exchange.request.method === "hardhat_metadata" && metadata !== undefined
          ? metadata
          : handler(exchange);
      const { vault } = await connect(live.url);
      for (const attempt of [
        async () => await vault.deployMocks(),
        async () => await vault.deployMocks({ at: contracts }),
        async () => await vault.mockAt("vault"),
        async () =>
          await vault.deployMocks({ at: contracts, allowLiveNetwork: true }),
      ]) {
        const error = await expectVaultError(attempt, "VAULT_LIVE_NETWORK");
        expect(error.details).to.include({ network: "test", chainId });
        // A whole command may have flags.
        expect(error.message.replaceAll(/`npx [^`]*`/gu, "")).to.not.match(
          /--/u,
        );
      }
      // The last two are methods of development nodes.
      expect([
        ...new Set(live.requests.map(({ method }) => method)),
      ]).to.have.members([
        ...["eth_chainId", "web3_clientVersion"],
        ...["hardhat_metadata", "anvil_nodeInfo"],
      ]);
    });
  }

  it("deployMocks({ allowLiveNetwork }) deploys to a live network", async () => {
    const { vault } = await connect(live.url);
    const mocks = await vault.deployMocks({ allowLiveNetwork: true });
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
    expect(mocks.addresses.vault).not.to.equal(contracts.vault);
  });

  it("mockAt() on a fork starts with the real values, and leaves the other contracts and the forked chain as they are", async () => {
    const { vault: real } = await connect(anvil.url, protocol.contracts);
    const fork = await real.fork();
    try {
      const { block: _block, ...before } = await fork.vault.snapshot();
      for (const role of keysOf(contractRoles)) {
        const mocks = await fork.vault.mockAt(role, {
          overrides: { volume: 4n, marginBalance: { xMarginAmount: 3n } },
        });
        expect(mocks.addresses).to.deep.equal(protocol.contracts);
        expect(await fork.vault.snapshot(), role).to.deep.include({
          ...before,
          marginBalance: {
            baseMarginAmount: 1n,
            xMarginAmount: role === "vault" ? 3n : 2n,
          },
          volume: role === "vault" ? 4n : 88n,
        });
      }
      expect(await real.queryVolume()).to.equal(88n);
    } finally {
      await fork.close();
    }
  });

  it("hre.vault.mockAt() returns a handle that scripts its contract, and refuses the others with VAULT_NOT_A_MOCK", async () => {
    const vault = { contracts: { publicPool: contracts.publicPool } };
    const hre = await createTestHre(
      { networks: { test: { type: "edr-simulated", vault } } },
      { network: "test" },
    );
    const mocks = await hre.vault.mockAt("publicPool");
    await mocks.set({ pools: { public: { locked: 9n } } });
    expect(await hre.vault.getLPAmountInfo("public")).to.include({
      locked: 9n,
    });
    for (const script of [
      async () => await mocks.set({ minXMargin: 1n }),
      async () => await mocks.set({ fundingFeeRate: { call: 1n } }),
      async () => await mocks.fail("getLPAmountInfo"),
    ]) {
      await expectVaultError(script, "VAULT_NOT_A_MOCK");
    }
  });

  it("mockAt() refuses an unknown contract with VAULT_INVALID_ENUM, and one without an address with VAULT_CONTRACT_NOT_CONFIGURED", async () => {
    const { vault } = await connect(undefined, {});
    await expectVaultError(
      // @ts-expect-error -- no such contract
      vault.mockAt("oracle"),
      "VAULT_INVALID_ENUM",
    );
    await expectVaultError(
      vault.mockAt("vault"),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });
});
