import { expect } from "chai";
import fc from "fast-check";

import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import { operations, standaloneQueries } from "../../src/protocol/index.js";
import { BareHost } from "../helpers/bare-host.js";
import {
  WATCHED_ORDERS,
  calls,
  problemOfError,
  subjects,
} from "../helpers/checked-reads.js";
import type { Said } from "../helpers/checked-reads.js";
import { speedUpTime } from "../helpers/deadlines.js";
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
import {
  documentedAnswer,
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import type {
  ContractAnswer,
  ContractCall,
} from "../helpers/scripted-contracts.js";
import { word } from "../helpers/scripted-contracts.js";

const RUNS = isFull ? 100_000 : 1_000;

/** The newest block of the node. */
const HEAD = 40;
/** By the test's clock, of a case in which the node does something wrong. */
const TIMEOUT_MS = 5_000;
/** Requests that a case may come to: those of a scan, each as often as allowed. */
const MOST_REQUESTS = 1_000;

interface Case {
  readonly subject: string;
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
const common = {
  // What has more to it is asked more often.
  subject: fc.constantFrom(
    ...subjects.map(({ name }) => name),
    ...["snapshot", "orders", "simulateV1", "simulateV1"],
  ),
  overrides: fc.boolean(),
};
const anyCase: fc.Arbitrary<Case> = fc.oneof(
  fc.record({
    ...common,
    node: fc.array(nodeChange, { minLength: 1, maxLength: 2 }),
    contract: fc.constant([]),
  }),
  fc.record({
    ...common,
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
    method: "eth_getBlockByNumber",
    edit: { at: 0, edit: "replace", word: "0".repeat(64) } as const,
    path: [0],
  },
  // A contract's size, or a balance, that is no number.
  ...[FACTS_BEFORE, FACTS_AFTER].map((call) => ({
    method: "eth_simulateV1",
    edit: { at: 0, edit: "cut", word: "" } as const,
    path: [0, 2, call, 1],
  })),
  // The address of a log, in upper and lower case at will.
  {
    method: "eth_simulateV1",
    edit: { at: 0, edit: "flip", word: "aF" } as const,
    path: [0, 2, SETTLEMENT, 3, 0, 0],
  },
].map(({ method, edit, path }) => ({
  subject: "simulateV1",
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
  speedUpTime();

  it(`a read returns a right value or throws a VaultError, ${RUNS} times`, async () => {
    const counts = { answered: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(anyCase, async (one) => {
        const { problem, isAnswered } = await tryCase(one);
        counts[isAnswered ? "answered" : "refused"] += 1;
        if (problem !== undefined) {
          throw new Error(problem);
        }
      }),
      { seed, numRuns: RUNS, examples: onceFailed.map((one) => [one]) },
    );
    // Neither refuses everything nor swallows everything.
    expect(counts.answered).to.be.above(RUNS / 10);
    expect(counts.refused).to.be.above(RUNS / 10);
  });
});

async function tryCase(
  one: Case,
): Promise<{ readonly problem: string | undefined; isAnswered: boolean }> {
  const run =
    subjects.find(({ name }) => name === one.subject)?.run ?? expect.fail();
  const { node, said } = hostileContracts(one);
  const host = new BareHost(tampered(node, one), documentedContracts, FIRST);
  const isTrue = one.node.length === 0;
  try {
    const check = await run(host, isTrue ? undefined : TIMEOUT_MS);
    return { problem: check(isTrue ? said : undefined), isAnswered: true };
  } catch (error) {
    return { problem: problemOfError(error), isAnswered: false };
  }
}

/** A node that tells truly what its contracts say, which is wrong, and what they said to it. */
function hostileContracts({ subject, overrides, contract }: Case): {
  readonly node: Eip1193Provider;
  readonly said: Said;
} {
  const hasHistory = subject === "rounds";
  const all: Array<ContractCall & { readonly answer: string }> = [];
  const node = documentedNode({
    head: HEAD,
    overrides,
    answerOf: (asked) => {
      const { to, data: input, block, phase } = asked;
      const isRound = input === operations.getLatestRoundInfo.selector;
      const { data, reverted } = contract
        .filter(({ call, isLate }) => {
          const target = calls[call % calls.length];
          return (
            target?.to === to &&
            target.data === input &&
            (!isLate || phase === "after" || (hasHistory && block > HEAD / 2))
          );
        })
        .reduce(
          (answer, change) => ({
            reverted: change.reverted && change.edits.length > 1,
            data: editHex(answer.data, change.edits).toLowerCase(),
          }),
          isRound ? roundAt(asked, hasHistory) : documentedAnswer(asked),
        );
      // No contract returns half a byte.
      const whole = data.length % 2 === 0 ? data : `${data}0`;
      all.push({ ...asked, answer: reverted ? "revert" : whole });
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

/** The round at a block: another one each seven blocks, settled after a simulated settlement. */
function roundAt(call: ContractCall, hasHistory: boolean): ContractAnswer {
  const { reverted, data } = documentedAnswer(call);
  const startTime = Math.floor(call.block / 7) + 1;
  const place = 2 + 5 * 64;
  const dated = hasHistory
    ? `${data.slice(0, place)}${word(startTime)}${data.slice(place + 64)}`
    : data;
  const settled = word(call.phase === "after" ? 1 : 0);
  return { reverted, data: `${dated.slice(0, -64)}${settled}` };
}

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
