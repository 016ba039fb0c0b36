import { expect } from "chai";
import { HardhatPluginError } from "hardhat/plugins";

import {
  VaultError,
  assertInvariant,
  fallbackTo,
  hasErrorCode,
  refusesSettlement,
  textsForCommandLine,
  vaultError,
  withCallerStack,
} from "../src/errors.js";
import { expectVaultError } from "./helpers/assertions.js";

describe("errors", () => {
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

/** The stack of what the work throws. */
async function stackOf(work: () => Promise<unknown>): Promise<string> {
  return await work().then(
    () => "it succeeded",
    (error: unknown) => (error instanceof Error ? String(error.stack) : "none"),
  );
}

/** Fails behind a queue, so that V8 keeps no frame of the caller. */
const failLater = async (): Promise<never> =>
  await new Promise((_resolve, reject) => {
    setImmediate(() => {
      reject(new Error("late"));
    });
  });

describe("the stack of an error", () => {
  it("ends with the frames of the function that called, once each", async () => {
    const callerOfWork = async (): Promise<unknown> =>
      await withCallerStack(failLater);
    const stack = await stackOf(callerOfWork);
    expect(stack).to.match(/^Error: late\n/u);
    expect(stack.split("callerOfWork")).to.have.lengthOf(2);
    expect(stack).to.not.contain("withCallerStack");
    const twice = async (): Promise<unknown> =>
      await withCallerStack(callerOfWork);
    const lines = (await stackOf(twice)).split("\n");
    expect(lines).to.deep.equal([...new Set(lines)]);
  });

  it("is not looked for in what is no error", async () => {
    const work = withCallerStack(
      async () =>
        await new Promise((_resolve, reject) => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the reason of a signal may be
          reject("enough");
        }),
    );
    const [end] = await Promise.allSettled([work]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });
});
