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
  const [whole = "", ...fraction] = decimal.split(".");
  const grouped = whole.replace(/\B(?=(?:[0-9]{3})+$)/gu, ",");
  return [grouped, ...fraction].join(".");
}

/** The last second that a JavaScript date can hold. */
export const LAST_DATE_SECONDS = 8_640_000_000_000n;

/** Formats Unix seconds as an ISO date in UTC; as seconds if they exceed a date. */
export function describeTime(seconds: bigint): string {
  return seconds > LAST_DATE_SECONDS
    ? `${seconds} (Unix seconds)`
    : new Date(Number(seconds) * 1000).toISOString().replace(".000Z", "Z");
}

/** `Object.keys` of a constant, with the type of its keys. */
export function keysOf<Key extends string>(
  table: Readonly<Record<Key, unknown>>,
): readonly Key[] {
  // Object.keys is typed string[]; a constant has no keys but those of its type
  return Object.keys(table) as Key[];
}

/**
 * Numbers of the `contractType` argument of `getFundingFeeRate`, and of an order.
 * The protocol documents them for the argument only.
 */
export const ContractType = { call: 1, put: 2 } as const;
export type ContractType = (typeof ContractType)[keyof typeof ContractType];
export type ContractTypeName = keyof typeof ContractType;

export const OrderState = { open: 1, closed: 2 } as const;
export type OrderState = (typeof OrderState)[keyof typeof OrderState];
export type OrderStateName = keyof typeof OrderState;

/** The enumerations by unit, each with its words for the API, tasks and JSON. */
export const enums = {
  contractType: ContractType,
  orderState: OrderState,
} as const satisfies Record<string, Readonly<Record<string, number>>>;

export type EnumName = keyof typeof enums;

export function isEnumName(unit: string): unit is EnumName {
  return Object.hasOwn(enums, unit);
}

/** `put (2)`, or `unknown (7)` for a number that the protocol does not list. */
export function describeEnumValue(enumName: EnumName, value: number): string {
  const listed = Object.entries(enums[enumName]);
  const [word] = listed.find(([, number]) => number === value) ?? ["unknown"];
  return `${word} (${value})`;
}
