// What is read before and after a settlement, and what differs.

import {
  WORD,
  decodeAnswer,
  encodeCall,
  hexWord,
  readWord,
} from "../client/codec.js";
import type { LocatedRole } from "../client/addresses.js";
import { checksumAddress } from "../client/inputs.js";
import type { LensFacts, ReadCall } from "../client/lens/lens.js";
import { failedReading, isFailedReading } from "../client/read-at-block.js";
import type { VaultSnapshot } from "../client/read-at-block.js";
import { assertInvariant, invalidArgument } from "../errors.js";
import { asRecord } from "../json.js";
import { get, operationEntry, standaloneQueries } from "../protocol/index.js";
import type { Address, Field, VaultRound } from "../protocol/index.js";
import type { CallResult } from "../rpc/revert-reason.js";
import { NATIVE } from "./tokens.js";
import type { ReadingChange, ReadingValue, State, Watched } from "./types.js";

/** Values or failed readings by name. Example: `pools.public`, `orders.7`. */
export type Readings = ReadonlyMap<string, unknown>;

/** What was read, decoded. */
export interface ChainState extends LensFacts {
  readonly readings: Readings;
  /** Of each account that of native currency, then those of tokens. */
  readonly balances: ReadonlyArray<{
    readonly account: Address;
    readonly token: Address | typeof NATIVE;
    readonly amount: bigint;
  }>;
}

/** Reads before and after a settlement. */
export interface WatchList extends Watched {
  /**
   * A reading that fails is an error in its place.
   *
   * @param surplus Wei that the sender has too much, because of the fee.
   * @throws VaultError VAULT_INVALID_ARGUMENT for an address that is no token
   */
  readonly decode: (state: State, surplus?: bigint) => ChainState;
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
  tokens: given = [],
}: {
  readonly network: string;
  readonly contracts: readonly LocatedRole[];
  readonly sender: Address;
  readonly orderIDs?: readonly bigint[];
  readonly tokens?: Iterable<string>;
}): WatchList {
  const orders = orderIDs.map((id) => ({
    name: `orders.${id}`,
    call: encodeCall("getOrderInfo", [id]),
  }));
  const named = [...readings, ...orders].flatMap(({ name, call }) => {
    const contract = contracts.find(({ role }) => role === call.role);
    return contract === undefined
      ? []
      : [{ name, call: { ...call, ...contract } }];
  });
  const addresses = contracts.map(({ address }) => address);
  const accounts = [...new Set([sender, ...addresses])];
  const tokens = [...given].map(checksumAddress);
  const reads = [
    ...named.map(({ call }) => call),
    ...accounts.flatMap((account) =>
      tokens.map((token) => balanceCall(token, account)),
    ),
  ];
  const decode: WatchList["decode"] = ({ facts, answers }, surplus = 0n) => {
    const found = new Map<string, unknown>();
    for (const [index, { name, call }] of named.entries()) {
      const answer = answers[index];
      assertInvariant(answer !== undefined, "a read without an answer");
      const lacksCode = accountIn(facts, call.address).codeSize === 0n;
      try {
        found.set(name, decodeAnswer(call, answer, { network, lacksCode }));
      } catch (error) {
        found.set(name, failedReading(error));
      }
    }
    const balances: Array<ChainState["balances"][number]> = [];
    let place = named.length;
    for (const [index, account] of accounts.entries()) {
      const { balance } = accountIn(facts, account);
      const amount = index === 0 ? balance - surplus : balance;
      balances.push({ account, token: NATIVE, amount });
      for (const token of tokens) {
        const held = balanceIn(answers[place++]);
        if (held === undefined) {
          throw invalidArgument(
            `The token ${token} on network ${network}`,
            "it does not return a balance as ERC-20 tokens do",
            "Check the address.",
          );
        }
        balances.push({ account, token, amount: held });
      }
    }
    return { ...facts, readings: found, balances };
  };
  return { accounts, reads, decode };
}

/** `balanceOf(address)` of an ERC-20 contract. */
export function balanceCall(token: string, account: string): ReadCall {
  return { address: token, data: `0x70a08231${hexWord(account)}` };
}

/** @returns Undefined for an answer that is no balance. */
export function balanceIn(answer: CallResult | undefined): bigint | undefined {
  return answer !== undefined && "data" in answer && answer.data.length === WORD
    ? readWord(answer.data, 0)
    : undefined;
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

/** @returns Undefined if the round cannot be read. */
export function roundOf({ readings: all }: ChainState): VaultRound | undefined {
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
  return [...before]
    .flatMap(([reading, value]) => {
      const other = after.get(reading);
      const isFailed = isFailedReading(value) || isFailedReading(other);
      const fields = isFailed ? [{ name: "error" }] : readingFields(reading);
      return fields.map(({ name: field }) => ({
        reading,
        field,
        before: valueIn(value, field),
        after: valueIn(other, field),
      }));
    })
    .filter((change) => change.before !== change.after);
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
