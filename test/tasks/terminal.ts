import { expect } from "chai";

import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { parseTyped } from "../helpers/run-vault-task.js";
import { runInTerminal } from "../helpers/terminal.js";
import type { ScreenLine, TerminalOptions } from "../helpers/terminal.js";

// What each task shows on a terminal is in goldens.ts; here somebody types.
describe("questions in a terminal", () => {
  let project: FixtureProject;

  before(async () => {
    project = await useFixtureProject("terminal");
  });
  after(async () => {
    await project.remove();
  });

  /** Runs settle on a round that has ended, once for each answer. */
  const settle = async (
    times: number,
    answers: TerminalOptions["answers"],
  ): Promise<readonly ScreenLine[]> => {
    const typed = [
      "deploy-mocks --scenario expired-round",
      ...Array.from({ length: times }, () => "settle"),
    ];
    const { lines, exitCode } = await runInTerminal(
      ["run", "--no-compile", "session.ts"],
      {
        cwd: project.path,
        columns: 80,
        env: {
          TEST_COMMANDS: JSON.stringify(
            typed.map((each) => [each, ...parseTyped(each)]),
          ),
        },
        ...(answers === undefined ? {} : { answers }),
      },
    );
    expect(exitCode, lines.map(({ text }) => text).join("\n")).to.equal(0);
    return lines;
  };
  /** What settle printed as its outcome, run by run. */
  const outcomes = (lines: readonly ScreenLine[]): string[] =>
    lines.flatMap(({ text }) => /^Outcome +(.*)$/u.exec(text)?.[1] ?? []);

  it("settle takes y and yes for a yes, in any case, and nothing that only begins so, and colours what it asks about", async () => {
    const answers = ["yarn build", "yo", "yes, but not now", "", "no", " YES "];
    const lines = await settle(
      answers.length,
      answers.map((typed) => ["(y/N)", `${typed}\r`]),
    );
    expect(outcomes(lines)).to.deep.equal([
      ...["Refused", "Refused", "Refused", "Refused", "Refused"],
      "Settled",
    ]);
    const marked = lines.map((line) => line.marked);
    expect(marked).to.include.members([
      "<bold>About to settle this round</bold>",
      "Outcome  <red>Refused</red>",
      "Outcome      <green>Settled</green>",
    ]);
  });

  it("settle refuses on Ctrl-C and Ctrl-D, does not count what was typed before its question appears, and can ask again", async () => {
    const lines = await settle(4, [
      ["(y/N)", "\u0003"],
      ["(y/N)", "\u0004"],
      ["$ npx hardhat vault settle", "y\ry"],
      ["(y/N)", "\r"],
      ["(y/N)", "y\r"],
    ]);
    expect(outcomes(lines)).to.deep.equal([
      ...["Refused", "Refused", "Refused"],
      "Settled",
    ]);
  });
});
