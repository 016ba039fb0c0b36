import { expect } from "chai";

import { startDatedAnvil } from "../helpers/anvil.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { parseTyped } from "../helpers/run-vault-task.js";
import { sample } from "../helpers/sample.js";
import { expectScreen } from "../helpers/screens.js";
import { runInTerminal } from "../helpers/terminal.js";
import type { ScreenLine, TerminalOptions } from "../helpers/terminal.js";

const commands = [
  "deploy-mocks --scenario open-round",
  "status",
  "funding-rate",
  "round",
  "round --raw",
  "order 3",
  "order 4",
  "orders --ids 1-20000",
  "pools",
  "margins --max-volume 1000 --apy 12.5 --end-time +7d",
  "margins --apy 12.5",
  "margin-balance",
  "order -1",
  "volume --at vault=0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  "request settleAll --curl",
  "simulate --ids 1-3",
  "settle",
  "settle --yes",
];

const commandsOnNode = [
  "deploy-mocks --network live",
  "deploy-mocks --instance usdc --network live",
  "status --network live",
  "status --all --network live",
  "order 3 --network live",
  "orders --ids 1-4 --network live",
  "simulate --network live",
  "settle --network live",
  "settle --yes --instance usdc --network live",
  "settle --resume --network live",
];

/** 21 November 2026, as in the session in process. */
const GENESIS_SECONDS = 1_795_219_200;

describe("tasks in a terminal", () => {
  let project: FixtureProject;

  before(async () => {
    project = await useFixtureProject("terminal");
  });
  after(async () => {
    await project.remove();
  });

  const show = async (
    columns: number,
    env: Readonly<Record<string, string>>,
    session = commands,
    {
      network = "default",
      url = "",
      answers = [["NOT ended. Settle it", "n\r"]],
    }: {
      readonly network?: string;
      readonly url?: string;
      readonly answers?: TerminalOptions["answers"];
    } = {},
  ): Promise<readonly ScreenLine[]> => {
    const { lines, exitCode } = await runInTerminal(
      ["run", "--no-compile", "--network", network, "session.ts"],
      {
        cwd: project.path,
        columns,
        env: {
          ...env,
          ...(url === "" ? {} : { TEST_NODE_URL: url }),
          TEST_COMMANDS: JSON.stringify(
            session.map((typed) => [
              typed,
              ...parseTyped(typed.replace(" --network live", "")),
            ]),
          ),
        },
        answers,
      },
    );
    expect(exitCode, lines.map(({ text }) => text).join("\n")).to.equal(0);
    return lines;
  };

  /** Lines that the terminal had to break, except commands, hashes and names of files. */
  const brokenLines = (lines: readonly ScreenLine[]): string[] =>
    lines
      .filter(({ isBroken }, index) => {
        const before = lines[index - 1]?.text ?? "";
        return (
          isBroken &&
          !before.startsWith("$ ") &&
          !/\b0x[0-9a-f]{43,}$|vault-deployments\/\S+$/u.test(before)
        );
      })
      .map(({ text }) => text);

  /** Without what another build of the mocks or another second would change. */
  const settle = (lines: readonly string[]): string =>
    `${lines
      .join("\n")
      .replaceAll(/(?<=\d{4}-\d{2}-\d{2}T)\d{2}:\d{2}:\d{2}(?=Z)/gu, "00:00:00")
      .replaceAll(/(?<=0x)[0-9a-f]{43,}(?:\n[0-9a-f]+$)?/gmu, (hash) =>
        hash.replaceAll(/[0-9a-f]/gu, "#"),
      )
      .replaceAll(
        /\d[\d,]*\.\d{8,}|(?<=^Gas(?: used)? +)[\d,]+|[\d,]+(?= used when)/gmu,
        (figure) => figure.replaceAll(/\d/gu, "#"),
      )}\n`;

  for (const columns of sample([60, 80], 1)) {
    it(`tasks show on a terminal of ${columns} columns what a person can read, in colour unless NO_COLOR is set`, async () => {
      const isColoured = columns === 80;
      const lines = await show(columns, isColoured ? {} : { NO_COLOR: "1" });
      const text = settle(lines.map((line) => line.text));
      await expectScreen(String(columns), text);
      expect(brokenLines(lines)).to.deep.equal([]);
      const marked = settle(lines.map((line) => line.marked));
      if (isColoured) {
        await expectScreen("80-coloured", marked);
      } else {
        expect(marked).to.equal(text);
      }
    });
  }

  it("tasks show a deployment on a node as its owner configured it", async () => {
    const node = await startDatedAnvil(GENESIS_SECONDS);
    const lines = await show(60, { NO_COLOR: "1" }, commandsOnNode, {
      network: "live",
      url: node.url,
    });
    const text = settle(lines.map((line) => line.text));
    await expectScreen("60-on-node", text);
    expect(brokenLines(lines)).to.deep.equal([]);
    await node.stop();
  });

  /** What settle printed as its outcome, run by run. */
  const outcomes = (lines: readonly ScreenLine[]): string[] =>
    lines.flatMap(({ text }) => /^Outcome +(.*)$/u.exec(text)?.[1] ?? []);
  const settleOften = (times: number): string[] => [
    "deploy-mocks --scenario expired-round",
    ...Array.from({ length: times }, () => "settle"),
  ];

  it("settle takes y and yes for a yes, in any case, and nothing that only begins so", async () => {
    const answers = ["yarn build", "yo", "yes, but not now", "", "no", " YES "];
    const lines = await show(80, {}, settleOften(answers.length), {
      answers: answers.map((typed) => ["(y/N)", `${typed}\r`]),
    });
    expect(outcomes(lines)).to.deep.equal([
      ...["Refused", "Refused", "Refused", "Refused", "Refused"],
      "Settled",
    ]);
  });

  it("settle refuses on Ctrl-C and Ctrl-D, and the next question can be answered", async () => {
    const lines = await show(80, {}, settleOften(3), {
      answers: ["\u0003", "\u0004", "y\r"].map((typed) => ["(y/N)", typed]),
    });
    expect(outcomes(lines)).to.deep.equal(["Refused", "Refused", "Settled"]);
  });

  it("settle does not count what was typed before its question appears", async () => {
    const lines = await show(80, {}, settleOften(1), {
      answers: [
        ["$ npx hardhat vault settle", "y\ry"],
        ["(y/N)", "\r"],
      ],
    });
    expect(outcomes(lines)).to.deep.equal(["Refused"]);
  });
});
