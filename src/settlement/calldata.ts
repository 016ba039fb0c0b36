import { ZeroAddress } from "ethers";

import { invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { Block } from "../rpc/blocks.js";
import { tryCall } from "../rpc/calls.js";
import { estimateGas } from "../sending/fees.js";
import { explainRefusal } from "../guard/outcome.js";
import {
  isCalledOnly,
  settlementCall,
  describeKey,
  findGuard,
  findRoute,
  namedTokens,
} from "../guard/call.js";
import { chooseNextBlock } from "../simulation/next-block.js";
import { locateVault } from "./observe.js";
import { refuseLoss, trySimulation } from "./propose.js";

/** Transaction of a settlement for another wallet to send. */
export interface UnsignedSettlement {
  readonly chainId: number;
  /** The newest block. */
  readonly header: Block;
  readonly to: string;
  readonly data: string;
  /** Account that the call was tried from. */
  readonly sender: string;
  /** Null without a sender, or if the contract refuses the call. */
  readonly estimatedGas: bigint | null;
  /** Reason of the revert at that block; null if the contract accepts the call. */
  readonly refusal: string | null;
  /** True if the sender has code: another account then is the transaction's origin. */
  readonly isContract: boolean;
  /** The round or vault that it settles. */
  readonly settles: string;
}

/**
 * Builds the transaction for a multisig or a hardware wallet, without a key.
 *
 * @param from Sender. Default: the guard's only caller, else the zero address, without an
 * estimate of gas.
 * @param given Tokens that a guard forwards. Default: those of the settings.
 * @param mustHaveEnded True if the transaction has to revert before the round's end, which
 * needs a guard.
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_TOKENS_NOT_KNOWN, VAULT_GUARD_KEEPS_TOKENS
 */
export async function buildSettlement(
  vault: VaultHost,
  from?: string,
  given?: readonly string[],
  mustHaveEnded = false,
): Promise<UnsignedSettlement> {
  const tokens = namedTokens(vault, given);
  const { rpc } = vault;
  const next = await chooseNextBlock(vault);
  const { latest: header } = next;
  const { chainId } = await locateVault(vault);
  const guard = await findGuard(vault, header);
  // Another sender than the guard's own would hide what is forwarded.
  const sender = from ?? guard?.settler ?? ZeroAddress;
  const route = await findRoute(
    vault,
    sender,
    header,
    { tokens, mustHaveEnded },
    Promise.resolve(guard),
  );
  if (route.guard === undefined) {
    if (mustHaveEnded) {
      throw invalidArgument(
        "--if-expired",
        "the plain call of settleAll demands nothing, and network " +
          `${vault.networkName} has no guard, whose call would revert before the round's end`,
        "Set `guard`, or leave it out and send the transaction after the end.",
      );
    }
  } else {
    // What it forwards is seen of a settlement that the guard accepts.
    const accepted = { ...route.guard, mustHaveEnded: false };
    const simulated = await trySimulation(vault, sender, next, {
      route: { ...route, guard: accepted },
    });
    const loss = refuseLoss(vault, route, simulated, tokens !== undefined);
    if (loss?.error !== undefined) {
      throw loss.error;
    }
  }
  const isContract = from !== undefined && (await isCalledOnly(rpc, from));
  const call = settlementCall(route);
  const refused = await tryCall(rpc, call, header.number, header.gasLimit);
  const tried =
    refused !== undefined
      ? { reverted: refused }
      : from === undefined
        ? undefined
        : await estimateGas(rpc, call, header.number);
  return {
    chainId,
    header,
    to: call.to,
    data: call.data,
    sender,
    isContract,
    estimatedGas: tried !== undefined && "gas" in tried ? tried.gas : null,
    refusal:
      tried !== undefined && "reverted" in tried
        ? (await explainRefusal(vault, tried.reverted, route)).reason
        : null,
    settles:
      route.guard === undefined
        ? "the round that is current when it is executed"
        : `${describeKey(route.guard.round)}, and no other, through the guard ${call.to}`,
  };
}
