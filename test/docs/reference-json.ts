import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "chai";
import { BrowserProvider } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { TaskDefinitionType } from "hardhat/types/tasks";

import { asRecord } from "../../src/json.js";
import { connectMocks } from "../../src/mocks/deploy-mocks.js";
import { vaultTasks } from "../../tasks/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { codeIn, readSections, sectionOf } from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

/** A row of the page. */
interface Row {
  readonly type: string;
  readonly mayBeNull: boolean;
}

/** Reads what a type in the page promises of a JSON value. */
const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  integer: (value) => typeof value === "string" && /^-?\d+$/u.test(value),
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  text: (value) => typeof value === "string",
  address: (value) => /^0x[0-9a-fA-F]{40}$/u.test(String(value)),
  hex: (value) => /^0x[0-9a-f]*$/u.test(String(value)),
  object: (value) => typeof value === "object",
  value: (value) => typeof value !== "object" || value === null,
};

describe("docs/reference-json.md", () => {
  let sections: readonly Section[];
  let anvil: ServerProcess;
  let project: FixtureProject;
  let hre: HardhatRuntimeEnvironment;
  /** By section. */
  const documents = new Map<string, unknown[]>();

  before(async () => {
    sections = await readSections("reference-json");
    anvil = await startAnvil();
    project = await useFixtureProject("plain");
    const settings = { tokenDecimals: 18, instances: { usdc: {} } };
    hre = await createTestHre(
      { networks: { live: httpNetwork(anvil.url, { vault: settings }) } },
      { network: "live", projectRoot: project.path },
    );
    await recordAll();
  });
  after(async () => {
    await anvil.stop();
    await project.remove();
  });

  it("has a section for every task", () => {
    const headings = sections.map(({ heading }) => heading);
    const tasks = vaultTasks
      .filter(({ type }) => type === TaskDefinitionType.NEW_TASK)
      .map(({ id }) => id.join(" "));
    expect(headings).to.include.members(tasks);
    expect([...documents.keys()]).to.include.members(tasks);
  });

  it("has a row for every key that a task prints, with its type, and no other row", () => {
    for (const [heading, recorded] of documents) {
      const rows = rowsOf(sectionOf(sections, heading));
      const seen = new Set<string>();
      for (const document of recorded) {
        visit(document, "", (at, value) => {
          const row = rows.get(at);
          expect(row, `${heading} has no row ${at}`).to.not.equal(undefined);
          seen.add(at);
          const isRight =
            value === null
              ? row?.mayBeNull
              : types[row?.type ?? ""]?.(value) !== false;
          expect(isRight, `${heading}: ${at} is ${String(value)}`).to.equal(
            true,
          );
          return row?.type === "object";
        });
      }
      expect(
        [...rows.keys()].filter((at) => !seen.has(at)),
        `${heading} never prints`,
      ).to.deep.equal([]);
    }
  });

  /** The rows of a section, with those of the shapes that it names. */
  function rowsOf({ text, rows }: Section): Map<string, Row> {
    const found = new Map<string, Row>();
    if (text.includes("](#envelope)")) {
      const isNull = text.includes("`block` is null");
      found.set("block", { type: "Envelope", mayBeNull: isNull });
      for (const [at, row] of rowsOf(sectionOf(sections, "Envelope"))) {
        found.set(at, row);
      }
    }
    for (const [key, type = "", , isNull = ""] of rows) {
      const [at = ""] = codeIn(key);
      const mayBeNull = isNull !== "never";
      const [, shape] = /^\[(\w+)\]\(#\w+\)$/u.exec(type) ?? [];
      found.set(at, { type: shape ?? type, mayBeNull });
      if (shape !== undefined) {
        for (const [inner, row] of rowsOf(sectionOf(sections, shape))) {
          found.set(
            inner.startsWith("[") ? `${at}${inner}` : `${at}.${inner}`,
            row,
          );
        }
      }
    }
    // Objects and lists that only hold what has rows.
    for (const at of [...found.keys()]) {
      for (const { index } of at.matchAll(/\.|\[/gu)) {
        const parent = at.slice(0, index);
        if (parent !== "" && !found.has(parent)) {
          found.set(parent, { type: "", mayBeNull: false });
        }
      }
    }
    return found;
  }

  async function record(
    task: string,
    args: Readonly<Record<string, unknown>> = {},
    heading = `vault ${task}`,
  ): Promise<void> {
    const { stdout } = await runVaultTask(hre, task, { ...args, json: true });
    const lines = stdout.trimEnd().split("\n");
    documents.set(heading, [
      ...(documents.get(heading) ?? []),
      ...lines.map((line): unknown => JSON.parse(line)),
    ]);
  }

  async function recordAll(): Promise<void> {
    const out = (name: string): string => path.join(project.path, name);
    const rpc = fetchProvider(anvil.url);
    await record("round", {}, "Error");
    await record("deploy-mocks");
    await record("deploy-mocks", { instance: "usdc" });
    for (const task of [
      ...["funding-rate", "round", "pools", "volume", "margin-balance"],
      ...["min-margin", "status", "doctor", "simulate"],
    ]) {
      await record(task);
    }
    await record("order", { id: "1" });
    await record("margins", { maxVolume: "1", apy: "10", endTime: "+7d" });
    await record("orders", { ids: "1,9" });
    await record("mock set", { changes: ["missingOrdersRevert=true"] });
    await record("orders", { ids: "1,9" });
    await record("report", { out: out("report.html") });
    await record("capture", { out: out("fixture.json") });
    await record("capture", { out: out("fixture.json"), ids: "1" });
    const [mocks] = documents.get("vault deploy-mocks") ?? [];
    const addresses = asRecord(asRecord(mocks)["contracts"]);
    const at = `vault=${String(addresses["vault"])}`;
    await record("request", { operation: "queryVolume", at });
    await record(
      "request",
      { operation: "settleAll", at },
      "vault request settleAll",
    );
    const selector = "0xd311636b";
    const word = "3".padStart(64, "0");
    await record("decode", { hex: `${selector}${word}ff` });
    await record("decode", { hex: `0x4e487b71${word}` });
    await record("decode", { hex: `0x${word.repeat(3)}` });
    await record("settle", { calldata: true }, "vault settle --calldata");
    await record("settle", { assert: true });
    await record("mock fail", { operation: "settleAll", reason: "paused" });
    await record("settle", { yes: true });
    await record("simulate");
    await record("mock succeed", { operation: "settleAll" });
    await record("settle", { yes: true });
    await record("settle", { yes: true });
    await record("mock next-round");
    const handle = await connectMocks(rpc, addresses);
    const ended = new AbortController();
    const watching = record("watch", { until: "+3s", interval: "0.1" });
    const stop = (): void => {
      ended.abort();
    };
    watching.then(stop, stop);
    for (let volume = 1n; !ended.signal.aborted; volume += 1n) {
      await handle.set({ volume });
      await sleep(100);
    }
    await watching;
    await rpc.request({ method: "anvil_mine", params: ["0x40"] });
    await record("mock set", { changes: ["round.startTime=5"] });
    await record("rounds");
    await record("mock fail", { operation: "queryVolume", reason: "closed" });
    await record("status", { all: true });
    const signer = await new BrowserProvider(rpc, "any", {
      cacheTimeout: -1,
      pollingInterval: 20,
    }).getSigner();
    for (const name of ["PayingVault", "FeeVault"] as const) {
      const { contracts } = await deploySettlingVault(signer, name);
      const own = Object.entries(contracts)
        .map(([role, address]) => `${role}=${address}`)
        .join(",");
      await record("simulate", { at: own, ids: "1" });
      await record("settle", { at: own, yes: true });
    }
  }
});

/** Visits every key of a document but those of failed readings. */
function visit(
  value: unknown,
  at: string,
  found: (at: string, value: unknown) => boolean,
): void {
  const { error, ...others } = asRecord(value);
  if (at !== "" && error !== undefined && Object.keys(others).length === 0) {
    expect(error, at).to.have.all.keys("code", "message");
    return;
  }
  if (at !== "" && found(at, value)) {
    return;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const place = at === "params" ? `[${index}]` : "[]";
      visit(item, `${at}${place}`, found);
    }
    return;
  }
  for (const [key, inner] of Object.entries(asRecord(value))) {
    visit(
      inner,
      at === "" ? key : `${at}.${at === "instances" ? "*" : key}`,
      found,
    );
  }
}
