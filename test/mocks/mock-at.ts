import { expect } from "chai";

import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts } from "../helpers/distinct-state.js";
import { hreOnLive } from "../helpers/hre.js";
import { asLiveNode, startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

describe("mocks - on a live network", () => {
  const anvil = useAnvil("--chain-id", "56");
  let live: RpcServer;

  before(async () => {
    live = await startRpcServer({ upstream: anvil.url });
  });

  beforeEach(() => {
    live.requests.length = 0;
  });

  after(async () => {
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
      const hre = await hreOnLive(live.url, { vault: { contracts } });
      const { vault } = await hre.network.create();
      for (const attempt of [
        async () => await vault.deployMocks(),
        async () => await vault.deployMocks({ at: contracts }),
        async () => await vault.mockAt("vault"),
        async () =>
          await vault.deployMocks({ at: contracts, allowLiveNetwork: true }),
      ]) {
        const error = await expectVaultError(attempt, "VAULT_LIVE_NETWORK");
        expect(error.details).to.include({ network: "live", chainId });
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

  for (const answer of [
    {},
    [],
    { jsonrpc: "2.0" },
    { message: "Method not found", code: -32601 },
    { clientVersion: "Geth/v1.16.4", chainId: 1 },
    { environment: { chainId: 1 }, hardFork: "prague" },
  ]) {
    it(`deployMocks() refuses a gateway that answers unknown methods with ${JSON.stringify(answer)}`, async () => {
      const handler = asLiveNode({ client: "gateway", chainId: 1 });
      live.handler = (exchange) =>
        /^(?:hardhat|anvil)_/u.test(exchange.request.method)
          ? { result: answer }
          : handler(exchange);
      const hre = await hreOnLive(live.url, { vault: { contracts } });
      const { vault } = await hre.network.create();
      await expectVaultError(vault.deployMocks(), "VAULT_LIVE_NETWORK");
      expect(
        live.requests.filter(({ method }) => method.startsWith("eth_send")),
      ).to.deep.equal([]);
    });
  }
});
