import type { Buffer } from "node:buffer";

import { AbiCoder, ParamType, getAddress, toBeHex } from "ethers";
import type { FunctionFragment, Interface } from "ethers";

import { LiquidityPool__factory } from "../bindings/factories/LiquidityPool__factory.js";
import { Trading__factory } from "../bindings/factories/Trading__factory.js";
import { UnderlyingAsset__factory } from "../bindings/factories/UnderlyingAsset__factory.js";
import { VaultFactory__factory } from "../bindings/factories/VaultFactory__factory.js";
import { Vault__factory } from "../bindings/factories/Vault__factory.js";
import { assertInvariant, vaultError } from "../errors.js";
import { contractRoles, operationEntry, wireName } from "../protocol/index.js";
import type {
  AbiName,
  ContractRole,
  Field,
  OperationName,
} from "../protocol/index.js";
import { describeInput, parseInput } from "./inputs.js";
import { readWord, viewOf } from "./lens/words.js";
import { decodeUtf8 } from "../rpc/utf8.js";

const WORD = 32;

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
  const values = inputValues(operation, inputs, rest).map((value, index) => {
    const field = inputs[index];
    assertInvariant(field !== undefined, "an argument without a field");
    return parseInput(field, value);
  });
  const { contractInterface, fragment } = lookUp(operation, role);
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
 * Only the canonical encoding is accepted: the values are encoded again and
 * must give the same bytes. So padded, shifted or cut data, a bool of 2 or an
 * address of 21 bytes is a problem and never a wrong figure.
 *
 * @param bytes As `eth_call` returned them.
 */
export function decodeResult(
  operation: OperationName,
  role: ContractRole,
  bytes: Buffer,
): { readonly value: unknown } | DecodeProblem {
  const { outputs } = operationEntry(operation);
  if (outputs.every(({ type }) => type !== "string")) {
    return decodeStatic(outputs, bytes);
  }
  const { fragment } = lookUp(operation, role);
  // A string that is not UTF-8 would make ethers throw, so strings are decoded
  // as bytes, which have the same encoding.
  const types = fragment.outputs.map(({ type }) =>
    ParamType.from(type === "string" ? "bytes" : type),
  );
  const headLength = types.length * WORD;
  if (bytes.length < headLength) {
    return { problem: "short", expected: headLength };
  }
  const coder = AbiCoder.defaultAbiCoder();
  let values: unknown[];
  try {
    values = coder.decode(types, bytes).toArray();
    if (coder.encode(types, values) !== `0x${bytes.toString("hex")}`) {
      return { problem: "malformed", text: "not the canonical encoding" };
    }
  } catch {
    return {
      problem: "malformed",
      text: "an offset or a length points outside",
    };
  }
  return nameValues(
    outputs,
    outputs.map((field, index) => toApiValue(field, values[index])),
  );
}

/**
 * Decodes values of one word each, without the general coder, which takes a
 * hundred times as long: a snapshot has many of them.
 */
function decodeStatic(
  outputs: readonly Field[],
  bytes: Buffer,
): { readonly value: unknown } | DecodeProblem {
  const expected = outputs.length * WORD;
  if (bytes.length < expected) {
    return { problem: "short", expected };
  }
  const view = viewOf(bytes);
  const values = outputs.map((field, index) =>
    readStatic(field, view, index * WORD),
  );
  return bytes.length > expected || values.includes(undefined)
    ? { problem: "malformed", text: "not the canonical encoding" }
    : nameValues(outputs, values);
}

/** @returns Undefined where the word is not the encoding of such a value. */
function readStatic({ type }: Field, view: DataView, offset: number): unknown {
  const value = readWord(view, offset);
  switch (type) {
    case "uint256":
      return value;
    case "uint8":
      return value < 256n ? Number(value) : undefined;
    case "bool":
      return value < 2n ? value === 1n : undefined;
    case "address":
      return value < 2n ** 160n ? getAddress(toBeHex(value, 20)) : undefined;
    case "string":
      // Not of one word.
      return undefined;
  }
}

function nameValues(
  outputs: readonly Field[],
  values: readonly unknown[],
): { readonly value: unknown } {
  if (outputs.length === 1) {
    return { value: values[0] };
  }
  const value: Record<string, unknown> = {};
  outputs.forEach(({ name }, index) => {
    value[name] = values[index];
  });
  return { value };
}

function toApiValue({ type }: Field, value: unknown): unknown {
  switch (type) {
    case "uint8":
      return Number(value);
    case "string":
      assertInvariant(typeof value === "string", "bytes decode to hex");
      return decodeUtf8(value);
    case "uint256":
    case "bool":
    case "address":
      return value;
  }
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
    throw vaultError("VAULT_INVALID_ENUM", {
      where: "pool",
      allowed: Object.keys(target).join(", "),
      value: describeInput(choice),
    });
  }
  return role;
}

function inputValues(
  operation: OperationName,
  inputs: readonly Field[],
  args: readonly unknown[],
): readonly unknown[] {
  if (inputs.length <= 1) {
    return args.slice(0, inputs.length);
  }
  const [named] = args;
  if (typeof named !== "object" || named === null) {
    throw vaultError("VAULT_INVALID_ARGUMENT", {
      where: operation,
      problem: `one object with ${inputs.map(({ name }) => name).join(", ")} is needed, got ${describeInput(named)}`,
    });
  }
  const byName: Readonly<Record<string, unknown>> = { ...named };
  return inputs.map(({ name }) => byName[name]);
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
