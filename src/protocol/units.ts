/**
 * What a number on the wire means. `raw` is a value whose scale the protocol
 * does not give: it is shown as the integer it is, never scaled by a guess.
 */
export const units = {
  /** Real value times 1E8 (protocol, section 4.2, operation 1). */
  rate: { decimals: 8 },
  /** Real value times 1E18 (protocol, section 2.1). */
  price: { decimals: 18 },
  /** Real value times 1E18, where 1E18 is 100% (protocol, section 2.1). */
  percent: { decimals: 16 },
  /** Real value times 1E(token precision); the precision is configuration. */
  token: { decimals: "tokenDecimals" },
  /** Unix time in seconds (protocol, section 2.1). */
  timestamp: {},
  /** Scale not documented. */
  raw: {},
  contractType: {},
  orderState: {},
  none: {},
} as const satisfies Record<
  string,
  { readonly decimals?: number | "tokenDecimals" }
>;

export type Unit = keyof typeof units;
