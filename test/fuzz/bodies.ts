import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";

import { expect } from "chai";
import fc from "fast-check";

import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { startAnvil } from "../helpers/anvil.js";
import { BareHost } from "../helpers/bare-host.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  SENDER,
  listSubjects,
  problemOfError,
  record,
  recordedNode,
} from "../helpers/fuzz-subjects.js";
import type { Recording, Subject } from "../helpers/fuzz-subjects.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { Witness } from "../helpers/witness.js";

/** A twentieth of those without HTTP, each of which takes twenty times as long. */
const RUNS = Math.ceil(Number(process.env["FUZZ_RUNS"] ?? 1_000) / 20);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const TIMEOUT_MS = 150;
/** Milliseconds after which a case hangs; none should take a hundredth. */
const HANGING_MS = 20_000;

/** What becomes of the text of an answer. */
interface Case {
  readonly subject: number;
  readonly overrides: boolean;
  /** Whether every answer is so, or the first alone. */
  readonly isLasting: boolean;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Edit;
}

type Edit =
  | { readonly edit: "as it is" | "in a list" | "twice" | "closed" }
  | { readonly edit: "cut"; readonly at: number }
  | { readonly edit: "insert"; readonly at: number; readonly text: string }
  | { readonly edit: "instead"; readonly text: string; readonly times: number }
  | { readonly edit: "field"; readonly name: string; readonly json: string };

const texts = [
  "",
  " ",
  "null",
  "[]",
  "{}",
  "0",
  '"0x"',
  "<html>502</html>",
  "\ufeff",
  "\0",
  "[",
  '{"a":',
  "}{",
  '"result":"0x01",',
  '"error":null,',
  '"__proto__":{"code":3},',
  "1e999",
  "NaN",
  '{"jsonrpc":"2.0","id":1,"result":"0x1"}',
  '{"jsonrpc":"2.0","id":1}',
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
  '{"jsonrpc":"2.0","id":1,"error":"no"}',
  '{"jsonrpc":"2.0","id":1,"error":{}}',
];

const anyCase: fc.Arbitrary<Case> = fc.record({
  subject: fc.nat(10_000),
  overrides: fc.boolean(),
  isLasting: fc.boolean(),
  status: fc.oneof(
    { weight: 6, arbitrary: fc.constant(200) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(204, 301, 400, 401, 404, 429, 500, 503),
    },
  ),
  headers: fc.constantFrom<Readonly<Record<string, string>>>(
    { "content-type": "application/json" },
    {},
    { "content-type": "text/html" },
    { "retry-after": "0" },
    { "retry-after": "86400" },
    { "retry-after": "-1" },
    { "content-encoding": "gzip" },
    { location: "/" },
  ),
  body: fc.oneof(
    fc.record({
      edit: fc.constantFrom("as it is", "in a list", "twice", "closed"),
    }),
    fc.record({ edit: fc.constant("cut"), at: fc.nat(1_000) }),
    fc.record({
      edit: fc.constant("insert"),
      at: fc.nat(1_000),
      text: fc.oneof(fc.constantFrom(...texts), fc.string()),
    }),
    fc.record({
      edit: fc.constant("instead"),
      text: fc.oneof(fc.constantFrom(...texts), fc.string()),
      times: fc.constantFrom(1, 1, 1, 50_000),
    }),
    fc.record({
      edit: fc.constant("field"),
      name: fc.constantFrom("jsonrpc", "id", "result", "error"),
      json: fc.oneof(fc.constantFrom(...texts.slice(2, 7)), fc.json()),
    }),
  ),
});

describe("fuzz - answers as text, through Hardhat's own provider", function () {
  this.timeout(Math.max(60_000, RUNS * 1_000));

  let anvil: ServerProcess;
  let server: Server;
  let url: string;
  let recording: Recording;
  let subjects: readonly Subject[];
  /** What answers now. */
  let current: { readonly one: Case; readonly node: Eip1193Provider };
  let answered = 0;

  before(async () => {
    anvil = await startAnvil();
    recording = await record(anvil.url);
    // What has a deadline: Hardhat itself waits half a minute at HTTP 429.
    subjects = listSubjects(recording.contracts).filter(
      ({ name }) => name !== "simulateV1" && name !== "call",
    );
    server = createServer((request, response) => {
      const { one, node } = current;
      const chunks: Uint8Array[] = [];
      request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
      request.on("end", () => {
        void answerOf(node, Buffer.concat(chunks).toString()).then((text) => {
          const isHit = one.isLasting || answered === 0;
          answered += 1;
          if (!isHit) {
            response.end(text);
          } else if (one.body.edit === "closed") {
            response.destroy();
          } else {
            response.writeHead(one.status, one.headers);
            response.end(edited(text, one.body));
          }
        });
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await anvil.stop();
  });

  it(`should come to a right value or to a VaultError, ${RUNS} times`, async () => {
    const hre = await createTestHre({
      networks: { live: httpNetwork(url, { timeout: 1_000 }) },
    });
    const { provider } = await hre.network.create("live");
    const failures: string[] = [];
    let [values, slowest] = [0, 0];
    for (const one of fc.sample(anyCase, { seed: SEED, numRuns: RUNS })) {
      const subject = subjects[one.subject % subjects.length];
      if (subject === undefined) {
        throw new Error("there are subjects");
      }
      const witness = new Witness();
      current = {
        one,
        node: recordedNode(recording, { overrides: one.overrides }),
      };
      answered = 0;
      const host = new BareHost(
        {
          request: async ({ method, params = [] }) => {
            const answer: unknown = await provider
              .request({ method, params: [...params] })
              .catch((error: unknown) => {
                witness.note({ method, params }, "revert");
                throw error;
              });
            witness.note({ method, params }, answer);
            return answer;
          },
        },
        recording.contracts,
        SENDER,
      );
      const begin = performance.now();
      let problem: string | undefined;
      try {
        const check = await subject.run(host, TIMEOUT_MS);
        problem = check(witness, false);
        values += 1;
      } catch (error) {
        problem = problemOfError(error);
      }
      const took = performance.now() - begin;
      slowest = Math.max(slowest, took);
      if (problem === undefined && took > HANGING_MS) {
        problem = `${took} ms`;
      }
      if (problem !== undefined) {
        failures.push(`${subject.name}: ${problem}\n${JSON.stringify(one)}`);
      }
    }
    process.stdout.write(
      `    ${RUNS} bodies (seed ${SEED}): ${values} answered, ${RUNS - values} refused, ${failures.length} wrong; ${(slowest / 1_000).toFixed(2)} s at most\n`,
    );
    expect(failures.slice(0, 5).join("\n\n")).to.equal("");
    expect(values).to.be.within(RUNS / 20, (RUNS * 19) / 20);
  });
});

/** The node's answer, as text. */
async function answerOf(node: Eip1193Provider, body: string): Promise<string> {
  // What Hardhat's provider sends is a request.
  const { id, method, params } = fieldsOf(JSON.parse(body));
  const args = {
    method: String(method),
    params: Array.isArray(params) ? params : [],
  };
  const answer = await node.request(args).then(
    (result) => ({ result }),
    (error: unknown) => ({
      error: {
        ...fieldsOf(error),
        message: error instanceof Error ? error.message : "",
      },
    }),
  );
  return JSON.stringify({ jsonrpc: "2.0", id, ...answer });
}

function edited(text: string, body: Edit): string {
  switch (body.edit) {
    case "as it is":
    case "closed":
      return text;
    case "in a list":
      return `[${text}]`;
    case "twice":
      return `${text}${text}`;
    case "cut":
      return text.slice(0, (body.at * text.length) / 1_000);
    case "insert": {
      const place = Math.floor((body.at * text.length) / 1_000);
      return `${text.slice(0, place)}${body.text}${text.slice(place)}`;
    }
    case "instead":
      return body.text.repeat(body.times);
    case "field":
      return JSON.stringify({
        ...fieldsOf(JSON.parse(text)),
        [body.name]: parsed(body.json),
      });
  }
}

function parsed(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return value;
}
