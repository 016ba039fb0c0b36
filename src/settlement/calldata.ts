// The transaction of a settlement for another wallet to send, such as a multisig.

import { ZeroAddress, id } from "ethers";

import { noCode } from "../client/codec.js";
import { hasErrorCode, invalidArgument } from "../errors.js";
import {
  describeKey,
  findGuard,
  findRoute,
  isCalledOnly,
  namedTokens,
  settlementCall,
} from "../guard/call.js";
import { explainRefusal } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import { getNextBlock } from "../rpc/blocks.js";
import type { Header } from "../rpc/blocks.js";
import { hasCode, tryCall } from "../rpc/chain.js";
import { requireChain } from "./current-round.js";
import { tokensNotKnown, trySettlement } from "./prepare.js";

/** Transaction of a settlement for another wallet to send. */
export interface UnsignedSettlement {
  readonly chainId: number;
  /** The newest block. */
  readonly header: Header;
  readonly to: string;
  readonly data: string;
  /** Account that the call was tried from. */
  readonly sender: string;
  /**
   * Gas that it uses; on a node that cannot simulate, its estimate and a quarter more. Null
   * without a sender, or if the contract refuses the call.
   */
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
  const { rpc, networkName } = vault;
  const next = await getNextBlock(rpc);
  const { base: header } = next;
  const { number } = header;
  const contract = await vault.addressOf("vault", "settleAll");
  const chainId = await vault.chainId();
  requireChain(vault, chainId);
  if (!(await hasCode(rpc, contract.address))) {
    throw noCode("vault", contract, networkName);
  }
  const found = await findGuard(vault, header);
  if (found === undefined && mustHaveEnded) {
    throw invalidArgument(
      "--if-expired",
      `the plain call of settleAll demands nothing, and network ${networkName} has no guard, whose call would revert before the round's end`,
      "Set `guard`, or leave it out and send the transaction after the end.",
    );
  }
  // Another sender than the guard's own would hide what is forwarded.
  const sender = from ?? found?.settler ?? ZeroAddress;
  const terms = { tokens, mustHaveEnded };
  const route = await findRoute(vault, sender, header, terms);
  const { guard } = route;
  // What it forwards is seen of a settlement that the guard accepts, also before the end.
  const tried =
    guard === undefined
      ? route
      : { ...route, guard: { ...guard, mustHaveEnded: false } };
  const { gas, stop } = await trySettlement(vault, tried, next, {
    limits: {},
    tokens,
    mustSettle: false,
    // Only what stays in a guard is worth a fork.
    engine: guard === undefined ? "simulateV1" : undefined,
    at: number,
  });
  const problem = stop?.error;
  if (
    hasErrorCode(problem, "VAULT_GUARD_KEEPS_TOKENS", "VAULT_TOKENS_NOT_KNOWN")
  ) {
    throw problem;
  }
  const refusal = gas === undefined ? stop : undefined;
  if (
    guard !== undefined &&
    tokens === undefined &&
    refusal !== undefined &&
    refusal.status !== "nothing-to-do"
  ) {
    const why = refusal.reason.replace(/\.$/u, "");
    throw tokensNotKnown(vault, guard, `the simulation reverts: ${why}`);
  }
  const call = settlementCall(route);
  // Before the end, a guard that demands it refuses what was tried without that.
  const early =
    mustHaveEnded && refusal === undefined
      ? await tryCall(rpc, call, number, next.gasLimit)
      : undefined;
  const refused =
    early === undefined ? refusal : await explainRefusal(vault, early, route);
  const isAccepted = refused === undefined && from !== undefined;
  return {
    chainId,
    header,
    to: call.to,
    data: call.data,
    sender,
    isContract: from !== undefined && (await isCalledOnly(rpc, from)),
    estimatedGas: isAccepted ? (gas ?? null) : null,
    refusal: refused?.reason ?? null,
    settles:
      guard === undefined
        ? "the round that is current when it is executed"
        : `${describeKey(guard.round)}, and no other, through the guard ${call.to}`,
  };
}

/** File that Safe's Transaction Builder imports. */
export interface SafeBatch extends Readonly<Record<string, unknown>> {
  readonly meta: Readonly<Record<string, string>>;
}

export function toSafeBatch({
  to,
  data,
  chainId,
  header,
  settles,
}: UnsignedSettlement): SafeBatch {
  const batch: SafeBatch = {
    version: "1.0",
    chainId: String(chainId),
    // Unix milliseconds.
    createdAt: header.timestamp * 1000,
    meta: {
      name: "settleAll",
      description: `Settles ${settles}`,
      txBuilderVersion: "1.18.0",
      createdFromSafeAddress: "",
      createdFromOwnerAddress: "",
    },
    transactions: [
      {
        to,
        value: "0",
        data,
        contractMethod: null,
        contractInputsValues: null,
      },
    ],
  };
  // If the checksum differs, Safe warns of a changed file.
  return { ...batch, meta: { ...batch.meta, checksum: safeChecksum(batch) } };
}

/** Hashes the batch as Safe does: keys sorted and before their values, the name as null. */
export function safeChecksum(batch: SafeBatch): string {
  return id(serialise({ ...batch, meta: { ...batch.meta, name: null } }));
}

function serialise(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(serialise).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value);
  }
  const entries = Object.entries(value).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const keys = JSON.stringify(entries.map(([key]) => key));
  return `{${keys}${entries.map(([, inner]) => `${serialise(inner)},`).join("")}}`;
}
