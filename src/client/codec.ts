import type { Buffer } from "node:buffer";

import { getAddress } from "ethers";
import type { FunctionFragment, Interface } from "ethers";

import { LiquidityPool__factory } from "../bindings/factories/LiquidityPool__factory.js";
import { Trading__factory } from "../bindings/factories/Trading__factory.js";
import { UnderlyingAsset__factory } from "../bindings/factories/UnderlyingAsset__factory.js";
import { VaultFactory__factory } from "../bindings/factories/VaultFactory__factory.js";
import { Vault__factory } from "../bindings/factories/Vault__factory.js";
import { assertInvariant, invalidArgument } from "../errors.js";
import {
  contractRoles,
  operationEntry,
  targetsOf,
  wireName,
} from "../protocol/index.js";
import type {
  AbiName,
  ContractRole,
  Field,
  OperationName,
  WireType,
} from "../protocol/index.js";
import { describeInput, notOneOf, parseInput } from "./inputs.js";
import {
  WORD,
  isSmallWord,
  readSmallWord,
  readWord,
  viewOf,
} from "./lens/words.js";

const ADDRESS_SIZE = 20;

/** The TypeChain factory of each ABI. */
export const contractFactories = {
  UnderlyingAsset: UnderlyingAsset__factory,
  LiquidityPool: LiquidityPool__factory,
  Trading: Trading__factory,
  VaultFactory: VaultFactory__factory,
  Vault: Vault__factory,
} as const satisfies Record<AbiName, { createInterface(): Interface }>;

/** The call of an operation, ready for `eth_call` or a transaction. */
export interface EncodedCall {
  readonly operation: OperationName;
  readonly role: ContractRole;
  /** Selector and arguments, 0x hex (protocol, section 4.1). */
  readonly data: string;
}

/**
 * Checks the arguments of an operation and encodes them.
 *
 * @param args As the client's method of that name takes them.
 * @throws VaultError VAULT_INVALID_ENUM, VAULT_INVALID_INTEGER,
 * VAULT_INVALID_ARGUMENT
 */
export function encodeCall(
  operation: OperationName,
  args: readonly unknown[],
): EncodedCall {
  const { inputs, target } = operationEntry(operation);
  const rest = [...args];
  const role =
    typeof target === "string" ? target : chooseTarget(target, rest.shift());
  const { contractInterface, fragment } = lookUp(operation, role);
  const values = parseInputs(operation, inputs, rest);
  return {
    operation,
    role,
    data: contractInterface.encodeFunctionData(fragment, values),
  };
}

/** What is wrong with returned bytes, before an error names the contract. */
export type DecodeProblem =
  | { readonly problem: "short"; readonly expected: number }
  | { readonly problem: "malformed"; readonly text: string };

/**
 * Decodes what an operation returned.
 *
 * Only the canonical encoding is accepted, so that shifted or cut data are never a
 * wrong figure; as in Solidity, more may follow. For words and strings alone: the
 * general coder takes a hundred times as long.
 *
 * @returns The value, and how many of the bytes it took.
 */
export function decodeResult(
  operation: OperationName,
  bytes: Buffer,
): { readonly value: unknown; readonly length: number } | DecodeProblem {
  const { outputs } = operationEntry(operation);
  const headLength = outputs.length * WORD;
  if (bytes.length < headLength) {
    return { problem: "short", expected: headLength };
  }
  const view = viewOf(bytes);
  const values = { ...emptyResult(operation) };
  let value: unknown;
  // Strings stand behind the head, in order and without a gap.
  let tail = headLength;
  let offset = 0;
  for (const { name, type } of outputs) {
    if (type === "string") {
      const end = endOfString(view, offset, tail);
      if (typeof end !== "number") {
        return end;
      }
      // Replaces what is not UTF-8, as the standard says.
      value = bytes.toString("utf8", tail + WORD, end);
      tail = paddedEnd(end);
      if (!isZero(view, end, tail)) {
        return notCanonical;
      }
    } else {
      value = readStatic(type, bytes, view, offset);
      if (value === undefined) {
        return notCanonical;
      }
    }
    values[name] = value;
    offset += WORD;
  }
  return { value: outputs.length === 1 ? value : values, length: tail };
}

const emptyResults = new Map<OperationName, Record<string, unknown>>();

/** All fields in their order: to copy them is faster than to add one by one. */
function emptyResult(operation: OperationName): Record<string, unknown> {
  let empty = emptyResults.get(operation);
  if (empty === undefined) {
    empty = Object.fromEntries(
      operationEntry(operation).outputs.map(({ name }) => [name, undefined]),
    );
    emptyResults.set(operation, empty);
  }
  return empty;
}

const notCanonical: DecodeProblem = {
  problem: "malformed",
  text: "not the canonical encoding",
};

const outside: DecodeProblem = {
  problem: "malformed",
  text: "an offset or a length points outside",
};

/**
 * Where the text of a string ends.
 *
 * @param offset Of the word in the head.
 * @param tail Where the string has to begin, with its length.
 */
function endOfString(
  view: DataView,
  offset: number,
  tail: number,
): number | DecodeProblem {
  const begin = readSmallWord(view, offset);
  if (begin === undefined || begin + WORD > view.byteLength) {
    return outside;
  }
  const length = readSmallWord(view, begin);
  if (
    length === undefined ||
    paddedEnd(begin + WORD + length) > view.byteLength
  ) {
    return outside;
  }
  return begin === tail ? begin + WORD + length : notCanonical;
}

function paddedEnd(end: number): number {
  return Math.ceil(end / WORD) * WORD;
}

function isZero(view: DataView, start: number, end: number): boolean {
  for (let index = start; index < end; ++index) {
    if (view.getUint8(index) !== 0) {
      return false;
    }
  }
  return true;
}

/** @returns Undefined where the word is not the encoding of such a value. */
function readStatic(
  type: Exclude<WireType, "string">,
  bytes: Buffer,
  view: DataView,
  offset: number,
): unknown {
  switch (type) {
    case "uint256":
      return readWord(view, offset);
    case "uint8":
      return readSmallWord(view, offset, 1);
    case "bool": {
      const bit = readSmallWord(view, offset, 1);
      return bit === 0 || bit === 1 ? bit === 1 : undefined;
    }
    case "address":
      return isSmallWord(view, offset, ADDRESS_SIZE)
        ? checksumAddress(
            bytes.toString("hex", offset + WORD - ADDRESS_SIZE, offset + WORD),
          )
        : undefined;
  }
}

const MAX_CACHED_ADDRESSES = 10_000;
const checksumAddresses = new Map<string, string>();

/** A checksum takes longer than all the rest, and holders have many orders. */
function checksumAddress(hex: string): string {
  let address = checksumAddresses.get(hex);
  if (address === undefined) {
    address = getAddress(`0x${hex}`);
    if (checksumAddresses.size >= MAX_CACHED_ADDRESSES) {
      checksumAddresses.clear();
    }
    checksumAddresses.set(hex, address);
  }
  return address;
}

function chooseTarget(
  target: Readonly<Record<string, ContractRole>>,
  choice: unknown,
): ContractRole {
  const role =
    typeof choice === "string" && Object.hasOwn(target, choice)
      ? target[choice]
      : undefined;
  if (role === undefined) {
    throw notOneOf("pool", Object.keys(target), choice);
  }
  return role;
}

/** One argument is passed as it is, several as one object. */
function parseInputs(
  operation: OperationName,
  inputs: readonly Field[],
  [given]: readonly unknown[],
): readonly bigint[] {
  if (inputs.length <= 1) {
    return inputs.map((field) => parseInput(field, given));
  }
  if (typeof given !== "object" || given === null) {
    throw invalidArgument(
      operation,
      `one object with ${inputs.map(({ name }) => name).join(", ")} is needed, got ${describeInput(given)}`,
    );
  }
  const byName: Readonly<Record<string, unknown>> = { ...given };
  return inputs.map((field) => parseInput(field, byName[field.name]));
}

/** The operation's function in the ABI. */
export function fragmentOf(operation: OperationName): FunctionFragment {
  const [target] = targetsOf(operation);
  assertInvariant(target !== undefined, `${operation} names no contract`);
  return lookUp(operation, target.role).fragment;
}

const lookUpCache = new Map<
  string,
  { contractInterface: Interface; fragment: FunctionFragment }
>();

function lookUp(
  operation: OperationName,
  role: ContractRole,
): { contractInterface: Interface; fragment: FunctionFragment } {
  const { abi } = contractRoles[role];
  const key = `${abi}.${operation}`;
  const cached = lookUpCache.get(key);
  if (cached !== undefined) {
    return cached;
  }
  const contractInterface: Interface = contractFactories[abi].createInterface();
  const fragment = contractInterface.getFunction(wireName(operation));
  assertInvariant(fragment !== null, `${abi} has no ${wireName(operation)}`);
  const found = { contractInterface, fragment };
  lookUpCache.set(key, found);
  return found;
}
