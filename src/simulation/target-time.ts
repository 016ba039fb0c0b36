import { describeInput } from "../client/inputs.js";
import { notATime, parseTime, requireFuture } from "../client/parse-time.js";
import { invalidArgument } from "../errors.js";
import type { VaultRound } from "../protocol/index.js";

/**
 * When to settle: `end` for the round's end, a span from the chain's clock
 * (`+1h`), an ISO date, or Unix seconds.
 */
export type SimulationTime = string | number | bigint;

const END = "end";
const WHERE = "atTime";

/**
 * Refuses what is no time at all, before any request.
 *
 * @throws VaultError VAULT_INVALID_TIME, VAULT_INVALID_INTEGER
 */
export function checkTime(time: SimulationTime | undefined): void {
  if (time !== undefined && time !== END) {
    parseTime(String(time), WHERE, 0, [END]);
  }
}

/**
 * The timestamp of the simulated block; undefined for the chain's own clock.
 *
 * `end` is the round's last second, `endTime` itself. Once that has passed, the
 * chain's own clock will do: time moves forwards only.
 *
 * @param chainTime Timestamp of the block before, Unix seconds.
 * @throws VaultError VAULT_TIME_IN_PAST, VAULT_INVALID_TIME
 */
export function targetTime(
  time: SimulationTime | undefined,
  chainTime: number,
  round: VaultRound | undefined,
): number | undefined {
  if (time === undefined) {
    return undefined;
  }
  let target: bigint;
  if (time !== END) {
    target = parseTime(String(time), WHERE, chainTime, [END]);
    requireFuture(target, WHERE, chainTime);
  } else if (round === undefined) {
    throw invalidArgument(
      WHERE,
      "the round's end is not known, since the round cannot be read",
    );
  } else if (round.endTime <= BigInt(chainTime)) {
    return undefined;
  } else {
    target = round.endTime;
  }
  if (target > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw notATime(
      WHERE,
      [],
      `${describeInput(time)}, which is ${target} seconds: too late for any block`,
    );
  }
  return Number(target);
}
