import type { Buffer } from "node:buffer";

import type { FunctionFragment, Interface } from "ethers";

import { LiquidityPool__factory } from "../bindings/factories/LiquidityPool__factory.js";
import { Trading__factory } from "../bindings/factories/Trading__factory.js";
import { UnderlyingAsset__factory } from "../bindings/factories/UnderlyingAsset__factory.js";
import { VaultFactory__factory } from "../bindings/factories/VaultFactory__factory.js";
import { Vault__factory } from "../bindings/factories/Vault__factory.js";
import { assertInvariant, invalidArgument, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import {
  contractRoles,
  isEnumName,
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
import { asRecord } from "../json.js";
import { describeBlock } from "../rpc/block-id.js";
import type { BlockId } from "../rpc/block-id.js";
import type { CallResult } from "../rpc/calls.js";
import { mockHint } from "./addresses.js";
import type { LocatedAddress } from "./addresses.js";
import {
  checksumAddress,
  describeInput,
  notOneOf,
  parseEnum,
  parseUint256,
} from "./inputs.js";
import {
  WORD,
  hexWord,
  isZero,
  readSmallWord,
  readWord,
  viewOf,
} from "./words.js";

const ADDRESS_SIZE = 20;

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
  /** Selector and arguments, 0x hex. */
  readonly data: string;
}

/**
 * Checks the arguments of an operation and encodes them.
 *
 * @param args Arguments of the client's method of that name.
 */
export function encodeCall(
  operation: OperationName,
  args: readonly unknown[],
): EncodedCall {
  const { inputs, selector, target } = operationEntry(operation);
  const rest = [...args];
  const role =
    typeof target === "string" ? target : chooseTarget(target, rest.shift());
  const words = parseInputs(operation, inputs, rest).map(hexWord);
  return { operation, role, data: `${selector}${words.join("")}` };
}

/**
 * Decodes the bytes that an operation returned. Only the canonical encoding is
 * accepted, so shifted or cut data never become a wrong figure. As in Solidity, more
 * words may follow. The coder of ethers takes a hundred times as long.
 *
 * @param values Takes the values by name, if there are several.
 * @returns The value and its length in bytes.
 */
export function decodeOutputs(
  operation: OperationName,
  bytes: Buffer,
  values: Record<string, unknown> = {},
):
  | { readonly value: unknown; readonly length: number }
  | { readonly problem: string } {
  const { outputs } = operationEntry(operation);
  // Strings follow the head, in order and without a gap.
  let tail = outputs.length * WORD;
  if (bytes.length < tail) {
    return { problem: `${bytes.length} bytes instead of at least ${tail}` };
  }
  if (bytes.length % WORD !== 0) {
    return { problem: `${bytes.length} bytes, which are no whole words` };
  }
  const view = viewOf(bytes);
  let value: unknown;
  let offset = 0;
  for (const { name, type } of outputs) {
    if (type === "string") {
      const length = lengthOfString(view, offset, tail);
      const text = tail + WORD;
      // Invalid UTF-8 becomes U+FFFD.
      value =
        length === undefined
          ? undefined
          : bytes.toString("utf8", text, text + length);
      tail = text + Math.ceil((length ?? 0) / WORD) * WORD;
    } else {
      value = readStatic(type, bytes, view, offset);
    }
    if (value === undefined) {
      return { problem: "not the canonical encoding" };
    }
    values[name] = value;
    offset += WORD;
  }
  return { value: outputs.length === 1 ? value : values, length: tail };
}

/** @returns Undefined unless the string begins at `tail` and is padded with zeros. */
function lengthOfString(
  view: DataView,
  offset: number,
  tail: number,
): number | undefined {
  if (readSmallWord(view, offset) !== tail || tail + WORD > view.byteLength) {
    return undefined;
  }
  const length = readSmallWord(view, tail) ?? Infinity;
  const end = tail + WORD + length;
  const paddedEnd = Math.ceil(end / WORD) * WORD;
  return paddedEnd <= view.byteLength && isZero(view, end, paddedEnd)
    ? length
    : undefined;
}

/** @returns Undefined if the word does not encode a value of this type. */
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
    case "address": {
      const end = offset + WORD;
      const start = end - ADDRESS_SIZE;
      return isZero(view, offset, start)
        ? checksumAddress(`0x${bytes.toString("hex", start, end)}`)
        : undefined;
    }
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
    throw notOneOf("pool", Object.keys(target), choice);
  }
  return role;
}

/** Takes one argument as it is, several as one object. */
function parseInputs(
  operation: OperationName,
  inputs: readonly Field[],
  [given]: readonly unknown[],
): readonly bigint[] {
  if (inputs.length > 1 && (typeof given !== "object" || given === null)) {
    throw invalidArgument(
      operation,
      `one object with ${inputs.map(({ name }) => name).join(", ")} is needed, got ${describeInput(given)}`,
    );
  }
  const keys = inputs.length > 1 ? Object.keys(asRecord(given)) : [];
  for (const key of keys) {
    if (!inputs.some(({ name }) => name === key)) {
      throw invalidArgument(
        operation,
        `${describeInput(key)} is not an argument; the arguments are ${inputs.map(({ name }) => name).join(", ")}`,
      );
    }
  }
  return inputs.map(({ name, unit }) => {
    const value = inputs.length > 1 ? asRecord(given)[name] : given;
    return isEnumName(unit)
      ? BigInt(parseEnum(unit, value, name))
      : parseUint256(value, name);
  });
}

export function fragmentOf(operation: OperationName): FunctionFragment {
  const [target] = targetsOf(operation);
  assertInvariant(target !== undefined, `${operation} names no contract`);
  const { abi } = contractRoles[target.role];
  const contractInterface: Interface = contractFactories[abi].createInterface();
  const fragment = contractInterface.getFunction(wireName(operation));
  assertInvariant(fragment !== null, `${abi} has no ${wireName(operation)}`);
  return fragment;
}

/** A call with its answer, and what an error names. */
interface AnsweredCall {
  readonly call: Pick<EncodedCall, "operation" | "role">;
  readonly target: LocatedAddress;
  readonly network: string;
  /** Default: `latest`. */
  readonly block?: BlockId;
  readonly answer: CallResult;
  /** Takes the values by name, if there are several. */
  readonly into?: Record<string, unknown>;
  /** True if the account is known to have no code. Counts only if the answer is empty. */
  readonly lacksCode: boolean;
}

/**
 * Decodes the value of an answer.
 *
 * @throws VaultError VAULT_CALL_REVERTED, VAULT_NO_CODE, VAULT_RETURN_DATA_MALFORMED
 */
export function decodeOrThrow({
  call: { operation, role },
  target: { address, source },
  network,
  block = "latest",
  answer,
  into,
  lacksCode,
}: AnsweredCall): unknown {
  const contract = contractRoles[role].label;
  if ("reverted" in answer) {
    const { text, kind } = answer.reverted;
    const details = {
      operation,
      reason: text,
      contract,
      address,
      hint:
        mockHint({ source }, operation) ??
        (kind === "none"
          ? wrongAddressHint(source, network)
          : "This reason is from the contract: correct what it names, or ask the contract's operator."),
    };
    throw vaultError("VAULT_CALL_REVERTED", details, answer.reverted);
  }
  const { data } = answer;
  if (data.length === 0 && lacksCode) {
    throw noCode(role, { address, source }, network, block);
  }
  const decoded = decodeOutputs(operation, data, into);
  if ("value" in decoded) {
    return decoded.value;
  }
  const { problem } = decoded;
  const where = { operation, contract, address, source };
  throw vaultError("VAULT_RETURN_DATA_MALFORMED", { ...where, problem });
}

/** Advice for a revert without data, typical of another contract's fallback. */
export function wrongAddressHint(source: string, network: string): string {
  return `The contract refused the call without a reason, as another contract would: check the address, which comes from ${source}, and that network ${network} is its chain.`;
}

export function noCode(
  role: ContractRole,
  { address, source }: LocatedAddress,
  network: string,
  block: BlockId = "latest",
): VaultError {
  return vaultError("VAULT_NO_CODE", {
    address,
    when: block === "latest" ? "" : ` at block ${describeBlock(block)}`,
    contract: contractRoles[role].label,
    network,
    source,
  });
}
