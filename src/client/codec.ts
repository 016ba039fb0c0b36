import type { Buffer } from "node:buffer";

import { invalidArgument, vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import {
  contractRoles,
  isEnumName,
  operationEntry,
} from "../protocol/index.js";
import type {
  Address,
  ContractRole,
  OperationName,
  WireType,
} from "../protocol/index.js";
import { describeBlock } from "../rpc/blocks.js";
import type { BlockId } from "../rpc/blocks.js";
import type { CallResult } from "../rpc/revert-reason.js";
import { mockHint } from "./contracts.js";
import type { LocatedAddress } from "./contracts.js";
import {
  checkKeys,
  checksumAddress,
  notOneOf,
  parseEnum,
  parseUint,
} from "./inputs.js";

/** Bytes of a word in the ABI encoding. */
export const WORD = 32;

/** Encodes a number or an address in 32 bytes of hex, without 0x. */
export function hexWord(value: bigint | number | string): string {
  const digits =
    typeof value === "string"
      ? value.slice(2).toLowerCase()
      : value.toString(16);
  return digits.padStart(2 * WORD, "0");
}

export function viewOf({ buffer, byteOffset, length }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, length);
}

/** By its quarters: a text to parse takes twice as long. */
export function readWord(bytes: Buffer, offset: number): bigint {
  const view = viewOf(bytes);
  let word = 0n;
  for (let place = offset; place < offset + WORD; place += 8) {
    const quarter = view.getBigUint64(place);
    word = word === 0n ? quarter : (word << 64n) | quarter;
  }
  return word;
}

/** Undefined if the word is a larger number. */
export function readSmallWord(
  bytes: Buffer,
  offset: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const word = readWord(bytes, offset);
  return word <= most ? Number(word) : undefined;
}

export function isZero(bytes: Buffer, start: number, end: number): boolean {
  return bytes.subarray(start, end).every((byte) => byte === 0);
}

const ADDRESS_SIZE = 20;

/**
 * Addresses repeat, and the hash of one takes as long as a reading. By their last four
 * bytes: a text as the key takes longer.
 */
const spelled = new Map<
  number,
  { readonly high: bigint; readonly middle: bigint; readonly address: Address }
>();
const MOST_SPELLED = 10_000;

/** The address whose bytes begin at `start`. */
export function addressAt(bytes: Buffer, start: number): Address {
  const high = bytes.readBigUInt64BE(start);
  const middle = bytes.readBigUInt64BE(start + 8);
  const low = bytes.readUInt32BE(start + 16);
  const known = spelled.get(low);
  if (known?.high === high && known.middle === middle) {
    return known.address;
  }
  const address = checksumAddress(
    `0x${bytes.toString("hex", start, start + ADDRESS_SIZE)}`,
  );
  if (spelled.size < MOST_SPELLED) {
    spelled.set(low, { high, middle, address });
  }
  return address;
}

/** The call of an operation, ready for `eth_call` or a transaction. */
export interface EncodedCall {
  readonly operation: OperationName;
  readonly role: ContractRole;
  /** Selector and arguments, 0x hex. */
  readonly data: string;
}

/** A call, and the contract that answers it. */
export interface LocatedCall extends EncodedCall, LocatedAddress {}

/**
 * Checks the arguments of an operation and encodes them.
 *
 * @param args Arguments of the client's method of that name: the contract if several have
 * the operation; then its only argument, or one object with its arguments.
 */
export function encodeCall(
  operation: OperationName,
  args: readonly unknown[],
): EncodedCall {
  const { inputs, selector, target } = operationEntry(operation);
  const [first, ...others] = args;
  const takesNone = inputs.length === 0 && typeof target === "string";
  if (others.length > 0 || (takesNone && first !== undefined)) {
    throw invalidArgument(operation, "it is called with too many arguments");
  }
  let role = target;
  if (typeof role !== "string") {
    const found = Object.entries(role).find(([name]) => name === first);
    if (found === undefined) {
      throw notOneOf("pool", Object.keys(role), first);
    }
    [, role] = found;
  }
  const names = inputs.map(({ name }) => name);
  const values =
    inputs.length > 1
      ? checkKeys(operation, first, "argument", names)
      : { [names[0] ?? ""]: first };
  const words = inputs.map(({ name, unit }) =>
    hexWord(
      isEnumName(unit)
        ? parseEnum(unit, values[name], name)
        : parseUint(values[name], name),
    ),
  );
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
  const hasString = outputs.some(({ type }) => type === "string");
  if (bytes.length < head || (bytes.length > head && !hasString)) {
    return { problem: `${bytes.length} bytes instead of ${head}` };
  }
  // Strings follow the head, in order and without a gap.
  let end = head;
  const values = outputs.map(({ name, type }, index): [string, unknown] => {
    const place = index * WORD;
    if (type !== "string") {
      return [name, readStatic(type, bytes, place)];
    }
    const text =
      readSmallWord(bytes, place) === end ? stringAt(bytes, end) : undefined;
    end += WORD + paddedSize(text?.length ?? 0);
    // Invalid UTF-8 becomes U+FFFD.
    return [name, text?.toString("utf8")];
  });
  if (end !== bytes.length || values.some(([, value]) => value === undefined)) {
    return { problem: "not the canonical encoding" };
  }
  return {
    value: values.length === 1 ? values[0]?.[1] : Object.fromEntries(values),
  };
}

/** @returns Undefined unless the string that begins at `start` is padded with zeros. */
function stringAt(bytes: Buffer, start: number): Buffer | undefined {
  const text = start + WORD;
  const size = text > bytes.length ? undefined : readSmallWord(bytes, start);
  if (size === undefined) {
    return undefined;
  }
  const end = text + paddedSize(size);
  return end <= bytes.length && isZero(bytes, text + size, end)
    ? bytes.subarray(text, text + size)
    : undefined;
}

function paddedSize(size: number): number {
  return Math.ceil(size / WORD) * WORD;
}

/** @returns Undefined if the word does not encode a value of this type. */
function readStatic(
  type: Exclude<WireType, "string">,
  bytes: Buffer,
  place: number,
): unknown {
  switch (type) {
    case "uint256":
      return readWord(bytes, place);
    case "uint8":
      return readSmallWord(bytes, place, 0xff);
    case "bool":
      return [false, true][readSmallWord(bytes, place, 1) ?? -1];
    case "address": {
      const start = place + WORD - ADDRESS_SIZE;
      return isZero(bytes, place, start) ? addressAt(bytes, start) : undefined;
    }
  }
}

/**
 * The value of an answer.
 *
 * @param seen What an error names, and if the account is known to have no code, which counts
 * only if the answer is empty.
 * @throws VaultError VAULT_CALL_REVERTED, VAULT_NO_CODE, VAULT_RETURN_DATA_MALFORMED
 */
export function decodeAnswer(
  call: Omit<LocatedCall, "data">,
  answer: CallResult,
  seen: { network: string; block?: BlockId; lacksCode: boolean },
): unknown {
  const { operation, role, address, source } = call;
  const { network, block, lacksCode } = seen;
  const contract = contractRoles[role].label;
  if ("reverted" in answer) {
    const { text: reason, kind } = answer.reverted;
    const advice =
      kind === "none"
        ? silentRevertHint(source, network)
        : (mockHint(source) ??
          "This reason is from the contract: correct what it names, or ask the contract's operator.");
    const hint =
      operation === "getOrderInfo"
        ? `There may be no order with this id. ${advice}`
        : advice;
    const details = { operation, reason, contract, address, hint };
    throw vaultError("VAULT_CALL_REVERTED", details, answer.reverted);
  }
  const decoded = decodeOutputs(operation, answer.data);
  if ("value" in decoded) {
    return decoded.value;
  }
  if (answer.data.length === 0 && lacksCode) {
    throw noCode(role, call, network, block);
  }
  const { problem } = decoded;
  const details = { operation, contract, address, source, problem };
  throw vaultError("VAULT_RETURN_DATA_MALFORMED", details);
}

/** Advice for a revert without a reason. */
export function silentRevertHint(source: string, network: string): string {
  return (
    mockHint(source) ??
    `The contract refused the call without a reason, as another contract would: check the address, which comes from ${source}, and that network ${network} is its chain.`
  );
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
