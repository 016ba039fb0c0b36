import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { encodeCall } from "../../src/client/codec.js";
import { BlockCache } from "../../src/simulation/block-cache.js";
import type {
  ForkConnection,
  ForkOptions,
  HardhatVault,
} from "../../src/types.js";
import { startAnvil, useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { freePort } from "../helpers/free-port.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { isFull } from "../helpers/sample.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";
import {
  SETTLED_PRICE,
  SETTLEMENT_CHANGES,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";

/** Any chain id that no table of hardforks knows. */
const CHAIN_ID = 987_654;
const FROM = "0x00000000000000000000000000000000000000bb";

/** A fork that reads storage only when it is needed asks for several slots of each. */
const HOLDERS = isFull ? 40 : 10;

describe("vault.fork()", () => {
  const anvil = useAnvil(
    ...["--chain-id", String(CHAIN_ID), "--gas-limit", "25000000"],
  );
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let checkpoint: unknown;
  let opened: ForkConnection[];
  let root: string;

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });
  after(() => {
    provider.destroy();
  });
  beforeEach(async () => {
    checkpoint = await provider.send("evm_snapshot", []);
    opened = [];
    root = await mkdtemp(path.join(tmpdir(), "vault-fork-test-"));
    await writeFile(path.join(root, "package.json"), "{}");
  });
  afterEach(async () => {
    await Promise.all(opened.map(async (fork) => await fork.close()));
    await rm(root, { recursive: true });
    await provider.send("evm_revert", [checkpoint]);
  });

  async function connect(
    settings: NetworkSettings = {},
    url = anvil.url,
    { networks, ...config }: HardhatUserConfig = {},
  ): Promise<{ hre: HardhatRuntimeEnvironment; vault: HardhatVault }> {
    const live = httpNetwork(url, {
      vault: { contracts: protocol.contracts },
      ...settings,
    });
    const hre = await createTestHre(
      { ...config, networks: { live, ...networks } },
      { projectRoot: root },
    );
    return { hre, vault: (await hre.network.create("live")).vault };
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

  const settle = async ({ vault }: ForkConnection): Promise<bigint> => {
    expect((await vault.settleAll()).status).to.equal("settled");
    return (await vault.getLatestRoundInfo()).settledPrice;
  };

  it("vault.fork() forks a chain whose id nothing is configured for", async () => {
    const { vault } = await connect();
    const fork = await open(vault);
    expect(await fork.vault.chainId()).to.equal(CHAIN_ID);
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
      const { hre, vault } = await connect({ vault: { contracts } }, node.url);
      const described = hre.config.chainDescriptors.get(1n);
      const fork = await open(vault);
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
      // What other forks of the same chain go by is as it was.
      expect(hre.config.chainDescriptors.get(1n)).to.equal(described);
    } finally {
      direct.destroy();
      await node.stop();
    }
  });

  for (const [title, configured] of [
    ["Hardhat's newest hardfork of such chains", {}],
    [
      "the hardfork history that the user configured",
      {
        chainDescriptors: {
          [CHAIN_ID]: {
            ...{ name: "Mine", chainType: "op" as const },
            hardforkHistory: { isthmus: { blockNumber: 0 } },
          },
        },
      },
    ],
  ] as const) {
    it(`vault.fork() forks an OP chain by ${title}, and leaves that as it is`, async () => {
      const { hre, vault } = await connect(
        { chainType: "op" },
        ...([anvil.url, configured] as const),
      );
      const before = hre.config.chainDescriptors.get(BigInt(CHAIN_ID));
      const fork = await open(vault);
      expect(fork.chainType).to.equal("op");
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
      expect(hre.config.chainDescriptors.get(BigInt(CHAIN_ID))).to.equal(
        before,
      );
    });
  }

  it("vault.fork() calls contracts at its block by the hardfork history that the user configured, else by the newest rules", async () => {
    const contract = `0x${"5f".repeat(20)}`;
    // PUSH0, which london does not have.
    await provider.send("anvil_setCode", [contract, "0x5f5ff3"]);
    const hardforkHistory = { london: { blockNumber: 0 } };
    for (const [history, fails] of [
      [{}, false],
      [{ hardforkHistory }, true],
    ] as const) {
      const { vault } = await connect({}, anvil.url, {
        chainDescriptors: {
          [CHAIN_ID]: { name: "Mine", ...history },
        },
      });
      const fork = await open(vault);
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
    const { vault } = await connect({}, anvil.url, {
      networks: { vaultFork: httpNetwork(anvil.url) },
    });
    await expectVaultError(vault.fork(), "VAULT_FORK_NETWORK_TAKEN");
    await expectVaultError(
      vault.simulateSettleAll({ engine: "fork", atTime: "+1h" }),
      "VAULT_FORK_NETWORK_TAKEN",
    );
  });

  it("vault.fork() mines by itself, whatever vaultFork and default are set to", async () => {
    const mining = { auto: false, interval: 10_000 };
    const { vault } = await connect({}, anvil.url, {
      networks: {
        default: { type: "edr-simulated", mining },
        vaultFork: { type: "edr-simulated", mining },
      },
    });
    const fork = await open(vault);
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
    const { vault } = await connect();
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

  it("vault.fork() carries addresses with their sources, from, and tokenDecimals and guard of each instance", async () => {
    const { vault } = await connect({
      from: FROM,
      vault: {
        ...{ contracts: protocol.contracts, tokenDecimals: 6, guard: NOBODY },
        instances: {
          dai: {
            tokenDecimals: 18,
            contracts: { vault: NOBODY },
            guard: false,
          },
          eth: {},
        },
      },
    });
    const fork = await open(vault.at({ trading: NOBODY }, "--at"));
    expect(await fork.vault.addressOf("trading")).to.deep.equal({
      ...{ address: NOBODY, source: "--at" },
    });
    expect(await fork.vault.addressOf("vault")).to.deep.equal({
      address: protocol.contracts.vault,
      source: "networks.live.vault.contracts.vault",
    });
    const [dai, eth] = [fork.vault.instance("dai"), fork.vault.instance("eth")];
    expect((await dai.addressOf("vault")).address).to.equal(NOBODY);
    expect((await dai.addressOf("trading")).address).to.equal(
      protocol.contracts.trading,
    );
    expect(fork.vault.settings.tokenDecimals).to.equal(6);
    expect(dai.settings.tokenDecimals).to.equal(18);
    expect(fork.networkConfig.from).to.equal(FROM);
    const guards = [fork.vault, eth, dai].map(
      async (each) => (await each.guardAddress())?.address,
    );
    expect(await Promise.all(guards)).to.deep.equal([
      NOBODY,
      NOBODY,
      undefined,
    ]);
  });

  it("vault.fork() names the network that was forked in its errors", async () => {
    const { vault } = await connect();
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
    const { vault } = await connect();
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
        const { vault } = await connect({ vault: { contracts } }, node.url);
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
    const { vault } = await connect(
      { httpHeaders: { "x-api-key": "s3cret" } },
      server.url,
    );
    const fork = await open(vault);
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
    const { vault } = await connect();
    const { vault: down } = await connect({}, "http://127.0.0.1:1");
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

  it("vault.fork() throws VAULT_CONFIG_VARIABLE if Hardhat lacks a variable of the network vaultFork", async () => {
    const privateKey = configVariable("TEST_UNSET_KEY");
    const accounts = [{ privateKey, balance: "1" }];
    const { vault } = await connect({}, anvil.url, {
      networks: { vaultFork: { type: "edr-simulated", accounts } },
    });
    for (const hardfork of [undefined, "prague"]) {
      await expectVaultError(vault.fork({ hardfork }), "VAULT_CONFIG_VARIABLE");
    }
  });

  it("two forks at once are made one after the other, and leave Hardhat's description of the chain as it was", async () => {
    const { hre, vault } = await connect();
    const create = hre.network.create.bind(hre.network);
    const described: boolean[] = [];
    let making = 0;
    let most = 0;
    hre.network.create = async (...asked) => {
      making += 1;
      most = Math.max(most, making);
      try {
        return await create(...asked);
      } finally {
        described.push(hre.config.chainDescriptors.has(BigInt(CHAIN_ID)));
        making -= 1;
      }
    };
    const forks = await Promise.all([open(vault), open(vault)]);
    expect({ most, described }).to.deep.equal({
      ...{ most: 1, described: [true, true] },
    });
    expect(hre.config.chainDescriptors.has(BigInt(CHAIN_ID))).to.equal(false);
    for (const fork of forks) {
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    }
  });

  it("a fork works without warming if an address cannot be read", async () => {
    const trading = configVariable("TEST_UNSET_TRADING");
    const contracts = { ...protocol.contracts, trading };
    const { vault } = await connect({ vault: { contracts } });
    const fork = await open(vault);
    expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
  });

  it("a fork leaves no folder of Hardhat's simulator behind when it is closed after it has read an old block, and when it cannot be made", async () => {
    const { vault } = await connect();
    const { TMPDIR } = process.env;
    process.env["TMPDIR"] = root;
    try {
      const left = async (): Promise<readonly string[]> =>
        (await readdir(root)).filter((name) => name.startsWith("vault-fork-"));
      const fork = await vault.fork();
      const number = (await vault.block()).number - 1;
      await fork.provider.request({
        method: "eth_getBlockByNumber",
        params: [`0x${number.toString(16)}`, false],
      });
      await fork.close();
      expect(await left(), "closed").to.deep.equal([]);
      await expectVaultError(
        vault.fork({ hardfork: "tomorrow" }),
        "VAULT_INVALID_ENUM",
      );
      expect(await left(), "failed").to.deep.equal([]);
    } finally {
      restore("TMPDIR", TMPDIR);
    }
  });

  it("a fork of a past block keeps its state on disk, so that the next one asks for none, and a fork of the newest block does not", async () => {
    const number = await provider.getBlockNumber();
    // The newest block has another settlement.
    await mined(await protocol.mocks.vault.setSettlement(77n, 1n));
    const server = await startRpcServer({ upstream: anvil.url });
    const folder = path.join(root, "cache", "vault-forks");
    const fork = async (blockNumber?: number): Promise<bigint> => {
      const { vault } = await connect({}, server.url);
      const connection = await vault.fork({ blockNumber });
      const price = await settle(connection);
      await connection.close();
      return price;
    };
    expect(await fork()).to.equal(77n);
    expect(existsSync(folder)).to.equal(false);
    expect(await fork(number)).to.equal(SETTLED_PRICE);
    expect(await readdir(folder)).to.have.length(1);
    server.requests.length = 0;
    expect(await fork(number)).to.equal(SETTLED_PRICE);
    expect(
      server.requests.filter(({ method }) => /Storage|Code/u.test(method)),
    ).to.deep.equal([]);
    await server.stop();
  });

  for (const [how, isNamed] of [
    ["as the latest", false],
    ["by its number", true],
  ] as const) {
    it(`a fork of a development node's newest block, named ${how}, reads what the node changed without a new block, beside another fork and after it`, async () => {
      const { vault } = await connect();
      const blockNumber = isNamed ? await provider.getBlockNumber() : undefined;
      const forkWith = async (wei: string): Promise<ForkConnection> => {
        await provider.send("anvil_setBalance", [NOBODY, wei]);
        const fork = await open(vault, { blockNumber });
        const call = { method: "eth_getBalance", params: [NOBODY, "latest"] };
        expect(await fork.provider.request(call)).to.equal(wei);
        return fork;
      };
      await forkWith("0x6");
      const beside = await forkWith("0x7");
      await beside.close();
      await forkWith("0x8");
    });
  }

  it("a read of a fork that is closed throws VAULT_FORK_CLOSED", async () => {
    const { vault } = await connect();
    const fork = await vault.fork();
    await fork.close();
    for (const read of [
      fork.vault.queryVolume(),
      fork.vault.snapshot(),
      fork.vault.simulateSettleAll(),
      fork.vault.settleAll(),
    ]) {
      const { message } = await expectVaultError(read, "VAULT_FORK_CLOSED");
      expect(message).to.contain("network live");
    }
  });

  it("a fork is made, snapshots and settles in at most 5 waves and 12 requests, nine of them before it settles", async () => {
    const node = await startRpcServer({
      ...{ upstream: anvil.url, latencyMs: 20, isInStep: true },
    });
    const { vault } = await connect({}, node.url);
    const fork = await open(vault);
    await fork.vault.snapshot();
    expect(node.bodies).to.have.length.below(10);
    expect(await settle(fork)).to.equal(SETTLED_PRICE);
    expect(node.bodies).to.have.length.below(13);
    expect(node.waves).to.be.below(6);
    await node.stop();
  });

  it("simulateSettleAll on a fork makes at most 10 requests in 3 waves", async () => {
    const node = await startRpcServer({
      ...{ upstream: anvil.url, latencyMs: 20, isInStep: true },
    });
    const { vault } = await connect({}, node.url);
    const simulation = await vault.simulateSettleAll({ engine: "fork" });
    expect(simulation.changes).to.deep.equal(SETTLEMENT_CHANGES);
    expect(node.bodies).to.have.length.below(11);
    expect(node.waves).to.be.below(4);
    await node.stop();
  });

  it("Hardhat's simulator asks the cache of a fork once for each value, and that of a simulation for no storage that was found beforehand", async () => {
    const asked: string[] = [];
    const storage = (): readonly string[] =>
      asked.filter((call) => call.includes("eth_getStorageAt"));
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its cache
    const { answer } = BlockCache.prototype;
    BlockCache.prototype.answer = async function (calls) {
      asked.push(...calls.map((call) => JSON.stringify(call)));
      return await answer.call(this, calls);
    };
    try {
      const { vault } = await connect();
      const fork = await open(vault);
      await fork.vault.snapshot();
      await settle(fork);
      expect(storage()).to.have.length.above(20);
      expect(storage()).to.deep.equal([...new Set(storage())]);
      asked.length = 0;
      await vault.simulateSettleAll({ engine: "fork" });
      expect(asked).to.have.length.above(20);
      expect(storage()).to.deep.equal([]);
    } finally {
      BlockCache.prototype.answer = answer;
    }
  });

  describe("of a node that answers otherwise", () => {
    let node: RpcServer;

    beforeEach(async () => {
      node = await startRpcServer({ upstream: anvil.url });
    });
    afterEach(async () => {
      await node.stop();
    });

    it("vault.fork({ warm }) fetches beforehand what a call will read", async () => {
      const { vault } = await connect({}, node.url);
      const { data } = encodeCall("getOrderInfo", [2n]);
      const { trading: to } = protocol.contracts;
      for (const [warm, isAsked] of [
        [[], true],
        [[{ to, data }], false],
      ] as const) {
        const fork = await open(vault, { warm });
        await fork.vault.snapshot();
        node.clear();
        await fork.vault.getOrderInfo(2n);
        expect(node.bodies.length > 0).to.equal(isAsked);
      }
    });

    /** Once a fork has asked for this, the node has another block at the number. */
    const replaceBlockAfter = (method: string): void => {
      let isReplaced = false;
      node.answer = (call, real) => {
        isReplaced ||= call.method === method;
        return !isReplaced
          ? undefined
          : call.method === "eth_getBlockByNumber"
            ? { result: { ...fieldsOf(real), hash: `0x${"ab".repeat(32)}` } }
            : /^eth_get(?:Balance|Code|Storage|TransactionC)/u.test(call.method)
              ? { error: { code: -32_000, message: "header not found" } }
              : undefined;
      };
    };

    for (const method of ["net_version", "eth_createAccessList"]) {
      it(`simulateSettleAll on a fork throws VAULT_FORK_REORGED if the chain replaces the block after ${method}`, async () => {
        replaceBlockAfter(method);
        const { vault } = await connect({}, node.url);
        await expectVaultError(
          vault.simulateSettleAll({ engine: "fork" }),
          "VAULT_FORK_REORGED",
        );
      });
    }

    it("a fork whose block the chain replaces throws VAULT_FORK_REORGED for what it has not read, and answers what it has", async () => {
      const { vault } = await connect({}, node.url);
      const fork = await open(vault);
      await fork.vault.snapshot();
      replaceBlockAfter("eth_getStorageAt");
      await expectVaultError(
        fork.vault.getOrderInfo(1_000n),
        "VAULT_FORK_REORGED",
      );
      const { round } = await fork.vault.snapshot();
      expect(round).to.include({ settled: false });
    });

    /** Lets the node never answer what only a fork asks. */
    const holdFork = (onHeld: () => void = () => undefined): void => {
      node.handler = async ({ request: { method } }) => {
        if (method === "net_version") {
          onHeld();
          await new Promise(() => undefined);
        }
        return undefined;
      };
    };

    it("simulateSettleAll ends when its signal is aborted while its fork waits for the node", async () => {
      const { vault } = await connect({ timeout: 1_000 }, node.url);
      const controller = new AbortController();
      const { signal } = controller;
      holdFork(() => {
        controller.abort(new Error("enough"));
      });
      const error: unknown = await vault
        .simulateSettleAll({ engine: "fork", signal })
        .catch((thrown: unknown) => thrown);
      expect(error).to.equal(signal.reason);
    });

    it("vault.fork() throws VAULT_RPC_TIMEOUT if the node does not answer in the network's timeout", async () => {
      const { vault } = await connect({ timeout: 300 }, node.url);
      holdFork();
      await expectVaultError(vault.fork(), "VAULT_RPC_TIMEOUT");
    });

    it("vault.fork() throws VAULT_NETWORK_UNREACHABLE if the node closes the connection while the fork is made, and a read of a fork says the same", async () => {
      const { vault } = await connect({}, node.url);
      const fork = await open(vault);
      node.handler = ({ request: { method }, response }) => {
        if (method !== "eth_getTransactionCount") {
          return undefined;
        }
        response.destroy();
        return "handled";
      };
      const call = {
        ...{ method: "eth_getTransactionCount", params: [FROM, "latest"] },
      };
      const error: unknown = await fork.provider.request(call).catch(String);
      expect(error).to.contain("Network live cannot be reached");
      await expectVaultError(vault.fork(), "VAULT_NETWORK_UNREACHABLE");
    });

    it(`forks at the same time, warm, cold, and of a node whose batches are in disorder, predict what simulateV1 does for a vault that pays ${HOLDERS} holders`, async () => {
      const { contracts, token } = await deploySettlingVault(
        await provider.getSigner(0),
        ...(["PayingVault", { orders: HOLDERS }] as const),
      );
      const { vault } = await connect({ vault: { contracts } }, node.url);
      const asked = {
        orders: [1, HOLDERS],
        tokens: [await token.getAddress()],
      };
      const simulate = async (engine: "fork" | "simulateV1") => {
        const { changes, balances, transfers, gasUsed } =
          await vault.simulateSettleAll({ ...asked, engine });
        // Of what the gas costs, each engine knows the price of its own block.
        const [, ...others] = balances;
        return { changes, transfers, gasUsed, others };
      };
      const expected = await simulate("simulateV1");
      expect(expected.transfers).to.have.length(HOLDERS);
      expect(
        await Promise.all([simulate("fork"), simulate("fork")]),
      ).to.deep.equal([expected, expected]);
      const error = { code: -32_000, message: "out of luck" };
      node.batch = (answers) =>
        answers.toReversed().flatMap((answer, index) => {
          const { id } = fieldsOf(answer);
          const failed = { jsonrpc: "2.0", id, error };
          return index % 5 === 0 ? [] : [index % 5 === 1 ? failed : answer];
        });
      expect(await simulate("fork")).to.deep.equal(expected);
      node.answer = ({ method }) =>
        ["eth_createAccessList", "debug_traceCall"].includes(method)
          ? { error: { code: -32_601, message: "Method not found" } }
          : undefined;
      expect(await simulate("fork")).to.deep.equal(expected);
    });
  });

  describe("behind a proxy of the environment", () => {
    const names = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
    const all = [...names, "NO_PROXY", "no_proxy"];
    let saved: ReadonlyArray<readonly [string, string | undefined]>;
    beforeEach(() => {
      saved = all.map((name) => [name, process.env[name]]);
      for (const name of all) {
        restore(name, undefined);
      }
    });
    afterEach(() => {
      for (const [name, value] of saved) {
        restore(name, value);
      }
    });

    it("a fork sends no request for this machine to the proxy", async () => {
      const proxy = await startRpcServer({
        handler: () => ({ error: { code: -1, message: "by the proxy" } }),
      });
      process.env["HTTP_PROXY"] = proxy.url;
      const { vault } = await connect();
      expect(await settle(await open(vault))).to.equal(SETTLED_PRICE);
      expect(proxy.httpRequests).to.deep.equal([]);
      await proxy.stop();
    });

    const url = "http://127.0.0.1:1";
    for (const [set, seen] of [
      [{ HTTP_PROXY: "" }, undefined],
      [{ http_proxy: url }, "127.0.0.1"],
      [{ ALL_PROXY: url, no_proxy: "b.org" }, "b.org,127.0.0.1"],
      [
        { all_proxy: url, NO_PROXY: "a.org", no_proxy: "b.org" },
        "a.org,127.0.0.1",
      ],
    ] as const) {
      it(`vault.fork() is made with NO_PROXY ${String(seen)} if the environment has ${JSON.stringify(set)}, and leaves that`, async () => {
        const { hre, vault } = await connect();
        const create = hre.network.create.bind(hre.network);
        let made: string | undefined = "nothing";
        hre.network.create = async (...asked) => {
          made = process.env["NO_PROXY"];
          return await create(...asked);
        };
        Object.assign(process.env, set);
        await open(vault);
        expect(made).to.equal(seen);
        const left = all.flatMap((name) =>
          process.env[name] === undefined ? [] : [[name, process.env[name]]],
        );
        expect(Object.fromEntries(left)).to.deep.equal(set);
      });
    }
  });
});

function restore(name: string, value: string | undefined): void {
  if (value === undefined) {
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- a variable of the environment
    delete process.env[name];
  } else {
    process.env[name] = value;
  }
}
