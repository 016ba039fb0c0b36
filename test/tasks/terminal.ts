import { writeFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";

import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { parseTyped } from "../helpers/run-vault-task.js";
import { runInTerminal } from "../helpers/terminal.js";
import type { ScreenLine, TerminalOptions } from "../helpers/terminal.js";

// What each task shows on a terminal is in goldens.ts; here somebody types.
describe("questions in a terminal", () => {
  let project: FixtureProject;
  let lines: readonly ScreenLine[];
  /** What settle printed as its outcomes, run by run. */
  let outcomes: readonly string[];

  const unclear = ["yarn build", "yo", "yes, but not now", "", "no", " YES "];
  const TYPED_AHEAD = "typed-ahead";
  /** Ends of input, and what is typed before its question appears. */
  const ends = (): NonNullable<TerminalOptions["answers"]> => [
    ["(y/N)", "\u0003"],
    ["(y/N)", "\u0004"],
    ["$ npx hardhat vault settle", "y\ry"],
    // The terminal shows it: then the task may start.
    [
      "y\r\ny",
      () => {
        writeFileSync(path.join(project.path, TYPED_AHEAD), "");
      },
    ],
    ["(y/N)", "\r"],
    ["(y/N)", "y\r"],
  ];

  // One session, which takes longer to start than all that it does.
  before(async () => {
    project = await useFixtureProject("terminal");
    const deploy = "deploy-mocks --scenario expired-round";
    const typed = [
      ...[deploy, "settle", "settle", "settle", "settle"],
      ...[deploy, ...unclear.map(() => "settle")],
    ];
    const { exitCode, ...shown } = await runInTerminal(
      ["run", "--no-compile", "session.ts"],
      {
        cwd: project.path,
        columns: 80,
        env: {
          TEST_COMMANDS: JSON.stringify(
            typed.map((each, index) => [
              ...[each, ...parseTyped(each)],
              ...(index === 3 ? [TYPED_AHEAD] : []),
            ]),
          ),
        },
        answers: [
          ...ends(),
          ...unclear.map((text) => ["(y/N)", `${text}\r`] as const),
        ],
      },
    );
    lines = shown.lines;
    expect(exitCode, lines.map(({ text }) => text).join("\n")).to.equal(0);
    outcomes = lines.flatMap(
      ({ text }) => /^Outcome +(.*)$/u.exec(text)?.[1] ?? [],
    );
  });
  after(async () => {
    await project.remove();
  });

  it("settle refuses on Ctrl-C and Ctrl-D, does not count what was typed before its question appears, and can ask again", () => {
    expect(outcomes.slice(0, 4)).to.deep.equal([
      ...["Refused", "Refused", "Refused"],
      "Settled",
    ]);
  });

  it("settle takes y and yes for a yes, in any case, and nothing that only begins so, and colours what it asks about", () => {
    expect(outcomes.slice(4)).to.deep.equal([
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
});
