import { kebabToCamelCase } from "@nomicfoundation/hardhat-utils/string";
import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";

import { errorsByKind, isErrorCode } from "../src/error-table.js";
import type { VaultErrorCode } from "../src/error-table.js";
import { VaultError, refusesSettlement } from "../src/errors.js";
import { vaultTasks } from "../tasks/index.js";

/** They end a settlement as refused, though nothing in their fix tells that nothing was sent. */
const refusing: readonly string[] = [
  "VAULT_NO_SIGNER",
  "VAULT_NOT_SETTLER",
  "VAULT_ROUND_CHANGED",
  "VAULT_CANNOT_REPLACE",
  "VAULT_SETTLEMENT_LOST",
] satisfies VaultErrorCode[];

/** Only tasks throw these, about their own options. */
const ofTasks: readonly string[] = [
  "VAULT_TOKEN_DECIMALS_NOT_CONFIGURED",
  "VAULT_NO_TERMINAL",
] satisfies VaultErrorCode[];

describe("the table of errors", () => {
  const all = Object.entries(errorsByKind).flatMap(([kind, errors]) =>
    Object.entries(errors).map(([code, texts]) => ({ kind, code, ...texts })),
  );
  for (const { kind, code, text, fix } of all) {
    it(`${code} has a text and a fix, with every argument in the message, and refuses a settlement only if nothing was sent`, () => {
      expect(code).to.match(/^VAULT_[A-Z0-9_]+$/u);
      expect(fix).to.match(/[.}]$/u);
      expect(text).to.match(/[.}]$/u);
      const tags = [...`${text} ${fix}`.matchAll(/\{(\w+)\}/gu)].map(
        ([, tag = ""]) => tag,
      );
      if (!ofTasks.includes(code)) {
        // The API has no flags; a whole command may have some.
        expect(
          `${text} ${fix}`.replaceAll(/`npx hardhat [^`]*`/gu, ""),
        ).to.not.match(/--[a-z]/u);
      }
      const error = new VaultError(
        // a key of the table, which Object.entries forgets
        code as VaultErrorCode,
        Object.fromEntries(tags.map((tag) => [tag, `<${tag}>`])),
      );
      expect(error.kind).to.equal(kind);
      expect(refusesSettlement(error)).to.equal(
        fix.includes("Nothing was sent") || refusing.includes(code),
      );
      expect(error.message).to.equal(`${error.shortMessage} ${error.fix}`);
      expect(error.message).to.not.match(/[{}]/u);
      for (const tag of tags) {
        expect(error.message).to.contain(`<${tag}>`);
      }
    });
  }

  it("a fix names options that every task has, or the tasks with that error", () => {
    const onlyIn: Readonly<Record<string, string>> = {
      VAULT_NO_TERMINAL: "settle",
      VAULT_WOULD_NOT_SETTLE: "settle",
      VAULT_FEE_LIMIT_NEEDED: "settle",
      VAULT_REVERTED_BEFORE: "settle",
      VAULT_TOKENS_NOT_KNOWN: "settle",
      VAULT_TOKEN_DECIMALS_NOT_CONFIGURED: "margins",
    };
    const optionsOf = new Map(
      vaultTasks.map((definition) => [
        definition.id.slice(1).join(" "),
        definition.type === TaskDefinitionType.NEW_TASK
          ? Object.keys(definition.options)
          : [],
      ]),
    );
    for (const { code, text, fix, cli } of all) {
      const shown = `${text} ${cli ?? fix}`;
      const commands = shown.matchAll(/`npx hardhat vault ([\w-]+)([^`]*)`/gu);
      for (const [task = "", options = ""] of [
        [onlyIn[code] ?? "watch", shown.replaceAll(/`npx [^`]*`/gu, "")],
        ...[...commands].map(([, name, rest]) => [name, rest]),
      ]) {
        const known = [...(optionsOf.get(task) ?? []), "network"];
        for (const [, option] of options.matchAll(/(?<!\{)--([a-z-]+)/gu)) {
          expect(known, code).to.include(kebabToCamelCase(option ?? ""));
        }
      }
    }
  });

  it("isErrorCode() is true of the codes of the table alone", () => {
    expect(isErrorCode("VAULT_NO_CODE")).to.equal(true);
    expect(isErrorCode("toString")).to.equal(false);
  });
});
