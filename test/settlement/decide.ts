import { expect } from "chai";

import { decide } from "../../src/settlement/decide.js";
import type { Decision } from "../../src/settlement/decide.js";
import type { SendAnswer } from "../../src/settlement/send.js";
import type {
  Plan,
  RoundSighting,
  Sighting,
} from "../../src/settlement/sighting.js";
import {
  HASH,
  OTHER_HASH,
  sent as settlement,
  unsigned,
} from "../helpers/settlement-stage.js";

const SENT_AT = settlement.preparedAt;
const receipt = {
  hash: HASH,
  blockNumber: 6,
  blockHash: HASH,
  gasUsed: 1n,
  succeeded: true,
  logs: [],
  contractAddress: null,
};
const cancellation = {
  ...settlement,
  kind: "cancellation",
  to: settlement.from,
  data: "0x",
  hash: OTHER_HASH,
} as const;
const remote = {
  ...unsigned,
  kind: "settlement",
  preparedAt: SENT_AT,
} as const;

const open: RoundSighting = {
  kind: "open",
  askedAt: SENT_AT,
  answeredAt: SENT_AT,
};
const changed: RoundSighting = {
  kind: "closed",
  obstacle: {
    kind: "stopped",
    status: "refused",
    reason: "The round changed.",
  },
  isNonceFree: true,
};
const accepted: SendAnswer = { kind: "accepted", hash: HASH };
const lost: SendAnswer = { kind: "lost", problem: "cut" };
const refused: SendAnswer = {
  kind: "error",
  problem: "nonce too low",
  isTransient: false,
};
const full: SendAnswer = {
  kind: "error",
  problem: "txpool is full",
  isTransient: true,
};

/** Sightings in short; what is left out is as after an accepted send. */
const see = (
  transaction: Sighting["transaction"],
  more: Partial<Sighting> = {},
): Sighting => ({ at: SENT_AT, isOver: false, transaction, ...more });
const unknown = (more: Partial<Sighting> = {}): Sighting =>
  see({ kind: "unknown" }, { round: open, ...more });
const pending = (more: Partial<Sighting> = {}): Sighting =>
  see({ kind: "pending", hash: HASH }, more);
const inBlock = (more: Partial<Sighting> = {}): Sighting =>
  see({ kind: "mined", hash: HASH, receipt, transaction: settlement }, more);
const usedBy = (
  by: "nothing" | "unseen",
  more: Partial<Sighting> = {},
): Sighting => see({ kind: "used", by }, more);
const unread = see({ kind: "unread", problem: "no answer" });
const times = (count: number, one: Sighting): Sighting[] =>
  Array.from({ length: count }, () => one);
/** A send that was answered so, and a second look that finds nothing. */
const sendAnd = (answer: SendAnswer): Sighting[] => [
  unknown({ sent: answer }),
  unknown(),
];

const MINUTE = 60_000;
const later = { at: SENT_AT + MINUTE };
const freshThen: RoundSighting = {
  kind: "open",
  askedAt: SENT_AT + MINUTE,
  answeredAt: SENT_AT + MINUTE,
};
const bumping = { timeBeforeBumpingFees: MINUTE } as const;
const forbidden = {
  kind: "forbidden",
  problem: "maxFeePerGasLimit allows 1 wei",
} as const;

/** A history, and the decision that it leads to. */
type Row = readonly [
  title: string,
  plan: Partial<Plan>,
  history: readonly Sighting[],
  decision: object,
  /** The reason of the outcome, or the warning. */
  says?: RegExp,
];

const wait = { kind: "wait", pause: "usual" };
const end = (outcome: object): object => ({ kind: "end", outcome });

const table: Readonly<Record<string, readonly Row[]>> = {
  "a transaction that is sent": [
    ["is sent at once after the last check", {}, [], { kind: "send" }],
    [
      "is stopped if another look before it leaves finds the round closed",
      {},
      [unknown({ round: changed })],
      end({ kind: "stopped", status: "refused" }),
      /^The round changed\.$/u,
    ],
    [
      "is looked for first by a process that resumes",
      { start: "find" },
      [],
      { kind: "wait", pause: "none" },
    ],
    ["is waited for while it is pending", {}, [pending()], wait],
    [
      "is not sent again after one look without it",
      {},
      [unknown({ sent: lost })],
      wait,
    ],
    [
      "is sent again after two looks without it, if its round is open",
      {},
      sendAnd(lost),
      { kind: "send" },
    ],
    [
      "is not sent again on what was read of the round six seconds ago",
      {},
      [unknown({ sent: lost }), unknown({ at: SENT_AT + 6_000 })],
      { kind: "wait", pause: "none", readRound: true },
    ],
    [
      "is not sent again if the round cannot be read",
      {},
      [...sendAnd(lost), unknown({ round: { kind: "unread", problem: "no" } })],
      wait,
    ],
    ["is not sent after a look that failed", {}, [pending(), unread], wait],
    [
      "ends when it is mined",
      {},
      [inBlock()],
      end({ kind: "mined", hash: HASH }),
    ],
    [
      "ends when it is mined, also if the time is over",
      {},
      [inBlock({ isOver: true })],
      end({ kind: "mined", hash: HASH }),
    ],
    [
      "waits for its confirmations",
      { confirmations: 3 },
      [inBlock({ head: 7 })],
      wait,
    ],
    [
      "ends with its confirmations",
      { confirmations: 3 },
      [inBlock({ head: 8 })],
      end({ kind: "mined" }),
    ],
  ],
  "a transaction that the node answers with errors": [
    [
      "is sent a sixth time if its pool is full",
      {},
      times(5, unknown({ sent: full })).flatMap((one) => [one, unknown()]),
      { kind: "send" },
    ],
    [
      "is refused in the node's words when the time is over and its pool is still full",
      {},
      [...sendAnd(full), unknown({ isOver: true })],
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
      /txpool is full/u,
    ],
    [
      "is refused if the look at the end of the time has no answer",
      {},
      [...sendAnd(full), unknown({ isOver: true, round: undefined })],
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
    ],
    [
      "stays open when the time is over if the last look that had an answer was long before",
      {},
      [...sendAnd(full), unknown({ ...later, isOver: true, round: undefined })],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "stays open when the time is over if one answer was lost",
      {},
      [...sendAnd(lost), ...sendAnd(full), unknown({ isOver: true })],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "stays open when the time is over if it was seen once",
      {},
      [pending({ sent: full }), ...sendAnd(full), unknown({ isOver: true })],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "stays open when the time is over if it was seen before it was sent",
      {},
      [pending(), ...sendAnd(full), unknown({ isOver: true })],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "stays open when the time is over if the last look failed",
      {},
      [...sendAnd(full), { ...unread, isOver: true }],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "is not sent a sixth time if it is refused for good",
      {},
      times(5, unknown({ sent: refused })).flatMap((one) => [one, unknown()]),
      wait,
    ],
    [
      "is refused after five such errors and five looks",
      {},
      [
        ...times(5, unknown({ sent: refused })).flatMap((one) => [
          one,
          unknown(),
        ]),
        ...times(3, unknown()),
      ],
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
      /nonce too low/u,
    ],
    [
      "is not given up after five such errors while the round cannot be read",
      {},
      [
        ...times(5, unknown({ sent: refused })).flatMap((one) => [
          one,
          unknown(),
        ]),
        ...times(8, unknown({ round: { kind: "unread", problem: "no" } })),
      ],
      wait,
    ],
  ],
  "a transaction without signed bytes": [
    [
      "is sent after another look if the last one was too long ago to send it",
      { transactions: [remote] },
      [unknown()],
      { kind: "send" },
    ],
    [
      "is never sent again if the answer was lost",
      { transactions: [remote] },
      [unknown({ sent: lost }), ...times(20, unknown())],
      wait,
    ],
    [
      "stays open when the time is over after a lost answer",
      { transactions: [remote] },
      [unknown({ sent: lost }), unknown({ isOver: true })],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "is refused after one error and five looks",
      { transactions: [remote] },
      [unknown({ sent: full }), ...times(4, unknown())],
      end({ kind: "dropped", status: "refused" }),
      /txpool is full/u,
    ],
    [
      "is lost if a process that resumes does not find it in five looks",
      { transactions: [remote], start: "find" },
      times(5, unknown()),
      end({ kind: "dropped", code: "VAULT_SETTLEMENT_LOST" }),
    ],
    [
      "is not lost while the round cannot be read, however often a process that resumes does not find it",
      { transactions: [remote], start: "find" },
      times(20, unknown({ round: { kind: "unread", problem: "no" } })),
      wait,
    ],
    [
      "is not replaced at a higher fee",
      { transactions: [remote], ...bumping },
      [pending({ ...later, round: freshThen })],
      wait,
    ],
  ],
  "a nonce that is used": [
    [
      "by something unseen is waited for",
      { start: "find" },
      [usedBy("unseen")],
      wait,
    ],
    [
      "by no transaction of any block ends the settlement",
      { start: "find" },
      [usedBy("nothing")],
      end({ kind: "dropped", status: "unconfirmed" }),
      /^It was replaced: no transaction of \S+ has its nonce 7/u,
    ],
  ],
  "a round that changed": [
    [
      "ends a settlement that this process did not send",
      { start: "find" },
      [unknown({ round: changed })],
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
      /^The round changed\./u,
    ],
    [
      "leaves open what this process sent",
      {},
      [unknown({ sent: lost, round: changed })],
      end({ kind: "open", status: "unconfirmed" }),
    ],
    [
      "decides nothing while the nonce may be used in its block",
      { start: "find" },
      [unknown({ round: { ...changed, isNonceFree: false } })],
      wait,
    ],
    [
      "ends what the node has lost, also if a higher fee is due",
      { ...bumping, start: "find" },
      [unknown({ ...later, round: changed })],
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
    ],
    [
      "forbids a higher fee",
      bumping,
      [pending({ ...later, round: changed })],
      { ...wait, readRound: true },
      /not replaced at a higher fee: The round changed/u,
    ],
    [
      "does not keep off a cancellation",
      { start: "find", requestedReplacement: "cancel" },
      [pending({ round: changed })],
      { kind: "cancel" },
    ],
  ],
  "a transaction that is stuck": [
    ["is waited for before its time", bumping, [pending()], wait],
    [
      "has its round read when the time has come",
      bumping,
      [pending(later)],
      { kind: "wait", pause: "none", readRound: true },
    ],
    [
      "is replaced at a higher fee if its round is open",
      bumping,
      [pending({ ...later, round: freshThen })],
      { kind: "bump" },
    ],
    [
      "is replaced also if the node has lost it",
      bumping,
      [unknown({ ...later, round: freshThen })],
      { kind: "bump" },
    ],
    [
      "is not replaced by what was read of the round before a suspend",
      bumping,
      [pending({ ...later, round: open })],
      { kind: "wait", pause: "none", readRound: true },
    ],
    [
      "is not replaced while its round cannot be read",
      bumping,
      [pending({ ...later, round: { kind: "unread", problem: "no" } })],
      { ...wait, readRound: true },
    ],
    [
      "is not replaced if that is not configured",
      {},
      [pending({ ...later, round: freshThen })],
      wait,
    ],
    [
      "is not replaced if its nonce is used",
      bumping,
      [usedBy("unseen", later)],
      wait,
    ],
    [
      "is replaced so often, and no more",
      {
        ...bumping,
        maxFeeBumps: 1,
        transactions: [{ ...settlement, hash: OTHER_HASH }, settlement],
      },
      [pending({ ...later, round: freshThen })],
      wait,
    ],
    [
      "waits for another look at the round if the clock was set back since",
      bumping,
      [
        pending({
          ...later,
          round: { ...freshThen, askedAt: SENT_AT + 2 * MINUTE },
        }),
      ],
      { kind: "wait", pause: "none", readRound: true },
    ],
    [
      "is tried again only after another such time if a limit forbids it",
      bumping,
      [pending({ ...later, round: freshThen, replacement: forbidden })],
      wait,
    ],
    [
      "is tried again after another such time if a limit forbade it",
      bumping,
      [
        pending({ ...later, round: freshThen, replacement: forbidden }),
        pending({
          at: SENT_AT + 2 * MINUTE,
          round: { ...freshThen, askedAt: SENT_AT + 2 * MINUTE },
        }),
      ],
      { kind: "bump" },
    ],
    [
      "names the limit when the time is over",
      bumping,
      [
        pending({ ...later, replacement: forbidden }),
        pending({ ...later, isOver: true }),
      ],
      end({ kind: "open", status: "unconfirmed" }),
      /it waits in the node's pool; maxFeePerGasLimit allows 1 wei\.$/u,
    ],
  ],
  "a replacement that a person asks for": [
    [
      "needs a round that is open",
      { start: "find", requestedReplacement: "bump" },
      [pending()],
      { kind: "wait", pause: "none", readRound: true },
    ],
    [
      "is made at once",
      { start: "find", requestedReplacement: "bump" },
      [pending({ round: open })],
      { kind: "bump" },
    ],
    [
      "is made once",
      { start: "find", requestedReplacement: "bump" },
      [
        pending({ sent: accepted, replacement: { kind: "made", hash: HASH } }),
        pending({ round: open }),
      ],
      wait,
    ],
    [
      "is not made where the transaction is mined",
      { start: "find", requestedReplacement: "cancel" },
      [inBlock()],
      end({ kind: "mined", hash: HASH }),
    ],
    [
      "waits for another look if it failed",
      { start: "find", requestedReplacement: "cancel" },
      [pending({ replacement: { kind: "failed", problem: "no answer" } })],
      wait,
    ],
    [
      "is tried again after that look",
      { start: "find", requestedReplacement: "cancel" },
      [
        pending({ replacement: { kind: "failed", problem: "no answer" } }),
        pending(),
      ],
      { kind: "cancel" },
    ],
    [
      "is not made twice: what cancels already is followed",
      {
        start: "find",
        requestedReplacement: "cancel",
        transactions: [settlement, cancellation],
      },
      [see({ kind: "pending", hash: OTHER_HASH })],
      wait,
    ],
    [
      "raises the fee of a cancellation, whatever the round is",
      {
        start: "find",
        requestedReplacement: "bump",
        transactions: [settlement, cancellation],
      },
      [pending()],
      { kind: "bump" },
    ],
    [
      "is sent by the next process if the node has only the older transaction",
      { start: "find", transactions: [settlement, cancellation] },
      [pending()],
      { kind: "send" },
    ],
    [
      "is sent though the older transaction was accepted",
      { transactions: [settlement, cancellation] },
      [
        pending({ sent: accepted }),
        pending({ replacement: { kind: "made", hash: OTHER_HASH } }),
        pending(),
      ],
      { kind: "send" },
    ],
    [
      "is sent as a cancellation, whatever the round is",
      { start: "find", transactions: [settlement, cancellation] },
      [unknown({ round: changed })],
      { kind: "send" },
    ],
    [
      "is not sent twice while the older transaction waits",
      { start: "find", transactions: [settlement, cancellation] },
      [pending({ sent: refused }), pending()],
      wait,
    ],
    [
      "is sent again if the node loses the cancellation",
      { start: "find", transactions: [settlement, cancellation] },
      [unknown({ round: undefined })],
      { kind: "send" },
    ],
  ],
};

describe("what a settlement decides", () => {
  for (const [subject, rows] of Object.entries(table)) {
    describe(subject, () => {
      for (const [title, plan, history, expected, says] of rows) {
        it(title, () => {
          const decision: Decision = decide(
            {
              network: "live",
              transactions: [settlement],
              start: "send",
              confirmations: 1,
              sentAfterBlock: 5,
              maxFeeBumps: 4,
              ...plan,
            },
            history,
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
});
