import type { NetworkConfig } from "hardhat/types/config";

import type { LocatedAddress } from "../client/addresses.js";
import { RevertedCall } from "../rpc/request.js";
import { VaultError, vaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import type { VaultRound } from "../protocol/index.js";
import type { Chain, Header, SettlementCall } from "../rpc/node.js";
import {
  currentPricePerGas,
  maxPricePerGas,
  resolveFees,
  resolveGas,
} from "./fees.js";
import type { Fees } from "./fees.js";
import type { Signer } from "./signer.js";
import { refusal } from "./stopped.js";
import type { SettlementPreflight } from "./types.js";

/** A preflight, and the gas settings that it found. */
export type Preflight =
  | { readonly ok: false; readonly shown: SettlementPreflight }
  | {
      readonly ok: true;
      readonly shown: SettlementPreflight;
      readonly gas: bigint;
      readonly fees: Fees;
      readonly maxCost: bigint;
    };

export interface PreflightSubject {
  readonly chainId: number;
  readonly round: VaultRound;
  readonly contract: LocatedAddress;
  readonly signer: Signer;
  readonly call: SettlementCall;
  readonly header: Header;
  readonly config: NetworkConfig;
}

/**
 * settleAll returns nothing, so a call of an address without code looks like a
 * success: the code is asked for.
 *
 * @throws VaultError VAULT_NO_CODE
 */
export async function requireCode(
  chain: Chain,
  { address, source }: LocatedAddress,
): Promise<void> {
  if (!(await chain.hasCode(address))) {
    throw vaultError("VAULT_NO_CODE", {
      address,
      when: "",
      contract: contractRoles.vault.label,
      network: chain.network,
      source,
    });
  }
}

/** Simulates the settlement and finds out what it costs. Sends nothing. */
export async function runPreflight(
  chain: Chain,
  subject: PreflightSubject,
): Promise<Preflight> {
  const { chainId, round, contract, signer, call, header, config } = subject;
  const [reverted, balance] = await Promise.all([
    chain.simulate(call, "latest"),
    chain.balance(signer.address),
  ]);
  const known = {
    chainId,
    chainTime: header.timestamp,
    round,
    contract,
    from: signer.address,
    signing: signer.kind,
    balance,
  };
  const gas = reverted ?? (await resolveGasWithin(chain, subject, balance));
  if (gas instanceof RevertedCall) {
    return {
      ok: false,
      shown: {
        ...known,
        gas: null,
        cost: null,
        maxCost: null,
        outcome: "reverts",
        reason: gas.reason.text,
      },
    };
  }
  const fees = await resolveFees(chain, config, header);
  const maxCost = gas * maxPricePerGas(fees);
  return {
    ok: true,
    gas,
    fees,
    maxCost,
    shown: {
      ...known,
      gas,
      cost: gas * currentPricePerGas(fees, header),
      maxCost,
      outcome: "succeeds",
      reason: null,
    },
  };
}

/** Nodes differ in whether an estimate fails for want of money. */
async function resolveGasWithin(
  chain: Chain,
  { config, call, header }: PreflightSubject,
  balance: bigint,
): Promise<bigint | RevertedCall> {
  try {
    return await resolveGas(chain, config, call, header);
  } catch (error) {
    if (
      VaultError.isVaultError(error) &&
      /insufficient funds|exceeds allowance/iu.test(error.message)
    ) {
      throw refusal("VAULT_INSUFFICIENT_FUNDS", {
        from: call.from,
        network: chain.network,
        balance,
        cost: "more",
      });
    }
    throw error;
  }
}
