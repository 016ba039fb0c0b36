import { expect } from "chai";

import {
  describeUnfinished,
  findUnfinished,
} from "../../src/settlement/unfinished-settlement.js";
import { entry, journalSubject, useKeeper } from "../helpers/keeper.js";
import { HASH } from "../helpers/names.js";

describe("findUnfinished()", () => {
  const keeper = useKeeper();

  it("finds no start in an older journal", async () => {
    const older = { version: 1, ...journalSubject, ...entry, since: undefined };
    await keeper.writeJournal(older);
    const found = await findUnfinished(keeper.host());
    expect(found).to.deep.equal({ hash: HASH, nonce: 7, since: null });
  });
});

describe("describeUnfinished()", () => {
  it("counts seconds by this machine's clock", () => {
    const since = Math.floor(Date.now() / 1_000);
    const text = describeUnfinished({ hash: HASH, nonce: 7, since });
    expect(text).to.match(/, \d s old/u);
  });

  const since = 1_700_000_000;
  const at = "since 2023-11-14T22:13:20Z";
  for (const [title, found, says] of [
    [
      "names its hash and age",
      { hash: HASH, since },
      `${HASH}, 9 s old, ${at}`,
    ],
    [
      "names the nonce of one without a hash",
      { hash: null, since },
      `nonce 7, its hash not known, 9 s old, ${at}`,
    ],
    [
      "does not know the age in an older journal",
      { hash: HASH, since: null },
      `${HASH}, its age is not known`,
    ],
    [
      "has no negative age if the clock was set back",
      { hash: HASH, since: since + 10 },
      `${HASH}, 0 s old, since 2023-11-14T22:13:30Z`,
    ],
  ] as const) {
    it(title, () => {
      expect(describeUnfinished({ nonce: 7, ...found }, since + 9)).to.equal(
        says,
      );
    });
  }
});
