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
import {
  journalSubject,
  entry as sent,
  useStage,
} from "../helpers/settlement-stage.js";

describe("the log of settlements", () => {
  const stage = useStage();
  const journal = (): Journal => new Journal(stage.projectRoot, journalSubject);
  const folder = (): string => path.dirname(stage.journalFile());

  const log = "vault-deployments/settlements.ndjson";

  it("has a line for each settlement that was sent and has ended, and keeps those of before", async () => {
    await stage.settle();
    await stage.openNextRound();
    stage.loseTransactions(endDeadlines);
    await stage.settle();
    stage.restartNode();
    await stage.settleByOther();
    await stage.settle({ resume: true });
    await stage.settle();
    const lines = await stage.log();
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
    const host = stage.host();
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
    await stage.settleByOther();
    await journal().begin(sent);
    const { settlement } = await stopUnsent();
    expect(settlement).to.deep.include({
      status: "nothing-to-do",
      hash: null,
      hashes: [],
    });
    expect(stage.sends).to.equal(0);
    expect(existsSync(path.join(stage.projectRoot, log))).to.equal(false);
    expect(await stage.journal(".finished")).not.to.have.property(
      "mayStillArrive",
    );
  });

  it("leaves the journal of what stops unsent to a process that resumed it", async () => {
    await journal().begin(sent);
    await journal().update({ ...sent, resumed: true });
    await stopUnsent();
    expect(await stage.journal()).to.include({ resumed: true });
  });

  it("has one line of a settlement, also if its process was killed after it wrote that", async () => {
    await stage.interrupt();
    const unfinished = await stage.journal();
    await stage.settle({ resume: true });
    const [line, ...others] = await stage.log();
    expect(others).to.deep.equal([]);
    // Before the journal was released.
    await stage.writeJournal({ ...unfinished, resumed: true });
    expect(await stage.settle({ resume: true })).to.include({
      status: "settled",
    });
    expect(await stage.log()).to.deep.equal([line]);
  });

  it("goes on in a new line after one that was cut", async () => {
    await mkdir(folder(), { recursive: true });
    await writeFile(path.join(stage.projectRoot, log), '{"time":"2026');
    await stage.settle();
    const written = await readFile(path.join(stage.projectRoot, log), "utf8");
    const [cut, whole = "", end] = written.split("\n");
    expect([cut, end]).to.deep.equal(['{"time":"2026', ""]);
    expect(JSON.parse(whole)).to.have.nested.property(
      "settlement.status",
      "settled",
    );
  });

  it("that cannot be written is trouble, and the settlement is settled and finished", async () => {
    await mkdir(path.join(stage.projectRoot, log), { recursive: true });
    expect(await stage.settle()).to.include({ status: "settled" });
    expect(stage.troubles).to.match(/not added to the log: it is a folder/u);
    expect(existsSync(stage.journalFile(".finished"))).to.equal(true);
  });
});
