import { rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";

import hardhatVault from "../../src/index.js";
import { operations, standaloneQueries } from "../../src/protocol/index.js";
import { startDatedAnvil } from "../helpers/anvil.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { allGoldens, changedLines, expectGolden } from "../helpers/golden.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { runOnTerminal } from "../helpers/run-vault-task.js";
import { showOnScreen } from "../helpers/terminal.js";

/** 21 November 2026. */
const GENESIS_SECONDS = 1_795_219_200;
/** A call of getOrderInfo. */
const CALL = `0xd311636b${"5".padStart(64, "0")}`;
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
  decode: `decode ${CALL}`,
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

// `npm run record` writes test/tasks/goldens/, and prints what changed.
describe("what a person sees of each task", () => {
  let anvil: Awaited<ReturnType<typeof startDatedAnvil>>;
  let project: FixtureProject;
  /** By the name of the golden. */
  let shown: ReadonlyMap<string, string>;
  const broken: string[] = [];
  const folder = process.cwd();

  before(async () => {
    anvil = await startDatedAnvil(GENESIS_SECONDS);
    project = await useFixtureProject("plain");
    process.chdir(project.path);
    shown = await renderAll();
  });
  after(async () => {
    process.chdir(folder);
    await project.remove();
    await anvil.stop();
  });

  /** Runs all commands on a chain that has nothing, and takes it back there. */
  async function renderAll(): Promise<ReadonlyMap<string, string>> {
    const node = fetchProvider(anvil.url);
    const snapshot = await node.request({ method: "evm_snapshot" });
    const hre = await createTestHre(
      {
        networks: {
          localhost: httpNetwork(anvil.url, {
            // So that costs do not depend on the gas of the mocks.
            gasPrice: 0,
            vault: { tokenDecimals: 18 },
          }),
        },
      },
      { network: "localhost", projectRoot: project.path },
    );
    const screens = new Map<string, string>();
    for (const [name, typed] of Object.entries(commands)) {
      for (const columns of narrow.has(name) ? [60, 80] : [80]) {
        const output = await runOnTerminal(hre, typed, columns);
        const lines = await showOnScreen(output, columns);
        const at = `${name.replace(" ", "-")}${columns === 60 ? "-60" : ""}`;
        for (const [index, line] of lines.entries()) {
          const before = lines[index - 1]?.text ?? "";
          if (line.isBroken && !/0x[0-9a-f]{43,}$/u.test(before)) {
            broken.push(`${at}: ${before}`);
          }
        }
        const text = settled(lines.map((line) => line.text).join("\n"));
        screens.set(at, `$ npx hardhat vault ${typed}\n${text}\n`);
      }
    }
    await node.request({ method: "evm_revert", params: [snapshot] });
    const written = path.join(project.path, "vault-deployments");
    await rm(written, { recursive: true });
    return screens;
  }

  for (const [name, typed] of Object.entries(commands)) {
    for (const columns of narrow.has(name) ? [80, 60] : [80]) {
      it(`vault ${typed.slice(0, 60)} shows what is recorded, ${columns} columns wide`, async () => {
        const golden = `${name.replace(" ", "-")}${columns === 60 ? "-60" : ""}`;
        await expectGolden(golden, shown.get(golden) ?? "");
      });
    }
  }

  it("every task has a golden, and every golden a task", async () => {
    const tasks = (hardhatVault.tasks ?? [])
      .filter(({ type }) => type === TaskDefinitionType.NEW_TASK)
      .map(({ id }) => id.slice(1).join(" "));
    expect(Object.keys(commands)).to.have.members(tasks);
    expect([...(await allGoldens()).keys()]).to.have.members([...shown.keys()]);
  });

  it("no task writes a line that the terminal has to break", () => {
    expect(broken).to.deep.equal([]);
  });

  it("a changed label changes about a dozen recorded lines, in at most eight files", async () => {
    const { outputs } = operations.getLatestRoundInfo;
    const field =
      outputs.find(({ name }) => name === "settledAmount") ?? expect.fail();
    const { label } = field;
    const changed = "Amount settled";
    Reflect.set(field, "label", changed);
    try {
      const diffs = [...(await renderAll())]
        .map(([name, text]) => changedLines(shown.get(name) ?? "", text))
        .filter((lines) => lines.length > 0);
      expect(diffs.length).to.be.within(1, 8);
      // One line away and one line in its place.
      expect(diffs.flat().length / 2).to.be.within(1, 12);
    } finally {
      Reflect.set(field, "label", label);
    }
  });

  it("no label of a reading stands in more than twelve recorded lines or eight files", async () => {
    const goldens = [...(await allGoldens()).values()];
    for (const { outputs } of Object.values(operations)) {
      for (const { label } of outputs) {
        const cell = new RegExp(
          `^(?:Reading {2})?(?:(?:Round|Public|Private|Call|Put) )?${label}(?: {2}.*)?$`,
          "gimu",
        );
        const lines = goldens.map((text) => text.match(cell) ?? []);
        const files = lines.filter((found) => found.length > 0);
        expect(files.length, label).to.be.at.most(8);
        expect(files.flat().length, label).to.be.at.most(12);
      }
    }
  });

  it("all goldens together have less than 1,500 lines, none wider than 120 characters", async () => {
    const goldens = [...(await allGoldens()).values()];
    const lines = goldens.flatMap((text) => text.split("\n"));
    expect(lines.length).to.be.within(300, 1_500);
    expect(lines.filter((line) => line.length > 120)).to.deep.equal([]);
  });
});
