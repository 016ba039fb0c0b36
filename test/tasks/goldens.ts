import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { diff } from "node:util";

import { expect } from "chai";

import { operations, standaloneQueries } from "../../src/protocol/index.js";
import { startDatedAnvil } from "../helpers/anvil.js";
import { newTasks } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { runOnTerminal } from "../helpers/run-vault-task.js";
import { showOnScreen } from "../helpers/terminal.js";

/** 21 November 2026. */
const GENESIS_SECONDS = 1_795_219_200;
const TRADING = "0xCf7Ed3AccA5a467e9e704C703E8D87F634fB0Fc9";

const standaloneTasks = new Set(
  standaloneQueries.map(({ operation }) => operations[operation].task),
);

/** What a person types, in this order, by the name of the golden: the task's. */
const commands: Readonly<Record<string, string>> = {
  "deploy-mocks": "deploy-mocks",
  status: "status",
  ...Object.fromEntries([...standaloneTasks].map((task) => [task, task])),
  order: "order 3",
  orders: "orders --ids 1-9",
  margins: "margins --max-volume 1000 --apy 12.5 --end-time +7d",
  request: `request getOrderInfo 3 --at trading=${TRADING}`,
  doctor: "doctor",
  capture: "capture --ids 1-3 --out fixture.json",
  report: "report --out report.html",
  simulate: "simulate --ids 1-3",
  "deploy-guard": "deploy-guard --yes",
  settle: "settle --yes",
  watch: "watch --until settled",
  "mock next-round": "mock next-round strikePrice=66000e18",
  "mock set": "mock set volume=5 round.APY=185e15",
  "mock fail": "mock fail getLPAmountInfo closed --pool public",
  "mock succeed": "mock succeed getLPAmountInfo",
  rounds: "rounds",
};

/** Tasks whose screen has another shape if it is narrow: lists, and values below labels. */
const narrow = new Set(["order", "pools", "margin-balance", "simulate"]);

/** Replaces what another build of the mocks or another second changes. */
function settled(text: string): string {
  const hide = (moved: string): string => moved.replaceAll(/[0-9a-f]/gu, "#");
  return text
    .replaceAll(/(?<=0x)[0-9a-f]{64}|(?<=^Gas.*)[\d,]{7}/gmu, hide)
    .replaceAll(/[\d,]{7}(?= used when)/gu, hide)
    .replaceAll(/\d+(?= s old)/gu, "#");
}

/** Each screen, by the name of its golden. */
const screens = Object.entries(commands).flatMap(([name, typed]) =>
  (narrow.has(name) ? [60, 80] : [80]).map((columns) => {
    const suffix = columns === 60 ? "-60" : "";
    return { golden: name.replace(" ", "-") + suffix, typed, columns };
  }),
);

const goldens = path.join(import.meta.dirname, "goldens");

/** Compares a screen with the recorded one, which `npm run record` writes. */
async function expectGolden(name: string, shown: string): Promise<void> {
  const file = path.join(goldens, `${name}.txt`);
  const recorded = await readFile(file, "utf8").catch(() => "");
  const changed = diff(shown.split("\n"), recorded.split("\n")).flatMap(
    ([side, line]) =>
      side === 0 ? [] : [side === -1 ? `- ${line}` : `+ ${line}`],
  );
  if (process.env["npm_lifecycle_event"] === "record") {
    await writeFile(file, shown);
    if (changed.length > 0) {
      console.log(`${name}.txt: ${changed.length} lines changed`);
    }
  } else if (changed.length > 0) {
    const what = `${name}.txt is not what the task shows`;
    expect.fail(`${what}:\n${changed.join("\n")}`);
  }
}

describe("what a person sees of each task", () => {
  let anvil: Awaited<ReturnType<typeof startDatedAnvil>>;
  let project: FixtureProject;
  /** By the name of the golden. */
  const shown = new Map<string, string>();
  const broken: string[] = [];
  const folder = process.cwd();

  before(async () => {
    anvil = await startDatedAnvil(GENESIS_SECONDS);
    project = await useFixtureProject("plain");
    process.chdir(project.path);
    const localhost = httpNetwork(anvil.url, {
      // So that costs do not depend on the gas of the mocks.
      gasPrice: 0,
      // Its clock is not that of this machine.
      vault: { tokenDecimals: 18, maxHeadAge: false },
    });
    const hre = await createTestHre(
      { networks: { localhost } },
      { network: "localhost", projectRoot: project.path },
    );
    for (const { golden, typed, columns } of screens) {
      const output = await runOnTerminal(hre, typed, columns);
      const lines = await showOnScreen(output, columns);
      for (const [index, line] of lines.entries()) {
        const before = lines[index - 1]?.text ?? "";
        if (line.isBroken && !/0x[0-9a-f]{43,}$/u.test(before)) {
          broken.push(`${golden}: ${before}`);
        }
      }
      const text = settled(lines.map((line) => line.text).join("\n"));
      shown.set(golden, `$ npx hardhat vault ${typed}\n${text}\n`);
    }
  });
  after(async () => {
    process.chdir(folder);
    await project.remove();
    await anvil.stop();
  });

  for (const { golden, typed, columns } of screens) {
    it(`vault ${typed.slice(0, 60)} shows what is recorded, ${columns} columns wide`, async () => {
      await expectGolden(golden, shown.get(golden) ?? "");
    });
  }

  it("every task has a golden, and every golden a task", async () => {
    const tasks = newTasks.map(({ id }) => id.slice(1).join(" "));
    expect(Object.keys(commands)).to.have.members(tasks);
    expect(await readdir(goldens)).to.have.members(
      [...shown.keys()].map((name) => `${name}.txt`),
    );
  });

  it("no task writes a line that the terminal has to break", () => {
    expect(broken).to.deep.equal([]);
  });
});
