import { expect } from "chai";

import { decide } from "../../src/settlement/decide.js";
import type { Decision } from "../../src/settlement/decide.js";
import type { SendAnswer } from "../../src/settlement/send.js";
import type {
  Plan,
  RoundSighting,
  Sighting,
} from "../../src/settlement/sighting.js";
import { HASH, OTHER_HASH, sent as settlement } from "./settlement-stage.js";

export const SENT_AT = settlement.preparedAt;
const receipt = {
  hash: HASH,
  blockNumber: 6,
  blockHash: HASH,
  gasUsed: 1n,
  succeeded: true,
  logs: [],
  contractAddress: null,
};
export const cancellation = {
  ...settlement,
  kind: "cancellation",
  to: settlement.from,
  data: "0x",
  hash: OTHER_HASH,
} as const;

export const open = {
  kind: "open",
  askedAt: SENT_AT,
} as const satisfies RoundSighting;
export const changed = {
  kind: "closed",
  obstacle: {
    kind: "stopped",
    status: "refused",
    reason: "The round changed.",
  },
  isNonceFree: true,
} as const satisfies RoundSighting;
/** It has not ended, by a node that is behind. */
export const early = {
  ...changed,
  obstacle: {
    kind: "stopped",
    status: "nothing-to-do",
    reason: "The round has not ended yet.",
    isEarly: true,
  },
} as const satisfies RoundSighting;
export const accepted: SendAnswer = { kind: "accepted", hash: HASH };
export const lost: SendAnswer = { kind: "unanswered", problem: "cut" };
export const refused: SendAnswer = {
  kind: "error",
  problem: "nonce too low",
  isTransient: false,
};
export const full: SendAnswer = {
  kind: "error",
  problem: "txpool is full",
  isTransient: true,
};

/** Sightings in short; what is left out is as after an accepted send. */
export const see = (
  transaction: Sighting["transaction"],
  more: Partial<Sighting> = {},
): Sighting => ({ at: SENT_AT, isOver: false, transaction, ...more });
export const unknown = (more: Partial<Sighting> = {}): Sighting =>
  see({ kind: "unknown" }, { round: open, ...more });
export const pending = (more: Partial<Sighting> = {}): Sighting =>
  see({ kind: "pending", hash: HASH }, more);
export const inBlock = (more: Partial<Sighting> = {}): Sighting =>
  see({ kind: "mined", hash: HASH, receipt, transaction: settlement }, more);
export const usedBy = (
  by: "nothing" | "unseen",
  more: Partial<Sighting> = {},
): Sighting => see({ kind: "used", by }, more);
export const unread = see({ kind: "unread", problem: "no answer" });
export const times = (count: number, one: Sighting): Sighting[] =>
  Array.from({ length: count }, () => one);
/** A send that was answered so, and a second look that finds nothing. */
export const sendAnd = (answer: SendAnswer): Sighting[] => [
  unknown({ sent: answer }),
  unknown(),
];

export const MINUTE = 60_000;
export const later = { at: SENT_AT + MINUTE };
export const freshThen = {
  kind: "open",
  askedAt: SENT_AT + MINUTE,
} as const satisfies RoundSighting;
export const bumping = { timeBeforeBumpingFees: MINUTE } as const;
export const forbidden = {
  kind: "forbidden",
  problem: "maxFeePerGasLimit allows 1 wei",
} as const;

/** A history, and the decision that it leads to. */
type Row = readonly [
  title: string,
  /** Now is the end of the last look, if nothing else is said. */
  plan: Partial<Plan & { readonly now: number }>,
  history: readonly Sighting[],
  decision: object,
  /** The reason of the outcome, or the warning. */
  says?: RegExp,
];

export const wait = { kind: "wait", pause: "usual" };
export const end = (outcome: object): object => ({ kind: "end", outcome });

/** Tests of what {@link decide} decides, by subject. */
export function itDecides(
  table: Readonly<Record<string, readonly Row[]>>,
): void {
  for (const [subject, rows] of Object.entries(table)) {
    describe(subject, () => {
      for (const [title, { now, ...plan }, history, expected, says] of rows) {
        it(title, () => {
          const decision: Decision = decide(
            {
              network: "live",
              transactions: [settlement],
              checkedAt: SENT_AT,
              confirmations: 1,
              sentAfterBlock: 5,
              maxFeeBumps: 4,
              ...plan,
            },
            history,
            now ?? history.at(-1)?.at ?? SENT_AT,
          );
          const { outcome, ...rest } = { outcome: {}, ...expected };
          expect(decision).to.deep.include(rest);
          if (decision.kind === "end") {
            expect(decision.outcome).to.include(outcome);
          }
          const text =
            decision.kind === "wait"
              ? decision.say
              : decision.kind === "end" && decision.outcome.kind !== "mined"
                ? decision.outcome.reason
                : "";
          if (says !== undefined) {
            expect(text).to.match(says);
          }
        });
      }
    });
  }
}
