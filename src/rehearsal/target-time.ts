import { describeInput, givenInput } from "../client/inputs.js";
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

/** The largest time that is exact as a JavaScript number. */
const MAX_TIME_SECONDS = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * Refuses what is no time at all, before any request.
 *
 * @throws VaultError VAULT_INVALID_TIME, VAULT_INVALID_INTEGER
 */
export function checkTime(time: SimulationTime | undefined): void {
  if (time !== undefined && time !== END) {
    readTime(time, 0);
  }
}

/**
 * The timestamp of the simulated block; undefined for the chain's own clock.
 *
 * `end` is the round's last second, `endTime` itself. Where that has passed,
 * the round has ended already and the chain's own clock will do: time moves
 * forwards only.
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
  if (time === END) {
    if (round === undefined) {
      throw invalidArgument(
        WHERE,
        "the round's end is not known, since the round cannot be read",
      );
    }
    return round.endTime <= BigInt(chainTime)
      ? undefined
      : withinRange(round.endTime, END);
  }
  const target = readTime(time, chainTime);
  requireFuture(target, WHERE, chainTime);
  return withinRange(target, time);
}

function readTime(time: SimulationTime, chainTime: number): bigint {
  if (typeof time === "string") {
    return parseTime(time, WHERE, chainTime, [END]);
  }
  if (time < 0 || !Number.isInteger(Number(time))) {
    throw notATime(WHERE, [END], givenInput(time));
  }
  return BigInt(time);
}

function withinRange(target: bigint, time: SimulationTime): number {
  if (target > MAX_TIME_SECONDS) {
    throw notATime(
      WHERE,
      [],
      `${describeInput(time)}, which is ${target} seconds: too late for any block`,
    );
  }
  return Number(target);
}
