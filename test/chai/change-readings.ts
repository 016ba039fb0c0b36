import { expect } from "chai";

import type { ExpectedReadings } from "../../src/chai/index.js";
import "../../src/chai/index.js";
import { expectVaultError, failureOf } from "../helpers/assertions.js";
import { SETTLED_PRICE, createMatcherWorld } from "../helpers/world.js";
import type { MatcherWorld } from "../helpers/world.js";

describe("chai - changeReadings", () => {
  let world: MatcherWorld;
  beforeEach(async () => {
    world = await createMatcherWorld();
  });
  afterEach(async () => {
    await world.connection.close();
  });

  it("should compare new values, pairs and differences", async () => {
    const { vault, mockVault } = world;
    await expect(mockVault.settleAll()).to.changeReadings(vault, {
      round: {
        settled: true,
        settledPrice: { from: 0, to: SETTLED_PRICE },
        settledAmount: { by: 77 },
      },
    });
    await expect(mockVault.setVolume(95n)).to.changeReadings(vault, {
      volume: { by: -5n },
    });
    await expect(mockVault.setMarginBalance(1n, 2n)).to.changeReadings(vault, {
      marginBalance: { baseMarginAmount: 1n, xMarginAmount: 2n },
    });
  });

  it("should name every reading that changed otherwise", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.settleAll();
    const message = await failureOf(() =>
      expect(tx).to.changeReadings(vault, {
        volume: 5n,
        round: {
          settled: true,
          settledPrice: 1n,
          settledAmount: { by: 70n },
          strikePrice: 1_900n * 10n ** 18n,
        },
        pools: { public: { locked: { by: -1n } } },
      }),
    );
    expect(message.split("\n")).to.deep.equal([
      `expected transaction ${tx.hash} to change readings otherwise:`,
      "  volume: expected a change to 5, but it is 100 as before",
      `  round.settledPrice: expected a change to 1, but it changed 0 → ${SETTLED_PRICE}`,
      "  round.settledAmount: expected a change by +70, but it changed 0 → 77",
      `  round.strikePrice: expected a change to ${1_900n * 10n ** 18n}, but it is ${1_900n * 10n ** 18n} as before`,
      "  pools.public.locked: expected a change by -1, but it is 0 as before",
    ]);
    expect(
      await failureOf(() =>
        expect(tx).to.changeReadings(vault, {
          round: { settledAmount: { from: 1n, to: 77n } },
        }),
      ),
    ).to.match(
      /settledAmount: expected a change from 1 to 77, but it changed 0 → 77/u,
    );
  });

  it("should fail with .not on any stated change that happened", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.settleAll();
    await expect(tx).to.not.changeReadings(vault, {
      volume: 5n,
      round: { settledAmount: 78n },
    });
    expect(
      await failureOf(() =>
        expect(tx).to.not.changeReadings(vault, {
          volume: 5n,
          round: { settled: true },
        }),
      ),
    ).to.equal(
      `expected transaction ${tx.hash} not to change readings so, but it did:\n  round.settled: false → true`,
    );
  });

  it("should count any change where none is stated", async () => {
    const { vault, mockVault, signer } = world;
    const nothing = await signer.sendTransaction({ to: signer, value: 1n });
    await expect(nothing).to.not.changeReadings(vault);
    expect(
      await failureOf(() => expect(nothing).to.changeReadings(vault)),
    ).to.match(/but all \d+ values are as before$/u);

    const tx = await mockVault.setVolume(101n);
    await expect(tx).to.changeReadings(vault);
    expect(
      await failureOf(() => expect(tx).to.not.changeReadings(vault)),
    ).to.equal(
      `expected transaction ${tx.hash} to change no reading of the vault, but it did:\n  volume: 100 → 101`,
    );
  });

  it("should fail on a reading that cannot be read, unless others are named", async () => {
    const { connection, mockVault } = world;
    const partial = connection.vault.at({
      vault: await mockVault.getAddress(),
      vaultFactory: await mockVault.getAddress(),
    });
    const tx = await mockVault.setVolume(101n);
    await expect(tx).to.changeReadings(partial, { volume: 101n });
    await expectVaultError(
      expect(tx).to.not.changeReadings(partial, {
        pools: { public: { locked: 1n } },
      }),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    // The vault is no factory: its round cannot be read, before or after.
    for (const assertion of [
      () => expect(tx).to.changeReadings(partial),
      () => expect(tx).to.not.changeReadings(partial),
      () =>
        expect(tx).to.not.changeReadings(partial, { round: { settled: true } }),
    ]) {
      const error = await assertion().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).to.have.property("name", "VaultError");
    }
  });

  it("should pass on a failed transaction neither with nor without .not", async () => {
    const { vault, mockVault } = world;
    await mockVault.settleAll();
    for (const assertion of [
      () => expect(mockVault.settleAll()).to.changeReadings(vault),
      () => expect(mockVault.settleAll()).to.not.changeReadings(vault),
    ]) {
      const error = await assertion().then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(String(error)).to.match(/RoundAlreadySettled/u);
    }
    const second = await vault.settleAll();
    await expect(second).to.not.changeReadings(vault);
    expect(
      await failureOf(() => expect(second).to.changeReadings(vault)),
    ).to.match(/no transaction was sent/u);
  });

  it("should refuse expectations that could never be met", async () => {
    const { vault, mockVault } = world;
    const tx = await mockVault.setVolume(1n);
    const refusals: Array<[unknown, RegExp]> = [
      [{}, /must be an object that names a reading/u],
      [{ volum: 1n }, /there is no reading volum; there are /u],
      [{ round: { settld: true } }, /there is no reading round\.settld/u],
      [
        { round: true, volume: 2n },
        /round must be an object that names a reading/u,
      ],
      [{ round: { settled: 1n } }, /round\.settled is not one of true, false/u],
      [{ volume: "one" }, /volume is not a whole number/u],
      [{ volume: { from: 1n, to: -1n } }, /volume is not a whole number/u],
      [{ volume: { to: 1n } }, /volume must be a value, \{ from, to \}/u],
      [{ volume: { by: 0n } }, /with an integer that is not 0/u],
      [5, /must be an object that names a reading/u],
    ];
    for (const [expected, message] of refusals) {
      for (const assertion of [expect(tx).to, expect(tx).to.not]) {
        const error: unknown = await assertion
          // What JavaScript, or a wrong cast, would let through.
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- wrong on purpose
          .changeReadings(vault, expected as ExpectedReadings)
          .catch((thrown: unknown) => thrown);
        expect(String(error)).to.match(message);
      }
    }
  });
});
