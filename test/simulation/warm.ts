import { expect } from "chai";
import { ZeroAddress, id, toQuantity } from "ethers";

import { Redactor } from "../../src/redact.js";
import { Memo } from "../../src/simulation/memo.js";
import { parseWarmCall, planForFork, warm } from "../../src/simulation/warm.js";
import { expectVaultError } from "../helpers/assertions.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type {
  RecordedRequest,
  RpcReply,
  RpcServer,
} from "../helpers/rpc-server.js";
import { FACTORY, SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const NUMBER = 1_000;
const AT = toQuantity(NUMBER);
const HASH = id("block 1000");
const FROM = `0x${"aa".repeat(20)}`;
const TO = `0x${"bb".repeat(20)}`;
const FOUND = `0x${"cc".repeat(20)}`;
const SLOT = `0x${"1".padStart(64, "0")}`;
const LIST = "eth_createAccessList";

const missing = { error: { code: -32_601, message: "Method not found" } };
const plan = { calls: [{ from: FROM, to: TO, data: "0x" }], accounts: [FROM] };

describe("warming of a fork", () => {
  let server: RpcServer;
  let memo: Memo;
  /** Answers to the search for slots. */
  let answers: Readonly<Record<string, RpcReply>>;

  beforeEach(async () => {
    answers = {};
    server = await startRpcServer({
      handler: ({ request: { method } }) =>
        answers[method] ?? {
          result:
            method === "eth_getBlockByNumber"
              ? { number: AT, timestamp: "0x1", hash: HASH }
              : "0x07",
        },
    });
    memo = new Memo({
      ...{ network: "live", redactor: new Redactor(), url: server.url },
      ...{ headers: {}, timeout: 10_000, number: NUMBER, hash: HASH },
    });
  });
  afterEach(async () => {
    await memo.close();
    await server.stop();
  });

  const calls = (): readonly RecordedRequest[] => server.bodies.flat();
  /** The accounts and slots of storage that are asked for. */
  const slots = (): ReadonlyArray<readonly unknown[]> =>
    calls()
      .filter(({ method }) => method === "eth_getStorageAt")
      .map(({ params }) => params.slice(0, 2));

  const list = [{ address: FOUND, storageKeys: [SLOT] }];
  const oddList = {
    accessList: [
      { address: 7, storageKeys: [SLOT] },
      { address: FOUND, storageKeys: ["0x1", 7] },
    ],
  };
  for (const [title, answer, found] of [
    ["an access list", { result: { accessList: list } }, true],
    [
      "the access list of a call that reverts",
      { result: { accessList: list, error: "execution reverted" } },
      true,
    ],
    ["no access list", missing, false],
    ["entries of another form", { result: oddList }, false],
  ] as const) {
    it(`warm() fetches ${found ? "the slots" : "no slot"} of a node that answers ${title}`, async () => {
      answers = { [LIST]: answer };
      await warm(memo, NUMBER, plan);
      expect(slots()).to.deep.equal(found ? [[FOUND, SLOT]] : []);
    });
  }

  it("warm() fetches balance, nonce and code of accounts, of the calls' and of those that are found, each once, and a read asks for none of them again", async () => {
    answers = { [LIST]: { result: { accessList: list } } };
    await warm(memo, NUMBER, plan);
    const asked = calls()
      .filter(({ method }) => /Balance|Count|Code/u.test(method))
      .map(({ method, params }) => `${method} ${String(params[0])}`);
    expect(asked).to.have.members([
      // Whether the node takes hashes.
      `eth_getBalance ${ZeroAddress}`,
      ...[FROM, TO, FOUND].flatMap((account) =>
        ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"].map(
          (method) => `${method} ${account}`,
        ),
      ),
    ]);
    server.clear();
    const call = { method: "eth_getCode", params: [FOUND, AT] };
    expect(await memo.get(call)).to.equal("0x07");
    expect(server.bodies).to.deep.equal([]);
  });

  it("planForFork() has the reads, the settlement as the network's from, the calls as their from, else as the sender of reads, and Hardhat's coinbase, the sender of reads and ArbSys", async () => {
    const from = SETTLER.toLowerCase();
    const host = new ScriptedNode().host({ settings: { from } });
    const coinbase = new Uint8Array(20).fill(7);
    const own = { to: TO, data: "0x12345678" };
    const { calls: planned, accounts } = await planForFork(
      ...([host, coinbase, NUMBER, [own, { ...own, from: FROM }]] as const),
    );
    expect(planned.slice(-3)).to.deep.equal([
      { from: SETTLER, to: VAULT, data: "0xa015aefe" },
      { ...own, from: ZeroAddress },
      { ...own, from: FROM },
    ]);
    expect(planned.slice(0, -3).map((call) => call.to)).to.have.members([
      ...[FACTORY, FACTORY, VAULT, VAULT],
    ]);
    expect(accounts).to.include.members([
      ...[SETTLER, VAULT, FACTORY, ZeroAddress, `0x${"07".repeat(20)}`],
      `0x${"64".padStart(40, "0")}`,
    ]);
  });

  it("parseWarmCall() refuses data and an address that are none: VAULT_INVALID_ARGUMENT, VAULT_INVALID_ADDRESS", async () => {
    for (const [call, code] of [
      [{ to: TO, data: "0x1" }, "VAULT_INVALID_ARGUMENT"],
      [{ to: "0x1", data: "0x" }, "VAULT_INVALID_ADDRESS"],
      [{ to: TO, data: "0x", from: "0x1" }, "VAULT_INVALID_ADDRESS"],
    ] as const) {
      await expectVaultError(() => parseWarmCall(call), code);
    }
    expect(parseWarmCall({ to: TO, data: "0x", from: SETTLER })).to.include({
      from: SETTLER,
    });
  });
});
