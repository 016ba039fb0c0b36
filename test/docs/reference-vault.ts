import { expect } from "chai";

import { errorsByKind } from "../../src/errors.js";
import {
  ContractType,
  OrderState,
  operations,
  readOperationNames,
} from "../../src/protocol/index.js";
import {
  codeIn,
  namesIn,
  readSections,
  sectionOf,
} from "../helpers/reference-page.js";
import type { Section } from "../helpers/reference-page.js";
import { membersOf } from "../helpers/source-types.js";

const OF_READS = ["from", "blockTag", "timeout", "onRetry"];

describe("docs/reference-vault.md", () => {
  let sections: readonly Section[];

  before(async () => {
    sections = await readSections("reference-vault");
  });

  it("has a heading for every public member of connection.vault and hre.vault, and for no other", () => {
    const members = [
      ...membersOf("HardhatVault"),
      ...membersOf("LazyHardhatVault"),
    ].map(({ name }) => name);
    const start = sections.findIndex(({ heading }) => heading === "Reads");
    const documented = sections
      .slice(start)
      .filter(({ text }) => text.startsWith("### "))
      .flatMap(({ heading }) =>
        heading.replaceAll(/\(.*?\)/gu, "").split(", "),
      );
    expect(documented).to.have.members([...new Set(members)]);
  });

  it("names every error that a method documents, and none that does not exist", () => {
    for (const { name, throws } of membersOf("HardhatVault")) {
      if (throws.length > 0) {
        const { text } = sectionOf(sections, name);
        expect(
          throws.filter((code) => !text.includes(code)),
          name,
        ).to.deep.equal([]);
      }
    }
    const codes = Object.values(errorsByKind).flatMap(Object.keys);
    for (const { text } of sections) {
      expect(codes).to.include.members(text.match(/VAULT_[A-Z_]+/gu) ?? []);
    }
  });

  it("has every option of every method", () => {
    for (const [heading, type] of [
      ["Options of a read", "ReadOptions"],
      ["settleAll", "SettleAllOptions"],
      ["simulateSettleAll", "SimulateSettleAllOptions"],
      ["fork", "ForkOptions"],
    ] as const) {
      expect(namesIn(sectionOf(sections, heading)), heading).to.have.members(
        membersOf(type).map(({ name }) => name),
      );
    }
    for (const [heading, type] of [
      ["orders", "OrdersOptions"],
      ["rounds", "RoundsOptions"],
    ] as const) {
      const own = namesIn(sectionOf(sections, heading));
      const all = membersOf(type).map(({ name }) => name);
      expect(all, heading).to.include.members([...own]);
      expect([...own, ...OF_READS], heading).to.include.members(all);
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
      const { rows } = sectionOf(sections, name);
      expect(rows.length, name).to.equal(outputs.length);
      for (const [index, { name: field, unit }] of outputs.entries()) {
        const [first, ...others] = rows[index] ?? [];
        if (outputs.length > 1) {
          expect(first).to.equal(`\`${field}\``);
        }
        expect(others.join(" "), `${name}: ${field}`).to.match(
          scales[unit] ?? /./u,
        );
      }
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
