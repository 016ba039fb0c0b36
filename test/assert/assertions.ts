import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";

import { expect } from "chai";

import * as functions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import type { HardhatVault } from "../../src/types.js";
import { failureOf, untyped, useOpenRound } from "../helpers/open-round.js";

/** Every assertion, on a transaction that changes the volume of an open round. */
const failing: Readonly<
  Record<string, (vault: HardhatVault, sent: unknown) => PromiseLike<unknown>>
> = {
  settlesRound: (vault, sent) =>
    // @ts-expect-error -- price or amount
    functions.settlesRound(vault, sent, { strike: 1n }),
  roundSettled: (vault) => functions.roundSettled(vault),
  changesReadings: (vault, sent) =>
    functions.changesReadings(vault, sent, { volume: 2n }),
  callsVault: (vault, sent) => functions.callsVault(vault, sent, "queryVolume"),
  rejectsWithVaultError: async (vault) => {
    await functions.rejectsWithVaultError(
      vault.queryVolume(),
      "VAULT_CALL_REVERTED",
    );
  },
  settleRound: (vault, sent) => expect(sent).to.settleRound(vault),
  settledRound: (vault) => expect(vault).to.have.settledRound(),
  changeReadings: (vault, sent) =>
    expect(sent).to.changeReadings(vault, { volume: 2n }),
  calledVault: (_, sent) => expect(sent).to.have.calledVault("queryVolume"),
  rejectedWithVaultError: (vault) =>
    expect(vault.queryVolume()).to.be.rejectedWithVaultError(
      "VAULT_CALL_REVERTED",
    ),
};

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
      expect(stack.slice(title.length).split("\n")[0]).to.match(
        /test\/assert\/assertions\.[jt]s:\d+:\d+/u,
      );
    });
  }

  for (const expected of [1n, "1", null, new Map([["price", 1n]]), [1n]]) {
    it(`settlesRound and roundSettled refuse ${inspect(expected)} as an expectation`, async () => {
      const { vault, settle } = round();
      const sent = await settle();
      for (const check of [
        // @ts-expect-error -- an object
        async () => await functions.settlesRound(vault, sent, expected),
        // @ts-expect-error -- an object
        async () => await functions.roundSettled(vault, expected),
      ]) {
        const { message } = await failureOf(check());
        expect(message).to.match(/^an object with price and amount is needed/u);
      }
    });
  }

  it("settlesRound and roundSettled refuse a value that is undefined", async () => {
    const { vault, settle } = round();
    const sent = await settle();
    for (const check of [
      async () => {
        // @ts-expect-error -- omitted, or a number
        await functions.settlesRound(vault, sent, { price: undefined });
      },
      async () => {
        // @ts-expect-error -- omitted, or a number
        await functions.roundSettled(vault, { amount: undefined });
      },
    ]) {
      const { message } = await failureOf(check());
      expect(message).to.match(
        /^settled\w+ is not a whole number.*: undefined/u,
      );
    }
  });

  const refused: Readonly<
    Record<string, (sent: Promise<unknown>) => PromiseLike<unknown>>
  > = {
    "an expectation of settlesRound": (sent) =>
      // @ts-expect-error -- an object
      functions.settlesRound(round().vault, sent, 1n),
    "a transaction in place of a vault": (sent) =>
      expect(sent).to.have.settledRound(),
    "withPrice without a check before it": (sent) =>
      untyped(expect(sent), "withPrice", 1n),
    "a matcher that is not called": (sent) =>
      // eslint-disable-next-line @typescript-eslint/unbound-method -- it is not called
      expect(sent).to.settleRound as unknown as PromiseLike<unknown>,
    "a matcher after another one": (sent) =>
      expect(sent)
        .to.settleRound(round().vault)
        .and.to.changeReadings(round().vault),
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

  it("settlesRound waits for a transaction that the node does not have yet", async () => {
    const { vault, setVolume } = round();
    const { provider } = vault.connection;
    const request = provider.request.bind(provider);
    const { hash } = await setVolume(1n);
    let looks = 0;
    provider.request = async (call) => {
      looks += call.method === "eth_getTransactionReceipt" ? 1 : 0;
      const isMissing = looks < 2 && call.method.startsWith("eth_getTrans");
      const answer: unknown = isMissing ? null : await request(call);
      return answer;
    };
    const failure = await failureOf(functions.settlesRound(vault, hash));
    provider.request = request;
    expect(failure.message).to.include("still not settled");
    expect(looks).to.equal(2);
  });
});
