import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { encodeGuarded } from "../../src/guard/round-guard.js";
import { Journal } from "../../src/sending/journal.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  GUARD,
  JOURNAL_FILE,
  entry,
  journalSubject,
  unsignedSettlement,
  useKeeper,
} from "../helpers/keeper.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";

type Content = Readonly<Record<string, unknown>>;

describe("the file of a journal", () => {
  const keeper = useKeeper();
  const content: Content = { version: 1, ...journalSubject, ...entry };
  const read = async () =>
    await new Journal(keeper.projectRoot, journalSubject).read();
  const changedBy =
    (changes: object) =>
    (unsent: Content): Content => ({ ...unsent, ...changes });
  /** Changes the first transaction, or adds one like it. */
  const transaction =
    (changes: object, isAdded = false) =>
    (unsent: Content): Content => {
      const [first] = listOf(unsent["transactions"]).map(fieldsOf);
      const changed = { ...first, ...changes };
      const transactions = isAdded ? [first, changed] : [changed];
      return { ...unsent, transactions };
    };
  const unsigned = { raw: undefined, hash: undefined };
  /** A journal whose transaction settles this through the guard, with more data. */
  const throughGuard = (of: string, changes = {}, more = "") => {
    const data = encodeGuarded(of, {
      ...{ factory: FACTORY, round: { ...OPEN_ROUND, ...changes } },
      ...{ mustHaveEnded: false, mustSettle: true, tokens: [] },
    });
    const called = { ...unsignedSettlement, to: GUARD, data: `${data}${more}` };
    return { ...content, guard: GUARD, transactions: [called] };
  };
  const NOT_ITS_ROUND = `its transaction does not settle its round through the guard ${GUARD}`;

  const invalid: ReadonlyArray<
    readonly [title: string, change: (unsent: Content) => unknown, says: string]
  > = [
    ["it is cut", (unsent) => JSON.stringify(unsent).slice(0, 300), "not JSON"],
    ["it is of a later version", changedBy({ version: 2 }), "version"],
    ["it lacks a part", changedBy({ round: undefined }), "round"],
    ["it has another part", changedBy({ extra: 1 }), "Unrecognized key"],
    [
      "it is of another chain",
      changedBy({ chainId: 1 }),
      `vault ${VAULT} on live chain 1, not of vault ${VAULT} on live chain 31337`,
    ],
    [
      "it is of a development node",
      changedBy({ chainKind: "development" }),
      "on development chain 31337, not of vault",
    ],
    [
      "it is of another vault",
      changedBy({ vault: FACTORY }),
      `vault ${FACTORY} on live chain 31337, not of vault ${VAULT}`,
    ],
    [
      "its round has no number",
      changedBy({ round: { ...OPEN_ROUND, APY: "1x" } }),
      "round.APY",
    ],
    [
      "its transaction is of another chain",
      transaction({ chainId: 1 }),
      "on live chain 31337, not of vault",
    ],
    [
      "its transaction goes elsewhere",
      transaction({ to: FACTORY }),
      `does not settle its round through the vault ${VAULT}`,
    ],
    [
      "its transaction calls something else",
      transaction({ data: "0x12345678" }),
      `does not settle its round through the vault ${VAULT}`,
    ],
    [
      "its signed bytes are of another transaction",
      transaction({ nonce: 77 }),
      "signed bytes are not its",
    ],
    [
      "its cancellation does something else",
      transaction(
        { ...unsigned, kind: "cancellation", to: SETTLER, data: "0x12" },
        true,
      ),
      "not a transfer to the account itself",
    ],
    [
      "its transactions are of two accounts",
      transaction({ ...unsigned, from: FACTORY }, true),
      "not the same account and nonce",
    ],
    [
      "its transactions have two nonces",
      transaction({ ...unsigned, nonce: 77 }, true),
      "not the same account and nonce",
    ],
    [
      "its cancellation goes elsewhere",
      transaction(
        { ...unsigned, kind: "cancellation", to: FACTORY, data: "0x" },
        true,
      ),
      "not a transfer to the account itself",
    ],
    [
      "the signed bytes of its cancellation are of another transaction",
      transaction({ kind: "cancellation", to: SETTLER, data: "0x" }, true),
      "signed bytes are not its",
    ],
    [
      "its guard settles another vault",
      () => throughGuard(FACTORY),
      NOT_ITS_ROUND,
    ],
    [
      "its guard settles a round with another start",
      () => throughGuard(VAULT, { startTime: 1n }),
      NOT_ITS_ROUND,
    ],
    [
      "the call of its guard has more data",
      () => throughGuard(VAULT, {}, "00"),
      NOT_ITS_ROUND,
    ],
    ["its guard is another one", changedBy({ guard: GUARD }), `guard ${GUARD}`],
  ];
  for (const [title, change, says] of invalid) {
    it(`is refused with VAULT_INVALID_JOURNAL if ${title}`, async () => {
      await keeper.interrupt();
      await keeper.writeJournal(change(await keeper.journal()));
      const { message } = await expectVaultError(
        read(),
        "VAULT_INVALID_JOURNAL",
      );
      expect(message).to.include(says).and.include(JOURNAL_FILE);
    });
  }

  for (const resume of [false, true]) {
    it(`is kept by settleAll, which throws, if it is not valid (resume: ${resume})`, async () => {
      await keeper.interrupt();
      await keeper.writeJournal({ ...(await keeper.journal()), version: 2 });
      const before = await readFile(keeper.journalFile(), "utf8");
      await expectVaultError(
        keeper.settle({ resume }),
        "VAULT_INVALID_JOURNAL",
      );
      expect(await readFile(keeper.journalFile(), "utf8")).to.equal(before);
      expect(keeper.sends).to.equal(0);
    });
  }

  it("is valid if its guard settles its round", async () => {
    await keeper.writeJournal(throughGuard(VAULT));
    expect(await read()).to.deep.include({ guard: GUARD });
  });

  it("is valid if it has the vault in lower case", async () => {
    await keeper.interrupt();
    const vault = VAULT.toLowerCase();
    await keeper.writeJournal({ ...(await keeper.journal()), vault });
    expect(await read()).to.have.property("transactions");
  });
});
