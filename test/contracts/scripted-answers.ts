import { expect } from "chai";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { MockContracts } from "../../src/mocks/handle.js";
import { createTestHre } from "../helpers/hre.js";

const ONE = 10n ** 18n;
const DAY_SECONDS = 86_400n;

describe("contracts - what only the mocks' own setters script", () => {
  let vault: HardhatVault;
  let mocks: {
    readonly trading: MockContracts["trading"];
    readonly vault: MockContracts["vault"];
  };

  beforeEach(async () => {
    const hre = await createTestHre();
    const connection = await hre.network.create();
    ({ vault } = connection);
    const { contracts } = await vault.deployMocks();
    const [signer] = await connection.ethers.getSigners();
    mocks = {
      trading: contracts.trading.connect(signer),
      vault: contracts.vault.connect(signer),
    };
  });

  describe("orders that were not captured", () => {
    it("should revert with their id", async () => {
      await mocks.trading.setUncapturedOrdersRevert(true);
      for (const id of [0n, 10n, 907n, 2n ** 256n - 1n]) {
        const error: unknown = await vault
          .getOrderInfo(id)
          .catch((thrown: unknown) => thrown);
        expect(String(error)).to.contain(`order ${id} was not captured`);
      }
    });

    it("should answer those that were set, generated or removed", async () => {
      await mocks.trading.setUncapturedOrdersRevert(true);
      await mocks.trading.generateOrders(5, 6);
      await mocks.trading.removeOrder(2);
      expect(await vault.getOrderInfo(1n)).to.have.property("state", 1);
      expect(await vault.getOrderInfo(6n)).to.have.property("state", 2);
      expect(await vault.getOrderInfo(2n)).to.have.property("state", 0);
    });

    it("should be missing orders as any other again", async () => {
      await mocks.trading.setUncapturedOrdersRevert(true);
      await mocks.trading.setUncapturedOrdersRevert(false);
      expect(await vault.getOrderInfo(99n)).to.have.property("state", 0);
    });
  });

  describe("proportional margins", () => {
    // Of open-round: 1,000 tokens at 18.5 % over seven days.
    const terms = { maxVolume: 1_000n * ONE, APY: (185n * ONE) / 1_000n };
    const scripted = {
      baseMarginAmount: 52_500n * ONE,
      xMarginAmount: 10_500n * ONE,
    };
    let now: bigint;

    beforeEach(async () => {
      await mocks.vault.setMarginsProportional(true);
      now = BigInt((await vault.block()).timestamp);
    });

    it("should be the scripted ones for the terms of the round", async () => {
      expect(
        await vault.calMargins({ ...terms, endTime: now + 7n * DAY_SECONDS }),
      ).to.deep.equal(scripted);
    });

    it("should follow each argument", async () => {
      const twice = {
        baseMarginAmount: 105_000n * ONE,
        xMarginAmount: 21_000n * ONE,
      };
      const endTime = now + 7n * DAY_SECONDS;
      for (const arguments_ of [
        { ...terms, endTime, maxVolume: terms.maxVolume * 2n },
        // 237 % are twice 118.5 %.
        { ...terms, endTime, APY: (137n * ONE) / 100n },
        { ...terms, endTime: now + 14n * DAY_SECONDS },
      ]) {
        expect(await vault.calMargins(arguments_)).to.deep.equal(twice);
      }
    });

    it("should show a caller's mistakes, swapped arguments among them", async () => {
      const { maxVolume, APY } = terms;
      const endTime = now + 7n * DAY_SECONDS;
      for (const mistaken of [
        { maxVolume: APY, APY: maxVolume, endTime },
        { maxVolume: maxVolume / ONE, APY, endTime },
        { maxVolume, APY: 18n, endTime },
        { maxVolume, APY: (185n * ONE) / 10n, endTime },
        { maxVolume, APY, endTime: 7n * DAY_SECONDS },
        { maxVolume, APY, endTime: endTime * 1_000n },
      ]) {
        const { baseMarginAmount, xMarginAmount } =
          await vault.calMargins(mistaken);
        for (const [answer, right] of [
          [baseMarginAmount, scripted.baseMarginAmount],
          [xMarginAmount, scripted.xMarginAmount],
        ] as const) {
          // Not by a rounding: by a tenth and more.
          expect(
            answer * 10n < right * 9n || answer * 10n > right * 11n,
          ).to.equal(true);
        }
      }
    });

    it("should be none for a round that ends now or before", async () => {
      expect(await vault.calMargins({ ...terms, endTime: now })).to.deep.equal({
        baseMarginAmount: 0n,
        xMarginAmount: 0n,
      });
    });

    it("should be the scripted ones for all arguments again", async () => {
      await mocks.vault.setMarginsProportional(false);
      expect(
        await vault.calMargins({ maxVolume: 1n, APY: 1n, endTime: now + 1n }),
      ).to.deep.equal(scripted);
    });
  });
});
