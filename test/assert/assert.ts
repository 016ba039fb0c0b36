import { AssertionError } from "node:assert";

import { expect } from "chai";

import {
  changesReadings,
  roundSettled,
  settlesRound,
} from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { expectVaultError, failureOf } from "../helpers/assertions.js";
import {
  SETTLED_AMOUNT,
  SETTLED_PRICE,
  createMatcherWorld,
  openRound,
} from "../helpers/world.js";
import type { MatcherWorld } from "../helpers/world.js";

/** A frame in this file, with its line. */
const here = /test\/assert\/assert\.ts:\d+:\d+/u;

/** What an assertion threw; that it passed is an error of the test. */
async function assertionError(
  assertion: () => Promise<void>,
): Promise<AssertionError> {
  const error: unknown = await assertion().catch((thrown: unknown) => thrown);
  if (!(error instanceof AssertionError)) {
    throw new Error(`expected an AssertionError, got ${String(error)}`);
  }
  return error;
}

describe("assert", () => {
  let world: MatcherWorld;
  beforeEach(async () => {
    world = await createMatcherWorld();
  });
  afterEach(async () => {
    await world.connection.close();
  });

  it("should pass on a settlement and on readings that changed as expected", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.setVolume(107n);
    await changesReadings(vault, tx, { volume: { by: 7n } });
    await changesReadings(vault, tx);
    await settlesRound(vault, mockVault.settleAll(), {
      price: SETTLED_PRICE,
      amount: Number(SETTLED_AMOUNT),
    });
    await roundSettled(vault, { amount: SETTLED_AMOUNT });
    await roundSettled(vault);
  });

  it("should fail with what was expected and what there was", async () => {
    const { vault, mockVault } = world;
    const open = await assertionError(async () => {
      await roundSettled(vault);
    });
    expect(open).to.include({
      code: "ERR_ASSERTION",
      operator: "roundSettled",
    });
    expect(open.expected).to.deep.equal({ ...openRound, settled: true });
    expect(open.actual).to.deep.equal(openRound);

    const changed = await assertionError(async () => {
      await changesReadings(vault, mockVault.setVolume(107n), {
        volume: { by: 8n },
        minXMargin: 5n,
      });
    });
    expect(changed.expected).to.deep.equal({ volume: 108n, minXMargin: 5n });
    expect(changed.actual).to.deep.equal({ volume: 107n, minXMargin: 0n });

    const unsettled = await assertionError(async () => {
      await settlesRound(vault, mockVault.setVolume(1n));
    });
    expect(unsettled.expected).to.have.property("settled", true);
    expect(unsettled.actual).to.have.property("settled", false);

    const price = await assertionError(async () => {
      await settlesRound(vault, mockVault.settleAll(), { price: 5n });
    });
    expect(price).to.deep.include({ expected: 5n, actual: SETTLED_PRICE });
  });

  it("should say what the matchers say", async () => {
    const { vault, mockVault } = world;
    const other = await mockVault.setVolume(107n);
    const tx = await mockVault.settleAll();
    const pairs: ReadonlyArray<
      [() => Promise<void>, () => PromiseLike<unknown>]
    > = [
      [
        async () => {
          await settlesRound(vault, tx, { price: 1n });
        },
        () => expect(tx).to.settleRound(vault).withPrice(1n),
      ],
      [
        async () => {
          await settlesRound(vault, vault.settleAll());
        },
        () => expect(vault.settleAll()).to.settleRound(vault),
      ],
      [
        async () => {
          await changesReadings(vault, other, { volume: 5n, minXMargin: 6n });
        },
        () =>
          expect(other).to.changeReadings(vault, {
            volume: 5n,
            minXMargin: 6n,
          }),
      ],
    ];
    for (const [assertion, matcher] of pairs) {
      const { message } = await assertionError(assertion);
      expect(message).to.equal(await failureOf(matcher));
    }
  });

  it("should begin the stack where the test has the assertion", async () => {
    const { vault, mockVault } = world;
    for (const assertion of [
      () => roundSettled(vault),
      () => settlesRound(vault, mockVault.setVolume(1n)),
      () => changesReadings(vault, mockVault.setVolume(2n), { volume: 3n }),
    ]) {
      const { stack = "", message } = await assertionError(assertion);
      const title = `AssertionError: ${message}\n`;
      expect(stack.slice(0, title.length)).to.equal(title);
      expect(stack.slice(title.length).split("\n")[0]).to.match(here);
    }
  });

  it("should refuse what could never be met, and pass on its failure", async () => {
    const { vault, mockVault } = world;
    for (const [assertion, text] of [
      [
        // @ts-expect-error -- price or amount
        () => settlesRound(vault, mockVault.settleAll(), { strike: 1n }),
        /there is no 'strike' of a settlement to expect; there are price, amount/u,
      ],
      [
        () =>
          // @ts-expect-error -- no such reading
          changesReadings(vault, mockVault.setVolume(3n), { volumes: 1n }),
        /there is no reading volumes/u,
      ],
      [
        // @ts-expect-error -- a vault
        // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- wrong on purpose
        () => settlesRound({}, mockVault.setVolume(4n)),
        /a vault is needed/u,
      ],
    ] as const) {
      const { message } = await assertionError(assertion);
      expect(message).to.match(text);
    }
  });

  it("should refuse a price that no round can have, whether it is settled or not", async () => {
    const { vault, mockVault } = world;
    const assertion = async (): Promise<void> => {
      await roundSettled(vault, { price: -1n });
    };
    await expectVaultError(assertion, "VAULT_INVALID_INTEGER");
    await mockVault.settleAll();
    await expectVaultError(assertion, "VAULT_INVALID_INTEGER");
  });

  it("should not take a transaction that was refused for an answer", async () => {
    const { vault, mockVault } = world;
    await mockVault.settleAll();
    const error: unknown = await settlesRound(
      vault,
      mockVault.settleAll(),
    ).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(error).not.to.be.instanceOf(AssertionError);
    expect(String(error)).to.contain("RoundAlreadySettled");
  });
});
