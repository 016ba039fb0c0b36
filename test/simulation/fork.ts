import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";

import type { ForkConnection, ForkOptions } from "../../src/types.js";
import { startAnvil, useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { freePort } from "../helpers/free-port.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import {
  SETTLED_PRICE,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { mined } from "../helpers/transactions.js";

/** Any chain id that no table of hardforks knows. */
const UNKNOWN_CHAIN_ID = 987_654;

describe("vault.fork()", () => {
  const anvil = useAnvil(
    ...["--chain-id", String(UNKNOWN_CHAIN_ID), "--gas-limit", "25000000"],
  );
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let opened: ForkConnection[];

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });

  after(async () => {
    provider.destroy();
  });

  beforeEach(() => {
    opened = [];
  });

  afterEach(async () => {
    await Promise.all(opened.map(async (fork) => await fork.close()));
  });

  async function connect(
    settings: NetworkSettings = {},
    url = anvil.url,
    { networks, ...config }: HardhatUserConfig = {},
  ) {
    const live = httpNetwork(url, {
      vault: { contracts: protocol.contracts },
      ...settings,
    });
    const hre = await createTestHre({
      ...config,
      networks: { live, ...networks },
    });
    return { hre, connection: await hre.network.create("live") };
  }

  /** A fork that is closed after the test. */
  async function open(
    vault: { fork(options?: ForkOptions): Promise<ForkConnection> },
    options?: ForkOptions,
  ): Promise<ForkConnection> {
    const fork = await vault.fork(options);
    opened.push(fork);
    return fork;
  }

  it("vault.fork() forks a chain whose id nothing is configured for", async () => {
    const { vault } = (await connect()).connection;
    const fork = await open(vault);
    expect(await fork.vault.chainId()).to.equal(UNKNOWN_CHAIN_ID);
    expect(await fork.vault.block()).to.deep.equal(await vault.block());
    await fork.vault.settleAll();
    expect(await fork.vault.getLatestRoundInfo()).to.include({
      settled: true,
      settledPrice: SETTLED_PRICE,
    });
    expect((await vault.getLatestRoundInfo()).settled).to.equal(false);
  });

  it("vault.fork() forks a young chain with the id 1", async () => {
    // Mainnet's own hardfork history would run its block 3 by the rules of
    // 2015, without half of the instructions.
    const node = await startAnvil({ args: ["--chain-id", "1"] });
    const direct = directProvider(node.url);
    try {
      const { contracts } = await deployProtocol(await direct.getSigner(0));
      const { hre, connection } = await connect(
        { vault: { contracts } },
        node.url,
      );
      const described = hre.config.chainDescriptors.get(1n);
      const fork = await open(connection.vault);
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
      // What other forks of the same chain go by is as it was.
      expect(hre.config.chainDescriptors.get(1n)).to.equal(described);
    } finally {
      direct.destroy();
      await node.stop();
    }
  });

  it("vault.fork() keeps the chain type, and a hardfork history that the user configured", async () => {
    const { hre, connection } = await connect({ chainType: "op" }, anvil.url, {
      chainDescriptors: {
        [UNKNOWN_CHAIN_ID]: {
          name: "Mine",
          chainType: "op",
          hardforkHistory: { isthmus: { blockNumber: 0 } },
        },
      },
    });
    const configured = (): unknown =>
      hre.config.chainDescriptors.get(BigInt(UNKNOWN_CHAIN_ID));
    const before = configured();
    const fork = await open(connection.vault);
    expect(fork.chainType).to.equal("op");
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    expect(configured()).to.equal(before);
  });

  it("vault.fork() calls contracts at its block by the hardfork history that the user configured, else by the newest rules", async () => {
    const contract = `0x${"5f".repeat(20)}`;
    // PUSH0, which london does not have.
    await provider.send("anvil_setCode", [contract, "0x5f5ff3"]);
    const hardforkHistory = { london: { blockNumber: 0 } };
    for (const [history, fails] of [
      [{}, false],
      [{ hardforkHistory }, true],
    ] as const) {
      const { connection } = await connect({}, anvil.url, {
        chainDescriptors: {
          [UNKNOWN_CHAIN_ID]: { name: "Mine", ...history },
        },
      });
      const fork = await open(connection.vault);
      const answer: unknown = await fork.provider
        .request({ method: "eth_call", params: [{ to: contract }, "latest"] })
        .catch(() => "failed");
      expect(answer).to.equal(fails ? "failed" : "0x");
    }
  });

  it("vault.fork() forks the same network if the default one is http", async () => {
    // Overriding `default` with forking would silently be the live chain.
    const { hre } = await connect({}, anvil.url, {
      networks: {
        default: httpNetwork(anvil.url, {
          vault: { contracts: protocol.contracts },
        }),
      },
    });
    const fork = await open(hre.vault);
    expect(fork.networkConfig.type).to.equal("edr-simulated");
    await fork.provider.request({ method: "evm_mine" });
    expect((await fork.vault.block()).number).to.equal(
      (await hre.vault.block()).number + 1,
    );
    await (await hre.network.getOrCreate()).close();
  });

  it("vault.fork() throws VAULT_FORK_NETWORK_TAKEN if the configuration has another network named vaultFork", async () => {
    const { vault } = (
      await connect({}, anvil.url, {
        networks: { vaultFork: httpNetwork(anvil.url) },
      })
    ).connection;
    await expectVaultError(vault.fork(), "VAULT_FORK_NETWORK_TAKEN");
    await expectVaultError(
      vault.simulateSettleAll({ engine: "fork", atTime: "+1h" }),
      "VAULT_FORK_NETWORK_TAKEN",
    );
  });

  it("vault.fork() mines by itself, whatever vaultFork and default are set to", async () => {
    const mining = { auto: false, interval: 10_000 };
    const { connection } = await connect({}, anvil.url, {
      networks: {
        default: { type: "edr-simulated", mining },
        vaultFork: { type: "edr-simulated", mining },
      },
    });
    const fork = await open(connection.vault);
    await fork.vault.settleAll();
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(true);
  });

  it("the network vaultFork is the user's own, or is added beside the user's networks, which keep their overrides", async () => {
    const vaultFork = { type: "edr-simulated", hardfork: "prague" } as const;
    const networks = { live: httpNetwork(anvil.url), vaultFork };
    const own = await createTestHre({ networks });
    expect(own.config.networks["vaultFork"]).to.include(vaultFork);
    const { hre } = await connect();
    expect(hre.config.networks["vaultFork"]).to.include({
      type: "edr-simulated",
    });
    const live = await hre.network.create({
      network: "live",
      override: { timeout: 1_234 },
    });
    expect(live.networkConfig).to.include({ type: "http", timeout: 1_234 });
    const local = await hre.network.create({ override: { chainId: 77 } });
    expect(await local.vault.chainId()).to.equal(77);
    await local.close();
  });

  it("vault.fork() takes the hardfork that it is given, and its upstream's block gas limit", async () => {
    const { vault } = (await connect()).connection;
    const { ethers } = await open(vault, { hardfork: "prague" });
    // One transaction may use more than osaka lets it.
    const account = await ethers.provider.getSigner(0);
    const sent = await account.sendTransaction({
      to: account.address,
      gasLimit: 20_000_000n,
    });
    expect((await sent.wait())?.status).to.equal(1);
    const block = await ethers.provider.getBlock("latest");
    expect(block?.gasLimit).to.equal(25_000_000n);
    const error = await expectVaultError(
      vault.fork({ hardfork: "atlantis" }),
      "VAULT_INVALID_ENUM",
    );
    expect(error.message).to.contain("hardfork").and.to.contain("prague");
  });

  it("vault.fork() fails for its own reason also if a request of another fork of that block failed: VAULT_INVALID_ENUM, VAULT_CONFIG_VARIABLE", async () => {
    const lost = "0x00000000000000000000000000000000000010f7";
    const server = await startRpcServer({
      upstream: anvil.url,
      handler: ({ request: { params }, response }) => {
        if (params[0] !== lost) {
          return undefined;
        }
        response.destroy();
        return "handled";
      },
    });
    const { vault } = (await connect({}, server.url)).connection;
    const { ethers } = await open(vault, { blockNumber: 2 });
    const failed = await ethers.provider.getBalance(lost).catch(String);
    expect(failed).to.be.a("string");
    await expectVaultError(
      vault.fork({ blockNumber: 2, hardfork: "tomorrow" }),
      "VAULT_INVALID_ENUM",
    );
    const privateKey = configVariable("TEST_UNSET_KEY");
    const accounts = [{ privateKey, balance: "1" }];
    const { connection } = await connect({}, server.url, {
      networks: { vaultFork: { type: "edr-simulated", accounts } },
    });
    await expectVaultError(
      connection.vault.fork({ blockNumber: 2 }),
      "VAULT_CONFIG_VARIABLE",
    );
    await server.stop();
  });

  it("vault.fork() carries addresses with their sources, from, and tokenDecimals of each instance", async () => {
    const other = "0x00000000000000000000000000000000000000AA";
    const from = "0x00000000000000000000000000000000000000bb";
    const { connection } = await connect({
      from,
      vault: {
        contracts: protocol.contracts,
        tokenDecimals: 6,
        instances: {
          dai: { tokenDecimals: 18, contracts: { vault: other } },
        },
      },
    });
    const fork = await open(connection.vault.at({ trading: other }, "--at"));
    expect(await fork.vault.addressOf("trading")).to.deep.equal({
      address: other,
      source: "--at",
    });
    expect(await fork.vault.addressOf("vault")).to.deep.equal({
      address: protocol.contracts.vault,
      source: "networks.live.vault.contracts.vault",
    });
    const dai = fork.vault.instance("dai");
    expect((await dai.addressOf("vault")).address).to.equal(other);
    expect((await dai.addressOf("trading")).address).to.equal(
      protocol.contracts.trading,
    );
    expect(fork.networkConfig.vault.tokenDecimals).to.equal(6);
    expect(fork.vault.instance("dai").settings.tokenDecimals).to.equal(18);
    expect(fork.networkConfig.from).to.equal(from);
  });

  it("vault.fork() names the network that was forked in its errors", async () => {
    const { vault } = (await connect()).connection;
    const fork = await open(vault);
    const nobody = fork.vault.at({
      vault: "0x00000000000000000000000000000000000000AA",
    });
    for (const [work, code] of [
      [async () => await nobody.queryVolume(), "VAULT_NO_CODE"],
      [async () => await nobody.settleAll(), "VAULT_NO_CODE"],
      [
        async () => await vault.simulateSettleAll({ engine: "fork", gas: 100 }),
        "VAULT_RPC_ERROR",
      ],
    ] as const) {
      const { message } = await expectVaultError(work, code);
      expect(message).to.include("live (fork)").and.not.include("vaultFork");
    }
  });

  it("mockAt() on a fork replaces one contract at its address, keeps what the others return, and leaves the chain as it is", async () => {
    const { vault } = (await connect()).connection;
    const { block: _head, ...before } = await vault.snapshot();
    const fork = await open(vault);
    const [volume, minXMargin] = [144n, 145n];
    for (const [role, overrides, changed] of [
      ["publicPool", {}, {}],
      ["vault", { volume }, { volume }],
      ["vaultFactory", { minXMargin }, { volume, minXMargin }],
    ] as const) {
      const { addresses } = await fork.vault.mockAt(role, { overrides });
      expect(addresses[role]).to.equal(protocol.contracts[role]);
      const { block: _next, ...readings } = await fork.vault.snapshot();
      expect(readings, role).to.deep.equal({ ...before, ...changed });
    }
    const { block: _same, ...after } = await vault.snapshot();
    expect(after).to.deep.equal(before);
  });

  it("vault.fork() forks an older block", async () => {
    const { vault } = (await connect()).connection;
    const head = await vault.block();
    const fork = await open(vault, { blockNumber: head.number - 1 });
    // The last block scripted the settlement.
    expect((await fork.vault.block()).number).to.equal(head.number - 1);
    await fork.vault.settleAll();
    const { settledPrice } = await fork.vault.getLatestRoundInfo();
    expect(settledPrice).to.equal(0n);
  });

  it("vault.fork() sees the new chain after the node restarts on the same port", async () => {
    const port = await freePort();
    const prices: bigint[] = [];
    for (const price of [1n, 2n]) {
      const node = await startAnvil({ port });
      const direct = directProvider(node.url);
      try {
        const { contracts, mocks } = await deployProtocol(
          await direct.getSigner(0),
        );
        const { vault } = (await connect({ vault: { contracts } }, node.url))
          .connection;
        await mined(await mocks.vault.setSettlement(price, price));
        const { number } = await vault.block();
        // Deep enough for the simulator to remember it on disk.
        await direct.send("anvil_mine", ["0x200"]);
        const fork = await vault.fork({ blockNumber: number });
        await fork.vault.settleAll();
        prices.push((await fork.vault.getLatestRoundInfo()).settledPrice);
        await fork.close();
      } finally {
        direct.destroy();
        await node.stop();
      }
    }
    expect(prices).to.deep.equal([1n, 2n]);
  });

  it("vault.fork() reads its upstream at the head, with the network's http headers", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const { connection } = await connect(
      { httpHeaders: { "x-api-key": "s3cret" } },
      server.url,
    );
    const fork = await open(connection.vault);
    await fork.vault.queryVolume();
    await fork.vault.settleAll();
    await server.stop();
    expect(
      new Set(server.httpRequests.map(({ headers }) => headers["x-api-key"])),
    ).to.deep.equal(new Set(["s3cret"]));
    const { hash } = fieldsOf(
      await provider.send("eth_getBlockByNumber", ["latest", false]),
    );
    const blocks = server.requests
      .filter(({ method }) => method === "eth_getStorageAt")
      .map(({ params }) => fieldsOf(params[2])["blockHash"]);
    expect(new Set(blocks)).to.deep.equal(new Set([hash]));
  });

  it("vault.fork() throws VAULT_BLOCK_NOT_FOUND, VAULT_INVALID_BLOCK, VAULT_NETWORK_UNREACHABLE or VAULT_CANNOT_FORK_IN_PROCESS for what it cannot fork", async () => {
    const { vault } = (await connect()).connection;
    const { vault: down } = (await connect({}, "http://127.0.0.1:1"))
      .connection;
    const { vault: local } = await (await createTestHre()).network.create();
    const blockNumber = (await vault.block()).number + 1_000;
    for (const [refused, options, code] of [
      [vault, { blockNumber }, "VAULT_BLOCK_NOT_FOUND"],
      [vault, { blockNumber: "pending" }, "VAULT_INVALID_BLOCK"],
      [vault, { blockNumber: -1 }, "VAULT_INVALID_BLOCK"],
      [down, {}, "VAULT_NETWORK_UNREACHABLE"],
      [local, {}, "VAULT_CANNOT_FORK_IN_PROCESS"],
    ] as const) {
      const { fix } = await expectVaultError(refused.fork(options), code);
      expect(fix.includes("simulateSettleAll")).to.equal(refused === local);
    }
  });
});
