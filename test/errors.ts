import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";
import { HardhatPluginError } from "hardhat/plugins";

import {
  VaultError,
  assertInvariant,
  errorsByKind,
  vaultError,
} from "../src/errors.js";
import type { VaultErrorCode } from "../src/errors.js";
import { vaultTasks } from "../tasks/index.js";
import { expectVaultError } from "./helpers/assertions.js";

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
    it(`${code} has a text and a fix, with every argument in the message`, () => {
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
        for (const [, option] of options.matchAll(/(?<!\{)--([a-z]+)/gu)) {
          expect(known, code).to.include(option);
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
    expect(JSON.parse(JSON.stringify(error.details))).to.deep.equal(
      error.details,
    );
  });

  it("the cause of an error is an error, also if the node answered with an object", () => {
    const details = { operation: "queryVolume", reason: "closed" };
    const { cause } = vaultError(
      "VAULT_CALL_REVERTED",
      { ...details, contract: "vault", address: "0x", hint: "" },
      { text: "not escaped", data: "0x12" },
    );
    expect(cause).to.be.instanceOf(Error);
    expect(cause).to.have.property("data", "0x12");
    expect(cause).to.have.property("message", "closed");
    expect(cause).to.have.property("stack", "Error: closed");
  });

  it("braces in an argument are not filled", () => {
    const { message } = vaultError("VAULT_INVALID_ENUM", {
      where: "{value}",
      value: "{allowed}",
      allowed: "$& {where}",
    });
    expect(message).to.contain("{value} is not one of $& {where}: {allowed}.");
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
