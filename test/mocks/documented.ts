import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { MockVaultHandle } from "../../src/mocks/handle.js";

describe("mocks - documents", () => {
  it("should have every method of the handle in the page's table", async () => {
    const page = await readFile("docs/testing-with-mocks.md", "utf8");
    const table =
      /^\| method .*\n\| -.*\n(?<rows>(?:\|.*\n)+)/mu.exec(page)?.groups?.[
        "rows"
      ] ?? "";
    const documented = table
      .split("\n")
      .flatMap((row) =>
        [...(row.split("|")[1] ?? "").matchAll(/`(?<name>\w+)\(/gu)].map(
          ({ groups }) => groups?.["name"],
        ),
      );
    const methods = Object.entries(
      Object.getOwnPropertyDescriptors(MockVaultHandle.prototype),
    )
      .filter(
        ([name, { value }]) =>
          name !== "constructor" && typeof value === "function",
      )
      .map(([name]) => name);
    expect(documented).to.have.members(methods);
  });
});
