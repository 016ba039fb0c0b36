import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../src/client/read-at-block.js";
import type {
  FailedReading,
  ReadOptions,
} from "../src/client/read-at-block.js";
import { takePinnedSnapshot } from "../src/client/snapshot.js";
import type { VaultSnapshot } from "../src/client/snapshot.js";
import type { VaultError } from "../src/errors.js";
import type { VaultHost } from "../src/host.js";
import type { DisplaySettings } from "../src/protocol/index.js";
import {
  findNextRun,
  findSettler,
  findUnfinished,
} from "../src/settlement/next-run.js";
import type { PinnedBlock } from "../src/rpc/blocks.js";
import { clockForRoundEnd } from "../src/settlement/current-round.js";
import { readOnBranch } from "../src/rpc/blocks.js";
import type {
  NextRun,
  UnfinishedSettlement,
} from "../src/settlement/next-run.js";
import { escapeUntrusted } from "../src/escape.js";
import { toned } from "./output/blocks.js";
import type { Cell, Envelope } from "./output/blocks.js";
import {
  describeAnswer,
  failedCell,
  failuresOf,
  valuesIn,
} from "./output/values.js";

/** A vault's state as a keeper needs it, without the readings. */
export interface KeeperState extends Pick<NextRun, "code" | "reason"> {
  /** Null if there is no round, or it cannot be read. */
  readonly expired: boolean | null;
  /** Seconds to the round's end, negative after it; null as `expired`, and above 2^53. */
  readonly secondsToEnd: number | null;
  readonly canBeSettled: NextRun["canBeSettled"] | FailedReading;
  readonly canBeSettledBy: string;
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
 * @param time Unix seconds by which a round has ended or not, if the block that is named is the
 * newest one. Default: as for a settlement at the newest block, else those of the block.
 */
export async function readState(
  vault: VaultHost,
  target: ReadOptions,
  time?: number,
): Promise<VaultState> {
  const { blockTag = "latest" } = target;
  const [{ snapshot, pin }, settler, found] = await Promise.all([
    takePinnedSnapshot(vault, target),
    findSettler(vault, target.from),
    findUnfinished(vault).catch(failedReading),
  ]);
  const { chainId, block, ...readings } = snapshot;
  const { round } = readings;
  // Without an address, nothing can be under way.
  const open =
    isFailedReading(found) && isNotConfigured(found.error) ? null : found;
  const isNow = blockTag === "latest" || time !== undefined;
  const now =
    time ?? (isNow ? await clockForRoundEnd(vault, block) : block.timestamp);
  // Where blocks are made on demand, the next one may be past the round's end.
  const isLater = isNow && now > block.timestamp;
  const at = isLater || blockTag === "pending" ? "pending" : pin;
  const run = await readOnBranch(
    vault.rpc,
    pin,
    async () =>
      await findNextRun(vault, settler, {
        ...readings,
        block,
        open: isNow ? open : undefined,
        at,
      }),
  ).catch(failedReading);
  const { canBeSettled, code, reason } = isFailedReading(run)
    ? { canBeSettled: run, code: null, reason: null }
    : run;
  const failed = [run, open].flatMap((one) =>
    isFailedReading(one) && !isNotConfigured(one.error) ? one.error : [],
  );
  const left =
    isFailedReading(round) || round.endTime === 0n
      ? null
      : round.endTime - BigInt(now);
  return {
    name: vault.instanceName,
    settings: vault.settings,
    envelope: { network: vault.networkName, chainId, block },
    pin,
    readings,
    time: now,
    keeper: {
      expired: left === null ? null : left <= 0n,
      secondsToEnd: left === null || left > MOST_SECONDS ? null : Number(left),
      canBeSettled,
      canBeSettledBy: settler.address,
      code,
      reason,
      openSettlement: open,
    },
    failures: [...failuresOf(readings), ...failed],
    // A damaged journal is no fault of the node.
    isUp:
      !isFailedReading(run) &&
      failuresOf(readings).every(isNotConfigured) &&
      valuesIn(readings).some(({ value }) => !isFailedReading(value)),
  };
}

const MOST_SECONDS = BigInt(Number.MAX_SAFE_INTEGER);

/** The label of `canBeSettled`. */
export const ATTEMPT = "Can be settled";

/** The text of `canBeSettled`, with the reason if it is not true. */
export function describeAttempt({ keeper }: VaultState): Cell {
  const { canBeSettled, reason } = keeper;
  if (isFailedReading(canBeSettled)) {
    return failedCell(canBeSettled);
  }
  const why = reason === null ? "" : `, ${escapeUntrusted(reason)}`;
  const text = describeAnswer(canBeSettled) + why;
  return canBeSettled === true ? toned("good", text) : { text };
}
