// Checked by tsc and never run: what editors show is what the table says.
import type {
  OperationArguments,
  OperationResult,
  ReadOperationName,
  WireType,
  operations,
} from "../../src/protocol/index.js";
import type { ReadOptions, VaultReads } from "../../src/client/reader.js";
import { expectType } from "./expect-type.js";
import type { Same } from "./expect-type.js";

interface Values extends Record<WireType, unknown> {
  uint256: bigint;
  uint8: number;
  bool: boolean;
  string: string;
  address: string;
}

type Outputs<Name extends ReadOperationName> =
  (typeof operations)[Name]["outputs"];

type TableResult<Name extends ReadOperationName> =
  Outputs<Name> extends readonly [infer Only extends Outputs<Name>[number]]
    ? Values[Only["type"]]
    : {
        [
          FieldT in Outputs<Name>[number] as FieldT["name"]
        ]: Values[FieldT["type"]];
      };

type Each<What extends Record<ReadOperationName, unknown>> = {
  [Name in ReadOperationName]: What[Name];
};

export function table(): void {
  expectType<Same<keyof VaultReads, ReadOperationName>>();
  expectType<
    Same<
      Each<{ [Name in ReadOperationName]: OperationResult<Name> }>,
      Each<{ [Name in ReadOperationName]: TableResult<Name> }>
    >
  >();
  expectType<
    Same<
      Each<{ [Name in ReadOperationName]: Parameters<VaultReads[Name]> }>,
      Each<{
        [Name in ReadOperationName]: [
          ...OperationArguments<Name>,
          options?: ReadOptions | undefined,
        ];
      }>
    >
  >();
}
