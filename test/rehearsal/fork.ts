import { existsSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { freePort } from "../helpers/free-port.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import {
  SETTLEMENT,
  deployProtocol,
  directProvider,
} from "../helpers/mock-protocol.js";
import type { MockProtocol } from "../helpers/mock-protocol.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

/** Any chain id that no table of hardforks knows. */
const UNKNOWN_CHAIN_ID = 987_654;

describe("simulation - fork", () => {
  let anvil: ServerProcess;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;

  before(async () => {
    anvil = await startAnvil({
      args: ["--chain-id", String(UNKNOWN_CHAIN_ID), "--gas-limit", "25000000"],
    });
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });

  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  async function connect(settings: NetworkSettings = {}, url = anvil.url) {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(url, {
          vault: { contracts: protocol.contracts },
          ...settings,
        }),
      },
    });
    return { hre, connection: await hre.network.create("live") };
  }

  it("should fork a chain whose id nothing is configured for", async () => {
    const { connection } = await connect();
    const fork = await connection.vault.fork();
    try {
      expect(await fork.vault.chainId()).to.equal(UNKNOWN_CHAIN_ID);
      expect(await fork.vault.block()).to.deep.equal(
        await connection.vault.block(),
      );
      expect(await fork.vault.getLatestRoundInfo()).to.deep.equal(
        await connection.vault.getLatestRoundInfo(),
      );
      await fork.vault.settleAll();
      const { settled, settledPrice } = await fork.vault.getLatestRoundInfo();
      expect({ settled, settledPrice }).to.deep.equal({
        settled: true,
        settledPrice: SETTLEMENT.price,
      });
      const { settled: upstream } = await connection.vault.getLatestRoundInfo();
      expect(upstream).to.equal(false);
    } finally {
      await fork.close();
    }
  });

  for (const chainId of [1, 56, 31_337]) {
    it(`should fork a young chain with the id ${chainId}`, async () => {
      // Mainnet's own hardfork history would run its block 3 by the rules of
      // 2015, without half of the instructions.
      const node = await startAnvil({ args: ["--chain-id", String(chainId)] });
      const direct = directProvider(node.url);
      try {
        const { contracts } = await deployProtocol(await direct.getSigner(0));
        const { hre, connection } = await connect(
          { vault: { contracts } },
          node.url,
        );
        const described = hre.config.chainDescriptors.get(BigInt(chainId));
        const fork = await connection.vault.fork();
        expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
        await fork.close();
        // What other forks of the same chain go by is as it was.
        expect(hre.config.chainDescriptors.get(BigInt(chainId))).to.equal(
          described,
        );
      } finally {
        direct.destroy();
        await node.stop();
      }
    });
  }

  it("should keep a hardfork history that the user configured", async () => {
    const hre = await createTestHre({
      chainDescriptors: {
        [UNKNOWN_CHAIN_ID]: {
          name: "Mine",
          chainType: "l1",
          hardforkHistory: { cancun: { blockNumber: 0 } },
        },
      },
      networks: {
        live: httpNetwork(anvil.url, {
          vault: { contracts: protocol.contracts },
        }),
      },
    });
    const before = hre.config.chainDescriptors.get(BigInt(UNKNOWN_CHAIN_ID));
    const connection = await hre.network.create("live");
    const fork = await connection.vault.fork();
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    await fork.close();
    expect(hre.config.chainDescriptors.get(BigInt(UNKNOWN_CHAIN_ID))).to.equal(
      before,
    );
  });

  it("should carry the chain type", async () => {
    const { connection } = await connect({ chainType: "op" });
    const fork = await connection.vault.fork();
    expect(fork.chainType).to.equal("op");
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    await fork.close();
  });

  it("should fork the same network where the default one is http", async () => {
    // Overriding `default` with forking would silently be the live chain.
    const hre = await createTestHre({
      networks: {
        default: httpNetwork(anvil.url, {
          vault: { contracts: protocol.contracts },
        }),
      },
    });
    const fork = await hre.vault.fork();
    expect(fork.networkConfig.type).to.equal("edr-simulated");
    await fork.provider.request({ method: "evm_mine" });
    expect((await fork.vault.block()).number).to.equal(
      (await hre.vault.block()).number + 1,
    );
    await fork.close();
    await (await hre.network.getOrCreate()).close();
  });

  it("should refuse where the configuration made vaultFork something else", async () => {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(anvil.url),
        vaultFork: httpNetwork(anvil.url),
      },
    });
    const connection = await hre.network.create("live");
    await expectVaultError(connection.vault.fork(), "VAULT_FORK_NETWORK_TAKEN");
    await expectVaultError(
      connection.vault
        .at(protocol.contracts)
        .simulateSettleAll({ engine: "fork", atTime: "+1h" }),
      "VAULT_FORK_NETWORK_TAKEN",
    );
  });

  it("should mine by itself, whatever vaultFork and default are set to", async () => {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(anvil.url, {
          vault: { contracts: protocol.contracts },
        }),
        default: {
          type: "edr-simulated",
          mining: { auto: false, interval: 10_000 },
        },
        vaultFork: { type: "edr-simulated", mining: { auto: false } },
      },
    });
    const connection = await hre.network.create("live");
    const fork = await connection.vault.fork();
    await fork.vault.settleAll();
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(true);
    await fork.close();
  });

  it("should have the block gas limit of its upstream", async () => {
    const { connection } = await connect();
    const fork = await connection.vault.fork();
    const { ethers } = fork;
    await ethers.provider.send("evm_mine");
    const block = await ethers.provider.getBlock("latest");
    expect(block?.gasLimit).to.equal(25_000_000n);
    await fork.close();
  });

  it("should take the hardfork that it is given", async () => {
    const { connection } = await connect();
    const fork = await connection.vault.fork({ hardfork: "prague" });
    // One transaction may use more than osaka lets it.
    const account = await fork.ethers.provider.getSigner(0);
    const sent = await account.sendTransaction({
      to: account.address,
      gasLimit: 20_000_000n,
    });
    expect((await sent.wait())?.status).to.equal(1);
    await fork.close();
    const error = await expectVaultError(
      connection.vault.fork({ hardfork: "atlantis" }),
      "VAULT_INVALID_ENUM",
    );
    expect(error.message).to.contain("hardfork").and.to.contain("prague");
  });

  it("should carry addresses with their sources, tokenDecimals and from", async () => {
    const other = "0x00000000000000000000000000000000000000AA";
    const from = "0x00000000000000000000000000000000000000bb";
    const { connection } = await connect({
      from,
      vault: { contracts: protocol.contracts, tokenDecimals: 6 },
    });
    const fork = await connection.vault.at({ trading: other }, "--at").fork();
    expect(await fork.vault.addressOf("trading")).to.deep.equal({
      address: other,
      source: "--at",
    });
    expect(await fork.vault.addressOf("vault")).to.deep.equal({
      address: protocol.contracts.vault,
      source: "networks.live.vault.contracts.vault",
    });
    expect(fork.networkConfig.vault.tokenDecimals).to.equal(6);
    expect(fork.networkConfig.from).to.equal(from);
    await fork.close();
  });

  it("should say of a missing address what its upstream says", async () => {
    const { connection } = await connect({ vault: {} });
    const fork = await connection.vault.fork();
    const [ours, upstreams] = [
      await expectVaultError(
        fork.vault.minXMargin(),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      ),
      await expectVaultError(
        connection.vault.minXMargin(),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      ),
    ];
    expect(ours.details["path"]).to.equal(upstreams.details["path"]);
    await fork.close();
  });

  it("should name the network that was forked in its errors", async () => {
    const { connection } = await connect();
    const fork = await connection.vault.fork();
    const nobody = fork.vault.at({
      vault: "0x00000000000000000000000000000000000000AA",
    });
    for (const work of [
      nobody.queryVolume(),
      nobody.settleAll(),
      connection.vault.simulateSettleAll({ gas: 100 }),
    ]) {
      const { message } = await caught(work);
      expect(message).to.include("live (fork)").and.not.include("vaultFork");
    }
    await fork.close();
  });

  it("should fork an older block", async () => {
    const { connection } = await connect();
    const head = await connection.vault.block();
    const fork = await connection.vault.fork({ blockNumber: head.number - 1 });
    // The last block scripted the settlement.
    expect((await fork.vault.block()).number).to.equal(head.number - 1);
    await fork.vault.settleAll();
    const { settledPrice } = await fork.vault.getLatestRoundInfo();
    expect(settledPrice).to.equal(0n);
    await fork.close();
  });

  it("should leave no cache of a local node behind", async () => {
    const { hre, connection } = await connect();
    const forks = await Promise.all([
      connection.vault.fork(),
      connection.vault.fork(),
    ]);
    const folder = path.join(hre.config.paths.cache, "vault-forks");
    const caches = forks.map(cacheOf);
    expect(new Set(caches).size).to.equal(2);
    await Promise.all(forks.map(async (fork) => await fork.close()));
    expect(caches.map((cache) => path.dirname(cache))).to.deep.equal([
      folder,
      folder,
    ]);
    expect(caches.filter((cache) => existsSync(cache))).to.deep.equal([]);
  });

  it("should see the new chain after the node restarts on the same port", async () => {
    const port = await freePort();
    const prices: bigint[] = [];
    for (const filledVolume of [1n, 2n]) {
      const node = await startAnvil({ port });
      const direct = directProvider(node.url);
      try {
        const { contracts, mocks } = await deployProtocol(
          await direct.getSigner(0),
        );
        const { connection } = await connect(
          { vault: { contracts } },
          node.url,
        );
        await (
          await mocks.vault.setSettlement(filledVolume, filledVolume)
        ).wait();
        const { number } = await connection.vault.block();
        // Deep enough for the simulator to remember it on disk.
        await direct.send("anvil_mine", ["0x200"]);
        const fork = await connection.vault.fork({ blockNumber: number });
        await fork.vault.settleAll();
        prices.push((await fork.vault.getLatestRoundInfo()).settledPrice);
        await fork.close();
        await connection.close();
      } finally {
        direct.destroy();
        await node.stop();
      }
    }
    expect(prices).to.deep.equal([1n, 2n]);
  });

  describe("towards its upstream", () => {
    let server: RpcServer;

    beforeEach(async () => {
      server = await startRpcServer({ upstream: anvil.url });
    });

    afterEach(async () => {
      await server.stop();
    });

    it("should carry the http headers in every request", async () => {
      const { connection } = await connect(
        { httpHeaders: { "x-api-key": "s3cret" } },
        server.url,
      );
      const fork = await connection.vault.fork();
      await fork.vault.settleAll();
      await fork.close();
      expect(server.httpRequests.length).to.be.greaterThan(10);
      expect(
        new Set(server.httpRequests.map(({ headers }) => headers["x-api-key"])),
      ).to.deep.equal(new Set(["s3cret"]));
    });

    it("should start at the head as it is, not behind it", async () => {
      const { connection } = await connect({}, server.url);
      const fork = await connection.vault.fork();
      await fork.vault.queryVolume();
      await fork.close();
      const head = `0x${(await connection.vault.block()).number.toString(16)}`;
      const blocks = server.requests
        .filter(({ method }) => method === "eth_getStorageAt")
        .map(({ params }) => params[2]);
      expect(new Set(blocks)).to.deep.equal(new Set([head]));
    });
  });

  it("should name a network that is down", async () => {
    const { connection } = await connect(
      {},
      `http://127.0.0.1:${await freePort()}`,
    );
    const error = await expectVaultError(
      connection.vault.fork(),
      "VAULT_NETWORK_UNREACHABLE",
    );
    expect(error.message).to.contain("node");
  });

  it("should refuse a block in the future, and one without a number", async () => {
    const { connection } = await connect();
    const { number } = await connection.vault.block();
    const error = await expectVaultError(
      connection.vault.fork({ blockNumber: number + 1_000 }),
      "VAULT_BLOCK_NOT_FOUND",
    );
    expect(error.details["block"]).to.equal(String(number + 1_000));
    await expectVaultError(
      connection.vault.fork({ blockNumber: "pending" }),
      "VAULT_INVALID_BLOCK",
    );
    await expectVaultError(
      connection.vault.fork({ blockNumber: -1 }),
      "VAULT_INVALID_BLOCK",
    );
  });

  it("should refuse an in-process network and say what to do instead", async () => {
    const hre: HardhatRuntimeEnvironment = await createTestHre();
    const connection = await hre.network.create();
    const error = await expectVaultError(
      connection.vault.fork(),
      "VAULT_CANNOT_FORK_IN_PROCESS",
    );
    expect(error.fix).to.contain("simulateSettleAll");
  });
});

async function caught(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Error) {
      return error;
    }
  }
  throw new Error("expected an error");
}

function cacheOf({
  networkConfig,
}: Awaited<ReturnType<HardhatRuntimeEnvironment["vault"]["fork"]>>): string {
  if (networkConfig.type !== "edr-simulated") {
    throw new Error("a fork is in process");
  }
  return networkConfig.forking?.cacheDir ?? "";
}
