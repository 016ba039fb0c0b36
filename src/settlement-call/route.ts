import { encodeCall } from "../client/codec.js";
import { fallbackTo } from "../errors.js";
import { encodeGuarded } from "../guard/round-guard.js";
import type { GuardedSettlement } from "../guard/round-guard.js";
import { getCode } from "../rpc/accounts.js";
import type { BlockId } from "../rpc/block-id.js";
import type { CallRequest } from "../rpc/calls.js";
import type { RpcClient } from "../rpc/rpc-client.js";

/** Gas of a `settleAll` transaction before any code runs. */
export const INTRINSIC_GAS = 21_064n;

/** The way of a settlement: to the vault, or through a guard. */
export interface SettlementRoute {
  /** The account that settles. */
  readonly from: string;
  readonly vault: string;
  readonly guard?: GuardedSettlement;
}

export function settlementCall(route: SettlementRoute): CallRequest {
  const { from, vault, guard } = route;
  return guard === undefined
    ? { from, to: vault, data: encodeCall("settleAll", []).data }
    : { from, to: guard.address, data: encodeGuarded(vault, guard) };
}

/** Beginning of the code that an EIP-7702 authorization sets. */
const DELEGATION = "0xef0100";

export const OTHER_ORIGIN =
  "The sender has code, so another account sends the transaction: a contract that asks for that one (tx.origin) can do something else then.";

/**
 * True for a contract, which can send no transaction itself; code of an account with a key
 * only delegates. False if the node does not return the code.
 */
export async function isCalledOnly(
  rpc: RpcClient,
  account: string,
  block: BlockId = "latest",
): Promise<boolean> {
  const code = await getCode(rpc, account, block).catch(
    fallbackTo("0x", ({ kind }) => kind === "rpc"),
  );
  return code !== "0x" && !code.startsWith(DELEGATION);
}
