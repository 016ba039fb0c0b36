import { invalidArgument, vaultError } from "../errors.js";
import type { ErrorArgument, VaultError } from "../errors.js";
import { describeTime } from "../protocol/index.js";
import { givenInput, parseUint256 } from "./inputs.js";

const spanSeconds: Readonly<Record<string, bigint>> = {
  s: 1n,
  m: 60n,
  h: 3_600n,
  d: 86_400n,
  w: 604_800n,
};

/**
 * Parses Unix seconds, a span from the chain's clock such as `+1h`, or an ISO date.
 * A date without a zone is UTC. Fractions of a second are dropped. Seconds that could be
 * milliseconds are refused.
 *
 * @param words Other values that the caller accepts, for the error.
 */
export function parseTime(
  text: string,
  where: string,
  chainTime: number,
  words: readonly string[] = [],
): bigint {
  if (/^[0-9]+$/u.test(text)) {
    const seconds = parseUint256(BigInt(text), where);
    refuseMilliseconds(seconds, where);
    return seconds;
  }
  const [, count, spanUnit = ""] = /^\+([0-9]+)([smhdw])$/u.exec(text) ?? [];
  if (count !== undefined) {
    return parseUint256(
      BigInt(chainTime) + BigInt(count) * (spanSeconds[spanUnit] ?? 0n),
      where,
    );
  }
  const [, date, time = "T00:00:00", zone = "Z"] =
    /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?(Z|[+-]\d{2}:\d{2})?$/u.exec(
      text,
    ) ?? [];
  const milliseconds = Date.parse(`${date ?? ""}${time}${zone}`);
  // Date.parse turns 31 February into March, which the comparison detects.
  const isRealDate =
    date !== undefined &&
    !Number.isNaN(milliseconds) &&
    new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  if (!isRealDate || milliseconds < 0) {
    throw notATime(where, words, givenInput(text));
  }
  return BigInt(Math.floor(milliseconds / 1_000));
}

/** The year 5138 in seconds, and 1973 in milliseconds. */
const FIRST_DOUBTFUL = 10n ** 11n;
/** The year 5138 in milliseconds. */
const LAST_DOUBTFUL = 10n ** 14n;

/** Refuses seconds that are far from any round, but a usual time as milliseconds. */
function refuseMilliseconds(time: bigint, where: string): void {
  if (time >= FIRST_DOUBTFUL && time < LAST_DOUBTFUL) {
    const seconds = time / 1_000n;
    throw invalidArgument(
      where,
      `${time} is ${describeTime(time)} in seconds, and ${describeTime(seconds)} in milliseconds`,
      `Give seconds: ${seconds}.`,
    );
  }
}

export function notATime(
  where: string,
  words: readonly string[],
  value: ErrorArgument,
): VaultError {
  return vaultError("VAULT_INVALID_TIME", {
    where,
    form: words.length === 0 ? "a time" : `${words.join(", ")} or a time`,
    value,
  });
}

/** @throws VaultError VAULT_TIME_IN_PAST if the chain's clock has reached the time */
export function requireFuture(
  time: bigint,
  where: string,
  chainTime: number,
): void {
  if (time <= BigInt(chainTime)) {
    throw vaultError("VAULT_TIME_IN_PAST", {
      where,
      value: describeTime(time),
      chainTime: describeTime(BigInt(chainTime)),
    });
  }
}
