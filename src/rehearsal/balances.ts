import { isHexString } from "ethers";

import { hexWord } from "../client/lens/words.js";
import { RevertedCall } from "../rpc/request.js";
import { vaultError } from "../errors.js";
import type { BalanceChange } from "./types.js";

/** Stands for the chain's own currency in the place of a token. */
export const NATIVE = "native";

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

/** A balance at one moment. */
export interface Balance {
  readonly account: string;
  readonly token: string;
  readonly amount: bigint;
}

/** Whose balances are compared, and of what. */
export interface BalanceSubjects {
  readonly accounts: readonly string[];
  /** ERC-20 contracts, beside the native currency. */
  readonly tokens: readonly string[];
}

/** What is read, account by account: the native balance comes first. */
export function balancesOf({
  accounts,
  tokens,
}: BalanceSubjects): ReadonlyArray<Pick<Balance, "account" | "token">> {
  return accounts.flatMap((account) =>
    [NATIVE, ...tokens].map((token) => ({ account, token })),
  );
}

/** An account's native balance among those that were read; 0 if it is not. */
export function nativeBalanceOf(
  wanted: string,
  balances: readonly Balance[],
): bigint {
  return (
    balances.find(
      ({ account, token }) => account === wanted && token === NATIVE,
    )?.amount ?? 0n
  );
}

/**
 * The balances that differ.
 *
 * @param paid What an account was given in between so that it can pay for gas,
 * or has not paid yet. It is taken off; where the account could not have paid
 * it, it is counted as its own from the beginning.
 */
export function compareBalances(
  before: readonly Balance[],
  after: readonly Balance[],
  paid: { readonly account: string; readonly amount: bigint },
): readonly BalanceChange[] {
  return before.flatMap(({ account, token, amount }, index) => {
    const found = after[index]?.amount ?? amount;
    const fee = token === NATIVE && account === paid.account ? paid.amount : 0n;
    const change =
      found >= fee
        ? { before: amount, after: found - fee }
        : { before: amount + fee, after: found };
    return change.before === change.after
      ? []
      : [{ account, token, ...change }];
  });
}

/**
 * The call that asks a token for a balance. A rehearsal has dozens, and the
 * general coder takes as long for them as the node does for its answer.
 */
export function encodeBalanceOf(account: string): string {
  return `${BALANCE_OF}${hexWord(account)}`;
}

/**
 * Reads what a token answered.
 *
 * @throws VaultError VAULT_NOT_A_TOKEN
 */
export function parseTokenBalance(
  answer: unknown,
  token: string,
  network: string,
): bigint {
  if (isHexString(answer, 32)) {
    return BigInt(answer);
  }
  throw vaultError("VAULT_NOT_A_TOKEN", {
    token,
    network,
    problem:
      answer instanceof RevertedCall
        ? "the call reverted"
        : answer === "0x"
          ? "there is no code, or it returns nothing"
          : "it returns something else than one number",
  });
}
