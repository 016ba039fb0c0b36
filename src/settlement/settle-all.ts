import { isHexString } from "ethers";

import { parseCount, parseDuration } from "../client/inputs.js";
import { checkOptionNames } from "../client/option-names.js";
import {
  VaultError,
  fallbackTo,
  invalidArgument,
  refusesSettlement,
  vaultError,
} from "../errors.js";
import type { VaultHost } from "../host.js";
import { describeRound } from "../protocol/round.js";
import { Deadline } from "../rpc/deadline.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { noRetries } from "../rpc/retry.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { settlementCall } from "../simulation/engine.js";
import { findBlock } from "../simulation/next-block.js";
import type { Simulation } from "../simulation/types.js";
import { followTransaction } from "./follow-transaction.js";
import type { FollowOptions } from "./follow-transaction.js";
import { Journal } from "./journal.js";
import type { JournalEntry } from "./journal.js";
import { checkRound, nothingToDo, observe, refusedBy } from "./observe.js";
import type { Observation } from "./observe.js";
import { preview } from "./preview.js";
import type { Preview, Terms } from "./preview.js";
import { describeFinished, outcome, report } from "./report.js";
import type { Ended } from "./report.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { sign } from "./transaction.js";
import { settleAllOptionNames } from "./types.js";
import type { SettleAllOptions, Stop } from "./types.js";

/** `firstCheck` lets a node that mines at once do so before the first check. */
const DEFAULT_MS = {
  http: { timeout: 300_000, pollingInterval: 1_000, firstCheck: 100 },
  "edr-simulated": { timeout: 10_000, pollingInterval: 50, firstCheck: 0 },
} as const;

/** Minimum time to read the outcome, even if the timeout is over. */
const LEAST_OUTCOME_MS = 10_000;

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<Ended> {
  checkOptionNames("settleAll()", options, settleAllOptionNames);
  const waiting = parseWaiting(vault, options);
  if (options.resume === true) {
    return await resume(vault, waiting);
  }
  const first = await settleNext(vault, waiting, options);
  if (
    options.resume !== "if-interrupted" ||
    first.settlement.code !== "VAULT_SETTLEMENT_UNFINISHED"
  ) {
    return first;
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

async function settleNext(
  vault: VaultHost,
  waiting: Waiting,
  options: SettleAllOptions,
): Promise<Ended> {
  let seen: Observation | undefined;
  let simulation: Simulation | null = null;
  const stop = async (why: Stop): Promise<Ended> =>
    await stopped(why, vault, seen, simulation);
  try {
    // This client retries reads. Sending is never retried.
    const reader = vault.withDeadline({});
    const next = await findBlock(reader);
    seen = await observe(reader, next.number - 1);
    const { chainId, contract, block, round } = seen;
    const prepared =
      options.assertOnly === true
        ? undefined
        : await prepare(reader, seen, options.from);
    const reason = nothingToDo(seen, waiting.ifExpired);
    if (reason !== undefined) {
      return await stop({ status: "nothing-to-do", reason });
    }
    if (prepared === undefined) {
      const details = { round: describeRound(round) };
      throw vaultError("VAULT_SETTLEMENT_NEEDED", details);
    }
    const { signer, journal } = prepared;
    const found = await preview(reader, seen, signer, next);
    if ("status" in found) {
      return await stop(found);
    }
    simulation = found.shown.preview;
    const agreed = await agree(vault, found, waiting, options);
    if ("status" in agreed) {
      return await stop(agreed);
    }
    const transaction = await sign(reader.rpc, signer, {
      ...settlementCall(signer.address, contract.address),
      chainId,
      nonce: await findFreeNonce(reader.rpc, signer, block.number),
      ...agreed,
    });
    const entry = { sentAfterBlock: block.number, round, transaction };
    // Another process may have begun one before the user confirmed.
    await journal.begin(entry);
    const obstacle = await recheckRound(reader, journal, entry, waiting);
    if (obstacle !== undefined) {
      return await stop(obstacle);
    }
    const { preview: previewed } = found.shown;
    const end = await follow(vault, journal, entry, "send", waiting, previewed);
    return { block, ...end };
  } catch (error) {
    return await stop(refusalOf(error));
  }
}

/** Follows the transaction of an earlier process. */
async function resume(vault: VaultHost, waiting: Waiting): Promise<Ended> {
  try {
    const { chainId, contract, block, round } = await observe(vault, "latest");
    const journal = await Journal.open(vault, chainId, contract.address);
    const entry = await journal.read();
    if (entry !== undefined) {
      const { hash = null, nonce } = entry.transaction;
      waiting.emit({ type: "resuming", hash, nonce });
      const end = await follow(vault, journal, entry, "find", waiting, null);
      return { block, ...end };
    }
    const last = await journal.read("finished");
    if (last === undefined) {
      throw vaultError("VAULT_NOTHING_TO_RESUME", {
        vault: contract.address,
        network: vault.networkName,
        file: journal.isKept ? journal.file : "in process there is no journal",
      });
    }
    const settlement = describeFinished(last, round);
    return { settlement, isFinal: true, chainId, block };
  } catch (error) {
    return await stopped(refusalOf(error), vault, undefined, null);
  }
}

function refusalOf(error: unknown): Stop {
  if (!refusesSettlement(error)) {
    throw error;
  }
  // A detail of VAULT_SETTLEMENT_UNFINISHED.
  const { transaction } = error.details;
  const hash = isHexString(transaction, 32) ? transaction : undefined;
  return { ...refusedBy(error), hash };
}

/** Outcome of a settlement that sent nothing. */
async function stopped(
  why: Stop,
  vault: VaultHost,
  seen: Observation | undefined,
  simulation: Simulation | null,
): Promise<Ended> {
  const chainId = seen?.chainId ?? (await vault.chainId());
  const settlement = outcome(why, seen?.round, simulation);
  return {
    settlement,
    isFinal: true,
    chainId,
    block: seen?.block,
    refusal: why.error,
  };
}

/** @throws VaultError if there is no signer, or an unfinished settlement */
async function prepare(
  vault: VaultHost,
  { chainId, contract }: Observation,
  from: SettleAllOptions["from"],
): Promise<{ readonly signer: Signer; readonly journal: Journal }> {
  const { networkConfig } = vault.connection;
  const signer = await resolveSigner(vault.rpc, networkConfig, from);
  const journal = await Journal.open(vault, chainId, contract.address);
  await journal.refuseUnfinished();
  return { signer, journal };
}

/** Emits the preflight, and asks for confirmation if the settlement can succeed. */
async function agree(
  { networkName: network }: VaultHost,
  { shown, terms }: Preview,
  { emit }: Waiting,
  { confirm }: SettleAllOptions,
): Promise<Terms | Stop> {
  emit({ type: "preflight", preflight: shown });
  if ("status" in terms) {
    return terms;
  }
  const { from, balance, maxCost: cost } = shown;
  if (cost !== null && balance < cost) {
    const args = { from, network, balance, cost };
    throw vaultError("VAULT_INSUFFICIENT_FUNDS", args);
  }
  // JavaScript may return another type: only true confirms.
  const answer: unknown = confirm === undefined ? true : await confirm(shown);
  if (answer === true) {
    return terms;
  }
  const refusal = refusedBy(
    VaultError.isVaultError(answer)
      ? answer
      : vaultError("VAULT_NOT_CONFIRMED", {}),
  );
  return typeof answer === "string" && answer !== ""
    ? { ...refusal, reason: answer }
    : refusal;
}

/**
 * Returns the account's next nonce. Refuses pending transactions: the settlement would
 * wait behind them, and one of them may be a settlement.
 */
async function findFreeNonce(
  rpc: RpcClient,
  { address, kind }: Signer,
  observed: number,
): Promise<number> {
  if (kind === "in-process") {
    return await rpc.nonce(address, "pending");
  }
  const [counted, pending] = await Promise.all([
    // A node that lags does not have that block, so it returns no outdated count. The
    // state may be pruned before a person has confirmed.
    rpc.nonce(address, observed).catch(fallbackTo(0, isNodeRefusal)),
    rpc.nonce(address, "pending"),
  ]);
  // Some may have been mined since.
  const mined =
    pending > counted
      ? Math.max(counted, await rpc.nonce(address, "latest"))
      : counted;
  if (pending > mined) {
    throw vaultError("VAULT_PENDING_TRANSACTIONS", {
      from: address,
      network: rpc.network,
      count: pending - mined,
      nonce: mined,
    });
  }
  return mined;
}

async function recheckRound(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  { ifExpired }: Waiting,
): Promise<Stop | undefined> {
  let isClear = false;
  try {
    const obstacle = await checkRound(vault, entry.round, ifExpired);
    isClear = obstacle === undefined;
    return obstacle;
  } finally {
    if (!isClear) {
      // Nothing has left, so there is nothing to resume.
      await journal.update(entry, true);
    }
  }
}

/**
 * Sends or resumes a settlement, and follows it to its outcome. Never throws: after a
 * failure the transaction may have left, so the outcome has its hash.
 */
async function follow(
  vault: VaultHost,
  journal: Journal,
  entry: JournalEntry,
  start: "send" | "find",
  { timeoutMs, ifExpired, ...waiting }: Waiting,
  previewed: Simulation | null,
): Promise<Ended> {
  const deadline = new Deadline(timeoutMs);
  let current = entry;
  const record = async (isFinished: boolean): Promise<void> => {
    await journal.update(current, isFinished).catch((error: unknown) => {
      waiting.emit({ type: "trouble", message: describeThrown(error) });
    });
  };
  try {
    const { round, transaction, sentAfterBlock } = entry;
    const end = await followTransaction(
      // followTransaction has its own retries.
      vault.rpc.withRetries(noRetries),
      { ...transaction, sentAfterBlock },
      start,
      {
        ...waiting,
        deadline,
        checkRound: async (block) =>
          await checkRound(vault, round, ifExpired, block),
        onHash: async (hash) => {
          // Signed bytes keep the hash that the journal has.
          if (transaction.raw === undefined) {
            current = { ...entry, transaction: { ...transaction, hash } };
            await record(false);
          }
        },
      },
    );
    const timeout = Math.max(deadline.remaining, LEAST_OUTCOME_MS);
    const reader = vault.withDeadline({ timeout });
    const { confirmations } = waiting;
    const ended = await report(reader, entry, end, previewed, confirmations);
    if (ended.isFinal) {
      const { status, blockNumber } = ended.settlement;
      const mined = blockNumber === null ? undefined : { status, blockNumber };
      current = { ...current, mined };
      await record(true);
    }
    return ended;
  } catch (error) {
    const reason = describeThrown(error);
    const { hash } = current.transaction;
    const why: Stop = { status: "unconfirmed", reason, hash };
    const settlement = outcome(why, entry.round, previewed);
    const { chainId } = entry.transaction;
    return { settlement, isFinal: false, chainId };
  }
}

interface Waiting extends Omit<
  FollowOptions,
  "deadline" | "checkRound" | "onHash"
> {
  readonly ifExpired: boolean;
  readonly timeoutMs: number;
}

function parseWaiting(
  { connection }: VaultHost,
  options: SettleAllOptions,
): Waiting {
  const defaults = DEFAULT_MS[connection.networkConfig.type];
  const { timeout, pollingInterval = defaults.pollingInterval } = options;
  for (const name of ["from", "confirm", "assertOnly"] as const) {
    if (options.resume === true && (options[name] ?? false) !== false) {
      throw invalidArgument(name, "resuming does not take it", "Omit it.");
    }
  }
  return {
    ifExpired: options.ifExpired === true,
    confirmations: parseCount(options.confirmations, "confirmations") ?? 1,
    timeoutMs: parseDuration("timeout", timeout ?? defaults.timeout),
    pollingIntervalMs: parseDuration("pollingInterval", pollingInterval),
    firstCheckAfterMs: Math.min(defaults.firstCheck, pollingInterval),
    emit: (event) => {
      try {
        options.onEvent?.(event);
      } catch {
        // A failing listener must not lose a transaction on its way.
      }
    },
  };
}

function describeThrown(error: unknown): string {
  return VaultError.isVaultError(error) ? error.message : String(error);
}
