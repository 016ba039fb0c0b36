import { once } from "node:events";
import { createServer } from "node:http";

import { expect } from "chai";
import fc from "fast-check";

import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { startAnvil } from "../helpers/anvil.js";
import { cpuSecondsOf, leastOf } from "../helpers/cpu-time.js";
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
import { connectTo } from "../helpers/hre.js";
import { Witness } from "../helpers/witness.js";

/**
 * A twentieth of those without HTTP, each of which takes twenty times as long;
 * `FUZZ_RUNS=20000` for a thousand.
 */
const RUNS = Math.ceil(Number(process.env["FUZZ_RUNS"] ?? 1_000) / 20);
const SEED = Number(process.env["FUZZ_SEED"] ?? 1);
const TIMEOUT_MS = 150;
/** Of processor time, the scripted node's own included. */
const MOST_CPU_SECONDS = 1;
/** What is asked without a deadline. */
const isEngine = ({ name }: Subject): boolean =>
  name === "simulateV1" || name === "call";

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

/** A node that answers one case at a time, and what asks it. */
interface Lane {
  /** What answers from now on. */
  meet(one: Case, node: Eip1193Provider): void;
  readonly provider: Eip1193Provider;
  readonly stop: () => void;
}

/** Cases at a time: some wait until they ask again. */
const LANES = 5;

async function openLane(): Promise<Lane> {
  let current: { readonly one: Case; readonly node: Eip1193Provider };
  let answered = 0;
  const server = createServer((request, response) => {
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
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const connection = await connectTo(url, { timeout: 1_000 });
  const provider: Eip1193Provider = connection.provider;
  return {
    meet: (one, node) => {
      current = { one, node };
      answered = 0;
    },
    provider,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("fuzz - answers as text, through Hardhat's own provider", function () {
  this.timeout(Math.max(300_000, RUNS * 1_000));

  let anvil: ServerProcess;
  let recording: Recording;
  let subjects: readonly Subject[];
  const lanes: Lane[] = [];

  before(async () => {
    anvil = await startAnvil();
    recording = await record(anvil.url);
    subjects = listSubjects(recording.contracts);
    for (let number = 0; number < LANES; ++number) {
      lanes.push(await openLane());
    }
  });
  after(async () => {
    lanes.forEach(({ stop }) => {
      stop();
    });
    await anvil.stop();
  });

  it(`should come to a right value or to a VaultError, ${RUNS} times`, async () => {
    const failures: string[] = [];
    const suspects: Case[] = [];
    let [values, slowest, ofEngines] = [0, 0, 0];
    const tryCase = async (lane: Lane, any: Case): Promise<number> => {
      const subject = subjects[any.subject % subjects.length];
      if (subject === undefined) {
        throw new Error("there are subjects");
      }
      ofEngines += isEngine(subject) ? 1 : 0;
      // Without a deadline, Hardhat itself waits half a minute at HTTP 429.
      const one =
        isEngine(subject) && any.status === 429 ? { ...any, status: 500 } : any;
      const witness = new Witness();
      lane.meet(one, recordedNode(recording, { overrides: one.overrides }));
      const host = new BareHost(
        {
          request: async ({ method, params = [] }) => {
            const answer: unknown = await lane.provider
              .request({ method, params })
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
      let problem: string | undefined;
      // Those of the other lanes too: what seems long is tried by itself.
      const took = await cpuSecondsOf(async () => {
        try {
          const check = await subject.run(host, TIMEOUT_MS);
          problem = check(witness, false);
          values += 1;
        } catch (error) {
          problem = problemOfError(error);
        }
      });
      if (problem !== undefined) {
        failures.push(`${subject.name}: ${problem}\n${JSON.stringify(one)}`);
      }
      return took;
    };
    const queue = fc.sample(anyCase, { seed: SEED, numRuns: RUNS });
    await Promise.all(
      lanes.map(async (lane) => {
        for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
          const took = await tryCase(lane, one);
          slowest = Math.max(slowest, took);
          if (took > MOST_CPU_SECONDS) {
            suspects.push(one);
          }
        }
      }),
    );
    process.stdout.write(
      `    ${RUNS} bodies (seed ${SEED}), ${ofEngines} of them to engines: ${values} answered, ${RUNS - values} refused, ${failures.length} wrong; at most ${slowest.toFixed(2)} s of CPU for one\n`,
    );
    const lane = await openLane();
    lanes.push(lane);
    for (const one of suspects) {
      const took = await leastOf(3, async () => await tryCase(lane, one));
      if (took > MOST_CPU_SECONDS) {
        failures.push(`${took} s of CPU\n${JSON.stringify(one)}`);
        break;
      }
    }
    expect(failures.slice(0, 5).join("\n\n")).to.equal("");
    expect(values).to.be.within(RUNS / 20, (RUNS * 19) / 20);
    expect(ofEngines).to.be.above(0);
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
