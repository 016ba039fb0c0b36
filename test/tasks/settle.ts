import { expect } from "chai";
import type { NetworkSettings } from "../helpers/hre.js";

import { hreOnLive } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import { SENDS } from "../helpers/settlement-stage.js";
import { DEV_KEYS, openRound } from "../helpers/world.js";
import { createStyle } from "../../tasks/output/style.js";
import { settle } from "../../tasks/settle.js";
import { fieldsOf } from "../helpers/fields.js";

// What settle prints in each of its forms is recorded: see sessions.ts.
describe("vault settle", () => {
  let lane: LaneWithNode;
  let restore: () => Promise<void>;

  before(async () => {
    lane = await openLaneWithNode();
    restore = await lane.world.checkpoint();
  });
  beforeEach(async () => {
    lane.server.reset();
    await lane.removeJournals();
  });
  afterEach(async () => {
    await restore();
  });
  after(async () => {
    await lane.close();
  });

  const run = async (typed: string, settings: NetworkSettings = {}) => {
    const { contracts } = lane.world;
    const hre = await hreOnLive(
      lane.server.url,
      { accounts: [DEV_KEYS[0]], vault: { contracts }, ...settings },
      lane.project.path,
    );
    const result = await runTyped(hre, `settle ${typed} --json`);
    const document = fieldsOf(parseDocument(result));
    return { ...result, settlement: fieldsOf(document["settlement"]) };
  };
  const methods = (pattern: RegExp): string[] =>
    lane.server.requests
      .map(({ method }) => method)
      .filter((method) => pattern.test(method));

  it("settle asks, with a warning before the round's end and without a round, and sends nothing unless the answer is Yes", async () => {
    const questions: string[] = [];
    const none =
      "The simulation does NOT settle the round. There is no round yet. Call settleAll all the same?";
    const early = "This round has NOT ended. Settle it before its end?";
    for (const [question, answer, status, sent, warning] of [
      [early, false, "refused", 0, "this round has NOT ended"],
      ["Settle this round now?", false, "refused", 0, undefined],
      ["Settle this round now?", true, "settled", 1, undefined],
      [none, false, "refused", 1, "There is no round yet"],
    ] as const) {
      if (question === none) {
        const { vaultFactory } = lane.world.contracts;
        // Returns zeros.
        const code = [vaultFactory, "0x6101405ff3"];
        await lane.world.provider.send("anvil_setCode", code);
      } else if (question !== early) {
        const end = Number(openRound.endTime) + questions.length;
        await lane.world.provider.send("anvil_setNextBlockTimestamp", [end]);
        await lane.world.mine();
      }
      let shown = "";
      const { json } = await settle(
        lane.vault,
        { yes: false },
        { pollingInterval: 20 },
        {
          err: {
            style: createStyle({}),
            write: async (text) => {
              shown += text;
              return await Promise.resolve(true);
            },
          },
          ask: async (asked) => {
            questions.push(asked);
            return await Promise.resolve(answer);
          },
        },
      );
      expect(json).to.have.nested.property("settlement.status", status);
      expect(methods(/^eth_send/u)).to.have.lengthOf(sent);
      expect(questions.at(-1)).to.equal(question);
      expect(/WARNING: (.*?)[.:]/u.exec(shown)?.[1]).to.equal(warning);
    }
  });

  for (const [name, accounts, most] of [
    ["a local key", [DEV_KEYS[0]], 22],
    ["a key of the node", "remote", 24],
  ] satisfies ReadonlyArray<
    readonly [string, NetworkSettings["accounts"], number]
  >) {
    it(`settle --yes sends at most ${most} requests with ${name}`, async () => {
      for (const method of SENDS) {
        // Mined when it is answered: how often one looks until then is chance.
        lane.server.afterwards({ method, occurrence: 0 }, lane.world.mine);
      }
      expect((await run("--yes", { accounts })).exitCode).to.equal(0);
      const all = methods(/(?:)/u);
      expect(all.length, all.join(" ")).to.be.at.most(most);
    });
  }

  it("settle --yes finishes an interrupted settlement, and settle without --yes refuses with VAULT_SETTLEMENT_UNFINISHED", async () => {
    for (let occurrence = 0; occurrence < 50; occurrence += 1) {
      lane.server.inject({
        ...{ method: "eth_sendRawTransaction", occurrence },
        kind: "drop before forwarding",
      });
    }
    const interrupted = await lane.vault.settleAll({ timeout: 2_000 });
    expect(interrupted.status).to.equal("unconfirmed");
    lane.server.reset();

    const asked = await run("");
    expect(asked.exitCode).to.equal(1);
    expect(asked.settlement)
      .to.include({ status: "refused", code: "VAULT_SETTLEMENT_UNFINISHED" })
      .and.to.have.property("reason")
      .that.includes("`npx hardhat vault settle --resume --network live`");
    const { settlement, stderr, exitCode } = await run("--yes");
    expect(exitCode).to.equal(0);
    expect(settlement).to.include({
      status: "settled",
      hash: interrupted.hash,
    });
    expect(stderr)
      .to.include(
        `Following the interrupted settlement: transaction ${String(interrupted.hash)}`,
      )
      .and.include("The interrupted settlement is finished: settled");
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  for (const [typed, says] of [
    ["--bump", "--bump: it needs --resume"],
    ["--yes --cancel", "--cancel: it needs --resume"],
    ["--resume --bump --cancel", "exclude"],
  ] as const) {
    it(`settle ${typed} fails with VAULT_INVALID_ARGUMENT, and asks for nothing`, async () => {
      const { exitCode, stdout } = await run(typed);
      expect(exitCode).to.equal(1);
      expect(stdout).to.include("VAULT_INVALID_ARGUMENT").and.include(says);
      expect(methods(/(?:)/u)).to.deep.equal([]);
    });
  }
});
