// The arguments and the results of the read operations, and the calls that read them.

import { ContractType, keysOf } from "./units.js";
import type { ContractTypeName } from "./units.js";
import { operations } from "./operations.js";
import type {
  ContractRole,
  Field,
  Operation,
  OperationName,
  PoolName,
  ReadOperationName,
} from "./operations.js";

/** Bytes as 0x hex, such as call data or a hash. The same type as viem's. */
export type Hex = `0x${string}`;

/** An address as 0x hex. The same type as viem's. */
export type Address = `0x${string}`;

interface ValueOf {
  uint256: bigint;
  uint8: number;
  bool: boolean;
  string: string;
  address: Address;
}

/** The values of fields by their names. */
type Values<Fields extends readonly Field[]> = {
  [Name in Fields[number]["name"]]: ValueOf[Extract<
    Fields[number],
    { readonly name: Name }
  >["type"]];
};

type Operations = typeof operations;

/**
 * The result of `getLatestRoundInfo`. `strikePrice` and `settledPrice` are real value times
 * 1E18, `APY` too (1E18 is 100%); `maxVolume`, `filledVolume` and `minDeposit` times 1E(token
 * precision); `startTime` and `endTime` Unix seconds. The scale of `settledAmount` is not
 * documented. What settles the round is updated only once it is settled: `settledPrice`,
 * `settledAmount`, `settled`.
 */
export type VaultRound = Values<Operations["getLatestRoundInfo"]["outputs"]>;

/**
 * The result of `getOrderInfo`. The scales of its integers are not documented. `state` is a
 * number of `OrderState`, and `contractType` one of `ContractType`, which the protocol lists
 * for the funding fee rate alone. `holder` has its checksum.
 */
export type VaultOrder = Values<Operations["getOrderInfo"]["outputs"]>;

/** The result of `calMargins` and `queryMarginBalance`; the scales are not documented. */
export type MarginAmounts = Values<Operations["calMargins"]["outputs"]>;

/**
 * The result of `getLPAmountInfo`; the scales are not documented. The contract spells
 * `availabe` so.
 */
export type PoolAmounts = Values<Operations["getLPAmountInfo"]["outputs"]>;

/**
 * The arguments of `calMargins` for the next round. `maxVolume`: real value times 1E(token
 * precision). `APY`: real value times 1E18 (1E18 is 100%). `endTime`: Unix seconds.
 */
export type CalMarginsParameters = Record<
  Operations["calMargins"]["inputs"][number]["name"],
  bigint | number
>;

/** The arguments, without options, and the result of each read operation. */
interface ReadOperations {
  getFundingFeeRate: {
    args: [contractType: ContractType | ContractTypeName];
    result: bigint;
  };
  getLatestRoundInfo: { args: []; result: VaultRound };
  getOrderInfo: { args: [orderID: bigint | number]; result: VaultOrder };
  calMargins: { args: [values: CalMarginsParameters]; result: MarginAmounts };
  getLPAmountInfo: { args: [pool: PoolName]; result: PoolAmounts };
  queryVolume: { args: []; result: bigint };
  queryMarginBalance: { args: []; result: MarginAmounts };
  minXMargin: { args: []; result: bigint };
}

/** Arguments of a read operation without its options. */
export type OperationArguments<Name extends ReadOperationName> =
  ReadOperations[Name]["args"];

/** Arguments of the client's method of that name; none for `settleAll`. */
export type CallArguments<Name extends OperationName> =
  Name extends ReadOperationName ? OperationArguments<Name> : [];

/** Result of a read operation: its only value, or an object of its values. */
export type OperationResult<Name extends ReadOperationName> =
  ReadOperations[Name]["result"];

/** Every reading without arguments by its JSON key, or `Otherwise` in its place. */
export interface StandaloneReadings<Otherwise = never> {
  /** The results of `getFundingFeeRate`: real value times 1E8. */
  fundingFeeRate: Record<ContractTypeName, bigint | Otherwise>;
  /** The result of `getLatestRoundInfo`. */
  round: VaultRound | Otherwise;
  /** The results of `getLPAmountInfo`. */
  pools: Record<PoolName, PoolAmounts | Otherwise>;
  /** The result of `queryVolume`: an integer whose scale is not documented. */
  volume: bigint | Otherwise;
  /** The result of `queryMarginBalance`. */
  marginBalance: MarginAmounts | Otherwise;
  /** The result of `minXMargin`: an integer whose scale is not documented. */
  minXMargin: bigint | Otherwise;
}

/** One call of a read operation. */
export interface Query {
  readonly operation: ReadOperationName;
  readonly role: ContractRole;
  readonly args: readonly unknown[];
  /** Place of the value in JSON and in a snapshot. Example: `pools.public` */
  readonly path: readonly [key: string, variant?: string];
}

export const operationNames = keysOf(operations);

export const readOperationNames: readonly ReadOperationName[] =
  operationNames.filter(isReadOperation);

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name);
}

export function isReadOperation(
  name: OperationName,
): name is ReadOperationName {
  return operations[name].kind === "read";
}

/** Returns the table's entry by its general type. */
export function operationEntry(name: OperationName): Operation {
  return operations[name];
}

/** Returns the contracts that have the operation, by the argument that chooses one. */
export function targetsOf(
  name: OperationName,
): ReadonlyArray<{ variant?: string; role: ContractRole }> {
  const { target } = operationEntry(name);
  return typeof target === "string"
    ? [{ role: target }]
    : Object.entries(target).map(([variant, role]) => ({ variant, role }));
}

/** The reads without arguments, or with a `contractType` only, in table order. */
export const standaloneOperations = readOperationNames.filter((name) =>
  operationEntry(name).inputs.every(({ unit }) => unit === "contractType"),
);

/** Returns a call for each contract of an operation, or for each contract type. */
export function queriesOf(name: ReadOperationName): readonly Query[] {
  const { inputs, key } = operationEntry(name);
  return targetsOf(name).flatMap(({ variant, role }) => {
    const words = inputs.length > 0 ? keysOf(ContractType) : [variant];
    return words.map((word): Query =>
      word === undefined
        ? { operation: name, role, args: [], path: [key] }
        : { operation: name, role, args: [word], path: [key, word] },
    );
  });
}

/** The calls of every standalone operation, in table order. */
export const standaloneQueries: readonly Query[] =
  standaloneOperations.flatMap(queriesOf);

/** Returns the place of each value of a reading. Example: `round.settled` */
export function placesOf({
  operation,
  path: [key, variant],
}: Query): ReadonlyArray<{
  readonly path: readonly string[];
  readonly field: Field;
}> {
  const place = variant === undefined ? [key] : [key, variant];
  const { outputs } = operationEntry(operation);
  return outputs.map((field) => ({
    path: outputs.length === 1 ? place : [...place, field.name],
    field,
  }));
}

export function set(
  into: Record<string, unknown>,
  [key, variant]: Query["path"],
  value: unknown,
): void {
  into[key] =
    variant === undefined
      ? value
      : Object.assign({}, into[key], { [variant]: value });
}

/** @returns The value at a place; undefined if there is none. */
export function get(
  from: object,
  path: ReadonlyArray<string | undefined>,
): unknown {
  return path.reduce<unknown>(
    (place, name) =>
      name === undefined
        ? place
        : typeof place === "object" && place !== null
          ? Reflect.get(place, name)
          : undefined,
    from,
  );
}
