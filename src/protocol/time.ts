/** The last second that a JavaScript date can name. */
export const LAST_DATE_SECONDS = 8_640_000_000_000n;

/** Unix seconds as an ISO date in UTC, or as they are where no date is so far. */
export function describeTime(seconds: bigint): string {
  return seconds > LAST_DATE_SECONDS
    ? `${seconds} (Unix seconds)`
    : new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z");
}
