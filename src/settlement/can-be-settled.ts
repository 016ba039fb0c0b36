import { ZeroAddress, toQuantity } from "ethers";

import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import type { FailedReading } from "../client/failed-reading.js";
import { parseAccount, parseAddress } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import {
  VaultError,
  fallbackTo,
  refusesSettlement,
  textsForCommandLine,
  vaultError,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { anyonesGuardCode } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import type { BlockId } from "../rpc/block-id.js";
import { getBlock, getNextBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { callContract, tryCall } from "../rpc/calls.js";
import { isRefusal } from "../rpc/errors.js";
import { limitFees, resolveFees } from "../sending/fees.js";
import { findRoute, settlementCall } from "../guard/call.js";
import { explainRefusal } from "../guard/outcome.js";
import type { Refusal } from "../guard/outcome.js";
import { staleAge, staleHead } from "./head-age.js";
import { parseFeeLimits } from "./options.js";
import { findRevertedBefore } from "./reverted-before.js";
import { findFreeNonce, findSender } from "../sending/signer.js";
import type { UnfinishedSettlement } from "./unfinished-settlement.js";

/** The account that a settlement is tried as, without its key. */
export interface Settler {
  readonly address: string;
  /** False if only a key, which a reader does not resolve, names the account. */
  readonly isKnown: boolean;
}

/** Answer to: would the next unattended run settle, and if not, why? */
export interface NextRun {
  /** Null if it is not known, or only the refusal of an unknown account is. */
  readonly canBeSettled: boolean | null;
  /** The account that was asked about; the zero address if none is known. */
  readonly canBeSettledBy: string;
  /** Code of the reason; null without one, as for a round that is settled. */
  readonly code: VaultErrorCode | null;
  /** Why not; null if it would. */
  readonly reason: string | null;
  /** The remedy; null if only the contract knows one. */
  readonly fix: string | null;
}

/**
 * Finds the account that would settle: the given one, else the network's `from`, else the
 * first account of the node. A configured key is not resolved.
 */
export async function findSettler(
  vault: VaultHost,
  given: AccountLike | undefined,
): Promise<Settler> {
  const { connection, context, rpc } = vault;
  const { networkConfig, networkName } = connection;
  if (given !== undefined) {
    return { address: parseAccount(given, "from"), isKnown: true };
  }
  const unknown: Settler = { address: ZeroAddress, isKnown: false };
  // A connection for reading was opened without the accounts of the configuration.
  const configured = context.config.networks[networkName];
  const hasKeys =
    configured?.type === "http" && configured.accounts !== "remote";
  if (networkConfig.from === undefined && hasKeys) {
    return unknown;
  }
  const address = await findSender(rpc, networkConfig).catch(
    fallbackTo(undefined, ({ code }) => code === "VAULT_NO_SENDER"),
  );
  return address === undefined ? unknown : { address, isKnown: true };
}

/** What is known of a vault at a block. */
export interface VaultAt extends Pick<VaultSnapshot, "round" | "volume"> {
  readonly block: BlockInfo;
  /** Where the call is tried. */
  readonly at: BlockId;
  /** What `findUnfinished` found; undefined for a past block, of which only the call is tried. */
  readonly open: UnfinishedSettlement | null | FailedReading | undefined;
}

/**
 * Finds out if the next unattended run would settle: it meets the obstacles in the order of a
 * settlement, and signs and sends nothing. The end of the round is no obstacle here, since
 * only `ifExpired` demands it.
 *
 * @throws VaultError if the node does not answer
 */
export async function findNextRun(
  vault: VaultHost,
  settler: Settler,
  { round, volume, block, at, open }: VaultAt,
): Promise<NextRun> {
  const canBeSettledBy = settler.address;
  const because = (
    canBeSettled: boolean | null,
    reason: string | null,
    code: VaultErrorCode | null = null,
    fix: string | null = null,
  ): NextRun => ({ canBeSettled, canBeSettledBy, code, reason, fix });
  const refusedBy = (error: VaultError): NextRun => {
    const { shortMessage, fix } = textsForCommandLine(error);
    return because(false, shortMessage, error.code, fix);
  };
  // A call to an address without code succeeds, too.
  for (const reading of [round, volume]) {
    if (
      isFailedReading(reading) &&
      reading.error.code !== "VAULT_CALL_REVERTED"
    ) {
      const { code, shortMessage, fix } = reading.error;
      return because(null, shortMessage, code, fix);
    }
  }
  const age = open === undefined ? undefined : await staleAge(vault, block);
  if (age !== undefined) {
    return refusedBy(staleHead(vault, block.number, age));
  }
  if (isFailedReading(open) && !isNotConfigured(open.error)) {
    return refusedBy(open.error);
  }
  if (!isFailedReading(round) && round.settled) {
    return because(false, "the round is settled");
  }
  try {
    const found = await tryCalling(vault, settler, round, at);
    if (found !== undefined) {
      const { code, reason } = found;
      return settler.isKnown
        ? because(false, reason, code)
        : because(
            null,
            `the zero address is refused: ${reason.replace(/\.$/u, "")}. The account that settles may not be: name it with --from, or as networks.${vault.networkName}.from`,
            code,
          );
    }
    if (open !== undefined) {
      await refuseNow(vault, settler, round, block, open !== null);
    }
    return because(true, null);
  } catch (error) {
    if (VaultError.isVaultError(error) && refusesSettlement(error)) {
      return refusedBy(error);
    }
    throw error;
  }
}

/**
 * @returns The refusal of the contracts; undefined if they accept it.
 * @throws VaultError VAULT_WOULD_NOT_SETTLE if the call leaves the round open
 */
async function tryCalling(
  vault: VaultHost,
  { address: from }: Settler,
  round: VaultSnapshot["round"],
  at: BlockId,
): Promise<Refusal | undefined> {
  const { rpc } = vault;
  // Hardhat's pending block has no number.
  const { gasLimit } = await getBlock(rpc, at === "pending" ? "latest" : at);
  const terms = isFailedReading(round) ? {} : { round };
  const route = await findRoute(vault, from, at, terms);
  const reverted = await tryCall(rpc, settlementCall(route), at, gasLimit);
  if (reverted !== undefined) {
    return await explainRefusal(vault, reverted, route);
  }
  if (
    route.guard !== undefined ||
    isFailedReading(round) ||
    rpc.node.runsLens === false
  ) {
    return undefined;
  }
  // A guard's code at the caller's own address tells if the vault settles this round, and
  // the vault sees the same caller.
  const [contract, factory] = await Promise.all([
    vault.addressOf("vault"),
    vault.addressOf("vaultFactory"),
  ]);
  const guarded = {
    ...route,
    guard: {
      address: parseAddress(from, "from"),
      factory: factory.address,
      round,
      mustHaveEnded: false,
      mustSettle: true,
      tokens: [],
    },
  };
  const tried = await callContract(
    rpc,
    { ...settlementCall(guarded), gas: toQuantity(gasLimit) },
    at,
    { [from]: { code: anyonesGuardCode } },
  ).catch(fallbackTo(undefined, isRefusal));
  if (tried !== undefined && "reverted" in tried) {
    const { code } = await explainRefusal(vault, tried.reverted, guarded);
    if (code === "VAULT_WOULD_NOT_SETTLE") {
      throw vaultError(code, {
        network: vault.networkName,
        contract: contract.source,
        factory: factory.source,
      });
    }
  }
  return undefined;
}

/** @throws VaultError with which an unattended run would refuse what the contracts accept */
async function refuseNow(
  vault: VaultHost,
  { address, isKnown }: Settler,
  round: VaultSnapshot["round"],
  { number }: BlockInfo,
  isUnderWay: boolean,
): Promise<void> {
  const { rpc, networkName: network, connection } = vault;
  const { networkConfig } = connection;
  if (!isFailedReading(round)) {
    const reverted = await findRevertedBefore(vault, round);
    if (reverted !== undefined) {
      const { hash, blockNumber: block } = reverted;
      throw vaultError("VAULT_REVERTED_BEFORE", { network, hash, block });
    }
  }
  if (networkConfig.type !== "http") {
    return;
  }
  // The next run first follows what is under way, whose transaction may be pending.
  if (isKnown && !isUnderWay) {
    const account = parseAddress(address, "from");
    await findFreeNonce(rpc, { address: account, kind: "remote" }, number);
  }
  const limits = parseFeeLimits(vault, {});
  if (Object.values(limits).some((limit) => limit !== undefined)) {
    const { next } = await getNextBlock(rpc);
    limitFees(network, await resolveFees(rpc, networkConfig, next), limits);
  }
}
