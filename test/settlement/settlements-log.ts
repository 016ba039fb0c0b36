import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { conclude } from "../../src/settlement/conclude.js";
import { TimeLimit } from "../../src/settlement/time-limit.js";
import { nothingToDo } from "../../src/settlement-call/outcome.js";
import { begin } from "../../src/settlement/state.js";
import type { SettlementResult } from "../../src/settlement/result.js";
import { Journal } from "../../src/settlement/journal.js";
import { parseOptions } from "../../src/settlement/options.js";
import { endDeadlines } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { VAULT } from "../helpers/scripted-contracts.js";
import { journalSubject, entry as sent, useKeeper } from "../helpers/keeper.js";

describe("the log of settlements", () => {
  const keeper = useKeeper();
  const journal = (): Journal =>
    new Journal(keeper.projectRoot, journalSubject);
  const folder = (): string => path.dirname(keeper.journalFile());

  const log = "vault-deployments/settlements.ndjson";

  it("has a line for each settlement that was sent and has ended, and keeps those of before", async () => {
    await keeper.settle();
    await keeper.openNextRound();
    keeper.loseTransactions(endDeadlines);
    await keeper.settle();
    keeper.restartNode();
    await keeper.settleByOther();
    await keeper.settle({ resume: true });
    await keeper.settle();
    const lines = await keeper.log();
    expect(
      lines.map(({ settlement }) => fieldsOf(settlement)["status"]),
    ).to.deep.equal(["settled", "nothing-to-do"]);
    expect(lines[0]).to.deep.include({
      network: "scripted",
      chainId: 31_337,
      vault: VAULT,
      instance: null,
    });
    expect(lines[0]?.["time"]).to.match(/^\d{4}-\d\d-\d\dT/u);
  });

  const stopUnsent = async (): Promise<SettlementResult> => {
    const host = keeper.host();
    const outcome = nothingToDo("settled meanwhile");
    return await conclude(
      host,
      journal(),
      sent,
      { outcome, state: begin(sent.transactions) },
      null,
      new TimeLimit(60_000),
      parseOptions(host, {}),
    );
  };

  it("has no line for what was never sent, which has no hash", async () => {
    await keeper.settleByOther();
    await journal().begin(sent);
    const { settlement } = await stopUnsent();
    expect(settlement).to.deep.include({
      status: "nothing-to-do",
      hash: null,
      hashes: [],
    });
    expect(keeper.sends).to.equal(0);
    expect(existsSync(path.join(keeper.projectRoot, log))).to.equal(false);
    expect(await keeper.journal(".finished")).not.to.have.property(
      "mayStillArrive",
    );
  });

  it("leaves the journal of what stops unsent to a process that resumed it", async () => {
    await journal().begin(sent);
    await journal().update({ ...sent, resumed: true });
    await stopUnsent();
    expect(await keeper.journal()).to.include({ resumed: true });
  });

  it("has one line of a settlement, also if its process was killed after it wrote that", async () => {
    await keeper.interrupt();
    const unfinished = await keeper.journal();
    await keeper.settle({ resume: true });
    const [line, ...others] = await keeper.log();
    expect(others).to.deep.equal([]);
    // Before the journal was released.
    await keeper.writeJournal({ ...unfinished, resumed: true });
    expect(await keeper.settle({ resume: true })).to.include({
      status: "settled",
    });
    expect(await keeper.log()).to.deep.equal([line]);
  });

  it("goes on in a new line after one that was cut", async () => {
    await mkdir(folder(), { recursive: true });
    await writeFile(path.join(keeper.projectRoot, log), '{"time":"2026');
    await keeper.settle();
    const written = await readFile(path.join(keeper.projectRoot, log), "utf8");
    const [cut, whole = "", end] = written.split("\n");
    expect([cut, end]).to.deep.equal(['{"time":"2026', ""]);
    expect(JSON.parse(whole)).to.have.nested.property(
      "settlement.status",
      "settled",
    );
  });

  it("that cannot be written is trouble, and the settlement is settled and finished", async () => {
    await mkdir(path.join(keeper.projectRoot, log), { recursive: true });
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(keeper.troubles).to.match(/not added to the log: it is a folder/u);
    expect(existsSync(keeper.journalFile(".finished"))).to.equal(true);
  });
});
