import { expect } from "chai";

import { rejectsWithVaultError } from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { vaultError } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";
import { failureOf } from "../helpers/open-round.js";

const CODE = "VAULT_INVALID_ARGUMENT";
const details = { where: "x", problem: "7 is odd", remedy: "" };
const rejected = async (): Promise<unknown> =>
  await Promise.reject(vaultError(CODE, details));
const broken = async (): Promise<unknown> =>
  await Promise.reject(new TypeError("a bug"));

describe("rejectsWithVaultError() and .rejectedWithVaultError()", () => {
  it(".rejectedWithVaultError() passes for the code and the details of a promise, or of what a function returns", async () => {
    await rejectsWithVaultError(rejected(), CODE);
    await expect(rejected).to.be.rejectedWithVaultError(CODE, {
      details: { where: "x" },
    });
    await expect(rejected()).to.not.be.rejectedWithVaultError("VAULT_NO_CODE");
  });

  it("rejectsWithVaultError() compares an integer of details with its text", async () => {
    const closed = Promise.reject(
      vaultError("VAULT_BLOCK_NOT_FOUND", { network: "live", block: 7 }),
    );
    await rejectsWithVaultError(closed, "VAULT_BLOCK_NOT_FOUND", {
      details: { block: 7n },
    });
  });

  for (const [what, check, message] of [
    [
      "another code",
      () => expect(rejected()).to.be.rejectedWithVaultError("VAULT_NO_CODE"),
      /^expected a rejection with VAULT_NO_CODE, but it was VAULT_INVALID_ARGUMENT: /u,
    ],
    [
      "other details",
      () =>
        expect(rejected()).to.be.rejectedWithVaultError(CODE, {
          details: { where: "y", wher: "x" },
        }),
      /^expected a rejection with VAULT_INVALID_ARGUMENT, but details\.where is 'x', not 'y'; details\.wher is undefined, not 'x'$/u,
    ],
    [
      "no rejection",
      () => expect(Promise.resolve(1)).to.be.rejectedWithVaultError(CODE),
      /^expected a rejection with VAULT_INVALID_ARGUMENT, but the promise was fulfilled$/u,
    ],
    [
      "what .not denies",
      () => expect(rejected()).to.not.be.rejectedWithVaultError(CODE),
      /^expected no rejection with VAULT_INVALID_ARGUMENT, but it was: /u,
    ],
    [
      "another error",
      () => expect(broken).to.be.rejectedWithVaultError(CODE),
      /^expected a VaultError with code VAULT_INVALID_ARGUMENT, got TypeError: a bug/u,
    ],
    [
      "another error, with .not",
      () => expect(broken()).to.not.be.rejectedWithVaultError(CODE),
      /^expected a VaultError with code VAULT_INVALID_ARGUMENT, got TypeError: a bug/u,
    ],
    [
      "what is no promise, with .not",
      () => expect(1).to.not.be.rejectedWithVaultError(CODE),
      /^a promise, or a function that returns one, is needed, got 1$/u,
    ],
    [
      "an unknown code, with .not",
      // @ts-expect-error -- a typo
      () => expect(broken()).to.not.be.rejectedWithVaultError("VAULT_NO_COD"),
      /^there is no error code 'VAULT_NO_COD'$/u,
    ],
    [
      "an expectation that is no object",
      () =>
        // @ts-expect-error -- an object
        expect(rejected()).to.be.rejectedWithVaultError(CODE, 1n),
      /^an object with details is needed/u,
    ],
    [
      "details that are no object",
      () =>
        // @ts-expect-error -- details by their names
        expect(rejected()).to.be.rejectedWithVaultError(CODE, { details: "x" }),
      /^an object with the values of details is needed/u,
    ],
  ] as const) {
    it(`.rejectedWithVaultError() fails for ${what}`, async () => {
      expect((await failureOf(check())).message).to.match(message);
    });
  }

  it(".rejectedWithVaultError() throws VAULT_INVALID_ARGUMENT for a misspelt option", async () => {
    await expectVaultError(async () => {
      await expect(broken).to.be.rejectedWithVaultError(CODE, {
        // @ts-expect-error -- a typo
        detail: { where: "x" },
      });
    }, "VAULT_INVALID_ARGUMENT");
  });

  it("rejectsWithVaultError() fails with the expected and the actual code and details", async () => {
    const expected = { where: "y" };
    const failure = await failureOf(
      rejectsWithVaultError(rejected(), CODE, { details: expected }),
    );
    expect(failure).to.have.deep.property("expected", {
      ...{ code: CODE, details: expected },
    });
    expect(failure).to.have.deep.property("actual", { code: CODE, details });
  });
});
