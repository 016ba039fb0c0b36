import type { operations } from "./operations.js";

/** Bytes as 0x hex, such as call data or a hash. The same type as viem's. */
export type Hex = `0x${string}`;

/** An address as 0x hex. The same type as viem's. */
export type Address = `0x${string}`;

type Operations = typeof operations;

/** Name of an operation. */
export type OperationName = keyof Operations;

/** Name of an operation that only reads. */
export type ReadOperationName = {
  [Name in OperationName]: Operations[Name]["kind"] extends "read"
    ? Name
    : never;
}[OperationName];

/** "public" or "private". */
export type PoolName = keyof Operations["getLPAmountInfo"]["target"];
