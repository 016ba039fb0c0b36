import type { ExpectedReadings } from "../assert/change-readings.js";
import type { VaultClient } from "../client/vault-client.js";

// @types/chai declares its types globally.
declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- @types/chai uses a namespace, and only a namespace merges with it
  namespace Chai {
    interface Assertion {
      /**
       * Asserts that a transaction settled the latest round: it is not settled in the
       * block before the transaction, and settled in the transaction's block. `await` it.
       *
       * The subject is a transaction, its hash, the result of `settleAll()`, or a promise
       * of one of these. A rejected promise or a reverted transaction fails, with `.not` too.
       *
       * @param vault `connection.vault`, or the `vault` of mocks.
       * @example
       * const price = 2_000n * 10n ** 18n;
       * await expect(vault.settleAll()).to.settleRound(vault).withPrice(price);
       */
      settleRound(vault: VaultClient): SettledRoundAssertion;

      /** Asserts that the latest round of a vault is settled. `await` it. */
      settledRound(): SettledRoundAssertion;

      /**
       * Asserts that a transaction changed readings, from the block before it to its own.
       * With `.not`, none of the expected changes may have happened. `await` it.
       *
       * @param expected New values in the shape of a snapshot, or `{ from, to }` or `{ by }`
       * for a value. Integers are unscaled. A reading that had its new value before does
       * not count as changed. Other readings may change, too. Default: any change.
       * @example
       * await expect(tx).to.changeReadings(vault, {
       *   round: { settled: true },
       *   pools: { public: { locked: { by: -100n } } },
       * });
       */
      changeReadings(
        vault: VaultClient,
        expected?: ExpectedReadings,
      ): VaultAssertion;
    }

    /** An assertion that needs `await`. */
    interface VaultAssertion extends Assertion, Promise<void> {}

    /** An assertion on a settled round, which can check its values, too. */
    interface SettledRoundAssertion extends VaultAssertion {
      /** Asserts the price: real value times 1E18. Not after `.not`. */
      withPrice(settledPrice: bigint | number): SettledRoundAssertion;
      /** Asserts the settled order amount, unscaled. Not after `.not`. */
      withAmount(settledAmount: bigint | number): SettledRoundAssertion;
    }
  }
}
