import type { AssertedVault, ExpectedVaultError } from "../assert/assertion.js";
import type { ExpectedReadings } from "../assert/readings.js";
import type { VaultErrorCode } from "../errors.js";
import type { CallArguments, OperationName } from "../protocol/index.js";

// @types/chai declares its types globally, in a namespace.
declare global {
  namespace Chai {
    interface Assertion extends VaultMatchers {}

    interface VaultMatchers {
      /**
       * Asserts that a transaction settled the latest round: it is not settled in the
       * block before the transaction, and settled in the transaction's block. `await` it.
       *
       * The subject is a transaction, its hash, the result of `settleAll()`, or a promise
       * of one of these. A rejected promise or a reverted transaction fails, with `.not` too.
       *
       * @param vault `connection.vault`, the `vault` of mocks, or `hre.vault`.
       * @example
       * const price = 2_000n * 10n ** 18n;
       * await expect(vault.settleAll()).to.settleRound(vault).withPrice(price);
       */
      settleRound(vault: AssertedVault): SettledRoundAssertion;

      /** Asserts that the latest round of a vault is settled. `await` it. */
      roundSettled(): SettledRoundAssertion;

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
        vault: AssertedVault,
        expected?: ExpectedReadings,
      ): VaultAssertion;

      /**
       * Asserts that a transaction called an operation, itself or by a contract, at
       * any depth. `await` it. The node must have `debug_traceTransaction`.
       *
       * @param args Arguments of the client's method of that name, `[]` for
       * `settleAll`. If omitted, any arguments pass.
       * @example
       * const terms = { maxVolume: 5n, APY: 7n, endTime: 1_800_000_000n };
       * await expect(tx).to.have.calledVault(vault, "calMargins", [terms]);
       */
      calledVault<Name extends OperationName>(
        vault: AssertedVault,
        operation: Name,
        args?: CallArguments<Name>,
      ): VaultAssertion;

      /**
       * Asserts that a promise is rejected with a `VaultError` of this code, or that
       * a function returns or throws so. `await` it.
       *
       * @param expected `details`: values that the error's details have.
       * @example
       * await expect(vault.queryVolume()).to.be.rejectedWithVaultError(
       *   "VAULT_CALL_REVERTED",
       *   { details: { reason: "closed" } },
       * );
       */
      rejectedWithVaultError(
        code: VaultErrorCode,
        expected?: ExpectedVaultError,
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
