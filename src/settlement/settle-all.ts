import type { BlockInfo } from "../rpc/node.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { SettlementContext } from "./context.js";
import type { Progress } from "./context.js";
import { execute } from "./execute.js";
import type { Fees } from "./fees.js";
import type { JournalEntry } from "./journal.js";
import { requireCode, runPreflight } from "./preview.js";
import type { PreflightSubject } from "./preview.js";
import { resume } from "./resume.js";
import { describeRound } from "../protocol/round.js";
import { resolveSigner } from "./signer.js";
import type { Signer } from "./signer.js";
import { SettlementStopped, asStopped, refusal } from "./stopped.js";
import { prepareTransaction } from "./transaction.js";
import type { SettleAllOptions, Settlement } from "./types.js";

export type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
  SettlementStatus,
  SigningKind,
} from "./types.js";

/** A settlement, and where on the chain it was looked at. */
export interface LocatedSettlement {
  readonly settlement: Settlement;
  readonly chainId: number;
  /** The block of `before`; undefined if none was read. */
  readonly block: BlockInfo | undefined;
  /** The block of the transaction, where its time came along. */
  readonly minedBlock: BlockInfo | undefined;
}

/** @see HardhatVault.settleAll */
export async function settleAll(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<Settlement> {
  return (await settleLocated(vault, options)).settlement;
}

/** Like {@link settleAll}, for a caller that has to name chain and block. */
export async function settleLocated(
  vault: VaultHost,
  options: SettleAllOptions,
): Promise<LocatedSettlement> {
  const progress: Progress = {};
  let settlement: Settlement;
  try {
    settlement =
      options.resume === true
        ? await resume(vault, options, progress)
        : await settle(vault, options, progress);
  } catch (error) {
    const stopped = asStopped(error);
    if (stopped === undefined) {
      throw error;
    }
    settlement = notSent(stopped, progress.round);
  }
  const { blockNumber } = settlement;
  const timestamp = progress.blockTimes?.get(blockNumber ?? -1);
  return {
    settlement,
    minedBlock:
      blockNumber === null || timestamp === undefined
        ? undefined
        : { number: blockNumber, timestamp },
    // Not asked again where the settlement itself has asked.
    chainId: progress.chainId ?? (await vault.chainId()),
    block: progress.header,
  };
}

async function settle(
  vault: VaultHost,
  options: SettleAllOptions,
  progress: Progress,
): Promise<Settlement> {
  const { context, header, observation } =
    await SettlementContext.createWithLook(vault, options);
  const { chain, chainId, contract, journal } = context;
  progress.chainId = chainId;
  progress.blockTimes = context.blockTimes;
  const config = vault.connection.networkConfig;
  const signer =
    options.assertOnly === true
      ? undefined
      : await resolveSigner(chain, config, options.from);
  const round = await observation.round();
  progress.header = header;
  progress.round = round;

  const genesisHash =
    signer === undefined ? "unknown" : await context.genesisHash();
  if (signer !== undefined) {
    refuseBehind(await journal?.findUnfinished(genesisHash), journal?.file);
  }
  if (round.settled) {
    throw new SettlementStopped(
      "nothing-to-do",
      "The round is settled already.",
    );
  }
  if (signer === undefined) {
    throw refusal("VAULT_SETTLEMENT_NEEDED", { round: describeRound(round) });
  }

  const call = {
    from: signer.address,
    to: contract.address,
    data: context.data,
  };
  if (observation.hasCode !== true) {
    await requireCode(chain, contract);
  }
  const { gas, fees } = await agree(context, options, {
    chainId,
    round,
    contract,
    signer,
    call,
    header,
    config,
  });
  const transaction = await prepareTransaction(chain, signer, {
    ...call,
    chainId,
    nonce: await freeNonce(context, signer),
    gas,
    fees: signer.kind === "in-process" ? undefined : fees,
  });
  const entry: JournalEntry = {
    finished: false,
    chainId,
    genesisHash,
    vault: contract.address,
    sentAfterBlock: header.number,
    round,
    transaction,
  };
  // Another process may have begun one while the question was open.
  refuseBehind(await journal?.begin(entry), journal?.file);
  await checkBeforeSending(context, entry);
  context.announce(transaction);
  return await execute(context, entry, "send");
}

/** Shows what will happen and asks, unless there is a reason not to go on. */
async function agree(
  { chain, emit }: SettlementContext,
  { confirm }: SettleAllOptions,
  subject: PreflightSubject,
): Promise<{ gas: bigint; fees: Fees }> {
  const preflight = await runPreflight(chain, subject);
  const { shown } = preflight;
  emit({ type: "preflight", preflight: shown });
  if (!preflight.ok) {
    throw new SettlementStopped("reverted", shown.reason ?? "");
  }
  if (shown.balance < preflight.maxCost) {
    throw refusal("VAULT_INSUFFICIENT_FUNDS", {
      from: shown.from,
      network: chain.network,
      balance: shown.balance,
      cost: preflight.maxCost,
    });
  }
  const answer = (await confirm?.(shown)) ?? true;
  if (answer !== true) {
    throw new SettlementStopped("refused", answer);
  }
  return preflight;
}

/**
 * A settlement whose outcome is not known yet is never followed by another
 * one: two transactions could settle two rounds.
 */
function refuseBehind(
  unfinished: JournalEntry | undefined,
  file: string | undefined,
): void {
  if (unfinished !== undefined) {
    const { hash, nonce } = unfinished.transaction;
    throw refusal(
      "VAULT_SETTLEMENT_UNFINISHED",
      {
        transaction: hash ?? `the one with nonce ${nonce}, its hash not known`,
        file: file ?? "",
      },
      hash,
    );
  }
}

/**
 * The account's next nonce. Behind transactions that wait already, ours would
 * be stuck with them, and one of them may be a settlement.
 */
async function freeNonce(
  { chain }: SettlementContext,
  { address, kind }: Signer,
): Promise<number> {
  if (kind === "in-process") {
    return await chain.nonce(address, "pending");
  }
  const [mined, pending] = await Promise.all([
    chain.nonce(address, "latest"),
    chain.nonce(address, "pending"),
  ]);
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

/** The last look before the transaction leaves for the first time. */
async function checkBeforeSending(
  context: SettlementContext,
  entry: JournalEntry,
): Promise<void> {
  try {
    const obstacle = await context.checkRound(entry.round);
    if (obstacle !== undefined) {
      throw obstacle;
    }
  } catch (error) {
    // Nothing has left, so there is nothing to resume.
    await context.journal?.update({ ...entry, finished: true });
    throw error;
  }
}

function notSent(
  { status, reason, hash }: SettlementStopped,
  round: VaultRound | undefined,
): Settlement {
  return {
    status,
    reason,
    hash: hash ?? null,
    blockNumber: null,
    gasUsed: null,
    before: round ?? null,
    after: null,
  };
}
