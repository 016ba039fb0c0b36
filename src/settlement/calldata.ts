import { ZeroAddress } from "ethers";

import type { VaultHost } from "../host.js";
import type { Block } from "../rpc/rpc-client.js";
import { estimateGas } from "../simulation/fees.js";
import { explainRefusal } from "../simulation/refusal.js";
import { locateVault } from "./observe.js";
import { settlementCall } from "../simulation/engine.js";

/** Transaction of a settlement for another wallet to send. */
export interface UnsignedSettlement {
  readonly chainId: number;
  /** The newest block. */
  readonly header: Block;
  readonly to: string;
  readonly data: string;
  /** Null without a sender, or if the contract refuses the call. */
  readonly estimatedGas: bigint | null;
  /** Reason of the revert at that block; null if the contract accepts the call. */
  readonly refusal: string | null;
}

/**
 * Builds the transaction for a multisig or a hardware wallet, without a key.
 *
 * @param from Sender. Default: the zero address, without an estimate of gas.
 * @throws VaultError VAULT_WRONG_CHAIN, VAULT_NO_CODE,
 * VAULT_CONTRACT_NOT_CONFIGURED and errors of a failed request
 */
export async function buildSettlement(
  vault: VaultHost,
  from?: string,
): Promise<UnsignedSettlement> {
  const { rpc } = vault;
  const header = await rpc.getBlock();
  const { chainId, contract } = await locateVault(vault);
  const call = settlementCall(from ?? ZeroAddress, contract.address);
  const refused = await rpc.simulate(call, header.number, header.gasLimit);
  const gas =
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
    estimatedGas: typeof gas === "bigint" ? gas : null,
    refusal:
      typeof gas === "object"
        ? (await explainRefusal(vault, gas.reverted)).reason
        : null,
  };
}
