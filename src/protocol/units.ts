/**
 * The meaning of a number on the wire. `raw` is a value whose scale the protocol
 * does not give: it is shown as the integer it is, never scaled by a guess.
 */
export const units = {
  /** Protocol, section 4.2, operation 1. */
  rate: { decimals: 8, meaning: "real value times 1E8" },
  /** Protocol, section 2.1. */
  price: { decimals: 18, meaning: "real value times 1E18" },
  /** Protocol, section 2.1. */
  percent: {
    decimals: 16,
    meaning: "real value times 1E18, where 1E18 is 100%",
  },
  /** The precision is configuration. */
  token: {
    decimals: "tokenDecimals",
    meaning: "real value times 1E(token precision)",
  },
  /** Protocol, section 2.1. */
  timestamp: { meaning: "Unix time in seconds" },
  raw: { meaning: "an integer whose scale is not documented" },
  contractType: { meaning: "1 is call, 2 is put (`ContractType`)" },
  orderState: { meaning: "1 is open, 2 is closed (`OrderState`)" },
  none: {},
} as const satisfies Record<
  string,
  {
    readonly decimals?: number | "tokenDecimals";
    /** For the documentation of values with this unit. */
    readonly meaning?: string;
  }
>;

export type Unit = keyof typeof units;

/** As in 5,000,000.25; for people only. */
export function groupDigits(decimal: string): string {
  const point = decimal.indexOf(".");
  let grouped = decimal;
  for (let at = point === -1 ? decimal.length : point; at > 3;) {
    at -= 3;
    grouped = `${grouped.slice(0, at)},${grouped.slice(at)}`;
  }
  return grouped;
}
