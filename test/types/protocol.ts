// Checked by tsc and never run: the results of the operations against their table.
import type {
  Address,
  Field,
  OperationResult,
  ReadOperationName,
  operations,
} from "../../src/protocol/index.js";
import { expectAssignable } from "./expect-type.js";

/** The type of a value that a contract returns. */
type Returned<FieldT extends Field> = {
  uint256: bigint;
  uint8: number;
  bool: boolean;
  string: string;
  address: Address;
}[FieldT["type"]];

/** The only value, or all values by their names. */
type ResultOf<Fields extends readonly Field[]> = Fields extends readonly [
  infer Only extends Field,
]
  ? Returned<Only>
  : { [Each in Fields[number] as Each["name"]]: Returned<Each> };

/** True if each type may stand for the other. */
type Equal<A, B> = [A, B] extends [B, A] ? true : false;

declare const agreement: {
  [Name in ReadOperationName]: Equal<
    OperationResult<Name>,
    ResultOf<(typeof operations)[Name]["outputs"]>
  >;
};

export function operationResults(): void {
  expectAssignable<Record<ReadOperationName, true>>(agreement);
}
