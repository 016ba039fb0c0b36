import type { Buffer } from "node:buffer";

import type { Interface } from "ethers";

import { LiquidityPool__factory } from "../bindings/factories/LiquidityPool__factory.js";
import { Trading__factory } from "../bindings/factories/Trading__factory.js";
import { UnderlyingAsset__factory } from "../bindings/factories/UnderlyingAsset__factory.js";
import { VaultFactory__factory } from "../bindings/factories/VaultFactory__factory.js";
import { Vault__factory } from "../bindings/factories/Vault__factory.js";
import { invalidArgument, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import {
  contractRoles,
  isEnumName,
  operationEntry,
} from "../protocol/index.js";
import type {
  AbiName,
  Address,
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
import { WORD, hexWord, isZero, readSmallWord, readWord } from "./words.js";

/** Bytes of an address. */
export const ADDRESS_SIZE = 20;

/** The address whose bytes begin at `start`. */
export function addressAt(bytes: Buffer, start: number): Address {
  return checksumAddress(
    `0x${bytes.toString("hex", start, start + ADDRESS_SIZE)}`,
  );
}

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
 * accepted, without a word before, between or behind the values, so shifted or cut data
 * never become a wrong figure.
 */
export function decodeOutputs(
  operation: OperationName,
  bytes: Buffer,
): { readonly value: unknown } | { readonly problem: string } {
  const { outputs } = operationEntry(operation);
  const head = outputs.length * WORD;
  const isStatic = outputs.every(({ type }) => type !== "string");
  if (bytes.length < head || (isStatic && bytes.length > head)) {
    const least = isStatic ? "" : "at least ";
    return { problem: `${bytes.length} bytes instead of ${least}${head}` };
  }
  const values: Record<string, unknown> = {};
  // Strings follow the head, in order and without a gap.
  let tail = head;
  for (const [index, { name, type }] of outputs.entries()) {
    const offset = index * WORD;
    let value: unknown;
    if (type === "string") {
      const text =
        readSmallWord(bytes, offset) === tail
          ? stringAt(bytes, tail)
          : undefined;
      tail += WORD + Math.ceil((text?.length ?? 0) / WORD) * WORD;
      // Invalid UTF-8 becomes U+FFFD.
      value = text?.toString("utf8");
    } else {
      value = readStatic(type, bytes, offset);
    }
    if (value === undefined) {
      return { problem: "not the canonical encoding" };
    }
    values[name] = value;
  }
  if (tail !== bytes.length) {
    return { problem: `${bytes.length - tail} bytes behind the values` };
  }
  return { value: outputs.length === 1 ? Object.values(values)[0] : values };
}

/** @returns Undefined unless the string that begins at `start` is padded with zeros. */
function stringAt(bytes: Buffer, start: number): Buffer | undefined {
  const text = start + WORD;
  const size = text > bytes.length ? undefined : readSmallWord(bytes, start);
  if (size === undefined) {
    return undefined;
  }
  const end = text + Math.ceil(size / WORD) * WORD;
  return end <= bytes.length && isZero(bytes, text + size, end)
    ? bytes.subarray(text, text + size)
    : undefined;
}

/** @returns Undefined if the word does not encode a value of this type. */
function readStatic(
  type: Exclude<WireType, "string">,
  bytes: Buffer,
  offset: number,
): unknown {
  switch (type) {
    case "uint256":
      return readWord(bytes, offset);
    case "uint8":
      return readSmallWord(bytes, offset, 1);
    case "bool": {
      const bit = readSmallWord(bytes, offset, 1);
      return bit === 0 || bit === 1 ? bit === 1 : undefined;
    }
    case "address": {
      const start = offset + WORD - ADDRESS_SIZE;
      return isZero(bytes, offset, start) ? addressAt(bytes, start) : undefined;
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

/** A call with its answer, and what an error names. */
interface AnsweredCall {
  readonly call: Pick<EncodedCall, "operation" | "role">;
  readonly target: LocatedAddress;
  readonly network: string;
  /** Default: `latest`. */
  readonly block?: BlockId;
  readonly answer: CallResult;
  /** True if the account is known to have no code. Counts only if the answer is empty. */
  readonly lacksCode: boolean;
}

/**
 * Decodes the value of an answer.
 *
 * @throws VaultError VAULT_CALL_REVERTED, VAULT_NO_CODE, VAULT_RETURN_DATA_MALFORMED
 */
export function decodeOrThrow(answered: AnsweredCall): unknown {
  const { call, answer } = answered;
  if ("reverted" in answer) {
    throw answerError(answered);
  }
  const decoded = decodeOutputs(call.operation, answer.data);
  if ("value" in decoded) {
    return decoded.value;
  }
  throw answerError(answered, decoded.problem);
}

/**
 * The error of an answer without a value.
 *
 * @param problem Why its data cannot be decoded.
 * @returns VAULT_CALL_REVERTED, VAULT_NO_CODE, VAULT_RETURN_DATA_MALFORMED
 */
export function answerError(
  {
    call: { operation, role },
    target: { address, source },
    network,
    block = "latest",
    answer,
    lacksCode,
  }: AnsweredCall,
  problem = "",
): VaultError {
  const contract = contractRoles[role].label;
  if ("reverted" in answer) {
    const { text, kind } = answer.reverted;
    const details = {
      operation,
      reason: text,
      contract,
      address,
      hint:
        mockHint({ source }) ??
        (kind === "none"
          ? wrongAddressHint(source, network)
          : "This reason is from the contract: correct what it names, or ask the contract's operator."),
    };
    return vaultError("VAULT_CALL_REVERTED", details, answer.reverted);
  }
  if (answer.data.length === 0 && lacksCode) {
    return noCode(role, { address, source }, network, block);
  }
  const where = { operation, contract, address, source };
  return vaultError("VAULT_RETURN_DATA_MALFORMED", { ...where, problem });
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
