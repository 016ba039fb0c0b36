/**
 * `contractType` argument of `getFundingFeeRate` (protocol, section 2.4).
 */
export const ContractType = { CALL: 1, PUT: 2 } as const;
export type ContractType = (typeof ContractType)[keyof typeof ContractType];

/** `state` of an order (protocol, section 2.4). */
export const OrderState = { OPEN: 1, CLOSED: 2 } as const;
export type OrderState = (typeof OrderState)[keyof typeof OrderState];

/**
 * The words that tasks and JSON keys use for the documented enum values.
 *
 * The protocol does not list the numbers of an order's own `contractType`
 * (section 2.4), so an order's number is named by the argument's numbering and
 * always shown together with the number.
 */
export const enumNames = {
  contractType: { [ContractType.CALL]: "call", [ContractType.PUT]: "put" },
  orderState: { [OrderState.OPEN]: "open", [OrderState.CLOSED]: "closed" },
} as const satisfies Record<string, Readonly<Record<number, string>>>;

export type EnumName = keyof typeof enumNames;
export type ContractTypeName = (typeof enumNames)["contractType"][ContractType];

/**
 * The word for an enum value, or `unknown (7)` for a value that the protocol
 * does not list: what the chain says is shown, never an exception.
 */
export function describeEnumValue(enumName: EnumName, value: number): string {
  const names: Readonly<Record<number, string>> = enumNames[enumName];
  return names[value] ?? `unknown (${value})`;
}
