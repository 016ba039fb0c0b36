import { expect } from "chai";
import { BrowserProvider, getAddress } from "ethers";
import { TaskDefinitionType } from "hardhat/types/tasks";

import hardhatVault from "../../src/index.js";
import { startAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { codeIn, readSections, sectionOf } from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

/** A key in the page: an item of a list. */
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
  list: (value) => Array.isArray(value),
  address: (value) => typeof value === "string" && getAddress(value) === value,
  hex: (value) => /^0x[0-9a-f]*$/u.test(String(value)),
  object: (value) => typeof value === "object",
  value: (value) => typeof value !== "object" || value === null,
};

/** A list, and an object whose fields have rows, has no type or a section's name. */
const isOfType = (value: unknown, { type, mayBeNull }: Row): boolean =>
  value === null
    ? mayBeNull
    : (types[type]?.(value) ??
      (typeof value === "object" && /^[A-Z]|^$/u.test(type)));

/** What a read returns: docs/reference-vault.md has the fields. */
const results = ["Round", "Order", "Margins", "Pool"];
const ofResult: Row = { type: "value", mayBeNull: true };

const beforeSettlement = [
  ...["funding-rate", "round", "order 1", "pools", "volume"],
  ...["margin-balance", "min-margin", "status", "doctor", "simulate"],
  "margins --max-volume 1 --apy 1 --end-time +7d --raw",
  ...["request queryVolume", "request settleAll"],
  "orders --ids 1,9",
  ...["settle", "settle --assert", "settle --calldata", "settle --resume"],
  "settle --calldata --from 0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
  ...["capture --out a.json", "capture --out a.json --ids 1"],
  ...["report --out a.html", "order x"],
  "mock set volume=6 orders.9.exType=a unknownOrders=zeros",
  "orders --ids 1,8",
  ...["mock next-round", "mock fail getLPAmountInfo no --pool public"],
  ...["status", "simulate", "mock succeed getLPAmountInfo"],
  ...["mock fail settleAll no", "simulate", "settle --yes"],
  ...["mock succeed settleAll", "deploy-mocks"],
];
const afterSettlement = [
  ...[
    "settle --yes",
    "simulate",
    "watch --until settled",
    "deploy-guard --yes",
  ],
];

describe("docs/reference-json.md", () => {
  let sections: readonly Section[];
  /** By task, or part of the page. */
  const documents = new Map<string, unknown[]>();

  before(async () => {
    sections = await readSections("reference-json");
    await runTasks();
  });

  it("has the document of every task", () => {
    const tasks = (hardhatVault.tasks ?? [])
      .filter(({ type }) => type === TaskDefinitionType.NEW_TASK)
      .map(({ id }) => id.join(" "));
    expect(documented()).to.include.members(tasks);
    expect([...documents.keys()]).to.include.members(tasks);
  });

  it("has a row for every key that a task prints, with its type, and no other row", () => {
    for (const [heading, recorded] of documents) {
      const rows = rowsOfDocument(heading);
      const seen = new Set<string>();
      for (const document of recorded) {
        visit(document, "", (at, value) => {
          const holder = rows.get(at.slice(0, at.lastIndexOf(".")));
          const isOfResult = results.includes(holder?.type ?? "");
          const row =
            rows.get(at) ??
            (isOfResult ? ofResult : expect.fail(`${heading}: no row ${at}`));
          seen.add(at);
          const what = `${heading}: ${at} is ${String(value)}`;
          expect(isOfType(value, row), what).to.equal(true);
          return row.type === "object";
        });
      }
      const unseen = [...rows.keys()].filter((at) => !seen.has(at));
      // A watch that ends at once has no change.
      const ofWatch = heading === "vault watch" ? ["changed[]"] : [];
      expect(unseen, `${heading} never prints`).to.deep.equal(ofWatch);
    }
  });

  /** The tasks, and the other parts of the page. */
  function documented(): readonly string[] {
    return sections.flatMap(({ heading, rows }) =>
      heading === "One reading"
        ? rows.map(([task]) => String(codeIn(task)[0]))
        : [heading],
    );
  }

  function rowsOfDocument(heading: string): ReadonlyMap<string, Row> {
    const own = sections.find((section) => section.heading === heading);
    const { text, rows } = own ?? sectionOf(sections, "One reading");
    const found = rowsOf(
      own === undefined
        ? rows
            .filter(([task]) => codeIn(task)[0] === heading)
            .flatMap(([, item]) => itemsOf(`- ${item}`))
        : itemsOf(text),
    );
    if (!text.includes("No envelope")) {
      const envelope = rowsOf(itemsOf(sectionOf(sections, "Envelope").text));
      for (const [at, row] of envelope) {
        found.set(at, row);
      }
      const mayBeNull = text.includes("`block` is null");
      found.set("block", { type: "", mayBeNull });
    }
    return found;
  }

  /** The rows of these cells, with those of the shapes that they name. */
  function rowsOf(rows: Section["rows"]): Map<string, Row> {
    const found = new Map<string, Row>();
    for (const [key, cell = "", meaning = ""] of rows) {
      const [at = ""] = codeIn(key);
      const mayBeNull = /\b(?:null|absent)\b/iu.test(meaning);
      const type = /^\[(\w+)\]\(#\w+\)$/u.exec(cell)?.[1] ?? cell;
      found.set(at, { type, mayBeNull });
      for (const [inner, row] of fieldsOfShape(type)) {
        found.set(
          inner.startsWith("[") ? `${at}${inner}` : `${at}.${inner}`,
          row,
        );
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

  function fieldsOfShape(type: string): ReadonlyMap<string, Row> {
    if (results.includes(type) || !/^[A-Z]/u.test(type)) {
      return new Map();
    }
    const { text } = sectionOf(sections, type);
    return new Map([
      ...(text.includes("](#readings), and") ? fieldsOfShape("Readings") : []),
      ...rowsOf(itemsOf(text)),
    ]);
  }

  function addDocuments(command: string, output: string): void {
    const found = documented()
      .filter((heading) => command.startsWith(heading))
      .sort((one, other) => other.length - one.length)[0];
    for (const [line] of output.matchAll(/^\{".*$/gmu)) {
      const document: unknown = JSON.parse(line);
      const heading = "error" in fieldsOf(document) ? "Error" : (found ?? "");
      documents.set(heading, [...(documents.get(heading) ?? []), document]);
    }
  }

  /** Runs every task so that each key of each document is printed once. */
  async function runTasks(): Promise<void> {
    const anvil = await startAnvil();
    const project = await useFixtureProject("plain");
    const folder = process.cwd();
    // The files of --out are named from here.
    process.chdir(project.path);
    const { vault, provider } = await connectTo(anvil.url);
    const mocks = await vault.deployMocks({
      overrides: { unknownOrders: "revert" },
    });
    const settings = { contracts: mocks.addresses, instances: { usdc: {} } };
    const hre = await hreOnLive(anvil.url, { vault: settings }, project.path);
    const record = async (typed: string): Promise<void> => {
      const { stdout } = await runTyped(hre, `${typed} --json`);
      addDocuments(`vault ${typed}`, stdout);
    };
    const recordAll = async (commands: readonly string[]): Promise<void> => {
      for (const typed of commands) {
        await record(typed);
      }
    };
    await recordAll(beforeSettlement);
    await provider.request({ method: "anvil_mine", params: ["0x40"] });
    await mocks.set({ round: { startTime: 5n } });
    await record("rounds");
    await record("status --all");
    const signer = await new BrowserProvider(provider, "any", {
      cacheTimeout: -1,
      pollingInterval: 20,
    }).getSigner();
    for (const name of ["PayingVault", "FeeVault"] as const) {
      const { contracts } = await deploySettlingVault(signer, name);
      const at = Object.entries(contracts)
        .map((pair) => pair.join("="))
        .join();
      await record(`simulate --ids 1 --at ${at}`);
      await record(`settle --yes --at ${at}`);
    }
    await recordAll(afterSettlement);
    process.chdir(folder);
    await project.remove();
    await anvil.stop();
  }
});

/** The cells of a list, as in "- `key` (type): meaning". */
function itemsOf(text: string): Section["rows"] {
  return [
    ...text.matchAll(
      /^- (`[^`]+`) \((\w+|\[\w+\]\(#\w+\))\): (.*(?:\n {2}.*)*)$/gmu,
    ),
  ].map(([, ...cells]) => cells);
}

/** Visits every key of a document but those of failed readings. */
function visit(
  value: unknown,
  at: string,
  found: (at: string, value: unknown) => boolean,
): void {
  const { error, ...others } = fieldsOf(value);
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
  for (const [key, inner] of Object.entries(fieldsOf(value))) {
    visit(
      inner,
      at === "" ? key : `${at}.${at === "instances" ? "*" : key}`,
      found,
    );
  }
}
