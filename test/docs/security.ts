import { access } from "node:fs/promises";

import { expect } from "chai";

import { codeIn, readSections } from "../helpers/reference-page.js";

describe("docs/security.md", () => {
  it("names tests that there are", async () => {
    const sections = await readSections("security");
    const files = sections
      .flatMap(({ text }) => codeIn(text))
      .filter((code) => code.startsWith("test/"));
    expect(files).to.have.lengthOf.above(10);
    await Promise.all(files.map(async (file) => await access(file)));
  });
});
