// A settlement from its first read to its end, in the order of its steps.

import { isHexString } from "ethers";

import { withAddress } from "../client/inputs.js";
import { isErrorCode, refusesSettlement, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { findRoute, settlementCall } from "../guard/call.js";
import type { VaultHost } from "../host.js";
import type { Address } from "../protocol/index.js";
import { describeRound } from "../protocol/round.js";
import { noRetries } from "../rpc/rpc-client.js";
import { Following, OF_ANOTHER } from "../sending/follow.js";
import { TimeLimit, refusedBy } from "../sending/job.js";
import type { Job, Replacing, End, Stopped } from "../sending/job.js";
import { Journal } from "../sending/journal.js";
import type { JournalEntry } from "../sending/journal.js";
import { findFreeNonce, inTurn, resolveSigner } from "../sending/signer.js";
import type { Signer } from "../sending/signer.js";
import {
  describeProblem,
  newestOf,
  requireReplaceable,
  sign,
  signReplacement,
} from "../sending/transaction.js";
import type { Simulation } from "../simulation/types.js";
import {
  findObstacle,
  readCurrentRound,
  readRoundAt,
  roundChecker,
} from "./current-round.js";
import type { RoundAtBlock } from "./current-round.js";
import { readResult, stillUnfinished, toSettlement } from "./effect.js";
import type { SettlementResult } from "./effect.js";
import { defaultConfirmations, parseOptions } from "./options.js";
import type { ParsedOptions, SettleAllOptions, Settlement } from "./options.js";
import { agree, propose } from "./prepare.js";
import type { Agreed } from "./prepare.js";

/** As in Hardhat Ignition. */
const DEFAULT_FEE_BUMPS = 4;
/** Milliseconds to read what a settlement did, even if the timeout is over. */
const LEAST_READING_MS = 10_000;

/** @see HardhatVault.settleAll */
export async function runSettlement(
  vault: VaultHost,
  given: SettleAllOptions,
): Promise<SettlementResult> {
  const options = parseOptions(vault, await withAddress(given));
  const resultOf = async (
    steps: (run: SettlementRun) => Promise<SettlementResult | Stopped>,
  ): Promise<SettlementResult> => {
    const run = new SettlementRun(vault, options);
    return await run.toResult(steps(run));
  };
  const resume = async (): Promise<SettlementResult> =>
    await resultOf(async (run) => await run.resume());
  if (options.resume === true) {
    return await resume();
  }
  if (options.assertOnly === true) {
    return await resultOf(async (run) => await run.requireSettled());
  }
  const result = await resultOf(async (run) => await run.settle());
  return options.resumeFirst === true &&
    result.settlement.code === "VAULT_SETTLEMENT_UNFINISHED"
    ? await resume()
    : result;
}

/** The steps of one run, and what is known by now for the result of the one that ends it. */
class SettlementRun {
  #at: RoundAtBlock | undefined;
  #guard: Address | undefined;
  #preview: Simulation | null = null;
  /** What an earlier run began, once it is known not to be finished. */
  #unfinished: JournalEntry | undefined;

  constructor(
    private readonly vault: VaultHost,
    private readonly options: ParsedOptions,
  ) {}

  /**
   * Waits for the step that ends the run. An error of `refusals` in error-table.ts ends it, too,
   * as `refused`; throws any other, such as a node that does not answer or a wrong option.
   */
  public async toResult(
    steps: Promise<SettlementResult | Stopped>,
  ): Promise<SettlementResult> {
    const ended = await steps.catch((error: unknown) => {
      if (refusesSettlement(error)) {
        return refusedBy(error);
      }
      throw error;
    });
    const { chainId, block, round } = this.#at ?? {};
    if (!("kind" in ended)) {
      return { ...ended, block: ended.block ?? block };
    }
    const { error } = ended;
    const unfinished = this.#unfinished;
    // VAULT_SETTLEMENT_UNFINISHED names the transaction of another run.
    const { transaction } = error?.details ?? {};
    const found = isHexString(transaction, 32) ? transaction : undefined;
    const reason = stillUnfinished(ended.reason);
    const end =
      unfinished === undefined
        ? { ...ended, hash: found }
        : { ...ended, hash: newestOf(unfinished).hash, reason };
    const before = { round, guard: this.#guard, preview: this.#preview };
    return {
      settlement: toSettlement(end, unfinished ?? before),
      isFinal: unfinished === undefined,
      chainId: chainId ?? (await this.vault.chainId()),
      block,
      error,
    };
  }

  /** Refuses if there is a round to settle; needs no account, and sends nothing. */
  public async requireSettled(): Promise<Stopped> {
    const { vault } = this;
    const { ifExpired } = this.options;
    const current = await readCurrentRound(vault);
    this.#at = current;
    const details = { round: describeRound(current.round) };
    return (
      (await findObstacle(vault, current, { ifExpired })) ??
      refusedBy(vaultError("VAULT_SETTLEMENT_NEEDED", details))
    );
  }

  /** A new settlement, in its turn among those of the account. */
  public async settle(): Promise<SettlementResult | Stopped> {
    const { rpc, connection } = this.vault;
    const { from } = this.options;
    const signer = await resolveSigner(rpc, connection.networkConfig, from);
    const { address } = signer;
    return await inTurn(rpc, address, async () => await this.#settleAs(signer));
  }

  /**
   * Reads the round and the journal, finds the route, and whether there is anything to do;
   * simulates, shows and asks; signs, writes the journal, and follows. Each step before the
   * journal may end the run, and nothing is sent before it.
   */
  async #settleAs(signer: Signer): Promise<SettlementResult | Stopped> {
    const { vault, options } = this;
    const { ifExpired, partial, tokens = [] } = options;
    const current = await readCurrentRound(vault);
    this.#at = current;
    const { chainId, contract, round } = current;
    const journal = await Journal.of(vault, chainId, contract.address);
    await journal.refuseUnfinishedElseClear();
    const route = await findRoute(vault, signer.address, "latest", {
      round,
      mustHaveEnded: ifExpired,
      mustSettle: partial !== true,
      tokens,
    });
    this.#guard = route.guard?.address;
    // Only now, so that a wrong key or guard fails every run of a keeper.
    const obstacle = await findObstacle(vault, current, { ifExpired });
    if (obstacle !== undefined) {
      return obstacle;
    }
    const reverted = await journal.findRevertBefore(vault.networkName, round);
    const refusal = this.#checkRevertBefore(reverted);
    if (refusal !== undefined) {
      return refusal;
    }
    const proposal = await propose(vault, { signer, route, current }, options);
    this.#preview = proposal.preflight.preview;
    const answered = await agree(vault, proposal, options);
    if (answered.stop !== undefined) {
      return answered.stop;
    }
    await journal.requireSameChainKind(vault);
    // Another process may have begun one before the user confirmed, and paid for a revert, also
    // while a person signed.
    await journal.refuseUnfinishedElseClear();
    const entry = await signEntry(vault, answered, options);
    const since = await journal.findRevertBefore(vault.networkName, round);
    if (since !== undefined && since.message !== reverted?.message) {
      return refusedBy(since);
    }
    await journal.begin(entry);
    return await this.#followToEnd(journal, entry, signer);
  }

  /** It may revert again, at the same price. A person is told; unattended it is refused. */
  #checkRevertBefore(reverted: VaultError | undefined): Stopped | undefined {
    const { confirm, retryReverted, emit } = this.options;
    if (reverted === undefined) {
      return undefined;
    }
    const isUnattended = confirm === undefined;
    if (isUnattended && retryReverted !== true) {
      return refusedBy(reverted);
    }
    emit({ type: "trouble", message: reverted.shortMessage });
    return undefined;
  }

  /** Follows the transaction of an earlier process, or replaces it. */
  public async resume(): Promise<SettlementResult> {
    const { vault, options } = this;
    const at = await readRoundAt(vault, "latest");
    this.#at = at;
    const { chainId, contract, block } = at;
    const journal = await Journal.of(vault, chainId, contract.address);
    const unfinished = await journal.read();
    this.#unfinished = unfinished;
    if (unfinished === undefined) {
      const { address } = contract;
      const settlement = await readFinishedSettlement(vault, journal, address);
      return { settlement, isFinal: true, chainId, block };
    }
    const entry = { ...unfinished, resumed: true } as const;
    const newest = newestOf(entry);
    const signer =
      options.replacement === undefined
        ? undefined
        : await requireReplaceable(vault, newest);
    if (!(await journal.update(entry))) {
      // The process that began it, or another one, has just finished it.
      return await this.resume();
    }
    const { hash = null, nonce, from } = newest;
    options.emit({ type: "resuming", hash, nonce });
    return await inTurn(
      vault.rpc,
      from,
      async () => await this.#followToEnd(journal, entry, signer),
    );
  }

  /**
   * Sends the transaction of the journal, or looks for it after a resume; follows it until
   * the end, and reports that. Never throws: after a failure it may have left.
   *
   * If nothing more can be found out, the journal is released: the next settlement may begin.
   * Else it stays, to be resumed.
   *
   * @param signer Signs replacements. Default: the transaction's account, once one is due.
   */
  async #followToEnd(
    journal: Journal,
    entry: JournalEntry,
    signer: Signer | undefined,
  ): Promise<SettlementResult> {
    const { vault, options } = this;
    const limit = new TimeLimit(options.timeoutMs, vault.rpc);
    const job = this.#jobOf(journal, entry, limit);
    const replacing = this.#replacingBy(signer);
    const following = new Following({ ...job, replacing });
    for (;;) {
      const reached = await following.toEnd();
      const { transactions } = following;
      const followed: JournalEntry = { ...entry, transactions };
      const end =
        reached.kind === "stopped"
          ? await this.#abandon(journal, followed, reached)
          : reached;
      const result = await readResult(
        vault,
        followed,
        end,
        this.#preview,
        Math.max(limit.remaining, LEAST_READING_MS),
      );
      if (result.isFinal && end.kind !== "stopped") {
        const finished = { ...followed, end: endOf(result.settlement) };
        await journal.finish(finished).catch((error: unknown) => {
          options.emit({ type: "trouble", message: describeProblem(error) });
        });
      }
      // Mined, but its block or its effect cannot be read: a re-org may have moved it.
      if (result.isFinal || end.kind !== "mined" || limit.isOver) {
        return result;
      }
    }
  }

  /** Nothing has left this process; another one that resumed the settlement may have sent it. */
  async #abandon(
    journal: Journal,
    entry: JournalEntry,
    stopped: Stopped,
  ): Promise<End> {
    const isGone = await journal.abandon(entry).catch((error: unknown) => {
      const message = describeProblem(error);
      this.options.emit({ type: "trouble", message });
      // The file stays: who resumes it finds nothing sent.
      return true;
    });
    return isGone
      ? stopped
      : {
          kind: "undecided",
          status: "unconfirmed",
          reason: `This process sent nothing: ${stopped.reason} But ${OF_ANOTHER}.`,
          hash: newestOf(entry).hash,
        };
  }

  #jobOf(journal: Journal, entry: JournalEntry, limit: TimeLimit): Job {
    const { vault, options } = this;
    const { emit, pollingIntervalMs } = options;
    const { transactions, sentAfterBlock, round, resumed } = entry;
    const limited = vault.withOptions({ signal: limit.signal });
    const ifExpired = options.ifExpired || entry.ifExpired === true;
    return {
      rpc: limited.rpc.withRetries(noRetries),
      transactions,
      isResumed: resumed === true,
      sentAfterBlock,
      confirmations:
        options.confirmations ?? defaultConfirmations(vault, journal.chainKind),
      limit,
      pollingIntervalMs,
      emit,
      checkRound: roundChecker(limited, { intended: round, ifExpired }),
      record: async (all) =>
        await journal.update({ ...entry, transactions: all }),
    };
  }

  #replacingBy(signer: Signer | undefined): Replacing {
    const { vault, options } = this;
    const { timeBeforeBumpingFees, maxFeeBumps = DEFAULT_FEE_BUMPS } =
      vault.settings;
    return {
      requested: options.replacement,
      // A person who resumes decides about the fee.
      timeBeforeBumpingFees:
        options.resume === true ? undefined : timeBeforeBumpingFees,
      maxFeeBumps,
      sign: async (newest, kind) => {
        const by = signer ?? (await requireReplaceable(vault, newest));
        return await signReplacement(vault, newest, kind, {
          ...options,
          signer: by,
        });
      },
    };
  }
}

/** Signs the transaction, and makes what is written to the journal before it is sent. */
async function signEntry(
  { rpc }: VaultHost,
  { signer, route, current, gas, price, preflight }: Agreed,
  { limits, ifExpired, partial }: ParsedOptions,
): Promise<JournalEntry> {
  const { chainId, block, round } = current;
  const nonce = await findFreeNonce(rpc, signer, block.number);
  // In process Hardhat fills in the fees, which are free, unless there is a limit.
  const fees =
    signer.kind === "in-process" && limits.maxFeePerGas === undefined
      ? undefined
      : price.fees;
  const call = { ...settlementCall(route), chainId, nonce, gas, fees };
  const transaction = await sign(rpc, signer, call);
  const preparedAt = Date.now();
  // A person who was shown that it does not settle the round has agreed.
  const isStep =
    partial === true || preflight.preview?.status === "not-settled";
  return {
    sentAfterBlock: block.number,
    round,
    transactions: [{ ...transaction, kind: "settlement", preparedAt }],
    guard: route.guard?.address,
    ifExpired: ifExpired ? true : undefined,
    partial: isStep ? true : undefined,
  };
}

const failures = ["not-settled", "refused", "reverted", "unconfirmed"] as const;

/**
 * Reads the settlement that an earlier run finished. What was no success keeps its status;
 * after a success there is nothing to do.
 *
 * @throws VaultError VAULT_NOTHING_TO_RESUME
 */
async function readFinishedSettlement(
  { networkName: network }: VaultHost,
  journal: Journal,
  vault: Address,
): Promise<Settlement> {
  const last = await journal.readFinished();
  if (last === undefined) {
    const file = journal.isKept
      ? journal.file
      : "in process there is no journal";
    throw vaultError("VAULT_NOTHING_TO_RESUME", { vault, network, file });
  }
  const { round, end } = last;
  const { status, code, reason, mined } = end ?? {};
  const where = mined === undefined ? "" : ` in block ${mined.blockNumber}`;
  const finished = `An earlier run finished the settlement of ${describeRound(round)}: ${status ?? "nothing was mined"}${where}.`;
  const problem = code !== undefined && isErrorCode(code) ? code : null;
  // A success with a code left tokens in the guard: it is told of again.
  const afterSuccess = problem === null ? "nothing-to-do" : "settled";
  return toSettlement(
    {
      hash: mined?.hash ?? newestOf(last).hash,
      blockNumber: mined?.blockNumber,
      status: failures.find((failure) => failure === status) ?? afterSuccess,
      code: problem,
      reason: reason === undefined ? finished : `${finished} ${reason}`,
    },
    last,
  );
}

/** The end as the journal keeps it. */
function endOf({
  status,
  code,
  reason,
  blockNumber,
  hash,
}: Settlement): JournalEntry["end"] {
  const mined =
    blockNumber === null || hash === null ? undefined : { blockNumber, hash };
  return {
    status,
    code: code ?? undefined,
    reason: reason ?? undefined,
    mined,
  };
}
