// Checked by tsc and never run: the types of the operations against their table.
import type {
  Address,
  ContractType,
  ContractTypeName,
  Field,
  OperationArguments,
  OperationResult,
  ReadOperationName,
  StandaloneReadings,
  operations,
} from "../../src/protocol/index.js";
import { expectAssignable, expectType } from "./expect-type.js";
import type { Same } from "./expect-type.js";

type Table = typeof operations;

/** The type of a value that a contract returns. */
type Returned<FieldT extends Field> = {
  uint256: bigint;
  uint8: number;
  bool: boolean;
  string: string;
  address: Address;
}[FieldT["type"]];

/** The type of an argument. */
type Given<FieldT extends Field> = FieldT["unit"] extends "contractType"
  ? ContractType | ContractTypeName
  : bigint | number;

/** The only value, or all values by their names. */
type ResultOf<Fields extends readonly Field[]> = Fields extends readonly [
  infer Only extends Field,
]
  ? Returned<Only>
  : { [Each in Fields[number] as Each["name"]]: Returned<Each> };

type ArgumentsOf<
  Name extends ReadOperationName,
  Fields extends readonly Field[] = Table[Name]["inputs"],
> = Table[Name]["target"] extends string
  ? Fields extends readonly []
    ? []
    : Fields extends readonly [infer Only extends Field]
      ? [Given<Only>]
      : [{ [Each in Fields[number] as Each["name"]]: Given<Each> }]
  : [keyof Table[Name]["target"]];

type StandaloneName = {
  [Name in ReadOperationName]: Exclude<
    Table[Name]["inputs"][number]["unit"],
    "contractType"
  > extends never
    ? Name
    : never;
}[ReadOperationName];

/** True if each type may stand for the other. */
type Equal<A, B> = [A, B] extends [B, A] ? true : false;

type Agreement = {
  [Name in ReadOperationName]: [
    Equal<OperationArguments<Name>, ArgumentsOf<Name>>,
    Equal<OperationResult<Name>, ResultOf<Table[Name]["outputs"]>>,
  ];
};

declare const agreement: Agreement;

export function operationTypes(): void {
  expectAssignable<Record<ReadOperationName, [true, true]>>(agreement);
}

export function standaloneReadings(): void {
  expectType<Same<keyof StandaloneReadings, Table[StandaloneName]["key"]>>();
}
