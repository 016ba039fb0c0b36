import type { ContractTypeName, ContractType } from "./enums.js";
import type { Field, WireType, operations } from "./operations.js";

type Operations = typeof operations;

/** Name of an operation in our API. */
export type OperationName = keyof Operations;

/** Name of an operation that only reads. */
export type ReadOperationName = {
  [Name in OperationName]: Operations[Name]["kind"] extends "read"
    ? Name
    : never;
}[OperationName];

interface ValueOfWireType {
  uint256: bigint;
  uint8: number;
  bool: boolean;
  string: string;
  address: string;
}

/** What a caller may pass for an argument of the given wire type. */
interface InputOfWireType extends Record<WireType, unknown> {
  /** A non-negative integer; a `number` must be a safe integer. */
  uint256: bigint | number;
  uint8: number | bigint;
  bool: boolean;
  string: string;
  address: string;
}

type InputOf<FieldT extends Field> = FieldT["unit"] extends "contractType"
  ? ContractType | ContractTypeName
  : InputOfWireType[FieldT["type"]];

type ValuesOf<Fields extends readonly Field[]> = {
  -readonly [
    FieldT in Fields[number] as FieldT["name"]
  ]: ValueOfWireType[FieldT["type"]];
};

type InputsOf<Fields extends readonly Field[]> = {
  [FieldT in Fields[number] as FieldT["name"]]: InputOf<FieldT>;
};

/**
 * The result of an operation: the bare value where it returns one, else an
 * object with exactly the documented field names.
 */
export type OperationResult<Name extends OperationName> =
  Operations[Name]["outputs"] extends readonly [infer Only extends Field]
    ? ValueOfWireType[Only["type"]]
    : ValuesOf<Operations[Name]["outputs"]>;

/** The choice of contract, for a function that several contracts share. */
type TargetArguments<Name extends OperationName> =
  Operations[Name]["target"] extends string
    ? []
    : [target: keyof Operations[Name]["target"]];

type FieldArguments<Fields extends readonly Field[]> =
  Fields extends readonly []
    ? []
    : Fields extends readonly [infer Only extends Field]
      ? [value: InputOf<Only>]
      : [values: InputsOf<Fields>];

/**
 * The arguments of an operation: first the choice of contract where there is
 * one, then nothing, the single argument, or one object of named arguments.
 */
export type OperationArguments<Name extends OperationName> = [
  ...TargetArguments<Name>,
  ...FieldArguments<Operations[Name]["inputs"]>,
];

/** The latest round of the vault (protocol, section 2.1). */
export type VaultRound = OperationResult<"getLatestRoundInfo">;
/** The amounts of one liquidity pool (protocol, section 2.2). */
export type PoolAmounts = OperationResult<"getLPAmountInfo">;
/** One order (protocol, section 2.3). */
export type OrderInfo = OperationResult<"getOrderInfo">;
/** A pair of margins (protocol, section 2.5). */
export type MarginAmounts = OperationResult<"queryMarginBalance">;
/** "public" or "private". */
export type PoolName = keyof Operations["getLPAmountInfo"]["target"];
