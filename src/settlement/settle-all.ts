import { parseCount, parseDuration } from "../client/inputs.js";
import type { DuringOptions } from "../client/reader.js";
import { VaultError, invalidArgument, otherwise } from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound, hasEnded } from "../protocol/round.js";
import { Deadline } from "../rpc/deadline.js";
import { isNodeRefusal } from "../rpc/errors.js";
import type { BlockInfo, Chain } from "../rpc/node.js";
import { settlementCall } from "../rehearsal/question.js";
import { findBlock } from "../rehearsal/simulate-settle-all.js";
import type { Simulation } from "../rehearsal/types.js";
import { comparePreview } from "./compare-preview.js";
import { SEVERAL, followTransaction } from "./follow-transaction.js";
import { Journal } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import {
  checkRound,
  observe,
  requireCode,
  requireConfiguredChain,
} from "./observe.js";
import { preview } from "./preview.js";
import type { Preview, PreviewSubject, Terms } from "./preview.js";
import { outcome, report } from "./report.js";
import type { Report } from "./report.js";
import { describeFinished, findInterrupted } from "./resume.js";
import type { Interrupted } from "./resume.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { SettlementStopped, asStopped, notEnded, refusal } from "./stopped.js";
import { sign } from "./transaction.js";
import type { SettleAllOptions, SettlementEvent } from "./types.js";

const DEFAULT_TIMEOUT_MS = { http: 300_000, "edr-simulated": 10_000 } as const;
const DEFAULT_POLLING_INTERVAL_MS = {
  http: 1_000,
  "edr-simulated": 50,
} as const;

/** So many polling intervals what is read of the outcome is asked for again. */
const OUTCOME_INTERVALS = 30;
/** So long it may take, if the time is over before. */
const LEAST_OUTCOME_MS = 10_000;

/** A node that mines at once has done so by then. */
const FIRST_LOOK_AFTER_MS = 100;

/** A settlement, and where on the chain it was looked at. */
export interface LocatedSettlement extends Pick<
  Report,
  "settlement" | "minedBlock" | "isFinal"
> {
  readonly chainId: number;
  /** The block of `before`; undefined if none was read. */
  readonly block: BlockInfo | undefined;
}

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<LocatedSettlement> {
  const waiting = parseWaiting(vault, options);
  if (options.resume === true) {
    return await resume(vault, waiting);
  }
  const located = await settleNext(vault, waiting, options);
  if (
    options.resume !== "if-interrupted" ||
    located.settlement.code !== "VAULT_SETTLEMENT_UNFINISHED"
  ) {
    return located;
  }
  const resumed = await resume(vault, waiting);
  if (!resumed.isFinal) {
    return resumed;
  }
  waiting.emit({ type: "resumed", settlement: resumed.settlement });
  const next = await settleNext(vault, waiting, options);
  return resumed.settlement.status === "settled" &&
    next.settlement.status === "nothing-to-do"
    ? resumed
    : next;
}

/** The whole way of a settlement, in the order in which it happens. */
async function settleNext(
  vault: VaultHost,
  waiting: Waiting,
  options: SettleAllOptions,
): Promise<LocatedSettlement> {
  let seen: Prepared | undefined;
  let previewed: Simulation | null = null;
  try {
    // What only reads is made again where that may help; what sends never is.
    const reader = vault.during({});
    seen = await prepare(reader, options);
    const { chainId, block, round } = seen;
    const { signer, journal, genesisHash } = await requireOpenRound(
      reader,
      seen,
      waiting,
    );
    const found = await preview(reader, { ...seen, signer });
    previewed = found.shown.preview;
    const { gas, fees } = await agree(vault, found, waiting, options);
    const transaction = await sign(reader.chain, signer, {
      ...settlementCall(signer.address, seen.contract.address),
      chainId,
      nonce: await findFreeNonce(reader.chain, signer, block.number),
      gas,
      fees,
    });
    const entry: JournalEntry = {
      finished: false,
      chainId,
      genesisHash,
      vault: seen.contract.address,
      sentAfterBlock: block.number,
      round,
      transaction,
    };
    // Another process may have begun one while the question was open.
    await journal?.begin(entry);
    await lookOnceMore(reader, journal, entry, waiting);
    const { after, ...end } = await follow(vault, journal, entry, {
      ...waiting,
      start: "send",
      // What reads one by one would ask for every reading, twice.
      readsAll: previewed !== null && seen.hasCode !== undefined,
    });
    return {
      ...end,
      settlement: {
        ...end.settlement,
        preview: await comparePreview(after, previewed, end),
      },
      chainId,
      block,
    };
  } catch (error) {
    return await stoppedBy(error, vault, seen, previewed);
  }
}

/** @throws VaultError what is no outcome */
async function stoppedBy(
  error: unknown,
  vault: VaultHost,
  seen?: Prepared,
  previewed: Simulation | null = null,
): Promise<LocatedSettlement> {
  return {
    settlement: {
      ...outcome(asStopped(error), seen?.round),
      preview: previewed === null ? null : { ...previewed, differences: null },
    },
    isFinal: true,
    chainId: seen?.chainId ?? (await vault.chainId()),
    block: seen?.block,
  };
}

/** Enters the same way where an earlier process left it. */
async function resume(
  vault: VaultHost,
  waiting: Waiting,
): Promise<LocatedSettlement> {
  let found: Interrupted;
  try {
    found = await findInterrupted(vault);
  } catch (error) {
    return await stoppedBy(error, vault);
  }
  const { journal, entry, block } = found;
  const { chainId, transaction, finished } = entry;
  if (finished) {
    const settlement = await describeFinished(vault, entry, block);
    return { settlement, isFinal: true, chainId, block };
  }
  const { hash = null, nonce } = transaction;
  waiting.emit({ type: "resuming", hash, nonce });
  const { after: _, ...end } = await follow(vault, journal, entry, {
    ...waiting,
    start: "look",
    readsAll: false,
  });
  return { ...end, chainId, block };
}

/** What a settlement begins with. */
interface Prepared extends Omit<PreviewSubject, "signer"> {
  /** Whether the vault is a contract; undefined if that was not seen. */
  readonly hasCode: boolean | undefined;
  /** Undefined where nothing is to be sent. */
  readonly signer: Signer | undefined;
}

/**
 * Who settles which round of which contract.
 *
 * @throws SettlementStopped if there is nobody
 * @throws VaultError VAULT_WRONG_CHAIN, VAULT_CONTRACT_NOT_CONFIGURED and
 * those of a failed request
 */
async function prepare(
  vault: VaultHost,
  { from, assertOnly }: SettleAllOptions,
): Promise<Prepared> {
  const contract = await vault.addressOf("vault", "settleAll");
  const next = await findBlock(vault);
  const number = next.number - 1;
  const observation = await observe(vault, contract.address, number);
  const chainId = await observation.chainId();
  requireConfiguredChain(vault, chainId);
  const signer =
    assertOnly === true
      ? undefined
      : await resolveSigner(vault.chain, vault.connection.networkConfig, from);
  const round = await observation.round();
  const { hasCode, timestamp = next.parentTimestamp } = observation;
  const block =
    timestamp === undefined ? await vault.block(number) : { number, timestamp };
  return { chainId, contract, block, next, round, hasCode, signer };
}

/** Stops where there is nothing to settle, or an earlier one to finish. */
async function requireOpenRound(
  vault: VaultHost,
  { chainId, contract, block, round, hasCode, signer }: Prepared,
  { ifExpired }: Waiting,
): Promise<{
  signer: Signer;
  /** Undefined in process, where nothing outlives the process. */
  journal: Journal | undefined;
  /** Hash of the first block; "unknown" where nothing is journalled. */
  genesisHash: string;
}> {
  const journal = Journal.open(vault, chainId, contract.address);
  let genesisHash = "unknown";
  if (signer !== undefined) {
    genesisHash = (await vault.genesisHash()) ?? genesisHash;
    await journal?.refuseUnfinished(genesisHash);
  }
  if (round.settled) {
    throw new SettlementStopped(
      "nothing-to-do",
      "The round is settled already.",
    );
  }
  if (ifExpired && !hasEnded(round, block.timestamp)) {
    throw notEnded(round);
  }
  if (signer === undefined) {
    throw refusal("VAULT_SETTLEMENT_NEEDED", { round: describeRound(round) });
  }
  if (hasCode !== true) {
    await requireCode(vault.chain, contract);
  }
  return { signer, journal, genesisHash };
}

/** Shows what will happen and asks, unless there is a reason not to go on. */
async function agree(
  { networkName: network }: VaultHost,
  { shown, terms }: Preview,
  { emit }: Waiting,
  { confirm }: SettleAllOptions,
): Promise<Terms> {
  emit({ type: "preflight", preflight: shown });
  if ("reason" in terms) {
    throw new SettlementStopped("reverted", terms.reason, terms.code);
  }
  const { from, balance, maxCost: cost } = shown;
  if (cost !== null && balance < cost) {
    throw refusal("VAULT_INSUFFICIENT_FUNDS", { from, network, balance, cost });
  }
  // Whatever JavaScript may return: nothing but true is a Yes.
  const answer: unknown = confirm === undefined ? true : await confirm(shown);
  if (answer === true) {
    return terms;
  }
  if (VaultError.isVaultError(answer)) {
    throw new SettlementStopped("refused", answer.message, answer.code);
  }
  if (typeof answer === "string" && answer !== "") {
    throw new SettlementStopped("refused", answer, "VAULT_NOT_CONFIRMED");
  }
  throw refusal("VAULT_NOT_CONFIRMED", {});
}

/**
 * The account's next nonce. Behind transactions that wait already, ours would
 * be stuck with them, and one of them may be a settlement.
 */
async function findFreeNonce(
  chain: Chain,
  { address, kind }: Signer,
  observed: number,
): Promise<number> {
  const countAll = async (): Promise<number> =>
    await chain.nonce(address, "pending");
  if (kind === "in-process") {
    return await countAll();
  }
  const [counted, pending] = await Promise.all([
    // A node that is behind does not have that block, so its count is right. The
    // state may be gone by the time that a person has answered.
    chain.nonce(address, observed).catch(otherwise(0, isNodeRefusal)),
    countAll(),
  ]);
  // Some of them may have been mined since.
  const mined =
    pending > counted
      ? Math.max(counted, await chain.nonce(address, "latest"))
      : counted;
  if (pending > mined) {
    throw refusal("VAULT_PENDING_TRANSACTIONS", {
      from: address,
      network: chain.network,
      count: pending - mined,
      nonce: mined,
    });
  }
  return mined;
}

/** The last look at the round before the transaction leaves, and at the journal. */
async function lookOnceMore(
  vault: VaultHost,
  journal: Journal | undefined,
  entry: JournalEntry,
  { ifExpired }: Waiting,
): Promise<void> {
  try {
    const obstacle = await checkRound(vault, entry, ifExpired);
    if (obstacle !== undefined) {
      throw obstacle;
    }
    // Two processes that both took a dead one's lock away wrote both; one of
    // the entries is there now.
    await journal?.refuseUnfinished(entry.genesisHash, entry.transaction);
  } catch (error) {
    // Nothing has left, so there is nothing to resume.
    await journal?.update({ ...entry, finished: true });
    throw error;
  }
}

/**
 * Sends a settlement, or takes up one that may be on its way, and follows it to
 * its outcome.
 *
 * From here on the transaction may have left, so that nothing is thrown: every
 * failure is an outcome that has the hash.
 */
async function follow(
  vault: VaultHost,
  journal: Journal | undefined,
  entry: JournalEntry,
  {
    start,
    readsAll,
    timeoutMs,
    ifExpired,
    ...waiting
  }: Waiting & {
    readonly start: "send" | "look";
    /** See {@link report}. */
    readonly readsAll: boolean;
  },
): Promise<Report & { readonly after: VaultHost }> {
  const { emit, pollingIntervalMs } = waiting;
  const deadline = new Deadline(timeoutMs);
  let after = vault;
  let current = entry;
  const record = async (change: Partial<JournalEntry>): Promise<void> => {
    current = { ...current, ...change };
    try {
      await journal?.update(current);
    } catch (error) {
      emit({ type: "trouble", message: describeThrown(error) });
    }
  };
  try {
    const end = await followTransaction(
      vault.chain,
      { ...entry.transaction, sentAfterBlock: entry.sentAfterBlock },
      start,
      {
        ...waiting,
        deadline,
        firstLookAfterMs:
          journal === undefined
            ? 0
            : Math.min(FIRST_LOOK_AFTER_MS, pollingIntervalMs),
        checkRound: async (block) =>
          await checkRound(vault, entry, ifExpired, block),
        onHash: async (found) => {
          // The signed bytes stay those of the hash they were journalled with.
          if (current.transaction.raw === undefined) {
            await record({
              transaction: { ...current.transaction, hash: found },
            });
          }
        },
      },
    );
    after = vault.during(patienceForOutcome(deadline, pollingIntervalMs));
    const reported = await report(after, entry, end, readsAll);
    if (reported.isFinal) {
      const { status, blockNumber } = reported.settlement;
      await record({
        finished: true,
        status,
        blockNumber: blockNumber ?? undefined,
      });
    }
    return { ...reported, after };
  } catch (error) {
    return {
      settlement: outcome(
        {
          status: "unconfirmed",
          reason: describeThrown(error),
          hash: current.transaction.hash,
        },
        entry.round,
      ),
      isFinal: false,
      after,
    };
  }
}

/**
 * For all that is read once the transaction was seen, together: the node that
 * has it may be asked through one that has not.
 */
function patienceForOutcome(
  { remaining }: Deadline,
  pollingIntervalMs: number,
): DuringOptions {
  return {
    timeout: Math.max(remaining, LEAST_OUTCOME_MS),
    repeatFor: Math.max(
      SEVERAL * pollingIntervalMs,
      Math.min(remaining, OUTCOME_INTERVALS * pollingIntervalMs),
    ),
  };
}

/** How a transaction is waited for, and who is told meanwhile. */
interface Waiting {
  /** Whether only a round that has ended is settled. */
  readonly ifExpired: boolean;
  readonly confirmations: number;
  readonly timeoutMs: number;
  readonly pollingIntervalMs: number;
  readonly emit: (event: SettlementEvent) => void;
}

/** @throws VaultError VAULT_INVALID_ARGUMENT */
function parseWaiting(
  { connection }: VaultHost,
  options: SettleAllOptions,
): Waiting {
  const { type } = connection.networkConfig;
  const { confirmations, timeout, pollingInterval, onEvent } = options;
  for (const name of ["from", "confirm", "assertOnly"] as const) {
    if (options.resume === true && (options[name] ?? false) !== false) {
      throw invalidArgument(name, "`resume` makes no new settlement");
    }
  }
  return {
    ifExpired: options.ifExpired === true,
    confirmations: parseCount(confirmations, "confirmations") ?? 1,
    timeoutMs: parseDuration("timeout", timeout ?? DEFAULT_TIMEOUT_MS[type]),
    pollingIntervalMs: parseDuration(
      "pollingInterval",
      pollingInterval ?? DEFAULT_POLLING_INTERVAL_MS[type],
    ),
    emit: (event) => {
      try {
        onEvent?.(event);
      } catch {
        // A listener that fails must not lose a transaction on its way.
      }
    },
  };
}

function describeThrown(error: unknown): string {
  return VaultError.isVaultError(error) ? error.message : String(error);
}
