import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { HardhatUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { encodeCall } from "../../src/client/codec.js";
import type {
  ForkConnection,
  ForkOptions,
  HardhatVault,
} from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { SETTLED_PRICE, useMocks } from "../helpers/world.js";

/** Any chain id that no table of hardforks knows. */
const CHAIN_ID = 987_654;
const FROM = "0x00000000000000000000000000000000000000bb";

describe("vault.fork()", () => {
  const chain = useMocks({
    args: ["--chain-id", String(CHAIN_ID), "--gas-limit", "25000000"],
  });
  let node: RpcServer;
  let opened: ForkConnection[];
  let root: string;

  beforeEach(async () => {
    node = await startRpcServer({ upstream: chain.url });
    opened = [];
    root = await mkdtemp(path.join(tmpdir(), "vault-fork-test-"));
    await writeFile(path.join(root, "package.json"), "{}");
  });
  afterEach(async () => {
    await Promise.all(opened.map(async (fork) => await fork.close()));
    await rm(root, { recursive: true });
    await node.stop();
  });

  async function connect(
    settings: NetworkSettings = {},
    url = node.url,
    { networks, ...config }: HardhatUserConfig = {},
  ): Promise<{ hre: HardhatRuntimeEnvironment; vault: HardhatVault }> {
    const live = httpNetwork(url, {
      vault: { contracts: chain.mocks.addresses },
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

  it("vault.fork() forks a chain whose id nothing is configured for, and a settlement on the fork leaves the chain open", async () => {
    const { vault } = await connect();
    const fork = await open(vault);
    expect(await fork.vault.chainId()).to.equal(CHAIN_ID);
    expect(await fork.vault.block()).to.deep.equal(await vault.block());
    expect(await settle(fork)).to.equal(SETTLED_PRICE);
    expect((await vault.getLatestRoundInfo()).settled).to.equal(false);
  });

  for (const chainType of ["op", "l1"] as const) {
    it(`vault.fork() forks a chain of type ${chainType} by Hardhat's newest hardfork of such chains`, async () => {
      const { vault } = await connect({ chainType });
      const fork = await open(vault);
      expect(fork.chainType).to.equal(chainType);
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    });
  }

  it("vault.fork() calls contracts at its block by the hardfork history that the user configured, else by the hardfork that it is given or the newest, and leaves Hardhat's description of the chain", async () => {
    const contract = `0x${"5f".repeat(20)}`;
    // PUSH0, which london does not have.
    await chain.provider.send("anvil_setCode", [contract, "0x5f5ff3"]);
    const hardforkHistory = { london: { blockNumber: 0 } };
    for (const [history, hardfork, fails] of [
      [{}, undefined, false],
      [{}, "london", true],
      [{ hardforkHistory }, undefined, true],
    ] as const) {
      const { hre, vault } = await connect({}, node.url, {
        chainDescriptors: { [CHAIN_ID]: { name: "Mine", ...history } },
      });
      const descriptors = hre.config.chainDescriptors;
      const before = descriptors.get(BigInt(CHAIN_ID));
      const fork = await open(vault, { hardfork });
      const answer: unknown = await fork.provider
        .request({ method: "eth_call", params: [{ to: contract }, "latest"] })
        .catch(() => "failed");
      expect(answer).to.equal(fails ? "failed" : "0x");
      expect(descriptors.get(BigInt(CHAIN_ID))).to.equal(before);
    }
  });

  it("vault.fork() throws VAULT_ENGINE_UNAVAILABLE if the configuration has another network named vaultFork", async () => {
    const { vault } = await connect({}, node.url, {
      networks: { vaultFork: httpNetwork(chain.url) },
    });
    await expectVaultError(vault.fork(), "VAULT_ENGINE_UNAVAILABLE");
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
      "VAULT_HARDHAT_ERROR",
    );
    expect(error.message).to.contain("hardfork").and.to.contain("prague");
  });

  it("vault.fork() carries addresses, from, and tokenDecimals and guard of each instance", async () => {
    const { addresses: contracts } = chain.mocks;
    const dai = { tokenDecimals: 18, contracts: { vault: NOBODY } };
    const { vault } = await connect({
      from: FROM,
      vault: {
        ...{ contracts, tokenDecimals: 6, guard: NOBODY },
        instances: { dai: { ...dai, guard: false }, eth: {} },
      },
    });
    const { vault: forked, networkConfig } = await open(
      vault.at({ trading: NOBODY }, "--at"),
    );
    expect(networkConfig.from).to.equal(FROM);
    for (const [role, address] of [
      ["trading", NOBODY],
      ["vault", contracts.vault],
    ] as const) {
      expect((await forked.addressOf(role)).address).to.equal(address);
    }
    const ofDai = forked.instance("dai");
    expect((await ofDai.addressOf("vault")).address).to.equal(NOBODY);
    expect((await ofDai.addressOf("trading")).address).to.equal(
      contracts.trading,
    );
    for (const [each, decimals, guard] of [
      [forked, 6, NOBODY],
      [forked.instance("eth"), 6, NOBODY],
      [ofDai, 18, undefined],
    ] as const) {
      expect(each.display.tokenDecimals).to.equal(decimals);
      expect((await each.guardAddress())?.address).to.equal(guard);
    }
  });

  it("a contract without an address is missing on its fork: VAULT_CONTRACT_NOT_CONFIGURED", async () => {
    const contracts = { vault: chain.mocks.addresses.vault };
    const { vault } = await connect({ vault: { contracts } });
    const fork = await open(vault);
    await expectVaultError(
      fork.vault.getOrderInfo(1n),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  it("a fork that cannot be made leaves no folder", async () => {
    const { vault } = await connect();
    const { TMPDIR } = process.env;
    process.env["TMPDIR"] = root;
    const before = await readdir(root);
    await vault.fork({ hardfork: "atlantis" }).catch(() => undefined);
    restore("TMPDIR", TMPDIR);
    expect(await readdir(root)).to.deep.equal(before);
  });

  it("a fork and a simulation name the network that was forked in their errors", async () => {
    const { vault } = await connect();
    const fork = await open(vault);
    const nobody = fork.vault.at({ vault: NOBODY });
    for (const [work, code] of [
      [async () => await nobody.queryVolume(), "VAULT_NO_CODE"],
      [
        async () => await vault.simulateSettleAll({ engine: "fork", gas: 100 }),
        "VAULT_RPC_ERROR",
      ],
    ] as const) {
      const { message } = await expectVaultError(work, code);
      expect(message).to.include("live (fork)").and.not.include("vaultFork");
    }
  });

  it("vault.fork() reads its upstream at the head, with the network's http headers", async () => {
    const httpHeaders = { "x-api-key": "s3cret" };
    const { vault } = await connect({ httpHeaders });
    await settle(await open(vault));
    expect(
      new Set(node.httpRequests.map(({ headers }) => headers["x-api-key"])),
    ).to.deep.equal(new Set(["s3cret"]));
    const { hash } = fieldsOf(
      await chain.provider.send("eth_getBlockByNumber", ["latest", false]),
    );
    const blocks = node.requests
      .filter(({ method }) => method === "eth_getStorageAt")
      .map(({ params }) => fieldsOf(params[2])["blockHash"]);
    expect(new Set(blocks)).to.deep.equal(new Set([hash]));
  });

  it("vault.fork() throws VAULT_BLOCK_NOT_FOUND, VAULT_INVALID_ARGUMENT, or VAULT_NETWORK_UNREACHABLE for what it cannot fork", async () => {
    const { vault } = await connect();
    const { vault: down } = await connect({}, "http://127.0.0.1:1");
    const { vault: local } = await (await createTestHre()).network.create();
    const blockNumber = (await vault.block()).number + 1_000;
    for (const [refused, options, code] of [
      [vault, { blockNumber }, "VAULT_BLOCK_NOT_FOUND"],
      [vault, { blockNumber: "pending" }, "VAULT_INVALID_ARGUMENT"],
      [down, {}, "VAULT_NETWORK_UNREACHABLE"],
      [local, {}, "VAULT_INVALID_ARGUMENT"],
    ] as const) {
      await expectVaultError(refused.fork(options), code);
    }
  });

  it("vault.fork() throws VAULT_HARDHAT_ERROR if Hardhat or a plugin fails while the fork is made", async () => {
    const { hre, vault } = await connect();
    hre.network.create = () => {
      throw new Error("the plugin is broken");
    };
    await expectVaultError(vault.fork(), "VAULT_HARDHAT_ERROR");
  });

  it("two forks at once are made one after the other, and leave Hardhat without a description of the chain", async () => {
    const { hre, vault } = await connect();
    const create = hre.network.create.bind(hre.network);
    let making = 0;
    let most = 0;
    hre.network.create = async (...asked) => {
      making += 1;
      most = Math.max(most, making);
      try {
        return await create(...asked);
      } finally {
        making -= 1;
      }
    };
    const forks = await Promise.all([open(vault), open(vault)]);
    expect(most).to.equal(1);
    expect(hre.config.chainDescriptors.has(BigInt(CHAIN_ID))).to.equal(false);
    for (const fork of forks) {
      expect((await fork.vault.getLatestRoundInfo()).settled).to.equal(false);
    }
  });

  for (const [how, isNamed] of [
    ["as the latest", false],
    ["by its number", true],
  ] as const) {
    it(`a fork of a development node's newest block, named ${how}, reads what the node changed without a new block`, async () => {
      const { vault } = await connect();
      const { provider } = chain;
      const blockNumber = isNamed ? await provider.getBlockNumber() : undefined;
      const call = { method: "eth_getBalance", params: [NOBODY, "latest"] };
      for (const wei of ["0x6", "0x7"]) {
        await provider.send("anvil_setBalance", [NOBODY, wei]);
        const fork = await open(vault, { blockNumber });
        expect(await fork.provider.request(call)).to.equal(wei);
        await fork.close();
      }
    });
  }

  it("a fork reads on when the connection that it was made from is closed", async () => {
    const { hre } = await connect();
    const upstream = await hre.network.create("live");
    const fork = await open(upstream.vault);
    await upstream.close();
    expect(await settle(fork)).to.equal(SETTLED_PRICE);
    node.clear();
    expect((await fork.vault.getOrderInfo(1_000n)).number).to.equal(0n);
    expect(node.bodies).not.to.deep.equal([]);
  });

  it("a read and a settlement of a fork that is closed throw VAULT_HARDHAT_ERROR, which says so", async () => {
    const { vault } = await connect();
    const fork = await vault.fork();
    await fork.close();
    for (const work of [fork.vault.queryVolume(), fork.vault.settleAll()]) {
      const error = await expectVaultError(work, "VAULT_HARDHAT_ERROR");
      expect(error.message).to.contain("has been closed");
    }
  });

  it("vault.fork({ warm }) fetches beforehand what a call will read", async () => {
    const { vault } = await connect();
    const { data } = encodeCall("getOrderInfo", [2n]);
    const { trading: to } = chain.mocks.addresses;
    const from = { getAddress: () => FROM };
    for (const [warm, isAsked] of [
      [[], true],
      [[{ to, data }], false],
      [[{ to, data, from }], false],
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
    node.handler = async ({ request, forward }) => {
      isReplaced ||= request.method === method;
      if (!isReplaced) {
        return undefined;
      }
      if (request.method === "eth_getBlockByNumber") {
        const { result } = fieldsOf(JSON.parse(await forward()));
        return {
          result: { ...fieldsOf(result), hash: `0x${"ab".repeat(32)}` },
        };
      }
      return /^eth_get(?:Balance|Code|Storage|TransactionC)/u.test(
        request.method,
      )
        ? { error: { code: -32_000, message: "header not found" } }
        : undefined;
    };
  };

  it("simulateSettleAll on a fork throws VAULT_REORGED if the chain replaces the block while the fork is made", async () => {
    replaceBlockAfter("net_version");
    const { vault } = await connect();
    await expectVaultError(
      vault.simulateSettleAll({ engine: "fork" }),
      "VAULT_REORGED",
    );
  });

  it("a fork whose block the chain replaces says so for what it has not read, and answers what it has", async () => {
    await chain.mocks.fail("queryVolume", "closed");
    const { vault } = await connect();
    const fork = await open(vault);
    await fork.vault.snapshot();
    replaceBlockAfter("eth_getStorageAt");
    const { message } = await expectVaultError(
      fork.vault.getOrderInfo(1_000n),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.contain("Network live replaced block");
    const { round, volume } = await fork.vault.snapshot();
    expect(round).to.include({ settled: false });
    expect(volume).to.have.nested.include({
      "error.code": "VAULT_CALL_REVERTED",
    });
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
    const { vault } = await connect({ timeout: 1_000 });
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
    const { vault } = await connect({ timeout: 300 });
    holdFork();
    await expectVaultError(vault.fork(), "VAULT_RPC_TIMEOUT");
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
