import { expect } from "chai";
import { HardhatPluginError } from "hardhat/plugins";

import { vaultError } from "../../src/errors.js";
import { Redactor } from "../../src/redact.js";
import { isHardhatsOwn, toHardhatError } from "../../src/rpc/hardhat-error.js";
import {
  StatusError,
  codedError,
  hardhatError,
} from "../helpers/foreign-errors.js";

const named = (name: string): Error => Object.assign(new Error("no"), { name });
const causedBy = (cause: Error): Error => new Error("no", { cause });

describe("an error of Hardhat or of another plugin", () => {
  for (const [title, error] of [
    ["Hardhat's", hardhatError("HHE1")],
    ["another plugin's", new HardhatPluginError("hardhat-other", "no")],
    ["a plain one", new Error("no")],
    ["one that a plain one has caused", causedBy(new Error("no"))],
    [
      "one of a file",
      codedError("ENOENT", { syscall: "open", path: "other.json" }),
    ],
  ] as const) {
    it(`is ${title}`, () => {
      expect(isHardhatsOwn(error)).to.equal(true);
    });
  }

  for (const [title, error] of [
    ["Hardhat's about an answer that is not JSON", hardhatError("HHE702")],
    ["Hardhat's about another chain", hardhatError("HHE708")],
    ["Hardhat's about the accounts of the network", hardhatError("HHE717")],
    ["one with a code that is not Hardhat's", hardhatError("ABC1")],
    ["one with an HTTP status", new StatusError(503)],
    ["a time-out", named("TimeoutError")],
    [
      "one of a host that is not found",
      codedError("ENOTFOUND", { syscall: "getaddrinfo" }),
    ],
    ["the provider's", Object.assign(new Error("no"), { _isProviderError: 1 })],
    ["one that a connection has caused", causedBy(codedError("ECONNRESET"))],
    [
      "the node's, which has a number",
      Object.assign(new Error("no"), { code: 3 }),
    ],
    ["one of ours", vaultError("VAULT_NOT_CONFIRMED", {})],
    ["an object", { message: "no" }],
  ] as const) {
    it(`is not ${title}`, () => {
      expect(isHardhatsOwn(error)).to.equal(false);
    });
  }

  it("says whose it is and of which kind, without secrets", () => {
    const redactor = new Redactor();
    redactor.keep("s3cr3t-one");
    const saidBy = (error: Error): string =>
      toHardhatError(error, redactor).shortMessage;
    expect(saidBy(new HardhatPluginError("other", "no s3cr3t-one"))).to.equal(
      "The plugin other failed: no <hidden>.",
    );
    expect(saidBy(hardhatError("HHE1"))).to.equal("Hardhat failed: no.");
    for (const name of [
      ...["SyntaxError", "TypeError", "ReferenceError", "RangeError"],
    ]) {
      expect(saidBy(named(name))).to.equal(
        `Hardhat or one of its plugins failed: ${name}: no.`,
      );
    }
    expect(saidBy(named("LedgerError"))).to.equal(
      "Hardhat or one of its plugins failed: no.",
    );
  });
});
