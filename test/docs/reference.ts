import { expect } from "chai";
import { network } from "hardhat";

import {
  ContractType,
  OrderState,
  operations,
} from "../../src/client/index.js";
import { readInteger } from "../../src/client/inputs.js";
import { errorsByKind } from "../../src/errors.js";
import { scenarios } from "../../src/mocks/index.js";
import type { ScenarioName } from "../../src/mocks/scenarios.js";
import {
  displayDecimalsKeys,
  readOperationNames,
} from "../../src/protocol/index.js";
import { keysOf } from "../../src/protocol/keys-of.js";
import type { HardhatVault } from "../../src/types.js";
import { fieldsOf } from "../helpers/fields.js";
import { codeIn, readSections, sectionOf } from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";
import { membersOf } from "../helpers/source-types.js";

const OF_READS = membersOf("ReadOptions").map(({ name }) => name);

/** Seconds that may pass between the page's `now` and a test's. */
const TOLERANCE = 60;

type Values = ReadonlyMap<string, unknown>;

/** Pages, their headings, and the type whose members the tables below them list. */
const tables = [
  ["reference-vault", "Options of a read", "ReadOptions"],
  ["reference-vault", "settleAll", "SettleAllOptions"],
  ["reference-vault", "simulateSettleAll", "SimulateSettleAllOptions"],
  ["reference-vault", "fork", "ForkOptions"],
  ["reference-vault", "orders", "OrdersOptions"],
  ["reference-vault", "rounds", "RoundsOptions"],
  ["reference-mocks", "Options of deployMocks", "DeployMocksOptions"],
  ["reference-mocks", "Options of mockAt", "MockAtOptions"],
  ["reference-mocks", "Keys of overrides and set", "MockOverrides"],
] as const;

/** Pages, the heading before those of members, and their types. */
const members = [
  ["reference-vault", "Reads", ["HardhatVault", "LazyHardhatVault"]],
  ["reference-mocks", "The handle", ["MockVaultHandle"]],
] as const;

describe("reference pages", () => {
  for (const [page, heading, type] of tables) {
    it(`docs/${page}.md has every member of ${type}, and no other`, async () => {
      const { text, rows } = sectionOf(await readSections(page), heading);
      const all = membersOf(type).map(({ name }) => name);
      // Those have rows of their own, unless they differ.
      const ofReads = / of a\s+read/u.test(text)
        ? OF_READS.filter((name) => all.includes(name))
        : [];
      const names = rows.flatMap(([name]) => codeIn(name));
      expect([...new Set([...names, ...ofReads])]).to.have.members(all);
    });
  }

  for (const [page, first, types] of members) {
    it(`docs/${page}.md has a heading for every public member of ${types.join(" and ")}, and for no other`, async () => {
      const sections = await readSections(page);
      const start = sections.findIndex(({ heading }) => heading === first);
      const documented = sections
        .slice(start + 1)
        .filter(({ text }) => text.startsWith("### "))
        .flatMap(({ heading }) =>
          heading.replaceAll(/\(.*?\)/gu, "").split(", "),
        );
      expect(documented).to.have.members([
        ...new Set(types.flatMap(membersOf).map(({ name }) => name)),
      ]);
    });
  }

  it("docs/configuration.md has every key of displayDecimals", async () => {
    const sections = await readSections("configuration");
    const { rows } = sectionOf(sections, "displayDecimals");
    expect(rows.flat().flatMap((cell) => codeIn(cell))).to.have.members([
      ...displayDecimalsKeys,
    ]);
  });
});

describe("docs/reference-vault.md", () => {
  let sections: readonly Section[];

  before(async () => {
    sections = await readSections("reference-vault");
  });

  it("names every error that a method documents, and none that does not exist", () => {
    const ofEveryRead = sectionOf(sections, "Errors of a read").text;
    const reads: readonly string[] = [...readOperationNames, "read"];
    for (const { name, throws } of membersOf("HardhatVault")) {
      if (throws.length > 0) {
        const { text } = sectionOf(sections, name);
        const documented = reads.includes(name) ? text + ofEveryRead : text;
        expect(
          throws.filter((code) => !documented.includes(code)),
          name,
        ).to.deep.equal([]);
      }
    }
    const codes = Object.values(errorsByKind).flatMap(Object.keys);
    for (const { text } of sections) {
      expect(codes).to.include.members(text.match(/VAULT_[A-Z_]+/gu) ?? []);
    }
  });

  it("has every field that a read returns, with its scale", () => {
    const scales: Readonly<Record<string, RegExp>> = {
      price: /× 1E18/u,
      percent: /1E18 is 100 %/u,
      token: /token precision/u,
      timestamp: /Unix seconds/u,
      rate: /× 1E8/u,
      raw: /not documented/u,
      contractType: /1 is call, 2 is put/u,
      orderState: /1 is open, 2 is closed/u,
    };
    for (const name of readOperationNames) {
      const { outputs } = operations[name];
      const { text, rows } = sectionOf(sections, name);
      const described = rows.flatMap(([fields, scale]) =>
        codeIn(fields).map((field) => [field, scale]),
      );
      // One value without a name is described in words.
      for (const [index, { name: field, unit }] of outputs.entries()) {
        const [found, scale] =
          outputs.length === 1 ? [field, text] : (described[index] ?? []);
        expect(found, name).to.equal(field);
        expect(scale, `${name}: ${field}`).to.match(scales[unit] ?? /./u);
      }
      expect(described.length, name).to.equal(
        outputs.length === 1 ? 0 : outputs.length,
      );
    }
  });

  it("has the numbers and the words of the enumerations", () => {
    const { rows } = sectionOf(sections, "Enumerations");
    expect(
      rows.map(([name, number, word]) => [
        ...codeIn(name),
        Number(number),
        ...codeIn(word),
      ]),
    ).to.deep.equal(
      Object.entries({ OrderState, ContractType }).flatMap(([name, words]) =>
        Object.entries(words).map(([word, number]) => [name, number, word]),
      ),
    );
  });
});

describe("docs/reference-mocks.md", () => {
  let sections: readonly Section[];

  before(async () => {
    sections = await readSections("reference-mocks");
  });

  it("has what the mocks return in each scenario", async () => {
    const open = new Map(
      sectionOf(sections, "open-round").rows.flatMap(([name, value]) =>
        codeIn(name).map((path): [string, string] => [path, String(value)]),
      ),
    );
    // The table of orders has other rows.
    const base = [...open].filter(([path]) => !orderField(path));
    const changes = sectionOf(sections, "The other scenarios").rows.flatMap(
      ([name, values = ""]) =>
        values.split("; ").map((each) => [name, ...each.split(" = ")]),
    );
    expect([
      "open-round",
      ...new Set(changes.flatMap(([name]) => codeIn(name))),
    ]).to.have.members(keysOf(scenarios));
    for (const scenario of keysOf(scenarios)) {
      const { vault } = await network.create();
      await vault.deployMocks({ scenario });
      const documented = new Map([
        ...base,
        ...changes
          .filter(([name]) => codeIn(name)[0] === scenario)
          .flatMap(([, paths, value]) =>
            codeIn(paths).map((path): [string, string] => [
              path,
              String(value),
            ]),
          ),
      ]);
      const { timestamp } = await vault.block();
      const found = await readAll(vault, scenario);
      for (const path of ["orders", "generatedOrders", "settlement.reward"]) {
        if (!found.has(path)) {
          documented.delete(path);
        }
      }
      expect([...found.keys()], scenario).to.have.members([
        ...documented.keys(),
      ]);
      for (const [path, value] of documented) {
        expectValue(found.get(path), value, timestamp, `${scenario}: ${path}`);
      }
    }
  });

  it("has the orders of open-round", async () => {
    const { vault } = await network.create();
    await vault.deployMocks();
    const rows = sectionOf(sections, "open-round").rows.filter(([name]) =>
      orderField(String(codeIn(name)[0])),
    );
    const order = fieldsOf(await vault.getOrderInfo(1n));
    expect(rows.flatMap(([name]) => codeIn(name))).to.have.members(
      Object.keys(order),
    );
    for (const id of [1n, 2n, 3n]) {
      const values = fieldsOf(await vault.getOrderInfo(id));
      for (const [name, ...cells] of rows) {
        const field = String(codeIn(name)[0]);
        expectValue(values[field], cells[Number(id) - 1], 0, `${id}.${field}`);
      }
    }
  });
});

function orderField(path: string): boolean {
  return !/\.|^(?:volume|minXMargin|generatedOrders|unknown)/u.test(path);
}

/** All that a scenario has: read from the mocks, as far as they return it. */
async function readAll(
  vault: HardhatVault,
  scenario: ScenarioName,
): Promise<Values> {
  const { chainId: _chain, block, ...readings } = await vault.snapshot();
  const { settlement, generatedOrders, unknownOrders, orders } = scenarios[
    scenario
  ](BigInt(block.timestamp));
  const margins = await vault.calMargins({
    maxVolume: 1n,
    APY: 1n,
    endTime: 1n,
  });
  const state = {
    ...readings,
    margins,
    settlement,
    generatedOrders,
    unknownOrders,
    ...(orders.size === 0 && { orders: "none" }),
  };
  return new Map(flatten(state));
}

function flatten(value: unknown, path = ""): ReadonlyArray<[string, unknown]> {
  return typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) =>
        flatten(inner, path === "" ? key : `${path}.${key}`),
      )
    : [[path, value]];
}

/** Compares a value with a cell, as in `65000e18` or `now - 2d`. */
function expectValue(
  value: unknown,
  cell = "",
  now: number,
  where: string,
): void {
  const [text = cell.replace(/,.*/u, "")] = codeIn(cell);
  const [, sign, days] = /^now ([+-]) (\d+)d$/u.exec(text) ?? [];
  if (days !== undefined) {
    const offset = Number(`${sign}${days}`) * 86_400;
    expect(Number(value), where).to.be.closeTo(now + offset, TOLERANCE);
  } else if (typeof value === "bigint") {
    expect(value, where).to.equal(
      text === "2^256 - 1" ? 2n ** 256n - 1n : readInteger(text),
    );
  } else {
    expect(String(value), where).to.equal(text);
  }
}
