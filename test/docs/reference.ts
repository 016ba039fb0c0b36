import { expect } from "chai";

import { operations } from "../../src/client/index.js";
import { errorsByKind } from "../../src/error-table.js";
import {
  displayDecimalsKeys,
  readOperationNames,
} from "../../src/protocol/index.js";
import { codeIn, readSections, sectionOf } from "../helpers/reference-page.js";
import { membersOf } from "../helpers/source-types.js";

const OF_READS = membersOf("ReadOptions");

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
      const all = membersOf(type);
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
        ...new Set(types.flatMap(membersOf)),
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
  it("names no error that does not exist", async () => {
    const codes = Object.values(errorsByKind).flatMap(Object.keys);
    for (const { text } of await readSections("reference-vault")) {
      expect(codes).to.include.members(text.match(/VAULT_[A-Z_]+/gu) ?? []);
    }
  });

  it("has every field that a read returns", async () => {
    const sections = await readSections("reference-vault");
    for (const name of readOperationNames) {
      const { outputs } = operations[name];
      const { rows } = sectionOf(sections, name);
      // One value without a name is described in words.
      expect(
        rows.flatMap(([fields]) => codeIn(fields)),
        name,
      ).to.deep.equal(
        outputs.length === 1 ? [] : outputs.map((field) => field.name),
      );
    }
  });
});
