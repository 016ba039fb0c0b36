// For who only looks: what is under way, and whether the next unattended run would settle.

import { ZeroAddress } from "ethers";

import { isFailedReading, isNotConfigured } from "../client/read-at-block.js";
import type { FailedReading } from "../client/read-at-block.js";
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
import type { VaultError, VaultErrorCode } from "../errors.js";
import { listProjectFiles } from "../files/project-file.js";
import { findRoute, namedTokens } from "../guard/call.js";
import type { Refusal } from "../guard/refusal.js";
import type { VaultHost } from "../host.js";
import { describeTime } from "../protocol/index.js";
import type { Hex, VaultRound } from "../protocol/index.js";
import { blockAfter, getBlock, getNextBlock } from "../rpc/blocks.js";
import type { BlockId, BlockInfo } from "../rpc/blocks.js";
import { Journal } from "../sending/journal.js";
import { findFreeNonce, findSender } from "../sending/signer.js";
import { newestOf } from "../sending/transaction.js";
import { requireFreshHead } from "./current-round.js";
import { parseFeeLimits } from "./options.js";
import { trySettlement, wouldNotSettle } from "./propose.js";

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
  /** Where the settlement is tried. */
  readonly at: BlockId;
  /** What `findUnfinished` found; undefined for a past block, after which no run is the next. */
  readonly open: UnfinishedSettlement | null | FailedReading | undefined;
}

/**
 * Finds out if the next unattended run would settle: it meets the obstacles in the order of a
 * settlement, and signs and sends nothing. The end of the round is no obstacle here, since
 * only `ifExpired` demands it; nor is a missing limit of the fee, since a run may name one.
 *
 * @throws VaultError if the node does not answer
 */
export async function findNextRun(
  vault: VaultHost,
  settler: Settler,
  state: VaultAt,
): Promise<NextRun> {
  const { open } = state;
  if (open === undefined) {
    const reason = "it is tried at the newest block only";
    return { canBeSettled: null, code: null, reason, fix: null };
  }
  const would = { canBeSettled: true, code: null, reason: null, fix: null };
  try {
    return {
      ...would,
      ...(await findWhyNot(vault, settler, { ...state, open })),
    };
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
  state: VaultAt,
): Promise<Partial<NextRun> | undefined> {
  const { round: reading, volume, block, open } = state;
  for (const one of [reading, volume]) {
    // A call to an address without code succeeds, too.
    if (isFailedReading(one) && one.error.code !== "VAULT_CALL_REVERTED") {
      const { code, shortMessage: reason, fix } = one.error;
      return { canBeSettled: null, code, reason, fix };
    }
  }
  await requireFreshHead(vault, block);
  const isUnread = isFailedReading(open);
  if (isUnread && !isNotConfigured(open.error)) {
    throw open.error;
  }
  const round = isFailedReading(reading) ? undefined : reading;
  if (round?.settled === true) {
    return { canBeSettled: false, reason: "the round is settled" };
  }
  if (round !== undefined) {
    const journal = await findJournal(vault, ".finished.json");
    const reverted = await revertedBefore(vault, journal, round);
    if (reverted !== undefined) {
      throw reverted;
    }
  }
  // What is under way is followed first; a call after it would settle the round again.
  if (open !== null && !isUnread) {
    return undefined;
  }
  const refusal = await trySettling(vault, settler, state, round);
  if (refusal === undefined) {
    return undefined;
  }
  if (settler.isKnown) {
    return { canBeSettled: false, ...refusal };
  }
  const why = refusal.reason.replace(/\.$/u, "");
  const reason = `the zero address is refused: ${why}. The account that settles may not be: name it with --from, or as networks.${vault.networkName}.from`;
  return { canBeSettled: null, code: refusal.code, reason };
}

/**
 * Tries the settlement as a run would, but on no fork, which takes too long for who only
 * looks: of a node that cannot simulate, a plain call shows less.
 *
 * @returns The refusal of the contracts; undefined if they accept it.
 * @throws VaultError with which an unattended run would refuse what the contracts accept
 */
async function trySettling(
  vault: VaultHost,
  { address, isKnown }: Settler,
  { block, at }: VaultAt,
  round: VaultRound | undefined,
): Promise<Refusal | undefined> {
  const { rpc, connection } = vault;
  const from = parseAddress(address, "from");
  const route = await findRoute(vault, from, at, { round });
  const next =
    typeof at === "string"
      ? await getNextBlock(rpc)
      : blockAfter(await getBlock(rpc, at));
  const rules = {
    limits: parseFeeLimits(vault),
    tokens: namedTokens(vault),
    engine: "simulateV1",
    at,
  } as const;
  const tried = await trySettlement(vault, route, next, rules);
  const { simulated, found, problem } = tried;
  if ("refusal" in found) {
    return found.refusal;
  }
  if (simulated?.simulation.status === "not-settled") {
    throw await wouldNotSettle(vault);
  }
  // Nothing is known of the funds of an account that is not.
  const isFunds = problem?.code === "VAULT_INSUFFICIENT_FUNDS";
  if (problem !== undefined && (isKnown || !isFunds)) {
    throw problem;
  }
  if (isKnown && connection.networkConfig.type === "http") {
    await findFreeNonce(rpc, { address: from, kind: "remote" }, block.number);
  }
  return undefined;
}

/**
 * @param journal Undefined if there is no file of a finished settlement.
 * @returns VAULT_REVERTED_BEFORE if the last settlement of the round was mined and reverted
 */
export async function revertedBefore(
  { networkName: network }: VaultHost,
  journal: Journal | undefined,
  round: VaultRound,
): Promise<VaultError | undefined> {
  const reverted = await journal?.findReverted(round);
  if (reverted === undefined) {
    return undefined;
  }
  const { hash, blockNumber: block } = reverted;
  return vaultError("VAULT_REVERTED_BEFORE", { network, hash, block });
}
