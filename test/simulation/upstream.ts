import { expect } from "chai";

import { Redactor } from "../../src/redact.js";
import { Upstream } from "../../src/simulation/upstream.js";
import type { UpstreamCall } from "../../src/simulation/upstream.js";
import { answerEach, startBatchServer } from "../helpers/batch-server.js";
import type { AskedCall, BatchServer } from "../helpers/batch-server.js";

const out = { error: { code: -32_000, message: "out of luck" } };
const failed = { error: { code: -32_603, message: "no" } };
const limited = { error: { code: -32_005, message: "limit exceeded" } };

const named = (...methods: readonly string[]): readonly UpstreamCall[] =>
  methods.map((method) => ({ method, params: [] }));

const many = (count: number): readonly UpstreamCall[] =>
  named(...Array.from({ length: count }, (_, index) => `m${index}`));

describe("requests of a fork to its node", () => {
  let server: BatchServer;
  let upstream: Upstream;

  beforeEach(async () => {
    server = await startBatchServer(
      answerEach(({ method }) => ({ result: method })),
    );
    upstream = connect();
  });
  afterEach(async () => {
    await upstream.close();
    await server.stop();
  });

  function connect(): Upstream {
    const { url } = server;
    return new Upstream({
      network: "live",
      redactor: new Redactor(),
      url,
      headers: {},
      timeout: 10_000,
    });
  }

  /** The methods of each HTTP request. */
  const sent = (): ReadonlyArray<readonly string[]> =>
    server.bodies.map((calls) => calls.map(({ method }) => method));

  const sizes = (): readonly number[] =>
    server.bodies.map(({ length }) => length);

  it("calls go in one batch, and each gets the answer with its id", async () => {
    server.answer = (calls) => [
      ...calls.map(right).toReversed(),
      { id: null, result: "nobody's" },
      { id: 7, result: "nobody's" },
    ];
    expect(await upstream.ask(named("a", "b", "c"))).to.deep.equal({
      answers: [{ result: "a" }, { result: "b" }, { result: "c" }],
      isOneRequest: true,
    });
    expect(sent()).to.deep.equal([["a", "b", "c"]]);
  });

  it("a call goes alone, and a result that the node leaves out is null", async () => {
    server.answer = ([call]) => ({ jsonrpc: "2.0", id: call?.id });
    expect(await upstream.ask(named("a"))).to.deep.equal({
      answers: [{ result: null }],
      isOneRequest: true,
    });
    expect(await upstream.ask([])).to.deep.equal({
      answers: [],
      isOneRequest: true,
    });
    expect(sent()).to.deep.equal([["a"]]);
  });

  it("calls that a batch answers with an error are asked again, each alone, if the first of them then passes", async () => {
    server.answer = answerEach(({ id, method }, isBatch) =>
      isBatch && id > 0 ? out : { result: method },
    );
    const asked = await upstream.ask(named("a", "b", "c", "d"));
    expect(asked.answers).to.deep.equal(
      ["a", "b", "c", "d"].map((result) => ({ result })),
    );
    expect(asked.isOneRequest).to.equal(false);
    const [batch, first, ...others] = sent();
    expect([batch, first]).to.deep.equal([["a", "b", "c", "d"], ["b"]]);
    expect(others).to.have.deep.members([["c"], ["d"]]);
  });

  it("of calls that a batch answers with an error only the first is asked again if it fails alone, too", async () => {
    server.answer = answerEach(() => out);
    expect(await upstream.ask(named("a", "b", "c"))).to.deep.equal({
      answers: [out, out, out],
      isOneRequest: false,
    });
    expect(sent()).to.deep.equal([["a", "b", "c"], ["a"]]);
  });

  for (const [title, error] of [
    ["a revert", { code: 3, message: "execution reverted", data: "0x" }],
    ["a method that is missing", { code: -32_601, message: "no" }],
    ["parameters that are refused", { code: -32_602, message: "no" }],
  ] as const) {
    it(`a call that a batch answers with ${title} is not asked again`, async () => {
      server.answer = answerEach(({ id, method }) =>
        id === 0 ? { error } : { result: method },
      );
      expect(await upstream.ask(named("a", "b"))).to.deep.equal({
        answers: [{ error }, { result: "b" }],
        isOneRequest: true,
      });
      expect(server.bodies).to.have.length(1);
    });
  }

  it("calls that a batch leaves out are asked again, and then one request did not bring all", async () => {
    server.answer = (calls, isBatch) =>
      isBatch ? calls.slice(1).map(right) : calls.map(right)[0];
    const asked = await upstream.ask(named("a", "b", "c"));
    expect(asked.answers).to.deep.equal(
      ["a", "b", "c"].map((result) => ({ result })),
    );
    expect(asked.isOneRequest).to.equal(false);
    expect(sent()).to.deep.equal([["a", "b", "c"], ["a"]]);
  });

  it("a batch that is refused is cut, one batch shows the size that the node takes, and later calls begin with it", async () => {
    server.answer = (calls) => (calls.length > 10 ? 413 : calls.map(right));
    const { answers, isOneRequest } = await upstream.ask(many(35));
    expect(answers).to.deep.equal(
      many(35).map(({ method: result }) => ({ result })),
    );
    expect(isOneRequest).to.equal(false);
    expect(sizes()).to.deep.equal([35, 10, 10, 10, 5]);
    server.bodies.length = 0;
    await upstream.ask(many(12));
    expect(sizes()).to.deep.equal([10, 2]);
  });

  it("a batch of a size that the node has not answered yet goes ahead of the others", async () => {
    server.answer = (calls) => (calls.length > 10 ? 413 : calls.map(right));
    await upstream.ask(many(250));
    // Not the other hundreds, too.
    expect(sizes().filter((size) => size > 10)).to.deep.equal([250, 100]);
  });

  it("batches of a size that the node answered go at the same time", async () => {
    server.answer = (calls) => (calls.length > 10 ? 413 : calls.map(right));
    await upstream.ask(many(20));
    let arrived = 0;
    let release = (): void => undefined;
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.answer = async (calls) => {
      arrived += 1;
      if (arrived === 2) {
        release();
      }
      await both;
      return calls.map(right);
    };
    const { answers } = await upstream.ask(many(20));
    expect(answers).to.have.length(20);
  });

  it("a large batch that is refused after a small one does not raise the size again", async () => {
    server.answer = (calls) => (calls.length > 100 ? 413 : calls.map(right));
    await upstream.ask(many(150));
    let release = (): void => undefined;
    const cut = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.bodies.length = 0;
    server.answer = async (calls, isBatch) => {
      if (calls.length === 100) {
        await cut;
      } else if (!isBatch) {
        // The small one is cut by now.
        release();
      }
      return isBatch ? 413 : calls.map(right)[0];
    };
    const { answers } = await upstream.ask(many(105));
    expect(answers).to.have.length(105);
    expect(sizes().filter((size) => size > 1)).to.have.members([100, 5]);
  });

  for (const status of [401, 403]) {
    it(`a batch that is refused with HTTP status ${status} is not cut`, async () => {
      server.answer = () => status;
      const error: unknown = await upstream
        .ask(named("a", "b", "c"))
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error);
      expect(server.bodies).to.have.length(1);
    });
  }

  it("calls go alone after a batch in which the node limited the rate, and optional ones no more", async () => {
    server.answer = answerEach(({ method }, isBatch) =>
      isBatch ? limited : { result: method },
    );
    await upstream.ask(many(150));
    expect(sizes().filter((size) => size > 1)).to.have.length(1);
    expect(await upstream.ask(named("a", "b"), "optional")).to.deep.equal({
      answers: [{ error: undefined }, { error: undefined }],
      isOneRequest: false,
    });
    expect(server.bodies).to.have.length(151);
  });

  it("an optional call whose rate is limited is repeated once, then no more are sent; a needed one goes on", async () => {
    let refusals = 4;
    server.answer = answerEach(({ method }) =>
      refusals-- > 0 ? limited : { result: method },
    );
    const { answers } = await upstream.ask(named("a"), "optional");
    expect(answers).to.deep.equal([limited]);
    expect(server.bodies).to.have.length(2);
    await upstream.ask(named("b"), "optional");
    expect(server.bodies).to.have.length(2);
    const needed = await upstream.ask(named("c"));
    expect(needed.answers).to.deep.equal([{ result: "c" }]);
    expect(sent().slice(2)).to.deep.equal([["c"], ["c"], ["c"]]);
  });

  for (const [title, failures] of [
    ["an HTTP status", [429, 429, 429, 503, 503]],
    ["a JSON-RPC error", [limited, limited, limited, failed, failed]],
    ["one after the other", [429, failed, limited, 503, limited]],
  ] as const) {
    it(`a call is answered if the node limits the rate three times and fails twice: by ${title}`, async () => {
      server.answer = ([call]) => {
        const failure = failures[server.bodies.length - 1];
        return typeof failure === "number"
          ? failure
          : { id: call?.id, result: "right", ...failure };
      };
      const { answers } = await upstream.ask(named("a"));
      expect(answers).to.deep.equal([{ result: "right" }]);
      expect(server.bodies).to.have.length(6);
    });
  }

  it("a call is asked three times if each answer is another kind of failure in passing", async () => {
    server.answer = ([call]) =>
      server.bodies.length % 2 === 1 ? 503 : { id: call?.id, ...failed };
    const error: unknown = await upstream
      .ask(named("a"))
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(server.bodies).to.have.length(3);
  });

  it("optional calls never take the place of a needed one, at most sixteen at the same time", async () => {
    let open = 0;
    let release = (): void => undefined;
    const full = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.answer = async (calls) => {
      if (calls[0]?.method !== "slow") {
        return calls.map(right)[0];
      }
      open += 1;
      if (open === 16) {
        release();
      }
      return await new Promise(() => undefined);
    };
    const waiting = Array.from(
      { length: 20 },
      async () => await upstream.ask(named("slow"), "optional").catch(String),
    );
    await full;
    const { answers } = await upstream.ask(named("needed"));
    expect(answers).to.deep.equal([{ result: "needed" }]);
    expect(open).to.equal(16);
    await upstream.close();
    await Promise.all(waiting);
    expect(open).to.equal(16);
    upstream = connect();
  });

  it("nothing is sent once the fork is closed", async () => {
    await upstream.close();
    const error: unknown = await upstream
      .ask(named("a"))
      .catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("the fork is closed");
    expect(sent()).to.deep.equal([]);
    upstream = connect();
  });
});

const right = ({ id, method }: AskedCall) => ({
  ...{ jsonrpc: "2.0", id, result: method },
});
