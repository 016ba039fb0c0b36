import { expect } from "chai";

import { Redactor } from "../../src/redact.js";
import { Upstream } from "../../src/simulation/upstream.js";
import type { UpstreamCall } from "../../src/simulation/upstream.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const out = { error: { code: -32_000, message: "out of luck" } };
const limited = { error: { code: -32_005, message: "limit exceeded" } };

const named = (...methods: readonly string[]): readonly UpstreamCall[] =>
  methods.map((method) => ({ method, params: [] }));

const many = (count: number): readonly UpstreamCall[] =>
  named(...Array.from({ length: count }, (_, index) => `m${index}`));

describe("requests of a fork to its node", () => {
  let server: RpcServer;
  let upstream: Upstream;

  beforeEach(async () => {
    server = await startRpcServer({
      handler: ({ request }) => ({ result: request.method }),
    });
    upstream = connect();
  });
  afterEach(async () => {
    await upstream.close();
    await server.stop();
  });

  function connect(timeout = 10_000): Upstream {
    const { url } = server;
    return new Upstream({
      network: "live",
      redactor: new Redactor(),
      url,
      headers: {},
      timeout,
    });
  }

  /** The methods of each HTTP request. */
  const sent = (): ReadonlyArray<readonly string[]> =>
    server.bodies.map((calls) => calls.map(({ method }) => method));

  const sizes = (): readonly number[] =>
    server.bodies.map(({ length }) => length);

  it("calls go in one batch, and each gets the answer with its id", async () => {
    server.batch = (answers) => [
      ...answers.toReversed(),
      { id: null, result: "nobody's" },
      { id: 7, result: "nobody's" },
    ];
    expect(await upstream.ask(named("a", "b", "c"))).to.deep.equal({
      answers: [{ result: "a" }, { result: "b" }, { result: "c" }],
      isOneRequest: true,
    });
    expect(sent()).to.deep.equal([["a", "b", "c"]]);
  });

  it("calls that a batch answers with an error are asked again, each alone, if the first of them then passes", async () => {
    server.handler = ({ request: { id, method }, isBatch }) =>
      isBatch && Number(id) > 0 ? out : { result: method };
    const asked = await upstream.ask(named("a", "b", "c", "d"));
    expect(asked.answers).to.deep.equal(
      ["a", "b", "c", "d"].map((result) => ({ result })),
    );
    expect(asked.isOneRequest).to.equal(false);
    const [batch, first, ...others] = sent();
    expect([batch, first]).to.deep.equal([["a", "b", "c", "d"], ["b"]]);
    expect(others).to.have.deep.members([["c"], ["d"]]);
    const one = await upstream.ask(named("a", "b"));
    expect(one.isOneRequest).to.equal(false);
  });

  for (const [title, error] of [
    ["a revert", { code: 3, message: "execution reverted", data: "0x" }],
    ["a method that is missing", { code: -32_601, message: "no" }],
  ] as const) {
    it(`a call that a batch answers with ${title} is not asked again`, async () => {
      server.handler = ({ request: { id, method } }) =>
        id === 0 ? { error } : { result: method };
      expect(await upstream.ask(named("a", "b"))).to.deep.equal({
        answers: [{ error }, { result: "b" }],
        isOneRequest: true,
      });
      expect(server.bodies).to.have.length(1);
    });
  }

  it("calls that a batch leaves out are asked again, and then one request did not bring all", async () => {
    server.batch = (answers) => answers.slice(1);
    const asked = await upstream.ask(named("a", "b", "c"));
    expect(asked.answers).to.deep.equal(
      ["a", "b", "c"].map((result) => ({ result })),
    );
    expect(asked.isOneRequest).to.equal(false);
    expect(sent()).to.deep.equal([["a", "b", "c"], ["a"]]);
  });

  it("a batch that is refused is cut, one batch shows the size that the node takes, and later calls begin with it", async () => {
    server.batch = (answers) => (answers.length > 10 ? 413 : answers);
    const { answers, isOneRequest } = await upstream.ask(many(35));
    expect(answers).to.deep.equal(
      many(35).map(({ method: result }) => ({ result })),
    );
    expect(isOneRequest).to.equal(false);
    expect(sizes()).to.deep.equal([35, 10, 10, 10, 5]);
    server.clear();
    await upstream.ask(many(12));
    expect(sizes()).to.deep.equal([10, 2]);
  });

  for (const [title, refusal] of [
    ["with text", "<html>too many</html>"],
    ["without an answer", "cut"],
    ["by an error of each call", undefined],
  ] as const) {
    it(`a batch that is refused ${title} is cut`, async () => {
      server.batch = (answers) =>
        answers.length <= 10
          ? answers
          : (refusal ??
            answers.map((_, id) => ({
              ...{ id, error: { code: -32_000, message: "batch too big" } },
            })));
      const { answers } = await upstream.ask(many(12));
      expect(answers).to.deep.equal(
        many(12).map(({ method: result }) => ({ result })),
      );
      expect(sizes().slice(-2)).to.deep.equal([10, 2]);
    });
  }

  it("null and an error with its code are answers as the node has them, in a batch and alone", async () => {
    const error = { code: -32_601, message: "no" };
    server.handler = ({ request: { method } }) =>
      method === "a" ? { result: null } : { error };
    const [none, refused] = [{ result: null }, { error }];
    for (const [methods, expected] of [
      [
        ["a", "b"],
        [none, refused],
      ],
      [["a"], [none]],
      [["b"], [refused]],
    ] as const) {
      const { answers } = await upstream.ask(named(...methods));
      expect(answers).to.deep.equal(expected);
    }
  });

  it("calls go alone after a batch in which the node limited the rate, and optional ones no more", async () => {
    server.handler = ({ request: { method }, isBatch }) =>
      isBatch ? limited : { result: method };
    await upstream.ask(many(150));
    expect(sizes().filter((size) => size > 1)).to.have.length(1);
    expect(await upstream.ask(named("a", "b"), "optional")).to.deep.equal({
      answers: [{ error: undefined }, { error: undefined }],
      isOneRequest: false,
    });
    expect(server.bodies).to.have.length(151);
  });

  it("nothing is sent once the fork is closed", async () => {
    await upstream.close();
    await upstream.ask(named("a", "b")).catch(() => undefined);
    expect(sent()).to.deep.equal([]);
    upstream = connect();
  });
});
