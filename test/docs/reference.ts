import { expect } from "chai";

import { operations } from "../../src/client/index.js";
import { errorsByKind } from "../../src/errors.js";
import {
  displayDecimalsKeys,
  readOperationNames,
} from "../../src/protocol/index.js";
import { codeIn, readSections, sectionOf } from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";
import { membersOf } from "../helpers/source-types.js";

const OF_READS = membersOf("ReadOptions").map(({ name }) => name);

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
});
