import type { ContractTypeName, ContractType } from "./enums.js";
import type { Field, WireType, operations } from "./operations.js";
import type { ReadMethods } from "./signatures.js";

type Operations = typeof operations;

/** Name of an operation in our API. */
export type OperationName = keyof Operations;

/** Name of an operation that only reads. */
export type ReadOperationName = {
  [Name in OperationName]: Operations[Name]["kind"] extends "read"
    ? Name
    : never;
}[OperationName];

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

type InputsOf<Fields extends readonly Field[]> = {
  [FieldT in Fields[number] as FieldT["name"]]: InputOf<FieldT>;
};

/**
 * The result of a read operation: the bare value where it returns one, else an
 * object with exactly the documented field names.
 */
export type OperationResult<Name extends ReadOperationName> = Awaited<
  ReturnType<ReadMethods<never>[Name]>
>;

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

/** "public" or "private". */
export type PoolName = keyof Operations["getLPAmountInfo"]["target"];
