import { ZeroAddress } from "ethers";

import { operationEntry } from "../../src/protocol/index.js";
import type {
  Field,
  OperationName,
  OperationResult,
  ReadOperationName,
  WireType,
} from "../../src/protocol/index.js";

const zeros: Readonly<Record<WireType, unknown>> = {
  uint256: 0n,
  uint8: 0,
  bool: false,
  string: "",
  address: ZeroAddress,
};

/** A result of an operation: its only value, or an object of its values. */
export function answerOf(
  name: OperationName,
  valueOf: (field: Field) => unknown,
): unknown {
  const { outputs } = operationEntry(name);
  const values = outputs.map((field) => [field.name, valueOf(field)] as const);
  return values.length === 1 ? values[0]?.[1] : Object.fromEntries(values);
}

/** What a contract without any value returns. */
export function zeroAnswer<Name extends ReadOperationName>(
  operation: Name,
): OperationResult<Name> {
  // the table of operations makes the type, too
  return answerOf(
    operation,
    ({ type }) => zeros[type],
  ) as OperationResult<Name>;
}
