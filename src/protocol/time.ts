/** The last second that a JavaScript date can hold. */
export const LAST_DATE_SECONDS = 8_640_000_000_000n;

/** Formats Unix seconds as an ISO date in UTC; as seconds if they exceed a date. */
export function describeTime(seconds: bigint): string {
  return seconds > LAST_DATE_SECONDS
    ? `${seconds} (Unix seconds)`
    : new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z");
}
