import { existsSync } from "node:fs";

import { expect } from "chai";

import { nothingToDo } from "../../src/guard/outcome.js";
import { conclude } from "../../src/settlement/conclude.js";
import { Journal } from "../../src/sending/journal.js";
import { parseOptions } from "../../src/settlement/options.js";
import type { Outcome } from "../../src/sending/follow.js";
import type { SettlementResult } from "../../src/settlement/result.js";
import { TimeLimit } from "../../src/sending/time-limit.js";
import { listOf } from "../helpers/fields.js";
import { entry, journalSubject, useKeeper } from "../helpers/keeper.js";
import { OTHER_HASH } from "../helpers/names.js";

describe("the end of a settlement", () => {
  const keeper = useKeeper();
  const journal = (): Journal =>
    new Journal(keeper.projectRoot, journalSubject);
  const end = async (
    outcome: Outcome,
    transactions = entry.transactions,
    host = keeper.host(),
  ): Promise<SettlementResult> =>
    await conclude(
      host,
      journal(),
      entry,
      {
        ...{ outcome, transactions },
        hashes: transactions.flatMap(({ hash }) => hash ?? []),
      },
      null,
      new TimeLimit(60_000),
      parseOptions(host, {}),
    );

  const [first] = entry.transactions;
  const withOtherHash = { ...first, hash: OTHER_HASH };

  it("keeps the hash that a node gave in the finished journal", async () => {
    await journal().begin(entry);
    await end(
      {
        ...{ kind: "dropped", hash: OTHER_HASH, status: "unconfirmed" },
        reason: "It was replaced.",
      },
      [withOtherHash],
    );
    const { transactions } = await keeper.journal(".finished");
    expect(listOf(transactions)).to.have.nested.property(
      "[0].hash",
      OTHER_HASH,
    );
  });

  it("is left to resume, with the hash of the replacement, if the end cannot be described", async () => {
    const host = keeper.host();
    host.withOptions = () => {
      throw new Error("a bug");
    };
    const { settlement, isFinal } = await end(
      nothingToDo("settled meanwhile"),
      [first, withOtherHash],
      host,
    );
    expect(isFinal).to.equal(false);
    expect(settlement).to.include({ status: "unconfirmed", hash: OTHER_HASH });
  });

  it("has no hash if the settlement stops before it is sent", async () => {
    await journal().begin(entry);
    const { settlement } = await end(nothingToDo("settled meanwhile"));
    expect(settlement).to.deep.include({
      ...{ status: "nothing-to-do", hash: null, hashes: [] },
    });
    // Nothing was sent, and what was finished before stays known.
    expect(existsSync(keeper.journalFile())).to.equal(false);
    expect(existsSync(keeper.journalFile(".finished"))).to.equal(false);
  });

  it("leaves the journal of one that stops with a process that resumed it", async () => {
    await journal().begin(entry);
    await journal().update({ ...entry, resumed: true });
    await end(nothingToDo("settled meanwhile"));
    expect(await keeper.journal()).to.include({ resumed: true });
  });
});
