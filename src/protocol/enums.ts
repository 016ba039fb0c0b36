import { keysOf } from "./keys-of.js";

/**
 * The `contractType` argument of `getFundingFeeRate`, and the direction of an
 * order. The protocol lists the numbers for the argument only (section 2.4), so
 * tasks show an order's direction together with its number.
 */
export const ContractType = { call: 1, put: 2 } as const;
export type ContractType = (typeof ContractType)[keyof typeof ContractType];
export type ContractTypeName = keyof typeof ContractType;

/** The `state` of an order (protocol, section 2.4). */
export const OrderState = { open: 1, closed: 2 } as const;
export type OrderState = (typeof OrderState)[keyof typeof OrderState];
export type OrderStateName = keyof typeof OrderState;

/**
 * The enumerations by the unit of the fields that hold their numbers. Their keys
 * are the words that the API, tasks and JSON use.
 */
export const enums = {
  contractType: ContractType,
  orderState: OrderState,
} as const satisfies Record<string, Readonly<Record<string, number>>>;

export type EnumName = keyof typeof enums;

/** The words of each enumeration. */
export const enumWords = {
  contractType: keysOf(ContractType),
  orderState: keysOf(OrderState),
} as const satisfies Record<EnumName, readonly string[]>;

export function isEnumName(unit: string): unit is EnumName {
  return Object.hasOwn(enums, unit);
}

/**
 * The word for a number, or `unknown (7)` for one that the protocol does not
 * list: a contract's answer is shown, never refused.
 */
export function describeEnumValue(enumName: EnumName, value: number): string {
  const numbers: Readonly<Record<string, number>> = enums[enumName];
  const word = enumWords[enumName].find((one) => numbers[one] === value);
  return word ?? `unknown (${value})`;
}
