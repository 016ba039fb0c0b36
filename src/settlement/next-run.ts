// For who only looks: what is under way, and whether the next unattended run would settle.

import { ZeroAddress } from "ethers";

import { isFailedReading } from "../client/read-at-block.js";
import type { FailedReading, VaultSnapshot } from "../client/read-at-block.js";
import { parseAccount, parseAddress } from "../client/inputs.js";
import type { AccountLike } from "../client/inputs.js";
import {
  fallbackTo,
  hasErrorCode,
  refusesSettlement,
  textsForCommandLine,
} from "../errors.js";
import type { VaultErrorCode } from "../errors.js";
import { findRoute, namedTokens } from "../guard/call.js";
import { PROJECT_FOLDER, listProjectFiles } from "../files/project-file.js";
import type { VaultHost } from "../host.js";
import { describeTime } from "../protocol/index.js";
import type { Hex, VaultRound } from "../protocol/index.js";
import { blockAfter, getBlock, getNextBlock } from "../rpc/blocks.js";
import type { BlockId, BlockInfo } from "../rpc/blocks.js";
import { Journal } from "../sending/journal.js";
import type { JournalEntry } from "../sending/journal.js";
import { parseFeeLimits } from "../sending/fees.js";
import { findFreeNonce, findSender } from "../sending/signer.js";
import { nothingToDo, refusedBy } from "../sending/job.js";
import type { Stopped } from "../sending/job.js";
import { newestOf } from "../sending/transaction.js";
import { requireFreshHead } from "./current-round.js";
import { trySettlement } from "./prepare.js";
import type { Trial } from "./prepare.js";

/** A settlement of this project whose outcome is not known yet. */
export interface UnfinishedSettlement {
  /** Null if the node or the wallet signs, and has not returned it. */
  readonly hash: Hex | null;
  readonly nonce: number;
  /** Time at which it was signed, Unix seconds by this machine's clock. */
  readonly since: number;
}

/** @returns Undefined without a file: the node need not be asked then which chain it is on. */
async function openJournal(vault: VaultHost): Promise<Journal | undefined> {
  const { address } = await vault.addressOf("vault", "settleAll");
  const names = await listProjectFiles(vault.context.config.paths.root);
  return names.some((name) => name.includes(address.toLowerCase()))
    ? await Journal.of(vault, await vault.chainId(), address)
    : undefined;
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
  const journal = await openJournal(vault);
  const entry = await journal?.read();
  if (entry === undefined) {
    return null;
  }
  const { hash = null, nonce } = newestOf(entry);
  const [{ preparedAt }] = entry.transactions;
  return { hash, nonce, since: Math.floor(preparedAt / 1_000) };
}

/**
 * Reads how the last finished settlement ended.
 *
 * @returns Undefined if none is known, as on a development chain.
 * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_JOURNAL
 */
export async function findLastEnd(
  vault: VaultHost,
): Promise<JournalEntry["end"]> {
  const journal = await openJournal(vault);
  return (await journal?.readFinished())?.end;
}

/**
 * Lists the journals of live chains that are not finished, for when the node does not answer: their
 * names have the chain and the vault.
 *
 * @param chainId Default: every chain.
 */
export async function listUnfinished(
  projectRoot: string,
  chainId?: number,
): Promise<readonly string[]> {
  const ofChain = chainId ?? "\\d+";
  const pattern = new RegExp(`^settlement-live-${ofChain}-0x\\w+\\.json$`, "u");
  const names = await listProjectFiles(projectRoot);
  return names
    .filter((name) => pattern.test(name))
    .map((name) => `${PROJECT_FOLDER}/${name}`);
}

/** Of a settlement that stays unfinished. */
export const HOW_TO_REPLACE =
  "raise its fee with --bump, or give it up with --cancel.";

export function describeUnfinished({
  hash,
  nonce,
  since,
}: UnfinishedSettlement): string {
  const what = hash ?? `nonce ${nonce}, its hash not known`;
  return `${what}, since ${describeTime(BigInt(since))}`;
}

/**
 * Finds the account that would settle: the given one, else the network's `from`, else the
 * first account of the node.
 *
 * @returns The zero address if only a configured key names it, which a read does not resolve.
 */
export async function findSenderWithoutKeys(
  { connection, context, rpc }: VaultHost,
  given: AccountLike | undefined,
): Promise<string> {
  const { networkConfig, networkName } = connection;
  if (given !== undefined) {
    return parseAccount(given, "from");
  }
  // A connection for reading was opened without the accounts of the configuration.
  const configured = context.config.networks[networkName];
  const hasKeys =
    configured?.type === "http" && configured.accounts !== "remote";
  return networkConfig.from === undefined && hasKeys
    ? ZeroAddress
    : await findSender(rpc, networkConfig).catch(
        fallbackTo(ZeroAddress, ({ code }) => code === "VAULT_NO_SENDER"),
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

/** What is known of a vault at its newest block. */
export interface VaultAt extends Pick<VaultSnapshot, "round" | "volume"> {
  readonly block: BlockInfo;
  /** Where the settlement is tried. */
  readonly at: BlockId;
  /** What `findUnfinished` found. */
  readonly unfinished: UnfinishedSettlement | null | FailedReading;
  /**
   * A settlement that was tried. Default: tried on no fork, which takes too long for who only
   * looks; of a node that cannot simulate, a call shows less.
   */
  readonly trial?: Trial;
}

/**
 * Finds out if the next unattended run would settle: it meets the obstacles in the order of a
 * settlement, and signs and sends nothing. The end of the round is no obstacle here, since
 * only `ifExpired` demands it; nor is a missing limit of the fee, since a run may name one.
 *
 * @param from Account that would settle; the zero address if it is not known.
 * @throws VaultError if the node does not answer
 */
export async function findNextRun(
  vault: VaultHost,
  from: string,
  state: VaultAt,
): Promise<NextRun> {
  // A call to an address without code succeeds, too.
  const unread = [state.round, state.volume]
    .filter(isFailedReading)
    .find(({ error }) => error.code !== "VAULT_CALL_REVERTED");
  if (unread !== undefined) {
    const { code, shortMessage: reason, fix } = unread.error;
    return { canBeSettled: null, code, reason, fix };
  }
  const stop = await findWhyNot(vault, from, state).catch((error: unknown) => {
    if (
      refusesSettlement(error) ||
      hasErrorCode(error, "VAULT_INVALID_JOURNAL")
    ) {
      return refusedBy(error);
    }
    throw error;
  });
  if (stop === undefined) {
    return { canBeSettled: true, code: null, reason: null, fix: null };
  }
  const { code = null, error, reason, status } = stop;
  if (error !== undefined) {
    const { shortMessage, fix } = textsForCommandLine(error);
    return { canBeSettled: false, code, reason: shortMessage, fix };
  }
  if (from !== ZeroAddress || status === "nothing-to-do") {
    return { canBeSettled: false, code, reason, fix: null };
  }
  const why = `the zero address is refused: ${reason.replace(/\.$/u, "")}. The account that settles may not be: name it with --from, or as networks.${vault.networkName}.from`;
  return { canBeSettled: null, code, reason: why, fix: null };
}

/** @throws VaultError with which an unattended run would end */
async function findWhyNot(
  vault: VaultHost,
  from: string,
  { block, unfinished, at, trial, ...state }: VaultAt,
): Promise<Stopped | undefined> {
  await requireFreshHead(vault, block);
  if (isFailedReading(unfinished)) {
    throw unfinished.error;
  }
  const round = isFailedReading(state.round) ? undefined : state.round;
  if (round?.settled === true) {
    return nothingToDo("the round is settled");
  }
  // What is under way is followed first; a call after it would settle the round again.
  if (unfinished !== null) {
    return undefined;
  }
  const reverted =
    round === undefined
      ? undefined
      : await (
          await openJournal(vault)
        )?.findRevertBefore(vault.networkName, round);
  if (reverted !== undefined) {
    throw reverted;
  }
  const { stop } = trial ?? (await tryAt(vault, from, at, round));
  if (from === ZeroAddress) {
    // Nothing is known of the funds of an account that is not.
    return stop?.code === "VAULT_INSUFFICIENT_FUNDS" ? undefined : stop;
  }
  if (stop === undefined && vault.connection.networkConfig.type === "http") {
    const address = parseAddress(from, "from");
    const account = { address, kind: "remote" } as const;
    await findFreeNonce(vault.rpc, account, block.number);
  }
  return stop;
}

async function tryAt(
  vault: VaultHost,
  from: string,
  at: BlockId,
  round: VaultRound | undefined,
): Promise<Trial> {
  const route = await findRoute(vault, from, at, { round });
  const next =
    typeof at === "string"
      ? await getNextBlock(vault.rpc)
      : blockAfter(await getBlock(vault.rpc, at));
  return await trySettlement(vault, route, next, {
    limits: parseFeeLimits(vault),
    tokens: namedTokens(vault),
    mustSettle: true,
    engine: "simulateV1",
    at,
  });
}
