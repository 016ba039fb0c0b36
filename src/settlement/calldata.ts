import { ZeroAddress } from "ethers";

import type { VaultHost } from "../host.js";
import type { Header } from "../rpc/node.js";
import { estimateGas } from "../rehearsal/fees.js";
import { explainRefusal } from "../rehearsal/refusal.js";
import { RevertedCall } from "../rpc/request.js";
import { requireCode, requireConfiguredChain } from "./observe.js";
import { settlementCall } from "../rehearsal/question.js";

/** The settlement's transaction without a sender, for another wallet. */
export interface UnsignedSettlement {
  readonly chainId: number;
  /** Where the estimate was made. */
  readonly header: Header;
  readonly to: string;
  readonly data: string;
  /** Null where the contract refuses the call from that sender. */
  readonly estimatedGas: bigint | null;
  /** Why the contract refuses it, in words; null where it does not. */
  readonly refusal: string | null;
}

/**
 * Builds the transaction that settles, for a multisig or a hardware wallet.
 * Sends nothing and needs no key.
 *
 * @param from Sender for the gas estimate; the zero address unless given.
 * @throws VaultError VAULT_WRONG_CHAIN, VAULT_NO_CODE,
 * VAULT_CONTRACT_NOT_CONFIGURED and those of a failed request
 */
export async function buildSettlement(
  vault: VaultHost,
  from: string = ZeroAddress,
): Promise<UnsignedSettlement> {
  const contract = await vault.addressOf("vault", "settleAll");
  const chainId = await vault.chainId();
  requireConfiguredChain(vault, chainId);
  const { chain } = vault;
  await requireCode(chain, contract);
  const header = await chain.header();
  const call = settlementCall(from, contract.address);
  const gas = await estimateGas(chain, call);
  return {
    chainId,
    header,
    to: call.to,
    data: call.data,
    estimatedGas: gas instanceof RevertedCall ? null : gas,
    refusal:
      gas instanceof RevertedCall
        ? (await explainRefusal(vault, gas.reason, { target: contract })).reason
        : null,
  };
}
