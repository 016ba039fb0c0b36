import type { ExpectedReadings } from "../assert/change-readings.js";
import type { VaultClient } from "../client/vault-client.js";

// `declare global`, because that is what @types/chai does.
declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- @types/chai uses a namespace, and only a namespace merges with it
  namespace Chai {
    interface Assertion {
      /**
       * Asserts that a transaction settled the round that was the vault's
       * latest in the block before it: not settled there, settled in the
       * transaction's block. `await` it.
       *
       * The subject is a transaction, its hash, what `settleAll()` resolved
       * to, or a promise of one of these. A rejected promise and a reverted
       * transaction fail, with `.not` too.
       *
       * @param vault `connection.vault`, or the `vault` of mocks.
       * @example
       * await expect(vault.settleAll())
       *   .to.settleRound(vault)
       *   .withPrice(2_000n * 10n ** 18n);
       */
      settleRound(vault: VaultClient): SettledRoundAssertion;

      /**
       * Asserts that the latest round of a vault is settled. `await` it.
       */
      settledRound(): SettledRoundAssertion;

      /**
       * Asserts that a transaction changed readings of a vault, from the block
       * before it to its own. `await` it.
       *
       * With `.not`, none of the stated changes may have happened. Without
       * `expected`, any reading counts as a change. Readings that are not
       * named may change or not.
       *
       * @param expected What the readings changed to, as in a snapshot, or
       * `{ from, to }`, or `{ by }`. Integers are unscaled. A reading that
       * already had the value does not count as changed.
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
