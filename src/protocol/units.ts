/**
 * Scales of the values of the contracts. `raw` is a value whose scale the protocol
 * does not document: it is shown unscaled, never scaled by a guess.
 */
export const units = {
  rate: { decimals: 8 },
  price: { decimals: 18 },
  /** 1E18 is 100%. */
  percent: { decimals: 16 },
  token: { decimals: "tokenDecimals" },
  /** Unix time in seconds. */
  timestamp: {},
  raw: {},
  contractType: {},
  orderState: {},
  none: {},
} as const satisfies Record<
  string,
  { readonly decimals?: number | "tokenDecimals" }
>;

export type Unit = keyof typeof units;

/** Example: `5,000,000.25` */
export function groupDigits(decimal: string): string {
  const point = decimal.indexOf(".");
  let grouped = decimal;
  for (let at = point === -1 ? decimal.length : point; at > 3;) {
    at -= 3;
    grouped = `${grouped.slice(0, at)},${grouped.slice(at)}`;
  }
  return grouped;
}

/** The last second that a JavaScript date can hold. */
export const LAST_DATE_SECONDS = 8_640_000_000_000n;

/** Formats Unix seconds as an ISO date in UTC; as seconds if they exceed a date. */
export function describeTime(seconds: bigint): string {
  return seconds > LAST_DATE_SECONDS
    ? `${seconds} (Unix seconds)`
    : new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z");
}
