import { expect } from "chai";

import { depthOf, effortsOf, isUnsent } from "../../src/settlement/sighting.js";
import type { Plan, Sighting } from "../../src/settlement/sighting.js";
import { HASH, OTHER_HASH, sent } from "../helpers/settlement-stage.js";

const refusal = { kind: "error", problem: "no", isTransient: false } as const;
const accepted = { kind: "accepted", hash: HASH } as const;

const sighting = (
  transaction: Sighting["transaction"],
  answer?: Sighting["sent"],
): Sighting => ({ at: 1, isOver: false, transaction, sent: answer });
const unknown = { kind: "unknown" } as const;
const pending = { kind: "pending", hash: HASH } as const;
const unread = { kind: "unread", problem: "x" } as const;
const used = { kind: "used", by: "unseen" } as const;

describe("what was seen of a settlement", () => {
  for (const [title, history, is] of [
    [
      "looks and refusals add up",
      [sighting(unknown, refusal), sighting(unknown, refusal)],
      { looksInVain: 1, refusals: [refusal, refusal], sends: 2 },
    ],
    [
      "a look that finds it ends the refusals before it",
      [sighting(unknown, refusal), sighting(pending), sighting(unknown)],
      { looksInVain: 1, refusals: [], sends: 1 },
    ],
    [
      "a look without an answer ends neither",
      [sighting(unknown, refusal), sighting(unread), sighting(unknown)],
      { looksInVain: 2, refusals: [refusal], sends: 1 },
    ],
    [
      "a send that is accepted ends the refusals before it",
      [sighting(unknown, refusal), sighting(unknown, accepted)],
      { looksInVain: 1, refusals: [], sends: 2 },
    ],
  ] as const) {
    it(`has efforts: ${title}`, () => {
      expect(effortsOf(history)).to.deep.equal(is);
    });
  }

  const plan: Plan = {
    network: "scripted",
    transactions: [{ ...sent, hash: OTHER_HASH }],
    sentAfterBlock: 5,
    checkedAt: 0,
    confirmations: 1,
    maxFeeBumps: 0,
  };
  it("has it unsent only if this process began it, sent nothing, and saw neither it nor its nonce used", () => {
    const looked = sighting(unknown);
    expect(isUnsent(plan, [looked, sighting(unread)])).to.equal(true);
    expect(isUnsent({ ...plan, checkedAt: undefined }, [looked])).to.equal(
      false,
    );
    for (const one of [
      sighting(unknown, refusal),
      sighting(pending),
      sighting(used),
    ]) {
      expect(isUnsent(plan, [one, looked])).to.equal(false);
    }
  });

  it("has a depth that counts its own block, and is one at least, where the node is behind", () => {
    expect(
      [undefined, 8, 10, 12].map((head) => depthOf(10, head)),
    ).to.deep.equal([1, 1, 1, 3]);
  });
});
