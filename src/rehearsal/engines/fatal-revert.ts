import { encodeCall } from "../../client/codec.js";
import type { Eip1193Provider } from "../../rpc/eip1193.js";
import { RevertedCall, requestRpc } from "../../rpc/request.js";
import { VaultError } from "../../errors.js";
import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

const FIRST_FATAL_CODE = 2n ** 64n;

/**
 * Asks the live node whether a settlement would revert with a panic code of more
 * than 64 bits. Hardhat's simulator (EDR, as of Hardhat 3.18) aborts the whole
 * process when it mines such a transaction, so that one is not simulated.
 *
 * @returns The reason of that revert, else undefined.
 */
export async function findFatalRevert(
  provider: Eip1193Provider,
  network: string,
  { sender, target }: { readonly sender: string; readonly target: string },
  blockNumber: number,
): Promise<string | undefined> {
  const { data: callData } = encodeCall("settleAll", []);
  let answer: unknown;
  try {
    answer = await requestRpc(provider, network, "eth_call", [
      { from: sender, to: target, data: callData },
      numberToHexString(blockNumber),
    ]);
  } catch (error) {
    if (!VaultError.isVaultError(error)) {
      throw error;
    }
    // What else can go wrong with it, the simulation itself finds out.
    return undefined;
  }
  if (!(answer instanceof RevertedCall) || answer.reason.kind !== "panic") {
    return undefined;
  }
  const { text, data } = answer.reason;
  return BigInt(`0x${data.slice(10, 74)}`) < FIRST_FATAL_CODE
    ? undefined
    : text;
}
