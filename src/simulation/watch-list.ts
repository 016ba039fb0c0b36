// What is read before and after a settlement, and what differs.

import type { LocatedAddress } from "../client/addresses.js";
import { decodeAnswer, encodeCall, hexWord } from "../client/codec.js";
import {
  failedReading,
  isFailedReading,
  isNotConfigured,
} from "../client/read-at-block.js";
import { checksumAddress } from "../client/inputs.js";
import type { LensFacts, ReadCall } from "../client/lens/lens.js";
import type { VaultSnapshot } from "../client/snapshot.js";
import { assertInvariant, fallbackTo, invalidArgument } from "../errors.js";
import type { VaultHost } from "../host.js";
import { asRecord } from "../json.js";
import {
  contractRoleNames,
  get,
  operationEntry,
  standaloneQueries,
} from "../protocol/index.js";
import type {
  Address,
  ContractRole,
  Field,
  VaultRound,
} from "../protocol/index.js";
import type { CallResult } from "../rpc/chain.js";
import type { State, Watched } from "./engines/engine.js";
import { NATIVE } from "./tokens.js";
import type { ReadingChange, ReadingValue } from "./types.js";

export interface KnownContract extends LocatedAddress {
  readonly role: ContractRole;
}

/** @throws VaultError if a configured address cannot be used */
export async function findContracts(
  vault: VaultHost,
): Promise<readonly KnownContract[]> {
  const found = await Promise.all(
    contractRoleNames.map(async (role) => {
      const located = await vault
        .addressOf(role)
        .catch(fallbackTo(undefined, isNotConfigured));
      return located === undefined ? [] : { role, ...located };
    }),
  );
  return found.flat();
}

/** Values or failed readings by name. Example: `pools.public`, `orders.7`. */
export type Readings = ReadonlyMap<string, unknown>;

export interface Balance {
  readonly account: Address;
  /** Address of an ERC-20 contract, or {@link NATIVE}. */
  readonly token: Address | typeof NATIVE;
  readonly amount: bigint;
}

/** A reading of a known contract, or the balance of a token. */
interface WatchedRead extends ReadCall {
  readonly decode: (
    answer: CallResult,
    facts: LensFacts,
  ) => { readonly name: string; readonly value: unknown } | Balance;
}

/** Reads before and after a settlement. */
export interface WatchList extends Watched {
  /** Readings of known contracts, orders last; then the balances of tokens. */
  readonly reads: readonly WatchedRead[];
}

const readings = standaloneQueries.map(({ operation, args, path }) => ({
  name: path.join("."),
  call: encodeCall(operation, args),
  fields: operationEntry(operation).outputs,
}));

/** Omits the readings of contracts that are not in `contracts`. */
export function makeWatchList({
  network,
  contracts,
  sender,
  orderIDs = [],
  tokens = [],
}: {
  readonly network: string;
  readonly contracts: readonly KnownContract[];
  readonly sender: Address;
  readonly orderIDs?: readonly bigint[];
  readonly tokens?: readonly string[];
}): WatchList {
  const orders = orderIDs.map((id) => ({
    name: `orders.${id}`,
    call: encodeCall("getOrderInfo", [id]),
  }));
  const reads: WatchedRead[] = [];
  for (const { name, call } of [...readings, ...orders]) {
    const target = contracts.find(({ role }) => role === call.role);
    if (target !== undefined) {
      const { address } = target;
      const decode: WatchedRead["decode"] = (answer, facts) => {
        const lacksCode = accountIn(facts, address).codeSize === 0n;
        const answered = { call, target, network, answer, lacksCode };
        return { name, value: tryReading(() => decodeAnswer(answered)) };
      };
      reads.push({ target: address, data: call.data, decode });
    }
  }
  const addresses = contracts.map(({ address }) => address);
  const accounts = [...new Set([sender, ...addresses])];
  for (const account of accounts) {
    for (const token of tokens.map(checksumAddress)) {
      const decode = (answer: CallResult): Balance => {
        const amount = balanceIn(answer);
        if (typeof amount === "string") {
          throw invalidArgument(
            `The token ${token} on network ${network}`,
            `no ERC-20 balance: ${amount}`,
            "Check the address.",
          );
        }
        return { account, token, amount };
      };
      reads.push({ ...balanceCall(token, account), decode });
    }
  }
  return { accounts, reads };
}

function tryReading(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return failedReading(error);
  }
}

/** `balanceOf(address)` of an ERC-20 contract. */
export function balanceCall(token: string, account: string): ReadCall {
  return { target: token, data: `0x70a08231${hexWord(account)}` };
}

/** @returns What is wrong with an answer that is no balance. */
export function balanceIn(answer: CallResult | undefined): bigint | string {
  if (answer === undefined || "reverted" in answer) {
    return "the call reverted";
  }
  const { data } = answer;
  return data.length === 32
    ? BigInt(`0x${data.toString("hex")}`)
    : data.length === 0
      ? "there is no code, or it returns nothing"
      : "it returns something else than one number";
}

export interface ChainState extends LensFacts {
  readonly readings: Readings;
  readonly balances: readonly Balance[];
}

/**
 * Decodes what an engine read. A reading that fails is an error in its place.
 *
 * @param surplus Wei that the first account has too much, because of the fee.
 * @throws VaultError VAULT_INVALID_ARGUMENT for an address that is no token
 */
export function decodeState(
  { accounts, reads }: WatchList,
  { facts, answers }: State,
  surplus = 0n,
): ChainState {
  const found = new Map<string, unknown>();
  const ofTokens: Balance[] = [];
  for (const [index, { decode }] of reads.entries()) {
    const answer = answers[index];
    assertInvariant(answer !== undefined, "a read without an answer");
    const decoded = decode(answer, facts);
    if ("name" in decoded) {
      found.set(decoded.name, decoded.value);
    } else {
      ofTokens.push(decoded);
    }
  }
  const balances = accounts.flatMap((account, index): readonly Balance[] => {
    const { balance } = accountIn(facts, account);
    const amount = index === 0 ? balance - surplus : balance;
    const own = ofTokens.filter((one) => one.account === account);
    return [{ account, token: NATIVE, amount }, ...own];
  });
  return { ...facts, readings: found, balances };
}

/** Balance and code of a watched account, whose address has its checksum. */
export function accountIn(
  { accounts }: Pick<LensFacts, "accounts">,
  address: string,
): { readonly balance: bigint; readonly codeSize: bigint } {
  const found = accounts.get(address);
  assertInvariant(found !== undefined, `${address} is not watched`);
  return found;
}

export function readingsIn(snapshot: VaultSnapshot): Readings {
  return new Map(
    standaloneQueries.map(({ path }) => [path.join("."), get(snapshot, path)]),
  );
}

/** Number of orders that could be read. */
export function countOrders({ readings: all }: ChainState): number {
  return [...all].filter(
    ([name, value]) => name.startsWith("orders.") && !isFailedReading(value),
  ).length;
}

/** @returns Undefined if the round cannot be read. */
export function roundOf({
  readings: all,
}: Pick<ChainState, "readings">): VaultRound | undefined {
  const round = all.get("round");
  // the result type of getLatestRoundInfo
  return isFailedReading(round) ? undefined : (round as VaultRound | undefined);
}

export function readingFields(reading: string): readonly Field[] {
  return (
    readings.find(({ name }) => name === reading)?.fields ??
    operationEntry("getOrderInfo").outputs
  );
}

export function changesBetween(
  before: Readings,
  after: Readings,
): readonly ReadingChange[] {
  const changes: ReadingChange[] = [];
  for (const [reading, value] of before) {
    const other = after.get(reading);
    const isFailed = isFailedReading(value) || isFailedReading(other);
    const fields = isFailed ? [{ name: "error" }] : readingFields(reading);
    for (const { name: field } of fields) {
      const [earlier, later] = [valueIn(value, field), valueIn(other, field)];
      if (earlier !== later) {
        changes.push({ reading, field, before: earlier, after: later });
      }
    }
  }
  return changes;
}

/** A field of a reading; `error`, as any of one that failed, is its code. */
export function valueIn(value: unknown, field: string): ReadingValue {
  if (isFailedReading(value)) {
    return value.error.code;
  }
  if (field === "error") {
    return null;
  }
  // A result with one field is the bare value, not a record.
  const fields = asRecord(value);
  // the decoder returns these types only
  return (fields === value ? fields[field] : value) as ReadingValue;
}
