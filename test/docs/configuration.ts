import { expect } from "chai";

import { displayDecimalsKeys } from "../../src/protocol/display-decimals.js";
import { codeIn, readSections, sectionOf } from "../helpers/reference-page.js";

describe("docs/configuration.md", () => {
  it("has every key of displayDecimals", async () => {
    const sections = await readSections("configuration");
    const { rows } = sectionOf(sections, "displayDecimals");
    expect(rows.flat().flatMap((cell) => codeIn(cell))).to.have.members([
      ...displayDecimalsKeys,
    ]);
  });
});
