import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { nothingToDo } from "../../src/settlement-call/outcome.js";
import { conclude } from "../../src/settlement/conclude.js";
import { Journal } from "../../src/settlement/journal.js";
import { parseOptions } from "../../src/settlement/options.js";
import type { Outcome, SettlementResult } from "../../src/settlement/result.js";
import { begin } from "../../src/settlement/state.js";
import { TimeLimit } from "../../src/settlement/time-limit.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { entry, journalSubject, useKeeper } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import { VAULT } from "../helpers/scripted-contracts.js";

describe("the log of settlements", () => {
  const keeper = useKeeper();
  const log = (): string =>
    path.join(keeper.projectRoot, "vault-deployments/settlements.ndjson");
  const lines = async () => {
    const text = await readFile(log(), "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => fieldsOf(JSON.parse(line)));
  };

  it("has a line for each settlement that was sent and has ended", async () => {
    await keeper.settle();
    keeper.openNextRound();
    await keeper.interrupt();
    keeper.settleByOther();
    await keeper.settle({ resume: true });
    // Nothing to do, nothing to log.
    await keeper.settle();
    const all = await lines();
    const statuses = all.map((one) => fieldsOf(one["settlement"])["status"]);
    expect(statuses).to.deep.equal(["settled", "nothing-to-do"]);
    expect(all[0]).to.deep.include({
      ...{ network: "scripted", chainId: 31_337, vault: VAULT, instance: null },
    });
    expect(all[0]?.["block"]).to.have.property("number");
    for (const file of [log(), keeper.journalFile(".finished")]) {
      expect((await stat(file)).mode & 0o777).to.equal(0o600);
    }
    expect(all[0]?.["time"]).to.match(/^\d{4}-\d\d-\d\dT/u);
  });

  for (const [logged, count] of [
    ["settled", 1],
    ["dropped", 2],
  ] as const) {
    it(`has the lines of a settlement whose process was killed after it wrote ${logged}: ${count}`, async () => {
      await keeper.interrupt();
      const unfinished = await keeper.journal();
      await keeper.settle({ resume: true });
      const text = await readFile(log(), "utf8");
      const status = `"status":"${logged}"`;
      await writeFile(log(), text.replace('"status":"settled"', status));
      // Before the journal was released.
      await keeper.writeJournal({ ...unfinished, resumed: true });
      const { status: resumed } = await keeper.settle({ resume: true });
      expect(resumed).to.equal("settled");
      expect(await lines()).to.have.length(count);
    });
  }

  it("goes on in a new line after one that was cut", async () => {
    await mkdir(path.dirname(log()), { recursive: true });
    await writeFile(log(), '{"time":"2026');
    await keeper.settle();
    const [cut, whole = "", end] = (await readFile(log(), "utf8")).split("\n");
    expect([cut, end]).to.deep.equal(['{"time":"2026', ""]);
    expect(JSON.parse(whole)).to.have.nested.property(
      "settlement.status",
      "settled",
    );
  });

  it("that cannot be written is a warning, and the settlement is finished", async () => {
    await mkdir(log(), { recursive: true });
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(keeper.troubles).to.match(/not added to the log: it is a folder/u);
    expect(existsSync(keeper.journalFile(".finished"))).to.equal(true);
  });

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
      { outcome, state: begin(transactions) },
      null,
      new TimeLimit(60_000),
      parseOptions(host, {}),
    );

  for (const mayStillArrive of [true, undefined]) {
    it(`is written before the journal, which keeps whether it may still arrive: ${String(mayStillArrive)}`, async () => {
      await journal().begin(entry);
      await end({
        ...{ kind: "dropped", hash: HASH, status: "unconfirmed" },
        ...{ reason: "It was replaced.", mayStillArrive },
      });
      const finished = await keeper.journal(".finished");
      expect(finished["mayStillArrive"]).to.equal(mayStillArrive);
      expect(finished).not.to.have.property("mined");
      expect(await lines()).to.have.length(1);
    });
  }

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

  it("has no line of a settlement that stops before it is sent, which has no hash", async () => {
    await journal().begin(entry);
    const { settlement } = await end(nothingToDo("settled meanwhile"));
    expect(settlement).to.deep.include({
      ...{ status: "nothing-to-do", hash: null, hashes: [] },
    });
    expect(existsSync(log())).to.equal(false);
    const finished = await keeper.journal(".finished");
    expect(finished).not.to.have.property("mayStillArrive");
  });

  it("leaves the journal of one that stops with a process that resumed it", async () => {
    await journal().begin(entry);
    await journal().update({ ...entry, resumed: true });
    await end(nothingToDo("settled meanwhile"));
    expect(await keeper.journal()).to.include({ resumed: true });
  });
});
