import { Interface } from "ethers";

import type { Eip1193Provider } from "../rpc/eip1193.js";
import { Chain } from "../rpc/node.js";
import { RevertedCall, isHexData, requestRpc } from "../rpc/request.js";
import { vaultError } from "../errors.js";
import type { BalanceChange } from "./types.js";

const erc20 = new Interface([
  "function balanceOf(address) view returns (uint256)",
]);
const NATIVE = "native";

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
 * @param funding What the account was given in between, so that it can pay for
 * gas. It is taken off again; where the account could not have paid without it,
 * it is counted as its own from the beginning.
 */
export function compareBalances(
  before: readonly Balance[],
  after: readonly Balance[],
  funding: { readonly account: string; readonly amount: bigint },
): readonly BalanceChange[] {
  return before.flatMap(({ account, token, amount }, index) => {
    const found = after[index]?.amount ?? amount;
    const given =
      token === NATIVE && account === funding.account ? funding.amount : 0n;
    const change =
      found >= given
        ? { before: amount, after: found - given }
        : { before: amount + given, after: found };
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
  const data = erc20.encodeFunctionData("balanceOf", [account]);
  const answer = await requestRpc(provider, networkName, "eth_call", [
    { to: token, data },
    blockTag,
  ]);
  if (isHexData(answer) && answer.length === WORD_LENGTH) {
    return { account, token, amount: BigInt(answer) };
  }
  throw vaultError("VAULT_NOT_A_TOKEN", {
    token,
    network: networkName,
    problem:
      answer instanceof RevertedCall
        ? "the call reverted"
        : answer === "0x"
          ? "there is no code, or it returns nothing"
          : "it returns something else than one number",
  });
}
