import { addressWord } from "../client/lens/rehearsal-lens.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { Chain } from "../rpc/node.js";
import { RevertedCall, isHexData, requestRpc } from "../rpc/request.js";
import { vaultError } from "../errors.js";
import type { BalanceChange } from "./types.js";

/** Stands for the chain's own currency in the place of a token. */
export const NATIVE = "native";

/** `balanceOf(address)` of ERC-20. */
const BALANCE_OF = "0x70a08231";

/** 0x and 32 bytes. */
const WORD_LENGTH = 66;

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

/** Where balances are read. */
interface ChainMoment {
  readonly provider: Eip1193Provider;
  readonly networkName: string;
  readonly blockTag: string;
}

/**
 * Reads the native balance of every account, and its balance of every token.
 *
 * @throws VaultError VAULT_NOT_A_TOKEN and those of a failed request
 */
export async function readBalances(
  moment: ChainMoment,
  { accounts, tokens }: BalanceSubjects,
): Promise<readonly Balance[]> {
  return await Promise.all(
    accounts.flatMap((account) => [
      nativeBalance(moment, account),
      ...tokens.map(
        async (token) => await tokenBalance(moment, token, account),
      ),
    ]),
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

async function nativeBalance(
  { provider, networkName, blockTag }: ChainMoment,
  account: string,
): Promise<Balance> {
  const amount = await new Chain(provider, networkName).balance(
    account,
    blockTag,
  );
  return { account, token: NATIVE, amount };
}

async function tokenBalance(
  { provider, networkName, blockTag }: ChainMoment,
  token: string,
  account: string,
): Promise<Balance> {
  const answer = await requestRpc(provider, networkName, "eth_call", [
    { to: token, data: encodeBalanceOf(account) },
    blockTag,
  ]);
  return {
    account,
    token,
    amount: parseTokenBalance(answer, token, networkName),
  };
}

/**
 * The call that asks a token for a balance. A rehearsal has dozens, and the
 * general coder takes as long for them as the node does for its answer.
 */
export function encodeBalanceOf(account: string): string {
  return `${BALANCE_OF}${addressWord(account)}`;
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
  if (isHexData(answer) && answer.length === WORD_LENGTH) {
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
