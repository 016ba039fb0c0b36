import { expect } from "chai";

import { vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { decide } from "../../src/settlement/decide.js";
import type { SendAnswer } from "../../src/settlement/send.js";
import type {
  Replacement,
  RoundSighting,
} from "../../src/settlement/sighting.js";
import { begin } from "../../src/settlement/state.js";
import type { Plan, State } from "../../src/settlement/state.js";
import {
  minedReceipt,
  sent as settlement,
  unsignedSettlement,
} from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";

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
const raise = { kind: "bump" };
const three = { confirmations: 3 };
const end = (outcome: object): object => ({ kind: "end", outcome });
const staysOpen = end({ kind: "undecided", status: "unconfirmed" });

/** A plan in short, with the time in Unix milliseconds. */
type PlanAndTime = Partial<Plan & { readonly now: number }>;

type Row = readonly [
  title: string,
  state: Known & { readonly plan?: PlanAndTime },
  decision: object,
  /** The outcome's reason. */
  says?: RegExp,
];

const inWords = (...words: readonly string[]): RegExp =>
  new RegExp(words.join(".*"), "u");
const isOver = true;
const stopped = end({ kind: "stopped", status: "refused" });
const dropped = end({
  kind: "dropped",
  status: "refused",
  mayStillArrive: true,
});
const refusedRound = (error: VaultError): Known => ({
  ...unknown,
  round: { kind: "unread", problem: "old", error },
});
const raised = { ...settlement, hash: OTHER_HASH };

/** By subject, with its plan. */
const table: Readonly<
  Record<string, { readonly plan: PlanAndTime; readonly rows: readonly Row[] }>
> = {
  "a new settlement": {
    plan: {},
    rows: [
      ["is sent before any look", {}, send],
      [
        "is stopped if the round is closed",
        { ...unknown, round: changed },
        stopped,
        /^It changed\.$/u,
      ],
      [
        "waits if the round is not read",
        { ...unknown, round: unreadRound },
        wait,
      ],
      ["is sent once the round is read", { ...unknown, looks: 1 }, send],
      [
        `is stopped at once by ${stale.code} of the round`,
        refusedRound(stale),
        end({ kind: "stopped", status: "refused", code: stale.code }),
      ],
      ...[timeout, unreachable].map((error): Row => [
        `reads the round again after ${error.code}`,
        refusedRound(error),
        wait,
      ]),
      [
        "is stopped if the time is over before the round is read",
        { ...unknown, round: unreadRound, isOver },
        end({ kind: "stopped", status: "refused", code: "VAULT_RPC_TIMEOUT" }),
        /nothing was sent/u,
      ],
      [
        `is stopped then by ${unreachable.code} if that is why`,
        { ...refusedRound(unreachable), isOver },
        end({ kind: "stopped", status: "refused", code: unreachable.code }),
        /nothing was sent/u,
      ],
      [
        "is followed, not stopped, if another process has sent it",
        { ...unknown, round: changed, wasSeen: true },
        end({ kind: "dropped" }),
      ],
    ],
  },
  "a settlement that is resumed": {
    plan: resumed,
    rows: [
      ["is looked for first", {}, wait],
      ["is sent if the node has nothing", unknown, send],
      ["waits if a setting forbids it now", refusedRound(stale), wait],
      [
        "is dropped if the round is closed, and may still arrive",
        { ...unknown, round: changed },
        dropped,
        inWords(
          "^It changed\\.",
          "not sent again\\.",
          "nonce 7, takes its place\\.$",
        ),
      ],
      [
        "is dropped if its round has not ended again",
        { ...unknown, round: early },
        end({ kind: "dropped", status: "nothing-to-do" }),
      ],
      [
        "waits while its nonce may be used in the block that closed the round",
        { ...unknown, round: { ...changed, isNonceFree: false } },
        wait,
      ],
      [
        "stays open if its nonce may be used so when the time is over",
        { ...unknown, round: { ...changed, isNonceFree: false }, isOver },
        staysOpen,
        /the node does not have it, though it may be what settled the round\.$/u,
      ],
      [
        "stays open if the round is not read when the time is over",
        { ...unknown, round: unreadRound, isOver },
        staysOpen,
        /could not be sent again: no state\.$/u,
      ],
    ],
  },
  "a transaction that was sent": {
    plan: {},
    rows: [
      ["is waited for while it is pending", pending, wait],
      ["is waited for after a look that failed", unread, wait],
      ["is not sent again after one look without it", sentAnd(lost), wait],
      ["is sent again after two looks without it", sentAnd(lost, 2), send],
      [
        "is not sent again while the round cannot be read",
        { ...sentAnd(lost, 3), round: unreadRound },
        wait,
      ],
      [
        "stays open if the round is closed: it may still arrive",
        { ...sentAnd(lost), round: changed },
        staysOpen,
        /^It changed\. .* it is not sent again\.$/u,
      ],
      [
        "is waited for if its round has not ended, by a node that is behind",
        { ...sentAnd(accepted), round: early },
        wait,
      ],
      [
        "stays open if its round has not ended when the time is over",
        { ...sentAnd(accepted), round: early, isOver },
        staysOpen,
        /the node does not have it, and it is not sent again: It changed\.$/u,
      ],
      ["ends when it is mined", mined, end({ kind: "mined", hash: HASH })],
      [
        "ends when it is mined, though late",
        { ...mined, isOver },
        end({ kind: "mined" }),
      ],
      ["waits for its confirmations", { plan: three, ...mined, head: 7 }, wait],
      [
        "ends with its confirmations",
        { plan: three, ...mined, head: 8 },
        end({ kind: "mined" }),
      ],
      [
        "stays open, with its block, if the time is over before that",
        {
          ...{ plan: three, ...mined, head: 7, isOver },
          transactions: [settlement, raised],
        },
        end({ kind: "undecided", hash: HASH, receipt: minedReceipt }),
        /it is in block 6, with 2 of 3 confirmations\.$/u,
      ],
      ["waits while something unseen used its nonce", usedBy("unseen"), wait],
      [
        "stays open if the time is over before that is seen",
        { ...usedBy("unseen"), isOver },
        staysOpen,
        /its nonce is used, and by which transaction could not be seen\.$/u,
      ],
      [
        "waits for the confirmations of the transaction that used its nonce",
        { plan: { confirmations: 12 }, ...usedByOther, head: 16 },
        wait,
      ],
      [
        "stays open if the time is over before those",
        {
          ...usedByOther,
          wasSeen: true,
          plan: { confirmations: 12 },
          head: 16,
          isOver,
        },
        staysOpen,
        /used its nonce, with 11 of 12 confirmations\.$/u,
      ],
      [
        "is replaced by that transaction, with its confirmations",
        { plan: { confirmations: 12 }, ...usedByOther, head: 17 },
        end({ kind: "dropped", status: "unconfirmed", hash: HASH }),
        new RegExp(
          `^It was replaced: transaction ${OTHER_HASH} .* nonce 7`,
          "u",
        ),
      ],
      [
        "is replaced if no transaction of any block used its nonce",
        usedBy("nothing"),
        end({ kind: "dropped", status: "unconfirmed" }),
        /^It was replaced: no transaction of \S+ has its nonce 7/u,
      ],
    ],
  },
  "a transaction that a plugin failed to send": {
    plan: {},
    rows: [
      [
        "is refused in the plugin's words if nothing has left",
        sentAnd(failedHere),
        end({
          kind: "stopped",
          status: "refused",
          code: "VAULT_HARDHAT_ERROR",
        }),
        /The plugin ledger failed: no device/u,
      ],
      [
        "is waited for if its nonce is pending",
        { ...sentAnd(failedHere), ...pending },
        wait,
      ],
      ...(
        [
          ["another process may have sent it", { plan: resumed }],
          ["it was sent, and that answer was lost", { sends: 2 }],
          ["it was seen once", { wasSeen: true }],
        ] as const
      ).map(([why, state]): Row => [
        `is waited for if ${why} before`,
        { ...sentAnd(failedHere), ...state },
        wait,
      ]),
    ],
  },
  "a transaction that the node answers with errors": {
    plan: {},
    rows: [
      ["is sent a sixth time if its pool is full", sentAnd(full, 2, 5), send],
      [
        "is not sent a sixth time if it is refused for good",
        sentAnd(refused, 2, 5),
        wait,
      ],
      [
        "is refused after five such errors and looks",
        sentAnd(refused, 5, 5),
        dropped,
        /nonce too low/u,
      ],
      [
        "is not given up while the round cannot be read",
        { ...sentAnd(refused, 9, 5), round: unreadRound },
        wait,
      ],
      [
        "is refused when the time is over, if every send was",
        { ...sentAnd(full, 2), isOver },
        dropped,
        /txpool is full/u,
      ],
      ...(
        [
          ["another process began it", { plan: resumed }],
          ["one answer was lost", { sends: 2 }],
          ["it was seen once", { wasSeen: true }],
          ["the last look failed", unread],
          ["the round cannot be read", { round: unreadRound }],
        ] as const
      ).map(([why, state]): Row => [
        `stays open when the time is over, if ${why}`,
        { ...sentAnd(full, 2), ...state, isOver },
        staysOpen,
      ]),
    ],
  },
  "a transaction without signed bytes": {
    plan: {},
    rows: [
      ["is sent once the round is read", { ...unknown, ...unsigned }, send],
      [
        "is never sent again if the answer was lost",
        { ...sentAnd(lost, 20), ...unsigned },
        wait,
      ],
      [
        "stays open when the time is over after a lost answer",
        { ...sentAnd(lost), ...unsigned, isOver },
        staysOpen,
        /^The time is over for the transaction of 0x\S+ with nonce 7: the node does not have it, and sending it failed: cut\.$/u,
      ],
      [
        "is refused after one error and five looks",
        { ...sentAnd(full, 5), ...unsigned },
        end({ kind: "dropped", status: "refused" }),
        /txpool is full/u,
      ],
      [
        "is lost if a resume does not find it in five looks",
        { plan: resumed, ...unknown, ...unsigned, looksInVain: 5 },
        end({ kind: "dropped", code: "VAULT_SETTLEMENT_LOST" }),
      ],
      [
        "is not lost while the round cannot be read",
        {
          ...{ plan: resumed, ...unknown, ...unsigned },
          ...{ looksInVain: 20, round: unreadRound },
        },
        wait,
      ],
      [
        "is not replaced at a higher fee",
        { plan: bumping, ...pending, ...unsigned },
        wait,
      ],
    ],
  },
  "a transaction that is stuck": {
    plan: bumping,
    rows: [
      [
        "is waited for before its time",
        { plan: { now: SENT_AT + MINUTE - 1 }, ...pending },
        wait,
      ],
      ["is replaced when the time has come", pending, raise],
      ["is replaced also if the node has lost it", unknown, raise],
      [
        "is dropped, not replaced, if it is lost and the round is closed",
        { plan: resumed, ...unknown, round: changed },
        dropped,
      ],
      [
        "is not replaced if that is not configured",
        { plan: { timeBeforeBumpingFees: undefined }, ...pending },
        wait,
      ],
      ["is not replaced if its nonce is used", usedBy("unseen"), wait],
      [
        "is replaced so often, and no more",
        {
          ...pending,
          plan: { maxFeeBumps: 1 },
          transactions: [raised, settlement],
        },
        wait,
      ],
      [
        "is replaced again only after another such time if that failed",
        { ...pending, ...tried(noKey, 9, SENT_AT + MINUTE) },
        wait,
      ],
      [
        "is named when the time is over, not the newest, which has not left",
        { ...pending, transactions: [settlement, raised], isOver },
        end({ kind: "undecided", hash: HASH }),
        /^The time is over for transaction 0xabab/u,
      ],
      [
        "names the limit that forbade a higher fee when the time is over",
        { ...pending, ...tried(forbidden), isOver },
        staysOpen,
        /it waits in the node's pool; 1 wei allowed\.$/u,
      ],
      [
        "names no problem then if the higher fee was signed",
        { ...pending, ...tried(made), isOver },
        staysOpen,
        /it waits in the node's pool\.$/u,
      ],
    ],
  },
  "a higher fee that a person asks for": {
    plan: bump,
    rows: [
      ["is signed at once", pending, raise],
      [
        "ends the run, and leaves the settlement open, if it is not confirmed",
        {
          ...pending,
          ...tried({ kind: "declined", problem: "not confirmed" }),
        },
        staysOpen,
        /^It is not mined yet, and not confirmed$/u,
      ],
      ["is signed once", { ...pending, ...tried(made, 9) }, wait],
      [
        "waits for another look if it failed",
        { ...pending, ...tried(noKey) },
        wait,
      ],
      [
        "is tried again after that look",
        { ...pending, ...tried(noKey, 2) },
        raise,
      ],
      [
        "keeps no settlement back that the node has lost",
        { ...unknown, ...tried(noKey) },
        send,
      ],
    ],
  },
  "a cancellation that a person asks for": {
    plan: cancel,
    rows: [
      [
        "is signed, whatever the round is",
        { ...pending, round: changed },
        { kind: "cancel" },
      ],
      [
        "is signed if the settlement is lost, whatever the round is",
        { ...unknown, round: changed },
        { kind: "cancel" },
      ],
      ["that fails sends no settlement", { ...unknown, ...tried(noKey) }, wait],
      [
        "that a limit forbids sends none",
        { ...unknown, ...tried(forbidden, 9) },
        wait,
      ],
      [
        "that a limit forbids raises no fee",
        { plan: bumping, ...pending, ...tried(forbidden, 9) },
        wait,
      ],
      [
        "is followed once it is signed",
        { ...cancelled, transaction: { kind: "pending", hash: OTHER_HASH } },
        wait,
      ],
      [
        "is raised if it is lost, whatever the round is",
        { plan: bumping, ...cancelled, ...unknown, round: changed },
        raise,
      ],
    ],
  },
  "a cancellation that is signed": {
    plan: resumed,
    rows: [
      [
        "is sent if the node has only the settlement",
        { ...cancelled, ...pending },
        send,
      ],
      [
        "is sent if only the nonce is known to wait",
        { ...cancelled, transaction: { kind: "pending", hash: undefined } },
        send,
      ],
      [
        "is sent, not a settlement that another process signed after it",
        {
          ...pending,
          transactions: [
            ...([settlement, cancellation] as const),
            { ...settlement, hash: `0x${"ef".repeat(32)}` },
          ],
        },
        send,
      ],
      [
        "is sent if the node has nothing, whatever the round is",
        { ...cancelled, ...unknown, round: changed },
        send,
      ],
      ...(
        [
          ["is sent again only after a pause", full, 1, wait],
          ["is sent again if it was refused for the moment", full, 2, send],
          ["is sent again if the answer to it was lost", lost, 2, send],
          ["is not sent again if it was refused for good", refused, 9, wait],
        ] as const
      ).map(([title, answer, looks, decision]): Row => [
        title,
        { ...cancelled, ...pending, answer, sends: 1, looks },
        decision,
      ]),
    ],
  },
};

describe("decide()", () => {
  for (const [subject, { plan: ofSubject, rows }] of Object.entries(table)) {
    for (const [title, { plan: ofRow, ...state }, expected, says] of rows) {
      it(`${subject} ${title}`, () => {
        const { transactions = [settlement] } = state;
        const { now = SENT_AT, ...plan } = { ...ofSubject, ...ofRow };
        const decision = decide(
          {
            ...{ network: "live", sentAfterBlock: 5, isResumed: false },
            ...{ confirmations: 1, maxFeeBumps: 4 },
            ...plan,
          },
          { ...begin(transactions), ...state },
          now,
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
  }
});
