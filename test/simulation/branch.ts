import { expect } from "chai";
import { id, toQuantity } from "ethers";

import { Redactor } from "../../src/redact.js";
import { Branch } from "../../src/simulation/branch.js";
import { Upstream } from "../../src/simulation/upstream.js";
import type { UpstreamAnswer } from "../../src/simulation/upstream.js";
import { expectVaultError } from "../helpers/assertions.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type {
  RecordedRequest,
  RpcReply,
  RpcServer,
} from "../helpers/rpc-server.js";
import { fieldsOf } from "../helpers/fields.js";

const NUMBER = 1_000;
const AT = toQuantity(NUMBER);
const BELOW = toQuantity(NUMBER - 9);
const ACCOUNT = `0x${"ab".repeat(20)}`;
const HASH = id("its branch");

const header = (hash: string): RpcReply => ({ result: { number: AT, hash } });
const ours = header(HASH);
const others = header(id("another branch"));
const notFound = { error: { code: -32_000, message: "header not found" } };
const badParams = { error: { code: -32_602, message: "invalid argument 1" } };
const out = { error: { code: -32_000, message: "out of luck" } };
const WRONG = { result: "0x666" };

const isHeader = ({ method }: RecordedRequest): boolean =>
  method === "eth_getBlockByNumber";
const isByHash = ({ params }: RecordedRequest): boolean =>
  params.some((each) => fieldsOf(each)["blockHash"] === HASH);

const balance = { method: "eth_getBalance", params: [ACCOUNT, AT] };
const code = { method: "eth_getCode", params: [ACCOUNT, AT] };

describe("reads of one branch of the chain", () => {
  const redactor = new Redactor();
  let server: RpcServer;
  let upstream: Upstream;
  let branch: Branch;
  /** What the node has by the block's hash, and by its number. */
  let byHash: () => RpcReply;
  let byNumber: () => RpcReply;
  let chain: () => RpcReply;

  beforeEach(async () => {
    byHash = () => ({ result: "0x7" });
    byNumber = () => WRONG;
    chain = () => ours;
    server = await startRpcServer({
      handler: ({ request }) =>
        isHeader(request) ? chain() : isByHash(request) ? byHash() : byNumber(),
    });
    const network = "live";
    upstream = new Upstream({
      ...{ network, redactor, url: server.url, headers: {}, timeout: 10_000 },
    });
    branch = new Branch(upstream, {
      ...{ network, redactor, number: NUMBER, hash: HASH },
    });
  });
  afterEach(async () => {
    await upstream.close();
    await server.stop();
  });

  const read = async (): Promise<UpstreamAnswer | undefined> =>
    (await branch.read([balance]))[0];
  /** The methods of each HTTP request. */
  const sent = (): ReadonlyArray<readonly string[]> =>
    server.bodies.map((calls) => calls.map(({ method }) => method));

  it("state is asked for by the block's hash, so that a node on another branch cannot answer", async () => {
    expect(await read()).to.deep.equal({ result: "0x7" });
    expect(sent()).to.deep.equal([["eth_getBalance"]]);
    expect(server.bodies[0]?.[0]?.params).to.deep.equal([
      ACCOUNT,
      { blockHash: HASH, requireCanonical: true },
    ]);
  });

  it("state is asked for again, by the hash, if a node behind the same URL does not have the block yet", async () => {
    let refusals = 2;
    byHash = () => (refusals-- > 0 ? notFound : { result: "0x7" });
    expect(await read()).to.deep.equal({ result: "0x7" });
  });

  for (const refusal of [
    badParams,
    // Wrong parameters are no missing block, in any words.
    { error: { code: -32_602, message: "header not found" } },
  ]) {
    it(`state is asked for by number, with the header in the same request, of a node that refuses a hash with ${refusal.error.code} "${refusal.error.message}"`, async () => {
      byHash = () => refusal;
      byNumber = () => ({ result: "0x8" });
      expect(await read()).to.deep.equal({ result: "0x8" });
      server.clear();
      expect(await branch.read([code])).to.deep.equal([{ result: "0x8" }]);
      expect(sent()).to.deep.equal([["eth_getCode", "eth_getBlockByNumber"]]);
      chain = () => others;
      await expectVaultError(read(), "VAULT_FORK_REORGED");
    });
  }

  it("a read throws VAULT_RPC_ERROR if the node refuses the header behind state by number", async () => {
    byHash = () => badParams;
    chain = () => out;
    await expectVaultError(read(), "VAULT_RPC_ERROR");
  });

  for (const refusal of [
    badParams,
    { error: { code: -32_000, message: "invalid block number" } },
  ]) {
    it(`a value that one node of a gateway refuses by the hash with "${refusal.error.message}" is asked for by number, beside those that another one has`, async () => {
      let asked = 0;
      byHash = () => (asked++ === 0 ? { result: "0x7" } : refusal);
      byNumber = () => ({ result: "0x8" });
      expect(await branch.read([balance, code])).to.deep.equal([
        ...[{ result: "0x7" }, { result: "0x8" }],
      ]);
    });
  }

  it("a node that refuses state by hash and by number is asked by the hash the next time", async () => {
    byHash = () => out;
    byNumber = () => out;
    expect(await read()).to.deep.equal(out);
    byHash = () => ({ result: "0x7" });
    expect(await read()).to.deep.equal({ result: "0x7" });
  });

  it("no state is taken of a node without batches that replaced the block between state and header", async () => {
    byHash = () => badParams;
    server.batch = () => 413;
    const { handler } = server;
    let headers = 0;
    server.handler = (exchange) => {
      const { isBatch, request } = exchange;
      headers += isHeader(request) && !isBatch ? 1 : 0;
      // The first is under way together with the state.
      chain = () => (headers > 1 ? others : ours);
      return handler(exchange);
    };
    await expectVaultError(read(), "VAULT_FORK_REORGED");
  });

  it("the block itself is asked for again while the node has none at its number or one without a hash, and is not taken of another branch", async () => {
    const answers = [{ result: null }, header("0x12")];
    chain = () => answers.pop() ?? ours;
    const block = { method: "eth_getBlockByNumber", params: [AT, true] };
    expect(await branch.read([block])).to.deep.equal([ours]);
    chain = () => others;
    await expectVaultError(branch.read([block]), "VAULT_FORK_REORGED");
  });

  for (const [method, ...params] of [
    ["eth_getBlockByNumber", BELOW, true],
    ["eth_getLogs", {}],
    ["eth_getBlockReceipts", BELOW],
    ["eth_getTransactionByHash", HASH],
    ["eth_getTransactionReceipt", HASH],
    ["eth_feeHistory", "0x1", BELOW, []],
    ["eth_getBalance", ACCOUNT, BELOW],
  ] as const) {
    it(`${method} below the block is asked for with the block's header, and not taken once the chain has replaced the block`, async () => {
      const call = { method, params };
      expect([branch.isOfTip(call), branch.isOfChain(call)]).to.deep.equal([
        ...[false, true],
      ]);
      await branch.readBelow(call);
      expect(sent()).to.deep.equal([[method, "eth_getBlockByNumber"]]);
      expect(server.bodies[0]?.[1]?.params).to.deep.equal([AT, false]);
      if (method !== "eth_getBlockByNumber") {
        chain = () => others;
        await expectVaultError(branch.readBelow(call), "VAULT_FORK_REORGED");
      }
    });
  }

  it("a price and a balance at the head are neither of the block nor of its branch", () => {
    for (const call of [
      { method: "eth_gasPrice", params: [] },
      { method: "eth_getBalance", params: [ACCOUNT, "latest"] },
    ]) {
      expect(branch.isOfTip(call) || branch.isOfChain(call)).to.equal(false);
    }
  });

  it("nothing is asked for any more once the chain has replaced the block", async () => {
    byHash = () => notFound;
    chain = () => others;
    const { details } = await expectVaultError(read(), "VAULT_FORK_REORGED");
    expect(details).to.include({ network: "live", block: NUMBER });
    expect(branch.ended?.code).to.equal("VAULT_FORK_REORGED");
    server.clear();
    await expectVaultError(read(), "VAULT_FORK_REORGED");
    await expectVaultError(branch.readBelow(code), "VAULT_FORK_REORGED");
    expect(server.bodies).to.deep.equal([]);
  });

  it("a read throws VAULT_BLOCK_NOT_FOUND if the node does not get the block", async () => {
    byHash = () => notFound;
    chain = () => ({ result: null });
    const { details } = await expectVaultError(read(), "VAULT_BLOCK_NOT_FOUND");
    expect(details).to.include({ network: "live", block: NUMBER });
  });
});
