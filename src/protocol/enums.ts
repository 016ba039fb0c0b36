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
