import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";
import { expect } from "chai";

import * as functions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import type { HardhatVault } from "../../src/types.js";
import { failureOf, useOpenRound } from "../helpers/open-round.js";
import { rejectsWithVaultError } from "../../src/assert/index.js";
import { vaultError } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";

type Check = (vault: HardhatVault, sent: unknown) => PromiseLike<unknown>;

/** Every assertion, on a transaction that changes the volume of an open round. */
const failing: Readonly<Record<string, Check>> = {
  settlesRound: (vault, sent) =>
    // @ts-expect-error -- price or amount
    functions.settlesRound(vault, sent, { strike: 1n }),
  roundSettled: (vault) => functions.roundSettled(vault),
  changesReadings: (vault, sent) =>
    functions.changesReadings(vault, sent, { volume: 2n }),
  callsVault: (vault, sent) => functions.callsVault(vault, sent, "queryVolume"),
  rejectsWithVaultError: async (vault) => {
    await functions.rejectsWithVaultError(
      ...([vault.queryVolume(), "VAULT_CALL_REVERTED"] as const),
    );
  },
  settleRound: (vault, sent) => expect(sent).to.settleRound(vault),
  withAmount: (vault, sent) =>
    expect(sent).to.settleRound(vault).withAmount(1n),
};

const here = /test\/assert\/assertion\.[jt]s:\d+:\d+/u;

describe("assertions of hardhat-vault/assert and hardhat-vault/chai", () => {
  const round = useOpenRound();

  for (const [name, check] of Object.entries(failing)) {
    it(`${name} begins the stack of a failure in the line of the test`, async () => {
      const failure = await failureOf(
        check(round().vault, await round().setVolume(1n)),
      );
      const { message, stack = "" } = failure;
      const title = `AssertionError: ${message}\n`;
      expect(stack.slice(0, title.length)).to.equal(title);
      expect(stack.slice(title.length).split("\n")[0]).to.match(here);
    });
  }

  it("a VaultError that a matcher throws for its argument has the line of the test", async () => {
    const id = "7.5";
    const { stack } = await failureOf(
      expect(round().setVolume(1n)).to.have.calledVault(
        ...([round().vault, "getOrderInfo"] as const),
        // @ts-expect-error -- an integer
        [id],
      ),
    );
    expect(stack).to.match(/^VaultError: orderID is not a whole number/u);
    expect(stack).to.match(here);
  });

  for (const expected of [1n, new Map([["price", 1n]])]) {
    it(`settlesRound and roundSettled refuse ${inspect(expected)} as an expectation`, async () => {
      const { vault, settle } = round();
      const sent = await settle();
      for (const check of [
        // @ts-expect-error -- an object
        async () => await functions.settlesRound(vault, sent, expected),
        // @ts-expect-error -- an object
        async () => await functions.roundSettled(vault, expected),
      ]) {
        expect((await failureOf(check())).message).to.equal(
          `an object with price and amount is needed, got ${inspect(expected)}`,
        );
      }
    });
  }

  it("settlesRound names the values that there are if another is expected", async () => {
    const { vault, settle } = round();
    const { message } = await failureOf(
      // @ts-expect-error -- no such value
      functions.settlesRound(vault, settle(), { settledAmount: 1n }),
    );
    expect(message).to.equal(
      "there is no 'settledAmount' of a settlement to expect; there are price, amount",
    );
  });

  const refused: Readonly<
    Record<string, (sent: Promise<unknown>) => PromiseLike<unknown>>
  > = {
    "an expectation of settlesRound": (sent) =>
      // @ts-expect-error -- an object
      functions.settlesRound(round().vault, sent, 1n),
    "a price after .not": (sent) =>
      expect(sent).to.not.settleRound(round().vault).withPrice(1n),
  };
  for (const [what, check] of Object.entries(refused)) {
    it(`${what} is refused once the transaction is mined`, async () => {
      let isMined = false;
      const sent = Promise.resolve(round().settle()).then(async (settled) => {
        await setTimeout(20);
        isMined = true;
        return settled;
      });
      await failureOf(check(sent));
      expect(isMined).to.equal(true);
    });
  }

  it("settlesRound and settleRound throw what the transaction's promise is rejected with, also with .not", async () => {
    const { vault } = round();
    const fails = async (): Promise<never> =>
      await Promise.reject(new RangeError("not the keeper"));
    for (const check of [
      () => functions.settlesRound(vault, fails()),
      () => expect(fails()).to.settleRound(vault),
      () => expect(fails()).to.not.settleRound(vault),
    ]) {
      expect(await failureOf(check())).to.be.instanceOf(RangeError);
    }
  });
});

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
