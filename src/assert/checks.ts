import type { Verdict } from "./assertion.js";
import { checkReadings } from "./change-readings.js";
import { checkRejection } from "./rejection.js";
import { checkSettledRound, checkSettlement } from "./settled-round.js";
import { checkCalled } from "./vault-calls.js";

/** @param subject The value that is asserted: a vault, a transaction or a promise. */
export type Check = (
  subject: unknown,
  negated: boolean,
  ...args: readonly unknown[]
) => Promise<Verdict>;

/**
 * Every check, by the name of its Chai matcher. `hardhat-vault/assert` has a function for
 * each, and `hardhat-vault/chai` its type.
 */
export const checks = {
  settleRound: async (transaction, _, vault) =>
    await checkSettlement(vault, transaction),
  roundSettled: async (vault) => await checkSettledRound(vault),
  changeReadings: async (transaction, negated, vault, expected) =>
    await checkReadings(vault, transaction, expected, negated),
  calledVault: async (transaction, _, operation, args, vault) =>
    await checkCalled(transaction, operation, args, vault),
  rejectedWithVaultError: async (work, _, code, expected) =>
    await checkRejection(work, code, expected),
} as const satisfies Readonly<Record<string, Check>>;

/** Values that a round is settled with, by the word that assertions have for them. */
export const settledValues = {
  price: "settledPrice",
  amount: "settledAmount",
} as const;
