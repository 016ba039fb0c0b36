import { inspect } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { collectGarbage } from "../../bench/measure.js";
import { standaloneQueries } from "../../src/protocol/index.js";
import { BareHost } from "../helpers/bare-host.js";
import {
  WATCHED_ORDERS,
  calls,
  problemOfError,
  subjects,
} from "../helpers/checked-reads.js";
import { HEAD, honestNode } from "../helpers/honest-node.js";
import {
  Failure,
  anyChange,
  changed,
  editHex,
  hexEdits,
} from "../helpers/hostile-changes.js";
import type { Change, HexEdits } from "../helpers/hostile-changes.js";
import { FIRST } from "../helpers/names.js";
import { isFull, seed } from "../helpers/sample.js";
import { documentedContracts } from "../helpers/documented-node.js";

const RUNS = isFull ? 100_000 : 1_000;

/** Cases under way at a time: some wait until they ask again. */
const CONCURRENCY = 50;
/** Milliseconds of a case in which the node does something wrong. */
const TIMEOUT_MS = 100;
/** Requests that a case may come to: those of a scan, each as often as allowed. */
const MOST_REQUESTS = 1_000;
const MOST_MEMORY_MIB = 50;

/** One run of one operation against a node, or contracts, that say otherwise. */
interface Case {
  /** What is asked: its name, or any number. */
  readonly subject: number | string;
  /** Whether the node applies state overrides. */
  readonly overrides: boolean;
  /** What the node says otherwise, to which method, and from which request on. */
  readonly node: ReadonlyArray<{
    readonly method: string | null;
    readonly request: number;
    readonly isLasting: boolean;
    readonly change: Change;
  }>;
  /** What a contract says otherwise, to one of the calls. */
  readonly contract: ReadonlyArray<{
    readonly call: number;
    /** After the settlement only, or in the later blocks of a history. */
    readonly isLate: boolean;
    readonly reverted: boolean;
    readonly edits: HexEdits;
  }>;
}

const nodeChange = fc.record({
  method: fc.constantFrom(
    null,
    null,
    "eth_call",
    "eth_simulateV1",
    "eth_getBlockByNumber",
  ),
  request: fc.nat(5),
  isLasting: fc.boolean(),
  change: anyChange,
});
const contractChange = fc.record({
  call: fc.nat(100),
  isLate: fc.boolean(),
  reverted: fc.boolean(),
  edits: hexEdits,
});
const anyCase: fc.Arbitrary<Case> = fc.oneof(
  fc.record({
    subject: fc.nat(10_000),
    overrides: fc.boolean(),
    node: fc.array(nodeChange, { minLength: 1, maxLength: 2 }),
    contract: fc.constant([]),
  }),
  fc.record({
    subject: fc.nat(10_000),
    overrides: fc.boolean(),
    node: fc.constant([]),
    contract: fc.array(contractChange, { minLength: 1, maxLength: 4 }),
  }),
);

/** Where a simulation's calls are: readings, facts, orders, and that once more. */
const FACTS_BEFORE = standaloneQueries.length;
const SETTLEMENT = FACTS_BEFORE + 1 + WATCHED_ORDERS.length;
const FACTS_AFTER = SETTLEMENT + 1 + FACTS_BEFORE;

/** Found by longer runs, and mended since. */
const onceFailed: readonly Case[] = [
  // A pending block 0, which has none before it.
  {
    subject: "simulateV1",
    method: "eth_getBlockByNumber",
    edit: { at: 0, edit: "replace", word: "0".repeat(64) } as const,
    path: [0],
  },
  // A contract's size, or a balance, that is no number.
  ...[FACTS_BEFORE, FACTS_AFTER].map((call) => ({
    subject: "simulateV1",
    method: "eth_simulateV1",
    edit: { at: 0, edit: "cut", word: "" } as const,
    path: [0, 2, call, 1],
  })),
  // The address of a log, in upper and lower case at will.
  {
    subject: "simulateV1",
    method: "eth_simulateV1",
    edit: { at: 0, edit: "flip", word: "aF" } as const,
    path: [0, 2, SETTLEMENT, 3, 0, 0],
  },
].map(({ subject, method, edit, path }) => ({
  subject,
  overrides: true,
  node: [
    {
      method,
      request: 0,
      isLasting: true,
      change: { change: "hex", path, edits: [edit] },
    },
  ],
  contract: [],
}));

describe("fuzz - reads of a hostile node and hostile contracts", () => {
  it(`a read returns a right value or throws a VaultError, ${RUNS} times`, async () => {
    const cases = [
      ...onceFailed,
      ...fc.sample(anyCase, { seed, numRuns: RUNS }),
    ];
    const counts = { answered: 0, refused: 0 };
    const failures: string[] = [];
    const shrink = async (failed: Case, number: number): Promise<Case> => {
      // Only the first failures are printed.
      if (number < 0 || failures.length >= 5) {
        return failed;
      }
      const { counterexample } = await fc.check(
        fc.asyncProperty(anyCase, async (one) => {
          const { problem } = await tryCase(one);
          return problem === undefined;
        }),
        { seed, path: String(number) },
      );
      return counterexample?.[0] ?? failed;
    };
    const rest = memoryInUse();
    let most = rest;
    for (let start = 0; start < cases.length; start += CONCURRENCY) {
      const some = cases.slice(start, start + CONCURRENCY);
      await Promise.all(
        some.map(async (one, place) => {
          const { problem, isAnswered } = await tryCase(one);
          counts[isAnswered ? "answered" : "refused"] += 1;
          if (problem !== undefined) {
            failures.push(
              `${problem}\n${show(await shrink(one, start + place - onceFailed.length))}`,
            );
          }
        }),
      );
      if (start % (40 * CONCURRENCY) === 0) {
        most = Math.max(most, memoryInUse());
      }
    }
    expect(
      failures.slice(0, 5).join("\n\n"),
      `${failures.length} wrong (seed ${seed})`,
    ).to.equal("");
    expect(most - rest, "MiB above rest").to.be.below(MOST_MEMORY_MIB);
    // Neither refuses everything nor swallows everything.
    expect(counts.answered).to.be.above(cases.length / 10);
    expect(counts.refused).to.be.above(cases.length / 10);
  });
});

function show(one: Case): string {
  return inspect(one, { depth: 8, maxStringLength: 200, maxArrayLength: 20 });
}

/** What is kept, in the heap and beside it, in MiB. */
function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
}

async function tryCase(
  one: Case,
): Promise<{ readonly problem?: string; readonly isAnswered: boolean }> {
  const subject =
    typeof one.subject === "string"
      ? subjects.find(({ name }) => name === one.subject)
      : subjects[one.subject % subjects.length];
  if (subject === undefined) {
    throw new Error("there are subjects");
  }
  const { name, run } = subject;
  const { node, said } = hostileContracts(one, name === "rounds");
  const host = new BareHost(tampered(node, one), documentedContracts, FIRST);
  const isTrue = one.node.length === 0;
  let found: string | undefined;
  let isAnswered = true;
  try {
    const check = await run(host, isTrue ? undefined : TIMEOUT_MS);
    found = check(isTrue ? said : undefined);
  } catch (error) {
    isAnswered = false;
    found = problemOfError(error);
  }
  return found === undefined
    ? { isAnswered }
    : { isAnswered, problem: `${name}: ${found}` };
}

/** A node that does nothing wrong, and contracts that do. */
function hostileContracts(
  { overrides, contract }: Case,
  hasHistory: boolean,
): ReturnType<typeof honestNode> {
  return honestNode(overrides, hasHistory, (honest, { to, data, ...when }) =>
    contract
      .filter(({ call, isLate }) => {
        const target = calls[call % calls.length];
        return (
          target?.to === to &&
          target.data === data &&
          (!isLate ||
            when.phase === "after" ||
            (hasHistory && when.block > HEAD / 2))
        );
      })
      .reduce(
        (answer, { reverted, edits }) => ({
          reverted: reverted && edits.length > 1,
          data: editHex(answer.data, edits).toLowerCase(),
        }),
        honest,
      ),
  );
}

/** What comes over the wire. */
function tampered(
  node: Eip1193Provider,
  { node: changes }: Case,
): Eip1193Provider {
  let requests = 0;
  return {
    request: async (args) => {
      const number = requests++;
      if (requests > MOST_REQUESTS) {
        throw new Error(`more than ${MOST_REQUESTS} requests`);
      }
      let answer: unknown;
      try {
        answer = await node.request(args);
      } catch (error) {
        answer = new Failure(error);
      }
      for (const { method, request, isLasting, change } of changes) {
        if (
          (method === null || method === args.method) &&
          (number === request || (isLasting && number > request))
        ) {
          answer = changed(answer instanceof Failure ? null : answer, change);
        }
      }
      if (answer instanceof Failure) {
        throw answer.thrown;
      }
      return answer;
    },
  };
}
