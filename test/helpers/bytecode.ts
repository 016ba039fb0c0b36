import { concat, toBeHex } from "ethers";

// Contracts that do one odd thing, too small for a compiler.

/** Uses up about as much gas when it is called `settleAll`, and succeeds. */
export function burnsGas(gas: number): string {
  // Memory of n words costs 3 n + n² / 512: one store far out does it.
  const words = Math.floor((Math.sqrt(9 + gas / 128) - 3) * 256);
  return concat([
    // Of another function's call: stop.
    "0x5f3560e01c63a015aefe14600f57005b",
    "0x5f62",
    toBeHex((words - 1) * 32, 3),
    "0x5200",
  ]);
}

/** Returns the account's balance, and reverts if the caller has code. */
export const balanceForAccounts = (account: string): string =>
  `0x333b156009575f5ffd5b73${account.slice(2)}315f5260205ff3`;
