import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import { text } from "node:stream/consumers";

import { expect } from "chai";

import { Upstream } from "../../src/simulation/upstream.js";
import type { UpstreamCall } from "../../src/simulation/upstream.js";
import { fieldsOf } from "../helpers/fields.js";

interface Asked {
  readonly id: number;
  readonly method: string;
}

/** Answers a body; a number is an HTTP status. */
type Answer = (calls: readonly Asked[], isBatch: boolean) => unknown;

const out = { error: { code: -32_000, message: "out of luck" } };
const limited = { error: { code: -32_005, message: "limit exceeded" } };

const named = (...methods: readonly string[]): readonly UpstreamCall[] =>
  methods.map((method) => ({ method, params: [] }));

const many = (count: number): readonly UpstreamCall[] =>
  named(...Array.from({ length: count }, (_, index) => `m${index}`));

describe("requests of a fork to its node", () => {
  let server: Server;
  let upstream: Upstream;
  /** The methods of each HTTP request. */
  let bodies: string[][];
  let answer: Answer;
  /** Never resolved: for requests that stay open. */
  const forever = new Promise<never>(() => undefined);

  beforeEach(async () => {
    bodies = [];
    server = createServer((request, response) => {
      void (async () => {
        const body: unknown = JSON.parse(await text(request));
        // what a fork sends is JSON-RPC
        const calls = [body].flat() as readonly Asked[];
        bodies.push(calls.map(({ method }) => method));
        const reply = await answer(calls, Array.isArray(body));
        response.statusCode = typeof reply === "number" ? reply : 200;
        response.end(JSON.stringify(reply));
      })();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    answer = (calls, isBatch) => {
      const answers = calls.map(right);
      return isBatch ? answers : answers[0];
    };
    upstream = connect();
  });
  afterEach(async () => {
    await upstream.close();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  function connect(): Upstream {
    const { port } = fieldsOf(server.address());
    const url = `http://127.0.0.1:${String(port)}`;
    return new Upstream({ network: "live", url, headers: {}, timeout: 10_000 });
  }

  const right = ({ id, method }: Asked) => ({
    ...{ jsonrpc: "2.0", id, result: method },
  });

  /** Each call's own answer, alone and in a batch. */
  const answerEach =
    (each: (call: Asked, isBatch: boolean) => object): Answer =>
    (calls, isBatch) => {
      const answers = calls.map((call) => ({
        ...{ jsonrpc: "2.0", id: call.id },
        ...each(call, isBatch),
      }));
      return isBatch ? answers : answers[0];
    };

  it("calls go in one batch, and each gets the answer with its id", async () => {
    answer = (calls) => [
      ...calls.map(right).toReversed(),
      { id: null, result: "nobody's" },
      { id: 7, result: "nobody's" },
    ];
    expect(await upstream.ask(named("a", "b", "c"))).to.deep.equal({
      answers: [{ result: "a" }, { result: "b" }, { result: "c" }],
      isOneRequest: true,
    });
    expect(bodies).to.deep.equal([["a", "b", "c"]]);
  });

  it("a call goes alone, and a result that the node leaves out is null", async () => {
    answer = ([call]) => ({ jsonrpc: "2.0", id: call?.id });
    expect(await upstream.ask(named("a"))).to.deep.equal({
      answers: [{ result: null }],
      isOneRequest: true,
    });
    expect(await upstream.ask([])).to.deep.equal({
      answers: [],
      isOneRequest: true,
    });
    expect(bodies).to.deep.equal([["a"]]);
  });

  it("calls that a batch answers with an error are asked again, each alone, if the first of them then passes", async () => {
    answer = answerEach(({ id, method }, isBatch) =>
      isBatch && id > 0 ? out : { result: method },
    );
    const asked = await upstream.ask(named("a", "b", "c", "d"));
    expect(asked.answers).to.deep.equal(
      ["a", "b", "c", "d"].map((result) => ({ result })),
    );
    expect(asked.isOneRequest).to.equal(false);
    const [batch, first, ...others] = bodies;
    expect([batch, first]).to.deep.equal([["a", "b", "c", "d"], ["b"]]);
    expect(others).to.have.deep.members([["c"], ["d"]]);
  });

  it("of calls that a batch answers with an error only the first is asked again if it fails alone, too", async () => {
    answer = answerEach(() => out);
    expect(await upstream.ask(named("a", "b", "c"))).to.deep.equal({
      answers: [out, out, out],
      isOneRequest: false,
    });
    expect(bodies).to.deep.equal([["a", "b", "c"], ["a"]]);
  });

  for (const [title, error] of [
    ["a revert", { code: 3, message: "execution reverted", data: "0x" }],
    ["a method that is missing", { code: -32_601, message: "no" }],
    ["parameters that are refused", { code: -32_602, message: "no" }],
  ] as const) {
    it(`a call that a batch answers with ${title} is not asked again`, async () => {
      answer = answerEach(({ id, method }) =>
        id === 0 ? { error } : { result: method },
      );
      expect(await upstream.ask(named("a", "b"))).to.deep.equal({
        answers: [{ error }, { result: "b" }],
        isOneRequest: true,
      });
      expect(bodies).to.have.length(1);
    });
  }

  it("calls that a batch leaves out are asked again, and then one request did not bring all", async () => {
    answer = (calls, isBatch) =>
      isBatch ? calls.slice(1).map(right) : right(calls[0] ?? fail());
    const asked = await upstream.ask(named("a", "b", "c"));
    expect(asked.answers).to.deep.equal(
      ["a", "b", "c"].map((result) => ({ result })),
    );
    expect(asked.isOneRequest).to.equal(false);
    expect(bodies).to.deep.equal([["a", "b", "c"], ["a"]]);
  });

  it("a batch that is refused is cut, one batch shows the size that the node takes, and later calls begin with it", async () => {
    answer = (calls) => (calls.length > 10 ? 413 : calls.map(right));
    const sizes = (): readonly number[] => bodies.map(({ length }) => length);
    const { answers, isOneRequest } = await upstream.ask(many(35));
    expect(answers).to.deep.equal(
      many(35).map(({ method: result }) => ({ result })),
    );
    expect(isOneRequest).to.equal(false);
    expect(sizes()).to.deep.equal([35, 10, 10, 10, 5]);
    bodies.length = 0;
    await upstream.ask(many(12));
    expect(sizes()).to.deep.equal([10, 2]);
  });

  it("a batch of a size that the node has not answered yet goes ahead of the others", async () => {
    answer = (calls) => (calls.length > 10 ? 413 : calls.map(right));
    await upstream.ask(many(250));
    const refused = bodies.filter(({ length }) => length > 10);
    // Not the other hundreds, too.
    expect(refused.map(({ length }) => length)).to.deep.equal([250, 100]);
  });

  it("batches of a size that the node answered go at the same time", async () => {
    answer = (calls) => (calls.length > 10 ? 413 : calls.map(right));
    await upstream.ask(many(20));
    let arrived = 0;
    let release = (): void => undefined;
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    answer = async (calls) => {
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

  for (const status of [401, 403]) {
    it(`a batch that is refused with HTTP status ${status} is not cut`, async () => {
      answer = () => status;
      const error: unknown = await upstream
        .ask(named("a", "b", "c"))
        .catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error);
      expect(bodies).to.have.length(1);
    });
  }

  it("calls go alone after a batch in which the node limited the rate, and optional ones no more", async () => {
    answer = answerEach(({ method }, isBatch) =>
      isBatch ? limited : { result: method },
    );
    await upstream.ask(many(150));
    expect(bodies.filter(({ length }) => length > 1)).to.have.length(1);
    expect(await upstream.ask(named("a", "b"), "optional")).to.deep.equal({
      answers: [{ error: undefined }, { error: undefined }],
      isOneRequest: false,
    });
    expect(bodies).to.have.length(151);
  });

  it("an optional call whose rate is limited is repeated once, then no more are sent; a needed one goes on", async () => {
    let refusals = 4;
    answer = answerEach(({ method }) =>
      refusals-- > 0 ? limited : { result: method },
    );
    const { answers } = await upstream.ask(named("a"), "optional");
    expect(answers).to.deep.equal([limited]);
    expect(bodies).to.have.length(2);
    await upstream.ask(named("b"), "optional");
    expect(bodies).to.have.length(2);
    const needed = await upstream.ask(named("c"));
    expect(needed.answers).to.deep.equal([{ result: "c" }]);
    expect(bodies.slice(2)).to.deep.equal([["c"], ["c"], ["c"]]);
  });

  it("optional calls never take the place of a needed one, at most sixteen at the same time", async () => {
    let open = 0;
    let release = (): void => undefined;
    const full = new Promise<void>((resolve) => {
      release = resolve;
    });
    answer = async ([call]) => {
      if (call?.method !== "slow") {
        return right(call ?? fail());
      }
      open += 1;
      if (open === 16) {
        release();
      }
      return await forever;
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
    expect(bodies).to.deep.equal([]);
    upstream = connect();
  });
});

function fail(): never {
  throw new Error("an empty batch");
}
