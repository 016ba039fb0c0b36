import { expect } from "chai";

import { vaultError } from "../../src/errors.js";
import { decide } from "../../src/settlement/decide.js";
import type { SendAnswer } from "../../src/settlement/send.js";
import type {
  Replacement,
  RoundSighting,
} from "../../src/settlement/sighting.js";
import { begin } from "../../src/settlement/state.js";
import type { Plan, State } from "../../src/settlement/state.js";
import {
  HASH,
  OTHER_HASH,
  minedReceipt,
  sent as settlement,
  unsignedSettlement,
} from "../helpers/keeper.js";

const SENT_AT = settlement.preparedAt;
const MINUTE = 60_000;
const cancellation = {
  ...settlement,
  kind: "cancellation",
  to: settlement.from,
  data: "0x",
  hash: OTHER_HASH,
} as const;

const open: RoundSighting = { kind: "open" };
const changed = {
  kind: "closed",
  obstacle: { kind: "stopped", status: "refused", reason: "It changed." },
  isNonceFree: true,
} as const;
/** It has not ended, by a node that is behind. */
const early = {
  ...changed,
  obstacle: { ...changed.obstacle, status: "nothing-to-do", isEarly: true },
} as const;
const unreadRound: RoundSighting = { kind: "unread", problem: "no state" };
const stale = vaultError("VAULT_STALE_HEAD", {
  ...{ network: "live", block: 1, age: 301, limit: 300 },
});
const asked = { network: "live", method: "eth_call" };
const nodeRefusal = vaultError("VAULT_RPC_ERROR", { ...asked, problem: "no" });
const timeout = vaultError("VAULT_RPC_TIMEOUT", asked);
const unreachable = vaultError("VAULT_NETWORK_UNREACHABLE", {
  ...{ ...asked, problem: "closed", remedy: "Check it." },
});

const accepted: SendAnswer = { kind: "accepted", hash: HASH };
const lost: SendAnswer = { kind: "unanswered", problem: "cut" };
const refused: SendAnswer = {
  kind: "refused",
  problem: "nonce too low",
  isTransient: false,
};
const full: SendAnswer = {
  kind: "refused",
  problem: "txpool is full",
  isTransient: true,
};
const plugin = vaultError("VAULT_HARDHAT_ERROR", {
  source: "The plugin ledger",
  problem: "no device",
});
const failedHere: SendAnswer = {
  kind: "failed",
  problem: "no device",
  error: plugin,
};

/** A state in short: what a look found, and what differs from a first look. */
type Known = Partial<State>;
const pending: Known = {
  transaction: { kind: "pending", hash: HASH },
  wasSeen: true,
};
const unknown: Known = {
  transaction: { kind: "unknown" },
  round: open,
  looksInVain: 1,
};
const mined: Known = {
  transaction: {
    ...{ kind: "mined", hash: HASH, receipt: minedReceipt },
    transaction: settlement,
  },
  wasSeen: true,
};
const usedBy = (by: "nothing" | "unseen"): Known => ({
  transaction: { kind: "used", by },
  wasSeen: true,
});
/** By a transaction of block 6. */
const usedByOther: Known = {
  transaction: {
    kind: "used",
    by: {
      block: 6,
      transaction: {
        ...{ hash: OTHER_HASH, from: settlement.from, nonce: 7 },
        ...{ to: undefined, data: "0x", gasPrice: undefined },
      },
    },
  },
};
const unread: Known = { transaction: { kind: "unread", problem: "no answer" } };
/** After one send that was answered so, and as many looks that found nothing. */
const sentAnd = (answer: SendAnswer, looks = 1, sends = 1): Known => ({
  ...unknown,
  ...{ answer, sends, looks, looksInVain: looks },
  refusals: answer.kind === "refused" ? sends : 0,
  lastingRefusals: answer === refused ? sends : 0,
});
const tried = (replacement: Replacement, looks = 1, at = SENT_AT): Known => ({
  replacement: { at, tried: replacement },
  looks,
});
const noKey: Replacement = { kind: "failed", problem: "no key" };
const forbidden: Replacement = { kind: "forbidden", problem: "1 wei allowed" };
const made: Replacement = { kind: "made", hash: OTHER_HASH };

const resumed = { isResumed: true } as const;
const bumping = { timeBeforeBumpingFees: MINUTE, now: SENT_AT + MINUTE };
const cancel = { ...resumed, requestedReplacement: "cancel" } as const;
const bump = { ...resumed, requestedReplacement: "bump" } as const;
const unsigned: Known = { transactions: [unsignedSettlement] };
const cancelled: Known = { transactions: [settlement, cancellation] };

const wait = { kind: "wait" };
const send = { kind: "send" };
const end = (outcome: object): object => ({ kind: "end", outcome });
const staysOpen = end({ kind: "undecided", status: "unconfirmed" });

type Row = readonly [
  title: string,
  plan: Partial<Plan & { readonly now: number }>,
  state: Known,
  decision: object,
  /** The outcome's reason. */
  says?: RegExp,
];

const table: Readonly<Record<string, readonly Row[]>> = {
  "a new settlement": [
    ["is sent before any look", {}, {}, send],
    [
      "is stopped if the round is closed before it is sent",
      {},
      { ...unknown, round: changed },
      end({ kind: "stopped", status: "refused" }),
      /^It changed\.$/u,
    ],
    [
      "waits, to read the round again, if that had no answer",
      {},
      { ...unknown, round: unreadRound },
      wait,
    ],
    [
      "is sent once the round has an answer",
      {},
      { ...unknown, looks: 1 },
      send,
    ],
    ...[stale, nodeRefusal].map((error): Row => [
      `is stopped at once if reading the round fails with ${error.code}`,
      {},
      { ...unknown, round: { kind: "unread", problem: "old", error } },
      end({ kind: "stopped", status: "refused", code: error.code }),
    ]),
    ...[timeout, unreachable].map((error): Row => [
      `waits, to read the round again, after ${error.code}`,
      {},
      { ...unknown, round: { kind: "unread", problem: "cut", error } },
      wait,
    ]),
    [
      "is stopped if the time is over before the round has an answer",
      {},
      { ...unknown, round: unreadRound, isOver: true },
      end({ kind: "stopped", status: "refused", code: "VAULT_RPC_TIMEOUT" }),
      /nothing was sent/u,
    ],
    [
      "is followed, not stopped, if another process has sent it meanwhile",
      {},
      { ...unknown, round: changed, wasSeen: true },
      end({ kind: "dropped" }),
    ],
  ],
  "a settlement that is resumed": [
    ["is looked for first", resumed, {}, wait],
    [
      "is sent if the node has nothing and the round is open",
      resumed,
      unknown,
      send,
    ],
    [
      "waits if a setting forbids it now, such as a stale head",
      resumed,
      {
        ...unknown,
        round: { kind: "unread", problem: "old", error: stale },
      },
      wait,
    ],
    [
      "is dropped if the round is closed, and may still arrive",
      resumed,
      { ...unknown, round: changed },
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
      /^It changed\..* not sent again\. .* nonce 7, takes its place\.$/u,
    ],
    [
      "is dropped if its round has not ended again",
      resumed,
      { ...unknown, round: early },
      end({ kind: "dropped", status: "nothing-to-do" }),
    ],
    [
      "waits while the nonce may be used in the block that closed the round",
      resumed,
      { ...unknown, round: { ...changed, isNonceFree: false } },
      wait,
    ],
  ],
  "a transaction that was sent": [
    ["is waited for while it is pending", {}, pending, wait],
    ["is waited for after a look that failed", {}, unread, wait],
    ["is not sent again after one look without it", {}, sentAnd(lost), wait],
    ["is sent again after two looks without it", {}, sentAnd(lost, 2), send],
    [
      "is not sent again while the round cannot be read",
      {},
      { ...sentAnd(lost, 3), round: unreadRound },
      wait,
    ],
    [
      "stays open if the round is closed: it may still arrive",
      {},
      { ...sentAnd(lost), round: changed },
      staysOpen,
    ],
    [
      "is waited for if its round has not ended yet, by a node that is behind",
      {},
      { ...sentAnd(accepted), round: early },
      wait,
    ],
    ["ends when it is mined", {}, mined, end({ kind: "mined", hash: HASH })],
    [
      "ends when it is mined, also if the time is over",
      {},
      { ...mined, isOver: true },
      end({ kind: "mined" }),
    ],
    [
      "waits for its confirmations",
      { confirmations: 3 },
      { ...mined, head: 7 },
      wait,
    ],
    [
      "ends with its confirmations",
      { confirmations: 3 },
      { ...mined, head: 8 },
      end({ kind: "mined" }),
    ],
    [
      "waits while its nonce is used by something unseen",
      {},
      usedBy("unseen"),
      wait,
    ],
    [
      "waits for the confirmations of the transaction that used its nonce",
      { confirmations: 12 },
      { ...usedByOther, head: 16 },
      wait,
    ],
    [
      "is replaced by the transaction that used its nonce, with its confirmations",
      { confirmations: 12 },
      { ...usedByOther, head: 17 },
      end({ kind: "dropped", status: "unconfirmed", hash: HASH }),
      new RegExp(`^It was replaced: transaction ${OTHER_HASH} .* nonce 7`, "u"),
    ],
    [
      "is replaced if its nonce is used by no transaction of any block",
      {},
      usedBy("nothing"),
      end({ kind: "dropped", status: "unconfirmed" }),
      /^It was replaced: no transaction of \S+ has its nonce 7/u,
    ],
  ],
  "a transaction that a plugin failed to send": [
    [
      "is refused in the plugin's words if a look shows that nothing has left",
      {},
      sentAnd(failedHere),
      end({ kind: "stopped", status: "refused", code: "VAULT_HARDHAT_ERROR" }),
      /The plugin ledger failed: no device/u,
    ],
    [
      "is waited for if something with its nonce is pending",
      {},
      { ...sentAnd(failedHere), ...pending },
      wait,
    ],
    [
      "is waited for if no look has an answer",
      {},
      { ...sentAnd(failedHere), ...unread },
      wait,
    ],
    [
      "stays open if another process may have sent it before",
      resumed,
      { ...sentAnd(failedHere), isOver: true },
      staysOpen,
      /sending it failed: no device/u,
    ],
    [
      "stays open if it was sent before, and that answer was lost",
      {},
      { ...sentAnd(failedHere, 2, 2), isOver: true },
      staysOpen,
    ],
  ],
  "a transaction that the node answers with errors": [
    ["is sent a sixth time if its pool is full", {}, sentAnd(full, 2, 5), send],
    [
      "is not sent a sixth time if it is refused for good",
      {},
      sentAnd(refused, 2, 5),
      wait,
    ],
    [
      "is refused after five such errors and five looks",
      {},
      sentAnd(refused, 5, 5),
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
      /nonce too low/u,
    ],
    [
      "is not given up while the round cannot be read",
      {},
      { ...sentAnd(refused, 9, 5), round: unreadRound },
      wait,
    ],
    [
      "is refused in the node's words when the time is over, if every send was",
      {},
      { ...sentAnd(full, 2), isOver: true },
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
      /txpool is full/u,
    ],
    [
      "stays open when the time is over, if another process began it",
      resumed,
      { ...sentAnd(full, 2), isOver: true },
      staysOpen,
    ],
    [
      "stays open when the time is over, if one answer was lost",
      {},
      { ...sentAnd(full, 2, 2), refusals: 1, isOver: true },
      staysOpen,
    ],
    [
      "stays open when the time is over, if it was seen once",
      {},
      { ...sentAnd(full, 2), wasSeen: true, isOver: true },
      staysOpen,
    ],
    [
      "stays open when the time is over, if the last look failed",
      {},
      { ...sentAnd(full, 2), ...unread, isOver: true },
      staysOpen,
    ],
    [
      "stays open when the time is over, if the round cannot be read",
      {},
      { ...sentAnd(full, 2), round: unreadRound, isOver: true },
      staysOpen,
    ],
  ],
  "a transaction without signed bytes": [
    ["is sent once the round is read", {}, { ...unknown, ...unsigned }, send],
    [
      "is never sent again if the answer was lost",
      {},
      { ...sentAnd(lost, 20), ...unsigned },
      wait,
    ],
    [
      "stays open when the time is over after a lost answer",
      {},
      { ...sentAnd(lost), ...unsigned, isOver: true },
      staysOpen,
      /^The time is over for the transaction of 0x\S+ with nonce 7: the node does not have it, and sending it failed: cut\.$/u,
    ],
    [
      "is refused after one error and five looks",
      {},
      { ...sentAnd(full, 5), ...unsigned },
      end({ kind: "dropped", status: "refused" }),
      /txpool is full/u,
    ],
    [
      "is lost if a resume does not find it in five looks",
      resumed,
      { ...unknown, ...unsigned, looksInVain: 5 },
      end({ kind: "dropped", code: "VAULT_SETTLEMENT_LOST" }),
    ],
    [
      "is not lost while the round cannot be read",
      resumed,
      { ...unknown, ...unsigned, looksInVain: 20, round: unreadRound },
      wait,
    ],
    [
      "is not replaced at a higher fee",
      bumping,
      { ...pending, ...unsigned },
      wait,
    ],
  ],
  "a transaction that is stuck": [
    [
      "is waited for before its time",
      { ...bumping, now: SENT_AT + MINUTE - 1 },
      pending,
      wait,
    ],
    ["is replaced when the time has come", bumping, pending, { kind: "bump" }],
    [
      "is replaced also if the node has lost it",
      bumping,
      unknown,
      { kind: "bump" },
    ],
    [
      "is dropped, not replaced, if it is lost and the round is closed",
      { ...bumping, ...resumed },
      { ...unknown, round: changed },
      end({ kind: "dropped", status: "refused", mayStillArrive: true }),
    ],
    [
      "is not replaced if that is not configured",
      { now: SENT_AT + MINUTE },
      pending,
      wait,
    ],
    ["is not replaced if its nonce is used", bumping, usedBy("unseen"), wait],
    [
      "is replaced so often, and no more",
      { ...bumping, maxFeeBumps: 1 },
      {
        ...pending,
        transactions: [{ ...settlement, hash: OTHER_HASH }, settlement],
      },
      wait,
    ],
    [
      "is replaced until it was so often",
      { ...bumping, maxFeeBumps: 2 },
      {
        ...pending,
        transactions: [{ ...settlement, hash: OTHER_HASH }, settlement],
      },
      { kind: "bump" },
    ],
    [
      "is replaced again only after another such time if that failed",
      bumping,
      { ...pending, ...tried(noKey, 9, SENT_AT + MINUTE) },
      wait,
    ],
    [
      "is replaced again after another such time if a limit forbade it",
      { ...bumping, now: SENT_AT + 2 * MINUTE },
      { ...pending, ...tried(forbidden, 9, SENT_AT + MINUTE) },
      { kind: "bump" },
    ],
    [
      "is named when the time is over, not the newest, which has not left",
      {},
      {
        ...pending,
        transactions: [settlement, { ...settlement, hash: OTHER_HASH }],
        isOver: true,
      },
      end({ kind: "undecided", hash: HASH }),
      /^The time is over for transaction 0xabab/u,
    ],
    [
      "names the limit that forbade a higher fee when the time is over",
      {},
      { ...pending, ...tried(forbidden), isOver: true },
      staysOpen,
      /it waits in the node's pool; 1 wei allowed\.$/u,
    ],
  ],
  "a replacement that a person asks for": [
    ["is made at once", bump, pending, { kind: "bump" }],
    [
      "ends the run, and leaves the settlement open, if a person does not agree",
      bump,
      { ...pending, ...tried({ kind: "declined", problem: "not confirmed" }) },
      staysOpen,
      /^It is not mined yet, and not confirmed$/u,
    ],
    ["is made once", bump, { ...pending, ...tried(made, 9) }, wait],
    [
      "waits for another look if it failed",
      bump,
      { ...pending, ...tried(noKey) },
      wait,
    ],
    [
      "is tried again after that look",
      bump,
      { ...pending, ...tried(noKey, 2) },
      { kind: "bump" },
    ],
    [
      "that fails keeps no settlement back that the node has lost",
      bump,
      { ...unknown, ...tried(noKey) },
      send,
    ],
    [
      "cancels, whatever the round is",
      cancel,
      { ...pending, round: changed },
      { kind: "cancel" },
    ],
    [
      "cancels what the node has lost, whatever the round is",
      cancel,
      { ...unknown, round: changed },
      { kind: "cancel" },
    ],
    ["cancels nothing that is mined", cancel, mined, end({ kind: "mined" })],
    [
      "sends no settlement if a cancellation fails",
      cancel,
      { ...unknown, ...tried(noKey) },
      wait,
    ],
    [
      "sends no settlement if a limit forbids its cancellation",
      cancel,
      { ...unknown, ...tried(forbidden, 9) },
      wait,
    ],
    [
      "raises no fee of a settlement if a limit forbids its cancellation",
      { ...cancel, ...bumping },
      { ...pending, ...tried(forbidden, 9) },
      wait,
    ],
    [
      "is not given up if its cancellation failed and the round is closed",
      cancel,
      { ...unknown, round: changed, ...tried(noKey) },
      wait,
    ],
  ],
  "a cancellation that is signed": [
    [
      "is followed, not signed again",
      cancel,
      { ...cancelled, transaction: { kind: "pending", hash: OTHER_HASH } },
      wait,
    ],
    [
      "is raised, whatever the round is",
      bump,
      { ...cancelled, ...pending, round: changed },
      { kind: "bump" },
    ],
    [
      "is raised if it is lost, whatever the round is",
      { ...cancel, ...bumping },
      { ...cancelled, ...unknown, round: changed },
      { kind: "bump" },
    ],
    [
      "is sent if the node has only the settlement",
      resumed,
      { ...cancelled, ...pending },
      send,
    ],
    [
      "is sent if the node tells only that the nonce waits",
      resumed,
      { ...cancelled, transaction: { kind: "pending", hash: undefined } },
      send,
    ],
    [
      "is sent, not a settlement that another process signed after it",
      {},
      {
        ...pending,
        transactions: [
          settlement,
          cancellation,
          { ...settlement, hash: `0x${"ef".repeat(32)}` },
        ],
      },
      send,
    ],
    [
      "is sent if the node has nothing, whatever the round is",
      resumed,
      { ...cancelled, ...unknown, round: changed },
      send,
    ],
    [
      "is sent again only after a pause",
      resumed,
      { ...cancelled, ...pending, answer: full, sends: 1, looks: 1 },
      wait,
    ],
    [
      "is sent again if the node refused it for the moment",
      resumed,
      { ...cancelled, ...pending, answer: full, sends: 1, looks: 2 },
      send,
    ],
    [
      "is sent again if the answer to it was lost",
      resumed,
      { ...cancelled, ...pending, answer: lost, sends: 1, looks: 2 },
      send,
    ],
    [
      "is not sent again if the node refused it for good",
      resumed,
      { ...cancelled, ...pending, answer: refused, sends: 1, looks: 9 },
      wait,
    ],
  ],
};

describe("what a settlement decides", () => {
  for (const [subject, rows] of Object.entries(table)) {
    describe(subject, () => {
      for (const [title, { now, ...plan }, state, expected, says] of rows) {
        it(title, () => {
          const { transactions = [settlement] } = state;
          const decision = decide(
            {
              ...{ network: "live", sentAfterBlock: 5, isResumed: false },
              ...{ confirmations: 1, maxFeeBumps: 4 },
              ...plan,
            },
            { ...begin(transactions), ...state },
            now ?? SENT_AT,
          );
          const { outcome, ...rest } = { outcome: {}, ...expected };
          expect(decision).to.include(rest);
          if (decision.kind === "end") {
            expect(decision.outcome).to.include(outcome);
            const reason =
              decision.outcome.kind === "mined" ? "" : decision.outcome.reason;
            expect(reason).to.match(says ?? /(?:)/u);
          }
        });
      }
    });
  }
});
