import { hasErrorCode } from "../src/errors.js";
import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../src/client/failed-reading.js";
import type { FailedReading } from "../src/client/failed-reading.js";
import type { ReadOptions } from "../src/client/reader.js";
import { takePinnedSnapshot } from "../src/client/snapshot.js";
import type { VaultSnapshot } from "../src/client/snapshot.js";
import type { VaultError } from "../src/errors.js";
import type { VaultHost } from "../src/host.js";
import type { DisplaySettings } from "../src/protocol/index.js";
import { hasEnded } from "../src/protocol/round.js";
import { findUnfinished } from "../src/settlement/unfinished-settlement.js";
import type { BlockId, PinnedBlock } from "../src/rpc/block-id.js";
import { endTime } from "../src/settlement/head-age.js";

import { readOnBranch } from "../src/rpc/pinned-block.js";
import type { UnfinishedSettlement } from "../src/settlement/unfinished-settlement.js";
import { findNextRun, findSettler } from "../src/settlement/can-be-settled.js";
import type { NextRun } from "../src/settlement/can-be-settled.js";
import { escapeUntrusted } from "../src/escape.js";
import { toned } from "./output/blocks.js";
import type { Cell, Envelope } from "./output/blocks.js";
import { describeAnswer } from "./output/format-value.js";
import { failuresOf, valuesIn } from "./output/readings.js";

/** A vault's state as a keeper needs it, without the readings. */
export interface KeeperState {
  /** Null if there is no round, or it cannot be read. */
  readonly expired: boolean | null;
  /** Seconds to the round's end, negative after it; null as `expired`, and above 2^53. */
  readonly secondsToEnd: number | null;
  readonly canBeSettled: NextRun["canBeSettled"] | FailedReading;
  readonly canBeSettledBy: string;
  /** Why not, if `canBeSettled` is not true, and the code of that. */
  readonly code: NextRun["code"];
  readonly reason: NextRun["reason"];
  /** Null if no settlement of this project is under way. */
  readonly openSettlement: UnfinishedSettlement | null | FailedReading;
}

/** A vault at one block. */
export interface VaultState {
  /** The instance; undefined for the network's own contracts. */
  readonly name: string | undefined;
  readonly settings: DisplaySettings;
  readonly envelope: Envelope;
  readonly pin: PinnedBlock;
  readonly readings: Omit<VaultSnapshot, "chainId" | "block">;
  /** Unix seconds that `keeper.expired` compares with the round's end. */
  readonly time: number;
  readonly keeper: KeeperState;
  /** Of the readings, and of the keeper's questions. */
  readonly failures: readonly VaultError[];
  /** True if something was read, and nothing with an address failed. */
  readonly isUp: boolean;
}

/**
 * Reads a vault at one block.
 *
 * @param time Unix seconds by which a round has ended or not. Default: those of the block that
 * is read, and at the newest one, as for a settlement.
 */
export async function readState(
  vault: VaultHost,
  target: ReadOptions,
  time?: number,
): Promise<VaultState> {
  const [{ snapshot, pin }, settler, open] = await Promise.all([
    takePinnedSnapshot(vault, target),
    findSettler(vault, target.from),
    findUnfinished(vault).catch(failedReading),
  ]);
  const { chainId, block, ...readings } = snapshot;
  const { round } = readings;
  const { blockTag = "latest" } = target;
  const now =
    time ??
    (blockTag === "latest" ? await endTime(vault, block) : block.timestamp);
  const isRound = !isFailedReading(round) && round.endTime !== 0n;
  const isNow = blockTag === "latest" || time !== undefined;
  const known = { ...readings, block, open: isNow ? open : undefined };
  const runAt = async (at: BlockId): Promise<NextRun> =>
    await readOnBranch(
      vault.rpc,
      pin,
      async () => await findNextRun(vault, settler, { ...known, at }),
    );
  // Where blocks are made on demand, the next one may be past the round's end.
  const isLater = isNow && now > block.timestamp;
  const run = await (
    blockTag === "pending" || isLater
      ? runAt("pending").catch(async (error: unknown) => {
          if (isLater && hasErrorCode(error, "VAULT_RPC_ERROR")) {
            return await runAt(pin);
          }
          throw error;
        })
      : runAt(pin)
  ).catch(failedReading);
  const failures = [
    ...failuresOf(readings),
    ...[run, open].flatMap((one) =>
      // The readings name a missing address.
      isFailedReading(one) && !isNotConfigured(one.error) ? one.error : [],
    ),
  ];
  const journalError = isFailedReading(open) ? open.error : undefined;
  return {
    name: vault.instanceName,
    settings: vault.settings,
    envelope: { network: vault.networkName, chainId, block },
    pin,
    readings,
    time: now,
    keeper: {
      expired: isFailedReading(round) ? null : hasEnded(round, now),
      secondsToEnd: isRound ? secondsUntil(round.endTime, now) : null,
      canBeSettled: isFailedReading(run) ? run : run.canBeSettled,
      canBeSettledBy: settler.address,
      code: isFailedReading(run) ? null : run.code,
      reason: isFailedReading(run) ? null : run.reason,
      // Without an address, nothing can be under way.
      openSettlement:
        isFailedReading(open) && isNotConfigured(open.error) ? null : open,
    },
    failures,
    // A damaged journal is no fault of the node.
    isUp:
      failures.every(
        (error) => isNotConfigured(error) || error === journalError,
      ) && valuesIn(readings).some(({ value }) => !isFailedReading(value)),
  };
}

/** @returns Null if a number cannot hold it exactly. */
function secondsUntil(end: bigint, now: number): number | null {
  const seconds = end - BigInt(now);
  return seconds <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seconds) : null;
}

/** The label of `canBeSettled`. */
export const ATTEMPT = "Can be settled";

/** The text of `canBeSettled`, with the reason if it is not true. */
export function describeAttempt({ keeper }: VaultState): Cell {
  const { canBeSettled, reason } = keeper;
  if (isFailedReading(canBeSettled)) {
    return toned("bad", `failed: ${canBeSettled.error.shortMessage}`);
  }
  const why = reason === null ? "" : `, ${escapeUntrusted(reason)}`;
  return { text: describeAnswer(canBeSettled) + why };
}
