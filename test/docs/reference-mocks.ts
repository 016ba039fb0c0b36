import { expect } from "chai";
import { network } from "hardhat";

import { readInteger } from "../../src/client/inputs.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { scenarios } from "../../src/mocks/scenarios.js";
import type { ScenarioName } from "../../src/mocks/scenarios.js";
import { asRecord } from "../../src/json.js";
import { keysOf } from "../../src/protocol/keys-of.js";
import {
  codeIn,
  namesIn,
  readSections,
  sectionOf,
} from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";
import { membersOf } from "../helpers/source-types.js";

/** Seconds that may pass between the page's `now` and a test's. */
const TOLERANCE = 60;

type Values = ReadonlyMap<string, unknown>;

describe("docs/reference-mocks.md", () => {
  let sections: readonly Section[];

  before(async () => {
    sections = await readSections("reference-mocks");
  });

  it("has every option of deployMocks and mockAt, and every key of overrides", () => {
    for (const [heading, type] of [
      ["Options of deployMocks", "DeployMocksOptions"],
      ["Options of mockAt", "MockAtOptions"],
      ["Keys of overrides and set", "MockOverrides"],
    ] as const) {
      const { rows } = sectionOf(sections, heading);
      expect(
        rows.map(([name]) => codeIn(name)[0]),
        heading,
      ).to.have.members(membersOf(type).map(({ name }) => name));
    }
  });

  it("has a heading for every public member of the handle, and for no other", () => {
    const start = sections.findIndex(({ heading }) => heading === "The handle");
    expect(
      sections
        .slice(start + 1)
        .flatMap(({ heading }) =>
          heading.replaceAll(/\(.*?\)/gu, "").split(", "),
        ),
    ).to.have.members(membersOf("MockVaultHandle").map(({ name }) => name));
  });

  it("has what the mocks return in each scenario", async () => {
    const open = new Map(
      sectionOf(sections, "open-round").rows.flatMap(([name, value]) =>
        codeIn(name).map((path): [string, string] => [path, String(value)]),
      ),
    );
    // The table of orders has other rows.
    const base = [...open].filter(([path]) => !orderField(path));
    const changes = sectionOf(sections, "The other scenarios").rows;
    for (const scenario of keysOf(scenarios)) {
      const { vault } = await network.create();
      await vault.deployMocks({ scenario });
      const documented = new Map([
        ...base,
        ...changes
          .filter(([name]) => codeIn(name)[0] === scenario)
          .map(([, path, value]): [string, string] => [
            String(codeIn(path)[0]),
            String(value),
          ]),
      ]);
      const { timestamp } = await vault.block();
      const found = await readAll(vault, scenario);
      for (const path of ["orders", "generatedOrders"]) {
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
    const order = asRecord(await vault.getOrderInfo(1n));
    expect(rows.flatMap(([name]) => codeIn(name))).to.have.members(
      Object.keys(order),
    );
    for (const id of [1n, 2n, 3n]) {
      const values = asRecord(await vault.getOrderInfo(id));
      for (const [name, ...cells] of rows) {
        const field = String(codeIn(name)[0]);
        expectValue(values[field], cells[Number(id) - 1], 0, `${id}.${field}`);
      }
    }
  });

  it("names no scenario that there is not", () => {
    expect([
      "open-round",
      ...new Set(
        sectionOf(sections, "The other scenarios").rows.flatMap(([name]) =>
          codeIn(name),
        ),
      ),
    ]).to.have.members(keysOf(scenarios));
    expect(namesIn(sectionOf(sections, "open-round"))).to.not.be.empty;
  });
});

function orderField(path: string): boolean {
  return !/\.|^(?:volume|minXMargin|generatedOrders|missing)/u.test(path);
}

/** All that a scenario has: read from the mocks, as far as they return it. */
async function readAll(
  vault: HardhatVault,
  scenario: ScenarioName,
): Promise<Values> {
  const { chainId: _chain, block, ...readings } = await vault.snapshot();
  const { settlement, generatedOrders, missingOrdersRevert, orders } =
    scenarios[scenario](BigInt(block.timestamp));
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
    missingOrdersRevert,
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
