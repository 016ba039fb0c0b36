import type { operations } from "./operations.js";
import type { ReadMethods } from "./signatures.js";

type Operations = typeof operations;

/** Name of an operation. */
export type OperationName = keyof Operations;

/** Name of an operation that only reads. */
export type ReadOperationName = {
  [Name in OperationName]: Operations[Name]["kind"] extends "read"
    ? Name
    : never;
}[OperationName];

/** Result of a read operation: its only value, or an object of its values. */
export type OperationResult<Name extends ReadOperationName> = Awaited<
  ReturnType<ReadMethods<never>[Name]>
>;

/** Arguments of a read operation without its options. */
export type OperationArguments<Name extends ReadOperationName> =
  Required<Parameters<ReadMethods<never>[Name]>> extends [
    ...infer Arguments,
    unknown,
  ]
    ? Arguments
    : never;

/** "public" or "private". */
export type PoolName = keyof Operations["getLPAmountInfo"]["target"];
