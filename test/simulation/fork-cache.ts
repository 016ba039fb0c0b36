import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { tmpdir } from "node:os";

import { expect } from "chai";
import { toQuantity } from "ethers";

import { encodeCall } from "../../src/client/codec.js";
import type { ForkConnection } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  SETTLED_PRICE,
  SETTLEMENT_CHANGES,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { mined } from "../helpers/transactions.js";

const NOBODY = "0x00000000000000000000000000000000000000Aa";

describe("the cache of a fork", () => {
  const anvil = useAnvil();
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let node: RpcServer;
  let root: string;
  let forks: ForkConnection[];

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
  });
  after(() => {
    provider.destroy();
  });
  beforeEach(async () => {
    node = await startRpcServer({
      ...{ upstream: anvil.url, latencyMs: 20, isInStep: true },
    });
    root = await mkdtemp(path.join(tmpdir(), "vault-fork-"));
    await writeFile(path.join(root, "package.json"), "{}");
    forks = [];
  });
  afterEach(async () => {
    await Promise.all(forks.map(async (each) => await each.close()));
    await node.stop();
    await rm(root, { recursive: true });
  });

  async function open(httpHeaders: Record<string, string> = {}) {
    const vault = { contracts: protocol.contracts };
    const hre = await hreOnLive(node.url, { vault, httpHeaders }, root);
    return (await hre.network.create()).vault;
  }

  async function fork(
    options: Parameters<Awaited<ReturnType<typeof open>>["fork"]>[0] = {},
  ): Promise<ForkConnection> {
    const opened = await (await open()).fork(options);
    forks.push(opened);
    return opened;
  }

  const addressOf = async (connection: ForkConnection): Promise<string> => {
    const { forking } = fieldsOf(connection.networkConfig);
    const { url } = fieldsOf(forking);
    // a variable of Hardhat's configuration
    return await (url as { getUrl(): Promise<string> }).getUrl();
  };

  const ask = async (
    url: string,
    method: string,
    ...params: unknown[]
  ): Promise<Response> =>
    await fetch(url, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
    });

  const settle = async (connection: ForkConnection): Promise<bigint> => {
    expect((await connection.vault.settleAll()).status).to.equal("settled");
    return (await connection.vault.getLatestRoundInfo()).settledPrice;
  };

  it("a fork is made, snapshots and settles in at most 5 waves and 12 requests, nine of them before it is made", async () => {
    const forked = await fork();
    expect((await forked.vault.snapshot()).round).to.include({
      settled: false,
    });
    expect(node.bodies).to.have.length.below(10);
    expect(await settle(forked)).to.equal(SETTLED_PRICE);
    expect(node.bodies).to.have.length.below(13);
    expect(node.waves).to.be.below(6);
  });

  it("simulateSettleAll on a fork makes at most 15 requests in 5 waves", async () => {
    const simulation = await (
      await open()
    ).simulateSettleAll({ engine: "fork" });
    expect(simulation.changes).to.deep.equal(SETTLEMENT_CHANGES);
    expect(node.bodies).to.have.length.below(16);
    expect(node.waves).to.be.below(6);
  });

  for (const [how, options] of [
    ["as the latest", async () => await Promise.resolve({})],
    [
      "by its number",
      async () => ({ blockNumber: await provider.getBlockNumber() }),
    ],
  ] as const) {
    it(`a fork of a development node's newest block, named ${how}, reads what the node changed without a new block, while another fork is open and after it`, async () => {
      const balance = async (connection: ForkConnection): Promise<unknown> =>
        await connection.provider.request({
          method: "eth_getBalance",
          params: [NOBODY, "latest"],
        });
      const named = await options();
      expect(await balance(await fork(named))).to.equal("0x0");
      try {
        await provider.send("anvil_setBalance", [NOBODY, "0x7"]);
        expect(await balance(await fork(named)), "a fork beside it").to.equal(
          "0x7",
        );
        await Promise.all(forks.map(async (one) => await one.close()));
        forks = [];
        await provider.send("anvil_setBalance", [NOBODY, "0x8"]);
        expect(await balance(await fork(named)), "a fork after it").to.equal(
          "0x8",
        );
      } finally {
        await provider.send("anvil_setBalance", [NOBODY, "0x0"]);
      }
    });
  }

  it("forks of two blocks at once each have the state of their own", async () => {
    const number = await provider.getBlockNumber();
    const { vault } = protocol.mocks;
    await mined(await vault.setSettlement(77n, 1n));
    const opened = await Promise.all([fork({ blockNumber: number }), fork()]);
    expect(await Promise.all(opened.map(settle))).to.deep.equal([
      SETTLED_PRICE,
      77n,
    ]);
    await mined(await vault.setSettlement(SETTLED_PRICE, 1n));
  });

  it("a fork of a past block is kept on disk without URL and headers, and one of the newest block is not", async () => {
    const number = await provider.getBlockNumber();
    await provider.send("anvil_mine", []);
    const folder = path.join(root, "cache", "vault-forks");
    await (await fork()).close();
    expect(existsSync(folder)).to.equal(false);
    const vault = await open({ "x-api-key": "s3cret-header" });
    const kept = await vault.fork({ blockNumber: number });
    expect(await settle(kept)).to.equal(SETTLED_PRICE);
    await kept.close();
    const [file = "", ...more] = await readdir(folder);
    expect(more).to.deep.equal([]);
    const text = await readFile(path.join(folder, file), "utf8");
    expect(`${file} ${text}`).to.not.match(/s3cret|127\.0\.0\.1/u);
    node.clear();
    const again = await vault.fork({ blockNumber: number });
    expect(await settle(again)).to.equal(SETTLED_PRICE);
    await again.close();
    expect(
      node.bodies.flat().filter(({ method }) => /Storage|Code/u.test(method)),
    ).to.deep.equal([]);
  });

  for (const [title, text] of [
    ["is no JSON", "{"],
    [
      "has another block",
      `{"eth_getBlockByNumber true":{"hash":"0x${"12".repeat(32)}"}}`,
    ],
    ["has a value of another form", '{"eth_getCode 0x1":{"hash":"0x1"}}'],
  ] as const) {
    it(`a fork of a past block asks the node if its file ${title}`, async () => {
      const number = await provider.getBlockNumber();
      await provider.send("anvil_mine", []);
      await (await fork({ blockNumber: number })).vault.snapshot();
      await forks.pop()?.close();
      const folder = path.join(root, "cache", "vault-forks");
      const [file = ""] = await readdir(folder);
      await writeFile(path.join(folder, file), text);
      expect(await settle(await fork({ blockNumber: number }))).to.equal(
        SETTLED_PRICE,
      );
    });
  }

  it("the cache answers on loopback under its own path only, until the fork is closed", async () => {
    const forked = await fork();
    const url = await addressOf(forked);
    expect(url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{48}$/u);
    expect((await ask(url, "eth_chainId")).status).to.equal(200);
    for (const other of [new URL("/", url).href, `${url}0`]) {
      expect((await ask(other, "eth_chainId")).status).to.equal(404);
    }
    expect((await fetch(url)).status).to.equal(404);
    await forked.close();
    forks = [];
    const answered: unknown = await ask(url, "eth_chainId").catch(
      (thrown: unknown) => thrown,
    );
    expect(String(answered)).to.equal("TypeError: fetch failed");
  });

  it("the cache adds the network's headers to every request, and hands none out", async () => {
    node.handler = ({ response }) => {
      response.setHeader("x-secret-of-node", "1");
      return undefined;
    };
    const vault = await open({ "x-api-key": "s3cret" });
    const forked = await vault.fork();
    forks.push(forked);
    await forked.vault.snapshot();
    const answered = await ask(await addressOf(forked), "eth_gasPrice");
    expect(answered.headers.get("x-secret-of-node")).to.equal(null);
    expect(
      new Set(node.httpRequests.map(({ headers }) => headers["x-api-key"])),
    ).to.deep.equal(new Set(["s3cret"]));
    expect(fieldsOf(fieldsOf(forked.networkConfig)["forking"])).to.not.include({
      httpHeaders: { "x-api-key": "s3cret" },
    });
  });

  it("the cache passes on what is not of its block, and answers with the id of the request", async () => {
    const forked = await fork();
    const url = await addressOf(forked);
    await forked.vault.snapshot();
    node.clear();
    const answer: unknown = await (
      await ask(url, "eth_getBalance", NOBODY, "latest")
    ).json();
    expect(answer).to.deep.equal({ jsonrpc: "2.0", id: 7, result: "0x0" });
    const batch = [7, "b"].map((id) => ({ id, method: "eth_chainId" }));
    const body = JSON.stringify(batch);
    const answers: unknown = await (
      await fetch(url, { method: "POST", body })
    ).json();
    expect(answers).to.deep.equal(
      [7, "b"].map((id) => ({ jsonrpc: "2.0", id, result: "0x7a69" })),
    );
    expect(node.bodies).to.deep.equal([
      [
        {
          ...{ jsonrpc: "2.0", id: 1, method: "eth_getBalance" },
          params: [NOBODY, "latest"],
        },
      ],
    ]);
  });

  it("the cache asks again for a value that the node answered with an error", async () => {
    const forked = await fork();
    let isRefused = true;
    node.answer = ({ method, params }) =>
      method === "eth_getBalance" &&
      params[0] === NOBODY.toLowerCase() &&
      isRefused
        ? { error: { code: -32_000, message: "no luck" } }
        : undefined;
    const balance = async (): Promise<unknown> =>
      await forked.provider.request({
        method: "eth_getBalance",
        params: [NOBODY, "latest"],
      });
    const error: unknown = await balance().catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("no luck");
    isRefused = false;
    expect(await balance()).to.equal("0x0");
  });

  it("a fork takes null from the node for no value of a slot", async () => {
    const forked = await fork();
    await forked.vault.snapshot();
    node.answer = ({ method }) =>
      method === "eth_getStorageAt" ? { result: null } : undefined;
    const slot = async (): Promise<unknown> =>
      await forked.provider.request({
        method: "eth_getStorageAt",
        params: [protocol.contracts.vault, "0x777", "latest"],
      });
    const error: unknown = await slot().catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("eth_getStorageAt");
    expect(String(error)).to.contain("the value has another form");
    node.answer = () => undefined;
    expect(await slot()).to.equal(`0x${"0".repeat(64)}`);
  });

  /** Once a fork has read its block, the node has another one at the number. */
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
      await expectVaultError(
        (await open()).simulateSettleAll({ engine: "fork" }),
        "VAULT_FORK_REORGED",
      );
    });
  }

  it("a fork whose block the chain replaces throws VAULT_FORK_REORGED for what it has not read, and answers what it has", async () => {
    const forked = await fork();
    await forked.vault.snapshot();
    replaceBlockAfter("eth_getStorageAt");
    await expectVaultError(
      forked.vault.getOrderInfo(1_000n),
      "VAULT_FORK_REORGED",
    );
    expect((await forked.vault.snapshot()).round).to.include({
      settled: false,
    });
  });

  it("a read of a fork that is closed throws VAULT_FORK_CLOSED", async () => {
    const forked = await fork();
    await forked.close();
    for (const read of [
      forked.vault.queryVolume(),
      forked.vault.snapshot(),
      forked.vault.simulateSettleAll(),
      forked.vault.settleAll(),
    ]) {
      const { message } = await expectVaultError(read, "VAULT_FORK_CLOSED");
      expect(message).to.contain("network live");
    }
  });

  it("a fork leaves no folder of Hardhat's simulator behind: it is removed when the fork is made, and when it is closed after it has read an old block", async () => {
    const old = toQuantity((await provider.getBlockNumber()) - 1);
    const forked = await fork();
    const { cacheDir } = fieldsOf(fieldsOf(forked.networkConfig)["forking"]);
    expect(path.dirname(String(cacheDir))).to.equal(tmpdir());
    expect(existsSync(String(cacheDir)), "made").to.equal(false);
    await forked.provider.request({
      ...{ method: "eth_getBlockByNumber", params: [old, false] },
    });
    await forked.close();
    expect(existsSync(String(cacheDir)), "closed").to.equal(false);
    expect(await readdir(root)).to.deep.equal(["package.json"]);
  });

  it("fork() refuses a call to warm for that is none: VAULT_INVALID_ARGUMENT, VAULT_INVALID_ADDRESS", async () => {
    const vault = await open();
    const to = NOBODY;
    await expectVaultError(
      vault.fork({ warm: [{ to, data: "0x1" }] }),
      "VAULT_INVALID_ARGUMENT",
    );
    await expectVaultError(
      vault.fork({ warm: [{ to: "0x1", data: "0x" }] }),
      "VAULT_INVALID_ADDRESS",
    );
  });

  it("fork() warms for the calls that it is given", async () => {
    const { data } = encodeCall("getOrderInfo", [2n]);
    const { trading: to } = protocol.contracts;
    const asked = async (
      warm: ReadonlyArray<{ to: string; data: string }>,
    ): Promise<number> => {
      const forked = await fork({ warm });
      await forked.vault.snapshot();
      node.clear();
      await forked.vault.getOrderInfo(2n);
      await forked.close();
      forks = [];
      return node.bodies.length;
    };
    expect(await asked([])).to.be.greaterThan(0);
    expect(await asked([{ to, data }])).to.equal(0);
  });
});
