import type { NetworkConfig } from "hardhat/types/config";

import type { LocatedAddress } from "../client/addresses.js";
import { VaultError } from "../errors.js";
import type { VaultHost } from "../host.js";
import { RevertedCall } from "../rpc/request.js";
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
import { settlementCall } from "./transaction.js";
import type { SettlementPreflight } from "./types.js";

/** What will happen, and the gas settings that go with it. */
export type Preview =
  | { readonly ok: false; readonly shown: SettlementPreflight }
  | {
      readonly ok: true;
      readonly shown: SettlementPreflight;
      readonly gas: bigint;
      /** Undefined in process, where Hardhat fills them in. */
      readonly fees: Fees | undefined;
    };

/** What is previewed: who settles which round of which contract. */
export interface PreviewSubject {
  readonly chain: Chain;
  readonly chainId: number;
  readonly contract: LocatedAddress;
  readonly header: Header;
  readonly round: VaultRound;
  readonly signer: Signer;
}

/**
 * Simulates the settlement and finds out what it costs. Sends nothing.
 *
 * @throws SettlementStopped if the account cannot pay for it
 */
export async function preview(
  { connection: { networkConfig } }: VaultHost,
  { chain, chainId, contract, header, round, signer }: PreviewSubject,
): Promise<Preview> {
  const call = settlementCall(signer.address, contract.address);
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
  const gas =
    reverted ??
    (await resolveGasWithin(chain, networkConfig, call, header, balance));
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
  const fees = await resolveFees(chain, networkConfig, header);
  const maxCost = gas * maxPricePerGas(fees);
  return {
    ok: true,
    gas,
    fees: signer.kind === "in-process" ? undefined : fees,
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
  config: NetworkConfig,
  call: SettlementCall,
  header: Header,
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
