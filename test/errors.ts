import { kebabToCamelCase } from "@nomicfoundation/hardhat-utils/string";
import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";
import { HardhatPluginError } from "hardhat/plugins";

import {
  VaultError,
  assertInvariant,
  errorsByKind,
  fallbackTo,
  hasErrorCode,
  refusesSettlement,
  textsForCommandLine,
  vaultError,
} from "../src/errors.js";
import type { VaultErrorCode } from "../src/errors.js";
import { vaultTasks } from "../tasks/index.js";
import { expectVaultError } from "./helpers/assertions.js";

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

describe("errors", () => {
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
      VAULT_GUARD_KEEPS_TOKENS: "settle",
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

  it("an error has its arguments as details, bigints as decimal strings", () => {
    const cause = new Error("why");
    const error = vaultError(
      "VAULT_CHAIN_CHANGED",
      { network: "live", actual: 3, expected: 2n ** 70n },
      cause,
    );
    expect(error).to.be.instanceOf(Error);
    expect(error.name).to.equal("VaultError");
    expect(error.kind).to.equal("rpc");
    expect(error.cause).to.equal(cause);
    expect(error.details).to.deep.equal({
      network: "live",
      actual: 3,
      expected: "1180591620717411303424",
    });
  });

  it("the cause of an error is an error, also if the node answered with an object, whose text and stack are not escaped", () => {
    const raw = { code: -32_000, message: "raw\u001b", stack: "raw\u001b" };
    const { cause, message } = vaultError(
      "VAULT_INTERNAL",
      { problem: "a\u001b" },
      raw,
    );
    expect(message).to.contain("a\\u{1b}");
    expect(cause).to.be.instanceOf(Error);
    expect(cause).to.include({
      code: -32_000,
      message: "a\\u{1b}",
      stack: "Error: a\\u{1b}",
    });
  });

  it("an error shows a value in the words of its text, and has it as given in its details", () => {
    const error = vaultError("VAULT_INVALID_ADDRESS", {
      where: "--at",
      value: { value: "0x5", shown: '"0x5" (a text)' },
      problem: "short",
    });
    for (const { shortMessage } of [error, textsForCommandLine(error)]) {
      expect(shortMessage).to.equal(
        '--at is not a valid address: "0x5" (a text) (short).',
      );
    }
    expect(error.details).to.include({ where: "--at", value: "0x5" });
  });

  it("a sentence ends with one full stop, and without a blank before it", () => {
    const endOf = (problem: string): string =>
      vaultError("VAULT_INTERNAL", { problem }).shortMessage.slice(34);
    expect(["no", "no.", "no?", "no!", "no "].map(endOf)).to.deep.equal(
      ["no.", "no.", "no?", "no!", "no."].map((end) => `bug: ${end}`),
    );
  });

  it("the command line shows the options that were given, and the fix for it", () => {
    const late = vaultError("VAULT_RPC_TIMEOUT", {
      network: "live",
      method: "eth_call",
    });
    expect(textsForCommandLine(late).fix).to.equal(
      "Try again, or allow more time: raise networks.live.timeout for each request, or the option `timeout`, where there is one.",
    );
    const needed = vaultError("VAULT_SETTLEMENT_NEEDED", { round: "7" });
    const flags = { "--network": " --network live", round: "8" };
    expect(textsForCommandLine(needed, flags)).to.deep.equal({
      shortMessage: "There is a round to settle: 8.",
      fix: "If a keeper settles it, look there: `npx hardhat vault status --network live` and `npx hardhat vault doctor --network live`. Nothing was sent.",
    });
    expect(textsForCommandLine(needed).fix).to.contain("vault status`");
  });

  it("an error of another copy of the package refuses a settlement by its code, and no other error does", () => {
    const twin = {
      [Symbol.for("hardhat-vault.VaultError")]: {},
      code: "VAULT_NOT_CONFIRMED",
    };
    expect([twin, new Error("no")].map(refusesSettlement)).to.deep.equal([
      true,
      false,
    ]);
  });

  it("fallbackTo() returns its value for an expected error only", async () => {
    const error = vaultError("VAULT_NOT_CONFIRMED", {});
    expect(fallbackTo(7)(error)).to.equal(7);
    expect(fallbackTo(7, ({ kind }) => kind === "user")(error)).to.equal(7);
    const ofNodes = fallbackTo(7, ({ kind }) => kind === "rpc");
    await expectVaultError(() => ofNodes(error), "VAULT_NOT_CONFIRMED");
    expect(() => fallbackTo(7)(new Error("other"))).to.throw("other");
  });

  it("hasErrorCode() is true of an error of this package with one of the codes", () => {
    const error = vaultError("VAULT_NOT_CONFIRMED", {});
    const codes = ["VAULT_NO_TERMINAL", "VAULT_NOT_CONFIRMED"] as const;
    expect(hasErrorCode(error, ...codes)).to.equal(true);
    expect(hasErrorCode(error, codes[0])).to.equal(false);
    expect(hasErrorCode({ code: codes[1] }, ...codes)).to.equal(false);
  });

  it("braces in an argument are not filled", () => {
    const { message } = vaultError("VAULT_INVALID_ARGUMENT", {
      where: "{problem}",
      problem: "$& {remedy}",
      remedy: "{where}.",
    });
    expect(message).to.equal("{problem}: $& {remedy}. {where}.");
  });

  it("isVaultError() accepts an error of another copy of the package, and no other value", () => {
    const twin = { [Symbol.for("hardhat-vault.VaultError")]: true };
    expect(VaultError.isVaultError(twin)).to.equal(true);
    for (const other of [new Error("x"), null, undefined, "x", {}]) {
      expect(VaultError.isVaultError(other)).to.equal(false);
    }
  });

  it("Hardhat shows an error as that of a plugin, without its stack", () => {
    const error = vaultError("VAULT_INTERNAL", { problem: "x" });
    expect(HardhatPluginError.isHardhatPluginError(error)).to.equal(true);
    expect(Reflect.get(error, "pluginId")).to.equal("hardhat-vault");
    expect(Object.keys(error)).to.not.include("_isHardhatPluginError");
  });

  it("assertInvariant() throws VAULT_INTERNAL", async () => {
    assertInvariant(true, "fine");
    const { kind } = await expectVaultError(
      () => assertInvariant(false, "not fine"),
      "VAULT_INTERNAL",
    );
    expect(kind).to.equal("bug");
  });
});
