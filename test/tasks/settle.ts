import { encodeRevertData } from "../../src/mocks/failure.js";

import { expect } from "chai";

import { runHardhat } from "../helpers/cli.js";
import type { CommandResult } from "../helpers/cli.js";
import { openLaneWithNode } from "../helpers/settlement-lane.js";
import type { LaneWithNode } from "../helpers/settlement-lane.js";
import {
  DEV_KEYS,
  FIRST_ROUND,
  SETTLED_AMOUNT,
  SETTLED_PRICE,
} from "../helpers/settlement-world.js";
import { createStyle } from "../../tasks/output/style.js";
import { settle } from "../../tasks/settle.js";
import { fieldsOf } from "../helpers/fields.js";

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

  const run = async (
    args: readonly string[],
    network: object = { accounts: [DEV_KEYS[0]] },
  ): Promise<CommandResult> =>
    await runHardhat(["vault", "settle", ...args, "--network", "test"], {
      cwd: lane.project.path,
      env: {
        TEST_URL: lane.server.url,
        TEST_VAULT: JSON.stringify({ contracts: lane.world.contracts }),
        TEST_NETWORK: JSON.stringify(network),
      },
    });
  const runJson = async (
    args: readonly string[],
    network?: object,
  ): Promise<CommandResult & { document: Record<string, unknown> }> => {
    const result = await run([...args, "--json"], network);
    return { ...result, document: fieldsOf(JSON.parse(result.stdout)) };
  };
  const sentMethods = (): string[] =>
    lane.server.requests
      .map(({ method }) => method)
      .filter((method) => method.startsWith("eth_send"));

  it("should settle with --yes and print one JSON document", async () => {
    const { document, stderr, exitCode } = await runJson(["--yes"]);

    const settlement = fieldsOf(document["settlement"]);
    const blockNumber = await lane.world.provider.getBlockNumber();
    expect(exitCode).to.equal(0);
    expect(Object.keys(document)).to.deep.equal([
      "network",
      "chainId",
      "block",
      "settlement",
    ]);
    expect(document).to.deep.include({
      network: "test",
      chainId: 31337,
      block: {
        number: blockNumber,
        timestamp: (await lane.world.provider.getBlock(blockNumber))?.timestamp,
      },
    });
    expect(Object.keys(settlement)).to.deep.equal([
      "status",
      "code",
      "reason",
      "hash",
      "blockNumber",
      "gasUsed",
      "before",
      "after",
      "preview",
    ]);
    expect(settlement["preview"]).to.deep.include({
      status: "settled",
      engine: "simulateV1",
      differences: [],
    });
    expect(settlement).to.include({
      status: "settled",
      reason: null,
      blockNumber,
    });
    expect(settlement["gasUsed"]).to.match(/^[0-9]+$/u);
    expect(settlement["before"]).to.include({
      settled: false,
      settledPrice: "0",
    });
    expect(settlement["after"]).to.include({
      settled: true,
      settledPrice: SETTLED_PRICE.toString(),
      settledAmount: SETTLED_AMOUNT.toString(),
    });
    expect(stderr).to.include(
      `Transaction ${String(settlement["hash"])}\nIf this is interrupted, \`vault settle --resume\` goes on from here.\n`,
    );
    for (const shown of [
      "About to settle this round",
      lane.world.contracts.vault,
      lane.settler,
      "Balance",
      "Gas",
      "Cost",
      "succeeds",
      "Changes",
      "used when simulated",
      "by the node (eth_simulateV1)",
    ]) {
      expect(stderr).to.include(shown);
    }

    const again = await runJson(["--yes"]);
    expect(again.exitCode).to.equal(0);
    expect(again.document["settlement"]).to.include({
      status: "nothing-to-do",
      hash: null,
    });

    const resumed = await runJson(["--resume"]);
    expect(resumed.exitCode).to.equal(0);
    expect(resumed.document["settlement"]).to.include({
      status: "nothing-to-do",
      hash: settlement["hash"],
      blockNumber,
    });
    expect(resumed.stderr).to.equal("");
  });

  it("should refuse where there is no terminal and no --yes", async () => {
    const { document, stderr, exitCode } = await runJson([]);

    expect(exitCode).to.equal(1);
    expect(fieldsOf(document["settlement"])["status"]).to.equal("refused");
    expect(fieldsOf(document["settlement"])["reason"]).to.include("--yes");
    expect(stderr).to.include("About to settle this round");
    expect(sentMethods()).to.deep.equal([]);
  });

  it("should ask, and take only a Yes", async () => {
    const questions: string[] = [];
    const stderr: string[] = [];
    const answerWith = async (answer: boolean): Promise<string> => {
      const report = await settle(
        lane.vault,
        { yes: false },
        { pollingInterval: 20 },
        {
          err: {
            style: createStyle({}),
            write: async (text) => await Promise.resolve(stderr.push(text) > 0),
          },
          ask: async (question) => {
            questions.push(question);
            return await Promise.resolve(answer);
          },
        },
      );
      return String(fieldsOf(fieldsOf(report.json)["settlement"])["status"]);
    };

    expect(await answerWith(false)).to.equal("refused");
    expect(sentMethods()).to.deep.equal([]);
    expect(await answerWith(true)).to.equal("settled");
    const early = "This round has NOT ended. Settle it before its end?";
    expect(questions).to.deep.equal([early, early]);
    expect(stderr.join("").replaceAll(/\s+/gu, " ")).to.include(
      "WARNING: this round has NOT ended. It ends in ",
    );
  });

  it("settles with --if-expired --yes --json only once the round has ended, with exit code 0 before that", async () => {
    const keeper = ["--if-expired", "--yes"];
    const early = await runJson(keeper);
    expect(early.exitCode).to.equal(0);
    expect(early.document["settlement"]).to.include({
      status: "nothing-to-do",
      reason: "The round has not ended yet: it ends at 2027-01-22T08:00:00Z.",
      hash: null,
    });
    expect(early.stderr).to.equal("");
    expect(sentMethods()).to.deep.equal([]);

    await lane.world.provider.send("anvil_setNextBlockTimestamp", [
      Number(FIRST_ROUND.endTime),
    ]);
    await lane.world.mine();
    const late = await runJson(keeper);
    expect(late.exitCode).to.equal(0);
    expect(late.document["settlement"]).to.include({ status: "settled" });
    expect(late.stderr).to.not.include("NOT ended");
  });

  it("finishes an interrupted settlement with --yes before it begins another, and refuses without --yes", async () => {
    lane.server.inject({
      method: "eth_sendRawTransaction",
      occurrence: 0,
      kind: "drop before forwarding",
    });
    const interrupted = await lane.vault.settleAll({
      pollingInterval: 20,
      timeout: 20,
    });
    expect(interrupted.status).to.equal("unconfirmed");
    lane.server.reset();

    const asked = await runJson([]);
    expect(asked.exitCode).to.equal(1);
    expect(asked.document["settlement"]).to.include({
      status: "refused",
      code: "VAULT_SETTLEMENT_UNFINISHED",
    });
    expect(fieldsOf(asked.document["settlement"])["reason"]).to.include(
      "`vault settle --resume`",
    );
    const kept = await runJson(["--yes"]);
    expect(kept.exitCode).to.equal(0);
    expect(kept.document["settlement"]).to.include({
      status: "settled",
      hash: interrupted.hash,
    });
    expect(kept.stderr)
      .to.include(
        `Following the interrupted settlement: transaction ${String(interrupted.hash)}`,
      )
      .and.include("The interrupted settlement is finished: settled");
    expect(await lane.world.settlers()).to.deep.equal([lane.settler]);
  });

  it("repeats --confirmations in the advice to resume", async () => {
    const { document, stderr, exitCode } = await runJson([
      "--yes",
      ...["--confirmations", "3", "--timeout", "1"],
    ]);

    const advice =
      "`vault settle --resume --confirmations 3` goes on from here.";
    expect(exitCode).to.equal(1);
    const settlement = fieldsOf(document["settlement"]);
    expect(settlement).to.include({ status: "unconfirmed" });
    expect(settlement["reason"])
      .to.include(advice)
      .and.not.include("settleAll");
    expect(stderr).to.include(`If this is interrupted, ${advice}`);
  });

  it("says that nothing was sent when the settlement would revert, and does not warn of settling early", async () => {
    await lane.world.vault.setRevert("0xa015aefe", encodeRevertData("paused"));
    const { stdout, stderr, exitCode } = await run(["--yes"]);

    expect(exitCode).to.equal(1);
    expect(stderr)
      .to.include("It would revert: paused")
      .and.not.include("NOT ended");
    expect(stdout).to.match(/Transaction +none: nothing was sent/u);
    expect(sentMethods()).to.deep.equal([]);
  });

  it("should only look with --assert, without any key", async () => {
    const network = { accounts: [`0x${"00".repeat(31)}01`] };
    const before = await runJson(["--assert"], network);
    expect(before.exitCode).to.equal(1);
    expect(before.document["settlement"]).to.include({
      status: "refused",
      hash: null,
    });
    expect(sentMethods()).to.deep.equal([]);
    await lane.world.settleByOther();

    const after = await runJson(["--assert"], network);

    expect(after.exitCode).to.equal(0);
    expect(after.document["settlement"]).to.include({
      status: "nothing-to-do",
    });
    expect(lane.server.requests.map(({ method }) => method)).not.to.include(
      "eth_accounts",
    );
  });

  it("should print the unsigned transaction with --calldata", async () => {
    const from = ["--from", lane.settler];
    const { stdout, exitCode, stderr } = await run(["--calldata", ...from]);

    expect(exitCode, stderr).to.equal(0);
    const document = fieldsOf(JSON.parse(stdout));
    expect(document).to.include({
      network: "test",
      chainId: 31337,
      to: lane.world.contracts.vault,
      data: "0xa015aefe",
      value: "0",
    });
    expect(document["estimatedGas"]).to.match(/^[0-9]+$/u);
    expect((await runJson(["--calldata", ...from])).document).to.deep.equal(
      document,
    );
    expect((await runJson(["--calldata"])).document).to.deep.equal({
      ...document,
      estimatedGas: null,
    });
    expect(sentMethods()).to.deep.equal([]);
  });

  it("should pass on why the contract would refuse the call data", async () => {
    await lane.world.vault.setRevert(
      "0xa015aefe",
      encodeRevertData("not\u001b[2J yet"),
    );
    const { stdout, stderr, exitCode } = await run(["--calldata"]);
    expect(exitCode, stderr).to.equal(0);
    expect(stderr).to.contain("refused at block ");
    expect(stderr).to.contain(": not\\u{1b}[2J yet. The round may be settled");
    expect(fieldsOf(JSON.parse(stdout))["estimatedGas"]).to.equal(null);
  });

  it("should print what Safe's Transaction Builder imports with --safe", async () => {
    const { stdout, exitCode, stderr } = await run(["--calldata", "--safe"]);

    expect(exitCode, stderr).to.equal(0);
    const document = fieldsOf(JSON.parse(stdout));
    expect(document).to.deep.include({
      version: "1.0",
      chainId: "31337",
      transactions: [
        {
          to: lane.world.contracts.vault,
          value: "0",
          data: "0xa015aefe",
          contractMethod: null,
          contractInputsValues: null,
        },
      ],
    });
    expect(fieldsOf(document["meta"])["checksum"]).to.match(
      /^0x[0-9a-f]{64}$/u,
    );
    expect(sentMethods()).to.deep.equal([]);
  });

  it("should name what is wrong with the chain, without its block", async () => {
    const { document, exitCode } = await runJson(["--yes"], {
      accounts: [DEV_KEYS[0]],
      chainId: 1,
    });

    expect(exitCode).to.equal(1);
    expect(document).to.deep.include({ chainId: 31337, block: null });
    expect(document["settlement"]).to.include({ status: "refused" });
    expect(sentMethods()).to.deep.equal([]);
  });
});
