// What is read before and after a settlement, and what differs.

import {
  WORD,
  decodeAnswer,
  encodeCall,
  hexWord,
  readWord,
} from "../client/codec.js";
import type { LocatedRole } from "../client/contracts.js";
import { NOBODYS_ADDRESS, factsCall, parseFacts } from "../client/lens/lens.js";
import type { LensFacts, ReadCall } from "../client/lens/lens.js";
import { failedReading, isFailedReading } from "../client/read-at-block.js";
import type { VaultSnapshot } from "../client/read-at-block.js";
import { assertInvariant } from "../errors.js";
import { asRecord } from "../json.js";
import { get, operationEntry, standaloneQueries } from "../protocol/index.js";
import type { Address, Field, VaultRound } from "../protocol/index.js";
import { returnedRevert } from "../rpc/revert-reason.js";
import type { CallResult } from "../rpc/revert-reason.js";
import type { Receipt } from "../rpc/transactions.js";
import { NATIVE, transfersIn } from "./tokens.js";
import type {
  ChainState,
  PreviewDifference,
  ReadingChange,
  ReadingValue,
  Readings,
  Simulation,
  Transfer,
  WatchList,
} from "./types.js";

const readings = standaloneQueries.map(({ operation, args, path }) => ({
  name: path.join("."),
  call: encodeCall(operation, args),
  fields: operationEntry(operation).outputs,
}));

/**
 * @param watched Readings of contracts that are not in `contracts` are left out. Each of the
 * accounts, of which the sender comes first, has its balances.
 */
export function makeWatchList(watched: {
  readonly network: string;
  readonly contracts: readonly LocatedRole[];
  readonly accounts: readonly Address[];
  readonly orderIDs?: readonly bigint[] | undefined;
  readonly tokens?: readonly Address[];
}): WatchList {
  const { network, contracts, orderIDs = [], tokens = [] } = watched;
  const accounts = [...new Set(watched.accounts)];
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
  const reads = [
    factsCall(NOBODYS_ADDRESS, accounts),
    ...named.map(({ call }) => call),
    ...accounts.flatMap((account) =>
      tokens.map((token) => balanceCall(token, account)),
    ),
  ];
  const decode: WatchList["decode"] = ([first, ...answers]) => {
    const facts = parseFacts(first, accounts);
    if (facts === undefined) {
      return undefined;
    }
    const found = new Map<string, unknown>();
    for (const [index, { name, call }] of named.entries()) {
      const given = answers[index];
      assertInvariant(given !== undefined, "a read without an answer");
      // Some networks and proxies return a revert as a result.
      const returned = "data" in given ? returnedRevert(given.data) : undefined;
      const isRevert = (returned?.reverted.kind ?? "unknown") !== "unknown";
      const answer = isRevert && returned !== undefined ? returned : given;
      const lacksCode = accountIn(facts, call.address).codeSize === 0n;
      try {
        found.set(name, decodeAnswer(call, answer, { network, lacksCode }));
      } catch (error) {
        found.set(name, failedReading(error));
      }
    }
    const balances: Array<ChainState["balances"][number]> = [];
    let place = named.length;
    for (const account of accounts) {
      const { balance: amount } = accountIn(facts, account);
      balances.push({ account, token: NATIVE, amount });
      for (const token of tokens) {
        const held = balanceIn(answers[place++]);
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

function readingsIn(snapshot: VaultSnapshot): Readings {
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
function valueIn(value: unknown, field: string): ReadingValue {
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

/**
 * Finds the previewed changes that did not come, and the token transfers that are not as
 * previewed. Effects of other transactions in the block count, too.
 *
 * @param after The readings in the block of the transaction.
 * @returns Null if the transaction reverted, or no change differs and the transfers are not
 * known.
 */
export function findDifferences(
  { changes, transfers }: Pick<Simulation, "changes" | "transfers">,
  { succeeded, logs }: Receipt,
  after: VaultSnapshot,
): readonly PreviewDifference[] | null {
  if (succeeded === false) {
    return null;
  }
  const found = readingsIn(after);
  const values = changes.map(({ reading, field, after: previewed }) => ({
    reading,
    field,
    previewed,
    happened: valueIn(found.get(reading), field),
  }));
  const happened = transfersIn(logs);
  const areKnown = happened !== undefined && transfers !== null;
  const sums = areKnown ? compareTransfers(transfers, happened) : [];
  const differences = [...values, ...sums].filter(
    (one) => one.previewed !== one.happened,
  );
  return differences.length > 0 || areKnown ? differences : null;
}

/** Compares the sums of each token between two accounts. */
function compareTransfers(
  previewed: readonly Transfer[],
  happened: readonly Transfer[],
): readonly PreviewDifference[] {
  const sums = new Map<string, { previewed: bigint; happened: bigint }>();
  const sides = [
    ["previewed", previewed],
    ["happened", happened],
  ] as const;
  for (const [side, transfers] of sides) {
    for (const { token, from, to, amount } of transfers) {
      const field = `${token} from ${from} to ${to}`;
      const sum = sums.get(field) ?? { previewed: 0n, happened: 0n };
      // A receipt does not record native transfers.
      if (token !== NATIVE) {
        sums.set(field, { ...sum, [side]: sum[side] + amount });
      }
    }
  }
  return [...sums].map(([field, sum]) => ({
    reading: "transfers",
    field,
    ...sum,
  }));
}
