import {
  SENT_AT,
  cancellation,
  open,
  changed,
  accepted,
  refused,
  see,
  unknown,
  pending,
  inBlock,
  usedBy,
  MINUTE,
  later,
  freshThen,
  bumping,
  forbidden,
  full,
  lost,
  wait,
  end,
  itDecides,
} from "../helpers/decisions.js";
import {
  HASH,
  OTHER_HASH,
  sent as settlement,
} from "../helpers/settlement-stage.js";

const THIRD_HASH = `0x${"ef".repeat(32)}` as const;

describe("what a settlement decides about its replacement", () => {
  itDecides({
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
        "is not replaced if the process was suspended after the look",
        { ...bumping, now: later.at + 6_000 },
        [pending({ ...later, round: freshThen })],
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
        "is replaced until it was so often",
        {
          ...bumping,
          maxFeeBumps: 2,
          transactions: [{ ...settlement, hash: OTHER_HASH }, settlement],
        },
        [pending({ ...later, round: freshThen })],
        { kind: "bump" },
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
        "is tried again only after another such time if it failed",
        bumping,
        [
          pending({
            ...later,
            round: freshThen,
            replacement: { kind: "failed", problem: "no key" },
          }),
          pending({ ...later, round: freshThen }),
        ],
        wait,
      ],
      [
        "is named when the time is over if the pool has it, not the newest, which has not left",
        { transactions: [settlement, { ...settlement, hash: OTHER_HASH }] },
        [pending({ isOver: true })],
        end({ kind: "undecided", hash: HASH }),
        /^The time is over for transaction 0xabab/u,
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
        "names no replacement when the time is over and its nonce is used",
        bumping,
        [usedBy("unseen", { isOver: true, round: changed })],
        end({ kind: "undecided", status: "unconfirmed" }),
        /by which transaction could not be seen\.$/u,
      ],
      [
        "names the limit when the time is over",
        bumping,
        [
          pending({ ...later, replacement: forbidden }),
          pending({ ...later, isOver: true }),
        ],
        end({ kind: "undecided", status: "unconfirmed" }),
        /it waits in the node's pool; maxFeePerGasLimit allows 1 wei\.$/u,
      ],
    ],
    "a replacement that a person asks for": [
      [
        "needs a round that is open",
        { checkedAt: undefined, requestedReplacement: "bump" },
        [pending()],
        { kind: "wait", pause: "none", readRound: true },
      ],
      [
        "is made at once",
        { checkedAt: undefined, requestedReplacement: "bump" },
        [pending({ round: open })],
        { kind: "bump" },
      ],
      [
        "is made once",
        { checkedAt: undefined, requestedReplacement: "bump" },
        [
          pending({
            sent: accepted,
            replacement: { kind: "made", hash: HASH },
          }),
          pending({ round: open }),
        ],
        wait,
      ],
      [
        "is not made where the transaction is mined",
        { checkedAt: undefined, requestedReplacement: "cancel" },
        [inBlock()],
        end({ kind: "mined", hash: HASH }),
      ],
      [
        "waits for another look if it failed",
        { checkedAt: undefined, requestedReplacement: "cancel" },
        [pending({ replacement: { kind: "failed", problem: "no answer" } })],
        wait,
      ],
      [
        "is tried again after that look",
        { checkedAt: undefined, requestedReplacement: "cancel" },
        [
          pending({ replacement: { kind: "failed", problem: "no answer" } }),
          pending(),
        ],
        { kind: "cancel" },
      ],
      [
        "sends no settlement if a cancellation fails",
        { checkedAt: undefined, requestedReplacement: "cancel" },
        [unknown({ replacement: { kind: "failed", problem: "no answer" } })],
        wait,
      ],
      [
        "sends no settlement if a limit forbids its cancellation",
        { checkedAt: undefined, requestedReplacement: "cancel" },
        [unknown({ replacement: forbidden }), unknown()],
        wait,
      ],
      [
        "raises no fee of a settlement if a limit forbids its cancellation",
        {
          ...bumping,
          checkedAt: undefined,
          requestedReplacement: "cancel",
        },
        [
          pending({ replacement: forbidden }),
          pending({ ...later, round: freshThen }),
        ],
        wait,
      ],
      [
        "is not made twice: what cancels already is followed",
        {
          checkedAt: undefined,
          requestedReplacement: "cancel",
          transactions: [settlement, cancellation],
        },
        [see({ kind: "pending", hash: OTHER_HASH })],
        wait,
      ],
      [
        "raises the fee of a cancellation, whatever the round is",
        {
          checkedAt: undefined,
          requestedReplacement: "bump",
          transactions: [settlement, cancellation],
        },
        [pending()],
        { kind: "bump" },
      ],
      [
        "is sent by the next process if the node has only the older transaction",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
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
        "is sent, not a settlement that another process signed after it",
        {
          transactions: [
            settlement,
            cancellation,
            { ...settlement, hash: THIRD_HASH },
          ],
        },
        [
          pending({ sent: accepted }),
          pending({ replacement: { kind: "made", hash: THIRD_HASH } }),
          pending({ round: changed }),
        ],
        { kind: "send" },
      ],
      [
        "is tried again, and the settlement not given up, if it failed and the round is closed",
        { checkedAt: undefined, requestedReplacement: "cancel" },
        [
          unknown({
            round: changed,
            replacement: { kind: "failed", problem: "no answer" },
          }),
        ],
        wait,
      ],
      [
        "is sent again only after a pause if the node refused it for the moment",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [pending({ sent: full })],
        wait,
      ],
      [
        "is sent again if the node refused it for the moment",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [pending({ sent: full }), pending()],
        { kind: "send" },
      ],
      [
        "is sent again if the answer to it was lost",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [pending({ sent: lost }), pending()],
        { kind: "send" },
      ],
      [
        "that fails is no reason to keep a settlement back that the node has lost",
        { checkedAt: undefined, requestedReplacement: "bump" },
        [unknown({ replacement: { kind: "failed", problem: "no key" } })],
        { kind: "send" },
      ],
      [
        "that fails is no reason to keep a cancellation back that the node has lost",
        {
          checkedAt: undefined,
          requestedReplacement: "cancel",
          transactions: [settlement, cancellation],
        },
        [unknown({ replacement: { kind: "failed", problem: "no key" } })],
        { kind: "send" },
      ],
      [
        "is sent by the next process if the node tells only that the nonce waits",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [see({ kind: "pending", hash: undefined })],
        { kind: "send" },
      ],
      [
        "is raised if it is stuck and asked for again",
        {
          ...bumping,
          checkedAt: undefined,
          requestedReplacement: "cancel",
          transactions: [settlement, cancellation],
        },
        [see({ kind: "pending", hash: OTHER_HASH }, later)],
        { kind: "bump" },
      ],
      [
        "is sent as a cancellation, whatever the round is",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [unknown({ round: changed })],
        { kind: "send" },
      ],
      [
        "is not sent twice while the older transaction waits",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [pending({ sent: refused }), pending()],
        wait,
      ],
      [
        "is sent again if the node loses the cancellation",
        { checkedAt: undefined, transactions: [settlement, cancellation] },
        [unknown({ round: undefined })],
        { kind: "send" },
      ],
    ],
  });
});
