import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import type { ContractAddresses } from "../../src/client/addresses.js";
import { contractRoleNames } from "../../src/protocol/index.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { contracts } from "../helpers/distinct-state.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
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

describe("mocks - at production addresses", () => {
  let anvil: ServerProcess;
  let live: RpcServer;

  before(async () => {
    anvil = await startAnvil({ args: ["--chain-id", "56"] });
    // The same node, but by its name and chain id a live one.
    live = await startRpcServer({
      upstream: anvil.url,
      handler: asLiveNode({ client: "Geth/v1.16.4-stable/linux-amd64" }),
    });
  });

  after(async () => {
    await live.stop();
    await anvil.stop();
  });

  it("should count from the start where another contract left storage", async () => {
    const { vault, provider } = await connect(undefined);
    for (const address of Object.values(contracts)) {
      await provider.request({
        method: "hardhat_setStorageAt",
        params: [address, "0x0", `0x${"ff".repeat(32)}`],
      });
    }
    await vault.deployMocks({ at: contracts });
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });

  it("should refuse a network that looks live, and send nothing", async () => {
    const { vault } = await connect(live.url);
    live.requests.length = 0;
    for (const attempt of [
      async () => await vault.deployMocks({ at: contracts }),
      async () => await vault.mockAt("vault"),
      async () => await vault.deployMocks(),
    ]) {
      const error = await expectVaultError(attempt, "VAULT_LIVE_NETWORK");
      expect(error.details).to.include({ network: "test", chainId: 56 });
      // A whole command may have flags.
      expect(error.message.replaceAll(/`npx [^`]*`/gu, "")).to.not.match(/--/u);
    }
    await expectVaultError(
      vault.deployMocks({ at: contracts, allowLiveNetwork: true }),
      "VAULT_LIVE_NETWORK",
    );
    expect(new Set(live.requests.map(({ method }) => method))).to.deep.equal(
      new Set([
        "eth_chainId",
        "web3_clientVersion",
        // What it would have to do to be a development node.
        "hardhat_metadata",
        "anvil_nodeInfo",
      ]),
    );
  });

  for (const [client, chainId, metadata] of [
    ["Geth/v1.16.4-stable/linux-amd64", 31337],
    ["anvil/v1.7.1", 1],
    ["HardhatNetwork/2.29.0", 56, { result: null }],
    ["HardhatNetwork/2.29.0", 56, { result: true }],
  ] as const) {
    it(`deployMocks() and mockAt() do not trust ${client} by its name on chain ${chainId}${metadata === undefined ? "" : `, its hardhat_metadata ${String(metadata.result)}`}: VAULT_LIVE_NETWORK`, async () => {
      const handler = asLiveNode({ client, chainId });
      const server = await startRpcServer({
        upstream: anvil.url,
        handler: (exchange) =>
          exchange.request.method === "hardhat_metadata" &&
          metadata !== undefined
            ? metadata
            : handler(exchange),
      });
      try {
        const { vault } = await connect(server.url);
        for (const attempt of [
          async () => await vault.deployMocks(),
          async () => await vault.mockAt("vault"),
        ]) {
          const error = await expectVaultError(attempt, "VAULT_LIVE_NETWORK");
          expect(error.details).to.include({ chainId });
        }
        expect(
          server.requests.filter(({ method }) => method.startsWith("eth_send")),
        ).to.deep.equal([]);
      } finally {
        await server.stop();
      }
    });
  }

  it("should deploy to a live network only if told to", async () => {
    const { vault } = await connect(live.url);
    const mocks = await vault.deployMocks({ allowLiveNetwork: true });
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
    expect(mocks.addresses.vault).not.to.equal(contracts.vault);
  });

  it("should refuse a contract that there is not", async () => {
    const { vault } = await connect(undefined);
    await expectVaultError(
      // @ts-expect-error -- no such contract
      vault.mockAt("oracle"),
      "VAULT_INVALID_ENUM",
    );
  });
});

describe("mocks - one contract on a fork", () => {
  let anvil: ServerProcess;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;

  before(async () => {
    anvil = await startAnvil();
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
    await (await protocol.mocks.publicPool.setLPAmountInfo(5n, 6n, 7n)).wait();
    await (await protocol.mocks.vault.setVolume(88n)).wait();
    await (await protocol.mocks.vault.setMarginBalance(1n, 2n)).wait();
  });

  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  it("should begin with the real answers, and leave the rest real", async () => {
    const { vault: real } = await connect(anvil.url, protocol.contracts);
    const fork = await real.fork();
    try {
      const before = await fork.vault.snapshot();
      const mocks = await fork.vault.mockAt("vault");
      const { volume, marginBalance, round, pools } =
        await fork.vault.snapshot();
      expect({ volume, marginBalance, round, pools }).to.deep.equal({
        volume: 88n,
        marginBalance: { baseMarginAmount: 1n, xMarginAmount: 2n },
        round: before.round,
        pools: before.pools,
      });

      await mocks.set({ volume: 5n });
      expect(await fork.vault.queryVolume()).to.equal(5n);
      // Upstream nothing has changed.
      expect(await real.queryVolume()).to.equal(88n);
    } finally {
      await fork.close();
    }
  });

  it("should script each contract alone", async () => {
    const { vault: real } = await connect(anvil.url, protocol.contracts);
    for (const role of contractRoleNames) {
      const fork = await real.fork();
      try {
        const mocks = await fork.vault.mockAt(role, {
          overrides: { volume: 4n },
        });
        expect(mocks.addresses).to.deep.equal(protocol.contracts);
        if (role === "vault") {
          expect(await fork.vault.queryVolume()).to.equal(4n);
        } else {
          expect(await fork.vault.queryVolume()).to.equal(88n);
        }
      } finally {
        await fork.close();
      }
    }
  });

  it("should refuse to script what stayed real", async () => {
    const { vault } = await connect(undefined, { vault: contracts.vault });
    const mocks = await vault.mockAt("vault");
    await mocks.set({ volume: 1n });
    for (const script of [
      async () => await mocks.set({ minXMargin: 1n }),
      async () => await mocks.set({ fundingFeeRate: { call: 1n } }),
      async () => await mocks.fail("getLPAmountInfo"),
    ]) {
      await expectVaultError(script, "VAULT_NOT_A_MOCK");
    }
  });

  it("should be there on hre.vault, too", async () => {
    const hre = await createTestHre(
      { networks: { test: { type: "edr-simulated", vault: { contracts } } } },
      { network: "test" },
    );
    const mocks = await hre.vault.mockAt("publicPool");
    await mocks.set({ pools: { public: { locked: 9n } } });
    expect(await hre.vault.getLPAmountInfo("public")).to.include({
      locked: 9n,
    });
  });

  it("should need the contract's address", async () => {
    const { vault } = await connect(undefined, {});
    await expectVaultError(
      vault.mockAt("vault"),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });
});
