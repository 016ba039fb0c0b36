import type { operations } from "./operations.js";
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

/**
 * The result of a read operation: the bare value where it returns one, else an
 * object with exactly the documented field names.
 */
export type OperationResult<Name extends ReadOperationName> = Awaited<
  ReturnType<ReadMethods<never>[Name]>
>;

/**
 * The arguments of a read operation: first the choice of contract where there is
 * one, then nothing, the single argument, or one object of named arguments.
 */
export type OperationArguments<Name extends ReadOperationName> =
  Required<Parameters<ReadMethods<never>[Name]>> extends [
    ...infer Arguments,
    unknown,
  ]
    ? Arguments
    : never;

/** "public" or "private". */
export type PoolName = keyof Operations["getLPAmountInfo"]["target"];
