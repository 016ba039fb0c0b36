// For who only looks: what is under way, and whether the next unattended run would settle.

import { ZeroAddress, toQuantity } from "ethers";

import { isFailedReading, isNotConfigured } from "../client/failed-reading.js";
import type { FailedReading } from "../client/failed-reading.js";
import { parseAccount, parseAddress } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import {
  fallbackTo,
  hasErrorCode,
  refusesSettlement,
  textsForCommandLine,
  vaultError,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { listProjectFiles } from "../files/project-file.js";
import { findRoute, settlementCall } from "../guard/call.js";
import { explainRefusal } from "../guard/outcome.js";
import type { Refusal } from "../guard/outcome.js";
import { anyonesGuardCode } from "../guard/round-guard.js";
import type { VaultHost } from "../host.js";
import { describeTime } from "../protocol/index.js";
import type { Hex, VaultRound } from "../protocol/index.js";
import type { BlockId, BlockInfo } from "../rpc/blocks.js";
import { getBlock, getNextBlock } from "../rpc/blocks.js";
import { callContract, tryCall } from "../rpc/calls.js";
import { isRefusal } from "../rpc/errors.js";
import { limitFees, resolveFees } from "../sending/fees.js";
import { Journal } from "../sending/journal.js";
import { findFreeNonce, findSender } from "../sending/signer.js";
import { newestOf } from "../sending/transaction.js";
import { parseFeeLimits } from "./options.js";
import { staleHead, wouldNotSettle } from "./state.js";

/** A settlement of this project whose outcome is not known yet. */
export interface UnfinishedSettlement {
  /** Null if the node or the wallet signs, and has not returned it. */
  readonly hash: Hex | null;
  readonly nonce: number;
  /** Time at which it was signed, Unix seconds by this machine's clock. */
  readonly since: number;
}

/**
 * Reads the journal of the vault.
 *
 * @returns Null if no settlement is under way.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_JOURNAL
 */
export async function findUnfinished(
  vault: VaultHost,
): Promise<UnfinishedSettlement | null> {
  const journal = await findJournal(vault, ".json");
  const entry = await journal?.read();
  if (entry === undefined) {
    return null;
  }
  const { hash = null, nonce } = newestOf(entry);
  const [{ preparedAt }] = entry.transactions;
  return { hash, nonce, since: Math.floor(preparedAt / 1_000) };
}

/**
 * @param end Of the file's name.
 * @returns Undefined without such a file of any chain: the node then need not be asked which
 * chain it is on.
 */
async function findJournal(
  vault: VaultHost,
  end: ".finished.json" | ".json",
): Promise<Journal | undefined> {
  const { address } = await vault.addressOf("vault", "settleAll");
  const names = await listProjectFiles(vault.context.config.paths.root);
  const isThere = names.some(
    (name) =>
      name.startsWith("settlement-") &&
      name.endsWith(`-${address.toLowerCase()}${end}`),
  );
  return isThere
    ? await Journal.of(vault, await vault.chainId(), address)
    : undefined;
}

/** Hash and age. @param now Unix seconds of this machine's clock. */
export function describeUnfinished(
  { hash, nonce, since }: UnfinishedSettlement,
  now = Math.floor(Date.now() / 1_000),
): string {
  const what = hash ?? `nonce ${nonce}, its hash not known`;
  const age = Math.max(0, now - since);
  return `${what}, ${age} s old, since ${describeTime(BigInt(since))}`;
}

/** The account that a settlement is tried as, without its key. */
export interface Settler {
  readonly address: string;
  /** False if only a key, which a reader does not resolve, names the account. */
  readonly isKnown: boolean;
}

/**
 * Finds the account that would settle: the given one, else the network's `from`, else the
 * first account of the node. A configured key is not resolved.
 */
export async function findSettler(
  { connection, context, rpc }: VaultHost,
  given: AccountLike | undefined,
): Promise<Settler> {
  const { networkConfig, networkName } = connection;
  if (given !== undefined) {
    return { address: parseAccount(given, "from"), isKnown: true };
  }
  const unknown = { address: ZeroAddress, isKnown: false };
  // A connection for reading was opened without the accounts of the configuration.
  const configured = context.config.networks[networkName];
  const hasKeys =
    configured?.type === "http" && configured.accounts !== "remote";
  return networkConfig.from === undefined && hasKeys
    ? unknown
    : await findSender(rpc, networkConfig).then(
        (address) => ({ address, isKnown: true }),
        fallbackTo(unknown, ({ code }) => code === "VAULT_NO_SENDER"),
      );
}

/** Answer to: would the next unattended run settle, and if not, why? */
export interface NextRun {
  /** Null if it is not known, or only the refusal of an unknown account is. */
  readonly canBeSettled: boolean | null;
  /** Code of the reason; null without one, as for a round that is settled. */
  readonly code: VaultErrorCode | null;
  /** Why not; null if it would. */
  readonly reason: string | null;
  /** The remedy; null if only the contract knows one. */
  readonly fix: string | null;
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
  state: VaultAt,
): Promise<NextRun> {
  const would = { canBeSettled: true, code: null, reason: null, fix: null };
  try {
    return { ...would, ...(await findWhyNot(vault, settler, state)) };
  } catch (error) {
    if (
      refusesSettlement(error) ||
      hasErrorCode(error, "VAULT_INVALID_JOURNAL")
    ) {
      const { shortMessage: reason, fix } = textsForCommandLine(error);
      return { canBeSettled: false, code: error.code, reason, fix };
    }
    throw error;
  }
}

/**
 * @returns Why not, as far as no error says it.
 * @throws VaultError with which an unattended run would end
 */
async function findWhyNot(
  vault: VaultHost,
  settler: Settler,
  { round: reading, volume, block, at, open }: VaultAt,
): Promise<Partial<NextRun> | undefined> {
  for (const one of [reading, volume]) {
    // A call to an address without code succeeds, too.
    if (isFailedReading(one) && one.error.code !== "VAULT_CALL_REVERTED") {
      const { code, shortMessage: reason, fix } = one.error;
      return { canBeSettled: null, code, reason, fix };
    }
  }
  const round = isFailedReading(reading) ? undefined : reading;
  const isNow = open !== undefined;
  const stale = isNow ? await staleHead(vault, block) : undefined;
  if (stale !== undefined) {
    throw stale;
  }
  if (isFailedReading(open) && !isNotConfigured(open.error)) {
    throw open.error;
  }
  if (round?.settled === true) {
    return { canBeSettled: false, reason: "the round is settled" };
  }
  if (isNow && round !== undefined) {
    await refuseIfReverted(vault, round);
  }
  // What is under way is followed first; a call after it would settle the round again.
  const refusal =
    open === null || open === undefined
      ? await tryCalling(vault, settler.address, round, at)
      : undefined;
  if (refusal !== undefined && settler.isKnown) {
    return { canBeSettled: false, ...refusal };
  }
  if (refusal !== undefined) {
    const why = refusal.reason.replace(/\.$/u, "");
    const reason = `the zero address is refused: ${why}. The account that settles may not be: name it with --from, or as networks.${vault.networkName}.from`;
    return { canBeSettled: null, code: refusal.code, reason };
  }
  if (isNow) {
    const asked = settler.isKnown && open === null ? settler : undefined;
    await refuseByAccount(vault, asked, block);
  }
  return undefined;
}

/**
 * @returns The refusal of the contracts; undefined if they accept it.
 * @throws VaultError VAULT_WOULD_NOT_SETTLE if the call leaves the round open
 */
async function tryCalling(
  vault: VaultHost,
  from: string,
  round: VaultRound | undefined,
  at: BlockId,
): Promise<Refusal | undefined> {
  const { rpc } = vault;
  // Hardhat's pending block has no number.
  const { gasLimit } = await getBlock(rpc, at === "pending" ? "latest" : at);
  const route = await findRoute(vault, from, at, { round });
  const reverted = await tryCall(rpc, settlementCall(route), at, gasLimit);
  if (reverted !== undefined) {
    return await explainRefusal(vault, reverted, route);
  }
  if (
    route.guard !== undefined ||
    round === undefined ||
    rpc.node.runsLens === false
  ) {
    return undefined;
  }
  // A guard's code at the caller's own address tells if the vault settles this round, and
  // the vault sees the same caller.
  const factory = await vault.addressOf("vaultFactory", "settleAll");
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
  const call = { ...settlementCall(guarded), gas: toQuantity(gasLimit) };
  const code = { [from]: { code: anyonesGuardCode } };
  const tried = await callContract(rpc, call, at, code).catch(
    fallbackTo(undefined, isRefusal),
  );
  if (tried !== undefined && "reverted" in tried) {
    const refusal = await explainRefusal(vault, tried.reverted, guarded);
    if (refusal.code === "VAULT_WOULD_NOT_SETTLE") {
      throw await wouldNotSettle(vault);
    }
  }
  return undefined;
}

/** @throws VaultError VAULT_REVERTED_BEFORE */
async function refuseIfReverted(
  vault: VaultHost,
  round: VaultRound,
): Promise<void> {
  const journal = await findJournal(vault, ".finished.json");
  const reverted = await journal?.findReverted(round);
  if (reverted !== undefined) {
    const { networkName: network } = vault;
    const { hash, blockNumber: block } = reverted;
    throw vaultError("VAULT_REVERTED_BEFORE", { network, hash, block });
  }
}

/**
 * @param settler Undefined if it is not known, or another transaction is followed first.
 * @throws VaultError with which an unattended run would refuse what the contracts accept
 */
async function refuseByAccount(
  vault: VaultHost,
  settler: Settler | undefined,
  { number }: BlockInfo,
): Promise<void> {
  const { rpc, networkName: network, connection } = vault;
  const { networkConfig } = connection;
  if (networkConfig.type !== "http") {
    return;
  }
  if (settler !== undefined) {
    const address = parseAddress(settler.address, "from");
    await findFreeNonce(rpc, { address, kind: "remote" }, number);
  }
  const limits = parseFeeLimits(vault, {});
  if (Object.values(limits).some((limit) => limit !== undefined)) {
    const { next } = await getNextBlock(rpc);
    limitFees(network, await resolveFees(rpc, networkConfig, next), limits);
  }
}
