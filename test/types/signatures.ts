// Checked by tsc and never run: what editors show is what the table says.
import type {
  ContractType,
  ContractTypeName,
  Field,
  OperationArguments,
  OperationName,
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

/** What a caller may pass for an argument of the given wire type. */
interface InputOfWireType extends Record<WireType, unknown> {
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

/** The choice of contract, for a function that several contracts share. */
type TargetArguments<Name extends OperationName> =
  (typeof operations)[Name]["target"] extends string
    ? []
    : [target: keyof (typeof operations)[Name]["target"]];

type FieldArguments<Fields extends readonly Field[]> =
  Fields extends readonly []
    ? []
    : Fields extends readonly [infer Only extends Field]
      ? [value: InputOf<Only>]
      : [values: InputsOf<Fields>];

type TableArguments<Name extends ReadOperationName> = [
  ...TargetArguments<Name>,
  ...FieldArguments<(typeof operations)[Name]["inputs"]>,
];

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
          ...TableArguments<Name>,
          options?: ReadOptions | undefined,
        ];
      }>
    >
  >();
  expectType<
    Same<
      Each<{ [Name in ReadOperationName]: OperationArguments<Name> }>,
      Each<{ [Name in ReadOperationName]: TableArguments<Name> }>
    >
  >();
}
