/**
 * Scales of the values of the contracts. `raw` is a value whose scale the protocol
 * does not document: it is shown unscaled, never scaled by a guess.
 */
export const units = {
  rate: { decimals: 8, meaning: "real value times 1E8" },
  price: { decimals: 18, meaning: "real value times 1E18" },
  percent: {
    decimals: 16,
    meaning: "real value times 1E18 (1E18 is 100%)",
  },
  token: {
    decimals: "tokenDecimals",
    meaning: "real value times 1E(token precision)",
  },
  timestamp: { meaning: "Unix time in seconds" },
  raw: { meaning: "an integer whose scale is not documented" },
  contractType: { meaning: "1 is call, 2 is put (`ContractType`)" },
  orderState: { meaning: "1 is open, 2 is closed (`OrderState`)" },
  none: {},
} as const satisfies Record<
  string,
  {
    readonly decimals?: number | "tokenDecimals";
    /** Text for the doc comments of values with this unit. */
    readonly meaning?: string;
  }
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
