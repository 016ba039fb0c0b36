import { inspect, isDeepStrictEqual } from "node:util";

import { expect } from "chai";
import fc from "fast-check";

import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { collectGarbage } from "../../bench/measure.js";
import { VaultError, operations } from "../../src/client/index.js";
import { encodeCall } from "../../src/client/codec.js";
import {
  get,
  operationEntry,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type {
  OperationName,
  ReadOperationName,
} from "../../src/protocol/index.js";
import { findTargetBlock } from "../../src/settlement-call/next-block.js";
import type { HttpEngine } from "../../src/simulation/options.js";
import { simulateSettlement } from "../../src/simulation/simulate-settle-all.js";
import type { Simulation } from "../../src/simulation/types.js";
import { BareHost } from "../helpers/bare-host.js";
import { expectedReads } from "../helpers/distinct-state.js";
import { fieldsOf } from "../helpers/fields.js";
import { decodeGenerally } from "../helpers/general-decoder.js";
import {
  Failure,
  anyChange,
  changed,
  editHex,
  hexEdits,
} from "../helpers/hostile-changes.js";
import type { Change, HexEdits } from "../helpers/hostile-changes.js";
import { isFull, seed } from "../helpers/sample.js";
import {
  documentedAnswer,
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import type {
  ContractAnswer,
  ContractCall,
} from "../helpers/scripted-contracts.js";

/** The newest block of the node. */
const HEAD = 40;
/** Who settles in a simulation. */
const SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
/** Those that a simulation reads before and after. */
const WATCHED_ORDERS = [1n, 2n];
const ORDERS = { firstId: 1n, lastId: 4n };

const RUNS = isFull ? 100_000 : 1_000;

/** Cases under way at a time: some wait until they ask again. */
const CONCURRENCY = 50;
/** Milliseconds of a case in which the node does something wrong. */
const TIMEOUT_MS = 100;
/** How often the usual processor time so many cases may take, on any machine. */
const MOST_TIMES_USUAL = 20;
/** Requests that a case may come to: those of a scan, each as often as allowed. */
const MOST_REQUESTS = 1_000;
const MOST_MEMORY_MIB = 50;

/** Digits. */
const WORD = 64;

/** Answers of contracts to a call, as 0x hex or as "revert". */
type Said = (call: Partial<ContractCall>) => readonly string[];

/**
 * Tells what is wrong with a result, held against what contracts said; without
 * `said`, the node itself lied, and any well-formed value will do.
 */
type Check = (said: Said | undefined) => string | undefined;

/** One thing that can be asked of a vault. */
interface Subject {
  readonly name: string;
  readonly run: (host: BareHost, timeout?: number) => Promise<Check>;
}

/**
 * A node that tells truly what its contracts say, and what they said to it.
 *
 * @param hasHistory Whether the round was another one each seven blocks.
 * @param change Makes what a contract says of the documented answer.
 */
function honestNode(
  overrides: boolean,
  hasHistory: boolean,
  change: (answer: ContractAnswer, call: ContractCall) => ContractAnswer,
): { readonly node: Eip1193Provider; readonly said: Said } {
  const all: Array<ContractCall & { readonly answer: string }> = [];
  const node = documentedNode({
    head: HEAD,
    overrides,
    answerOf: (call) => {
      const isRound = call.data === operations.getLatestRoundInfo.selector;
      const { data, reverted } = change(
        isRound ? roundAt(call, hasHistory) : documentedAnswer(call),
        call,
      );
      // No contract returns half a byte.
      const whole = data.length % 2 === 0 ? data : `${data}0`;
      all.push({ ...call, answer: reverted ? "revert" : whole });
      return { reverted, data: whole };
    },
  });
  const said: Said = ({ to, data, block, phase }) =>
    all
      .filter(
        (call) =>
          call.to.toLowerCase() === to?.toLowerCase() &&
          call.data === data &&
          (block === undefined || call.block === block) &&
          (phase === undefined || call.phase === phase),
      )
      .map(({ answer }) => answer);
  return { node, said };
}

/** The round at a block, which is settled after a simulated settlement only. */
function roundAt(call: ContractCall, hasHistory: boolean): ContractAnswer {
  const { reverted, data } = documentedAnswer(call);
  const startTime = Math.floor(call.block / 7) + 1;
  const place = 2 + 5 * WORD;
  const dated = hasHistory
    ? `${data.slice(0, place)}${hexWord(startTime)}${data.slice(place + WORD)}`
    : data;
  const settled = hexWord(call.phase === "after" ? 1 : 0);
  return { reverted, data: `${dated.slice(0, -WORD)}${settled}` };
}

const hexWord = (value: number): string =>
  value.toString(16).padStart(WORD, "0");

const callOf = (
  operation: OperationName,
  args: readonly unknown[],
): Pick<ContractCall, "to" | "data"> => {
  const { role, data } = encodeCall(operation, args);
  return { to: documentedContracts[role], data };
};

/** All that a contract is asked. */
const calls = [
  ...expectedReads.map(({ operation, args }) => callOf(operation, args)),
  ...[1n, 2n, 3n, 4n].map((id) => callOf("getOrderInfo", [id])),
  callOf("settleAll", []),
];

/** What is wrong with an error: it has to be one of ours, and fit to be shown. */
function problemOfError(error: unknown): string | undefined {
  if (!VaultError.isVaultError(error)) {
    return `raw ${error instanceof Error ? error.stack : String(error)}`;
  }
  if (error.kind !== "rpc" && error.kind !== "chain") {
    return `${error.kind}'s error: ${error.stack}`;
  }
  if (error.message.length > 10_000) {
    return `${error.message.length} characters of text`;
  }
  // eslint-disable-next-line no-control-regex -- it is what must not be there
  return /[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/u.test(error.message)
    ? `text that commands a terminal: ${JSON.stringify(error.message)}`
    : undefined;
}

const reads = expectedReads.map(({ operation, args }): Subject => ({
  name: operation,
  run: async (host, timeout) => {
    const method: unknown = Reflect.get(host, operation);
    const value: unknown =
      typeof method === "function"
        ? await Reflect.apply(method, host, [...args, { timeout }])
        : "no method";
    return (said) =>
      problemOfValue(operation, value, said?.(callOf(operation, args)));
  },
}));
const snapshot: Subject = {
  name: "snapshot",
  run: async (host, timeout) => {
    const taken = await host.snapshot({ timeout });
    return (said) =>
      firstOf(
        standaloneQueries.map(({ operation, args, path }) =>
          problemOfReading(
            operation,
            get(taken, path),
            said?.(callOf(operation, args)),
          ),
        ),
      );
  },
};
const orders: Subject = {
  name: "orders",
  run: async (host, timeout) => {
    const found = await Array.fromAsync(host.orders({ ...ORDERS, timeout }));
    const ids = found.map(({ orderID }) => orderID).join();
    return (said) =>
      ids === "1,2,3,4"
        ? firstOf(
            found.map((order) =>
              problemOfReading(
                "getOrderInfo",
                order,
                said?.(callOf("getOrderInfo", [order.orderID])),
              ),
            ),
          )
        : `orders ${ids}`;
  },
};
const rounds: Subject = {
  name: "rounds",
  run: async (host, timeout) => {
    const found = await Array.fromAsync(host.rounds({ timeout }));
    const call = callOf("getLatestRoundInfo", []);
    return (said) =>
      firstOf(
        found.map((round) =>
          problemOfValue(
            "getLatestRoundInfo",
            round,
            said?.({ ...call, block: round.lastBlock }),
            unlessSettled,
          ),
        ),
      );
  },
};
const blocks = (["latest", 7] as const).map((tag): Subject => ({
  name: `block ${tag}`,
  run: async (host) => {
    const block = await host.block(tag);
    return () =>
      Number.isSafeInteger(block.number) &&
      Number.isSafeInteger(block.timestamp) &&
      (tag === "latest" || tag === block.number)
        ? undefined
        : `block ${JSON.stringify(block)}`;
  },
}));
const engines = (["simulateV1"] as const).map((engine): Subject => ({
  name: engine,
  run: async (host, timeout) => {
    const simulation = await simulate(host.withOptions({ timeout }), engine);
    return (said) => problemOfSimulation(simulation, said);
  },
}));

/** All that can be asked of a vault; what has more to it is asked more often. */
const subjects: readonly Subject[] = [
  ...[...reads, rounds, ...blocks, snapshot, orders, ...engines],
  ...[snapshot, orders, ...engines, ...engines],
];

async function simulate(
  host: BareHost,
  engine: HttpEngine,
): Promise<Simulation> {
  const { simulation } = await simulateSettlement(
    host,
    { sender: SENDER, orderIDs: WATCHED_ORDERS, engines: [engine] },
    await findTargetBlock(host),
  );
  return simulation;
}

function problemOfReading(
  name: ReadOperationName,
  reading: unknown,
  said: readonly string[] | undefined,
): string | undefined {
  const isFailed =
    typeof reading === "object" && reading !== null && "error" in reading;
  if (!isFailed) {
    return problemOfValue(name, reading, said);
  }
  const { error } = reading;
  return (
    problemOfError(error) ??
    (said !== undefined &&
    said.length > 0 &&
    said.every(
      (data) =>
        // ethers ignores a part of a word.
        (data.length - "0x".length) % 64 === 0 &&
        decodeGenerally(name, data) !== undefined,
    )
      ? `${String(error)} instead of what was said: ${said.join()}`
      : undefined)
  );
}

/** Of a past round that is not settled, no price was seen. */
function unlessSettled(decoded: unknown): unknown {
  const round = fieldsOf(decoded);
  return decoded === undefined || round["settled"] === true
    ? decoded
    : { ...round, settledPrice: null, settledAmount: null };
}

/** A value has to be what ethers makes of something that the node said. */
function problemOfValue(
  name: ReadOperationName,
  value: unknown,
  said: readonly string[] | undefined,
  shown: (decoded: unknown) => unknown = (decoded) => decoded,
): string | undefined {
  if (said === undefined) {
    return undefined;
  }
  const { outputs } = operationEntry(name);
  const named = Object.fromEntries(
    outputs.map((field) => [
      field.name,
      outputs.length === 1 ? value : fieldsOf(value)[field.name],
    ]),
  );
  return said.some((data) =>
    isDeepStrictEqual(shown(decodeGenerally(name, data)), named),
  )
    ? undefined
    : `${inspectBigints(named)} where the node said ${said.join()}`;
}

function problemOfSimulation(
  { status, changes }: Simulation,
  said: Said | undefined,
): string | undefined {
  if (
    !["settled", "not-settled", "reverted", "nothing-to-do"].includes(status)
  ) {
    return `status ${status}`;
  }
  const readings = [
    ...standaloneQueries,
    ...WATCHED_ORDERS.map((orderID) => ({
      operation: "getOrderInfo" as const,
      args: [orderID],
      path: ["orders", orderID.toString()],
    })),
  ];
  return firstOf(
    changes.map(({ reading, field, before, after }) => {
      const found = readings.find(({ path }) => path.join(".") === reading);
      if (found === undefined) {
        return `a change of ${reading}`;
      }
      if (field === "error" || said === undefined) {
        return undefined;
      }
      const { operation, args } = found;
      const call = callOf(operation, args);
      const isSaid = (phase: ContractCall["phase"], value: unknown): boolean =>
        said({ ...call, phase }).some(
          (data) => decodeGenerally(operation, data)?.[field] === value,
        );
      return isSaid("before", before) && isSaid("after", after)
        ? undefined
        : `${reading}.${field} from ${String(before)} to ${String(after)}`;
    }),
  );
}

function firstOf(
  problems: ReadonlyArray<string | undefined>,
): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

function inspectBigints(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? `${inner}n` : inner,
  );
}

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
    const took: number[] = [];
    const rest = memoryInUse();
    let most = rest;
    for (let start = 0; start < cases.length; start += CONCURRENCY) {
      const some = cases.slice(start, start + CONCURRENCY);
      const begin = process.threadCpuUsage();
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
      const { user, system } = process.threadCpuUsage(begin);
      took.push((user + system) / 1_000_000);
      if (start % (40 * CONCURRENCY) === 0) {
        most = Math.max(most, memoryInUse());
      }
    }
    const slowest = Math.max(...took);
    const usual = took.toSorted((a, b) => a - b)[took.length >> 1] ?? 0;
    process.stdout.write(
      `    ${cases.length} cases (seed ${seed}): ${counts.answered} answered, ${counts.refused} refused, ${failures.length} wrong; ${usual.toFixed(2)} s of CPU for ${CONCURRENCY} of them, at most ${slowest.toFixed(2)}, ${(most - rest).toFixed(0)} MiB kept, ${(process.resourceUsage().maxRSS / 1_024).toFixed(0)} MiB at the peak\n`,
    );
    expect(
      failures.slice(0, 5).join("\n\n"),
      `${failures.length} wrong`,
    ).to.equal("");
    expect(slowest, "s of CPU").to.be.below(MOST_TIMES_USUAL * usual);
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
  const host = new BareHost(tampered(node, one), documentedContracts, SENDER);
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
