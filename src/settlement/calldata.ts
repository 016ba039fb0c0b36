import { ZeroAddress } from "ethers";

import type { VaultHost } from "../host.js";
import { RevertedCall } from "../rpc/request.js";
import type { Header } from "../rpc/node.js";
import { SettlementContext } from "./context.js";
import { estimateGas } from "./fees.js";
import { requireCode } from "./preview.js";

/** The settlement's transaction without a sender, for another wallet. */
export interface UnsignedSettlement {
  readonly chainId: number;
  /** Where the estimate was made. */
  readonly header: Header;
  readonly to: string;
  readonly data: string;
  /** Null where the contract refuses the call from that sender. */
  readonly estimatedGas: bigint | null;
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
  const { chain, chainId, contract, data } = await SettlementContext.create(
    vault,
    {},
  );
  await requireCode(chain, contract);
  const header = await chain.header();
  const gas = await estimateGas(chain, { from, to: contract.address, data });
  return {
    chainId,
    header,
    to: contract.address,
    data,
    estimatedGas: gas instanceof RevertedCall ? null : gas,
  };
}
