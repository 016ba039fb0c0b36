import { expect } from "chai";

import type { SendAnswer } from "../../src/settlement/send.js";
import { depthOf } from "../../src/settlement/sighting.js";
import type { Replacement, Sighting } from "../../src/settlement/sighting.js";
import { begin, step } from "../../src/settlement/state.js";
import type { State } from "../../src/settlement/state.js";
import { sent as signed, unsignedSettlement } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";

const see = (
  transaction: Extract<Sighting, { kind: "look" }>["transaction"],
  more: object = {},
): Sighting => ({ kind: "look", isOver: false, transaction, ...more });
const unknown = see({ kind: "unknown" });
const pending = see({ kind: "pending", hash: HASH });
const unread = see({ kind: "unread", problem: "cut" });
const sentAnd = (answer: SendAnswer): Sighting => ({ kind: "sent", answer });
const refused = sentAnd({ kind: "refused", problem: "no", isTransient: false });
const full = sentAnd({ kind: "refused", problem: "full", isTransient: true });
const lost = sentAnd({ kind: "unanswered", problem: "cut" });
const accepted = sentAnd({ kind: "accepted", hash: HASH });
const closed: Sighting = {
  kind: "round",
  round: {
    kind: "closed",
    obstacle: { kind: "stopped", status: "refused", reason: "Changed." },
    isNonceFree: false,
  },
};
const open: Sighting = { kind: "round", round: { kind: "open" } };
const tried = (replacement: Replacement): Sighting => ({
  ...{ kind: "replacement", at: 7, replacement },
});
const made = tried({ kind: "made", hash: OTHER_HASH });
const failed = tried({ kind: "failed", problem: "no key" });
const other = { ...signed, hash: OTHER_HASH, raw: "0x03" };

const table: ReadonlyArray<
  readonly [
    title: string,
    sightings: readonly Sighting[],
    is: Partial<State>,
    from?: State,
  ]
> = [
  [
    "counts sends and their refusals",
    [refused, unknown, full],
    { sends: 2, refusals: 2, lastingRefusals: 1 },
  ],
  [
    "counts looks since the newest send",
    [refused, unknown, refused, unknown, unknown],
    { looks: 2, looksInVain: 2 },
  ],
  [
    "ends the refusals when one is seen",
    [refused, pending, unknown],
    { refusals: 0, lastingRefusals: 0, looksInVain: 1, wasSeen: true },
  ],
  [
    "ends the refusals when one is accepted",
    [refused, accepted],
    { refusals: 0, lastingRefusals: 0, sends: 2 },
  ],
  [
    "ends the refusals when an answer is lost",
    [refused, lost],
    { refusals: 0, sends: 2 },
  ],
  [
    "keeps what is known in a look without an answer",
    [pending, unread],
    {
      wasSeen: true,
      known: { kind: "pending", hash: HASH },
      transaction: { kind: "unread", problem: "cut" },
    },
  ],
  [
    "counts a look without an answer, but not as one in vain",
    [refused, unknown, unread, unknown],
    { looks: 3, looksInVain: 2 },
  ],
  [
    "has a used nonce as seen, also if the time is over",
    [see({ kind: "used", by: "unseen" }, { isOver: true })],
    { wasSeen: true, isOver: true },
  ],
  [
    "keeps the search in a look without one",
    [see({ kind: "unknown" }, { scan: { next: 9, complete: 1 } }), unread],
    { scan: { next: 9, complete: 1 } },
  ],
  [
    "forgets the newest block of the look before in a look without one",
    [see({ kind: "unknown" }, { head: 9 }), pending],
    { head: undefined },
  ],
  [
    "keeps the round that was last read, and the end of the time",
    [
      see({ kind: "unknown" }, { round: { kind: "open" } }),
      see({ kind: "unread", problem: "cut" }, { isOver: true }),
    ],
    { round: { kind: "open" }, isOver: true },
  ],
  [
    "has a round that keeps a send back as a try",
    [unknown, closed],
    { looks: 0, sends: 0 },
  ],
  ["has an open round as no try", [unknown, open], { looks: Infinity }],
  [
    "has a replacement as a try, and no answer to it yet",
    [accepted, unknown, made],
    { looks: 0, answer: undefined },
  ],
  [
    "keeps the answer if a replacement failed",
    [accepted, unknown, failed],
    { looks: 0, answer: { kind: "accepted", hash: HASH } },
  ],
  [
    "has every hash once, oldest first",
    [{ kind: "journal", transactions: [signed, other] }, pending],
    { transactions: [signed, other], hashes: [HASH, OTHER_HASH] },
  ],
  [
    "notes the hash of what the node signed",
    [accepted],
    { transactions: [{ ...unsignedSettlement, hash: HASH }], hashes: [HASH] },
    begin([unsignedSettlement]),
  ],
  [
    "leaves signed bytes their hash if a wallet changed it, and keeps both",
    [
      see({ kind: "pending", hash: OTHER_HASH }),
      { kind: "journal", transactions: [signed] },
    ],
    { transactions: [signed], hashes: [HASH, OTHER_HASH] },
  ],
];

describe("the state of a settlement", () => {
  for (const [title, sightings, is, from = begin([signed])] of table) {
    it(title, () => {
      expect(sightings.reduce(step, from)).to.deep.include(is);
    });
  }

  it("has a depth that counts its own block, and is one at least, where the node is behind", () => {
    expect(
      [undefined, 8, 10, 12].map((head) => depthOf(10, head)),
    ).to.deep.equal([1, 1, 1, 3]);
  });
});
