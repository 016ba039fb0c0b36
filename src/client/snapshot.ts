import { Buffer } from "node:buffer";

import { VaultError } from "../errors.js";
import { placeReading, standaloneReadings } from "../protocol/index.js";
import type {
  OperationArguments,
  ReadOperationName,
  Reading,
  StandaloneReadings,
} from "../protocol/index.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeAnswer } from "./answer.js";
import type { BlockInfo } from "../rpc/node.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/patient.js";
import { encodeCall } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { isFailedReading } from "./failed-reading.js";
import type { FailedReading } from "./failed-reading.js";
import { parseBlockTag } from "./inputs.js";
import { knownLensSupport, tryLens } from "./lens/lens.js";
import type { LensContext } from "./lens/lens.js";
import { entryAnswer } from "./lens/lens-answer.js";
import type { LensAnswer, LensEntry } from "./lens/lens-answer.js";
import {
  factsCalls,
  parseFacts,
  rehearsalLensCode,
} from "./lens/rehearsal-lens.js";
import type { ReadOptions, VaultReader } from "./reader.js";

/**
 * Every reading that needs no argument, at one block. Values are unscaled; see
 * the operation of each key for its scale.
 */
export type VaultSnapshot = {
  readonly chainId: number;
  readonly block: BlockInfo;
} & StandaloneReadings<FailedReading>;

/** A picture of the chain: where it was taken, and the values of each set. */
interface Picture {
  readonly chainId: number;
  readonly block: BlockInfo;
  /** In the order of the sets, and in each of {@link standaloneReadings}. */
  readonly values: ReadonlyArray<readonly unknown[]>;
  readonly balances?: ReadonlyMap<string, bigint> | undefined;
}

/** @see VaultClient.snapshot */
export async function takeSnapshot(
  client: VaultReader,
  options: ReadOptions,
): Promise<VaultSnapshot> {
  return (await takeSnapshotWithBalances(client, options, [])).snapshot;
}

/** A snapshot, and native balances of the same block. */
export interface SnapshotWithBalances {
  readonly snapshot: VaultSnapshot;
  /** In wei, by account; undefined where they did not come along. */
  readonly balances: ReadonlyMap<string, bigint> | undefined;
}

/** The same, with the native balances of accounts in the same request. */
export async function takeSnapshotWithBalances(
  client: VaultReader,
  options: ReadOptions,
  accounts: readonly string[],
): Promise<SnapshotWithBalances> {
  const { chainId, block, readings, balances } = await takeSnapshots(
    [client],
    options,
    accounts,
  );
  // eslint-disable-next-line @typescript-eslint/no-non-null-assertion -- one for each client
  return { snapshot: { chainId, block, ...readings[0]! }, balances };
}

/**
 * Every reading of several sets of contracts on one connection, at one block: in
 * one `eth_call` where the node allows that.
 *
 * @param sets At least one.
 * @param accounts Whose native balances are read along.
 */
export async function takeSnapshots(
  sets: readonly VaultReader[],
  options: ReadOptions,
  accounts: readonly string[] = [],
): Promise<
  Pick<Picture, "chainId" | "block" | "balances"> & {
    /** In the order of the sets. */
    readonly readings: ReadonlyArray<StandaloneReadings<FailedReading>>;
  }
> {
  const clients = sets.map((set) =>
    set.during({ timeout: DEFAULT_TIMEOUT_MS, ...options }),
  );
  const { values, ...picture } =
    (await readInOneCall(clients, options, accounts)) ??
    (await readCallByCall(clients, options));
  return {
    ...picture,
    readings: values.map((ofSet) => {
      const places: Record<string, unknown> = {};
      standaloneReadings.forEach(({ path }, index) => {
        placeReading(places, path, ofSet[index]);
      });
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop above fills exactly the places that the type names
      return places as StandaloneReadings<FailedReading>;
    }),
  };
}

/** A reading with all that its call needs, or the reason why it has none. */
export type PreparedReading =
  | (Reading & { readonly call: EncodedCall; readonly target: LocatedAddress })
  | (Reading & FailedReading);

/** @returns Undefined where one call is not possible. */
async function readInOneCall(
  clients: readonly VaultReader[],
  options: ReadOptions,
  accounts: readonly string[],
): Promise<Picture | undefined> {
  const client = anyOf(clients);
  const { from, blockTag } = client.readContext(options);
  const context: LensContext = {
    provider: client.provider,
    network: client.networkName,
    from,
    blockTag,
  };
  if (knownLensSupport(client.provider) === false) {
    return undefined;
  }
  const prepared = await Promise.all(
    clients.map(
      async (set) =>
        await Promise.all(
          standaloneReadings.map(
            async (reading) => await prepareReading(set, reading),
          ),
        ),
    ),
  );
  // Sets may share contracts, which are asked once.
  const calls = new Map(
    prepared
      .flat()
      .flatMap((reading) =>
        "call" in reading
          ? [
              [
                keyOf(reading),
                { target: reading.target.address, data: reading.call.data },
              ],
            ]
          : [],
      ),
  );
  const own =
    accounts.length === 0
      ? { calls: [] }
      : { code: rehearsalLensCode, calls: factsCalls(from, accounts) };
  const answer = await tryLens(context, [...calls.values()], own);
  if (answer?.entries.length !== calls.size + own.calls.length) {
    return undefined;
  }
  const entries = new Map(
    [...calls.keys()].map((key, index) => [key, answer.entries[index]]),
  );
  // A chain may number its blocks otherwise than its EVM does.
  const block = blockTag.startsWith("0x")
    ? { ...answer.block, number: Number(blockTag) }
    : answer.block;
  const pinned = pinTo(block, from, blockTag);
  const readAt = parseBlockTag(pinned.blockTag);
  const readingOf = (set: VaultReader, reading: PreparedReading): unknown => {
    if ("error" in reading) {
      return { error: reading.error };
    }
    const entry = entries.get(keyOf(reading));
    const read =
      entry === undefined || entry.status === "unknown"
        ? undefined
        : decodeEntry(set, reading, readAt, answer, entry);
    // What the lens could not find out is asked for by itself; so is what
    // failed: the contract may refuse callers that have code, as the lens has.
    return read === undefined ||
      (isFailedReading(read) && read.error.code !== "VAULT_NO_CODE")
      ? readOne(set, reading, pinned)
      : read;
  };
  const values = await Promise.all(
    clients.map(
      async (set, index) =>
        await Promise.all(
          (prepared[index] ?? []).map((reading) => readingOf(set, reading)),
        ),
    ),
  );
  return {
    chainId: answer.chainId,
    block,
    values,
    balances: balancesOf(accounts, answer, answer.entries.slice(calls.size)),
  };
}

function balancesOf(
  accounts: readonly string[],
  answer: LensAnswer,
  entries: readonly LensEntry[],
): ReadonlyMap<string, bigint> | undefined {
  const facts = parseFacts(
    entries.map((entry) => {
      const bytes = entryAnswer(answer, entry);
      return bytes instanceof Buffer ? bytes : undefined;
    }),
    accounts,
  );
  return facts === undefined
    ? undefined
    : new Map(
        [...facts.accounts].map(([account, { balance }]) => [account, balance]),
      );
}

function keyOf({
  call,
  target,
}: Extract<PreparedReading, { readonly call: EncodedCall }>): string {
  return `${target.address} ${call.data}`;
}

/** One of the clients of a connection, for what is the same for all. */
function anyOf(clients: readonly VaultReader[]): VaultReader {
  const [client] = clients;
  if (client === undefined) {
    throw new TypeError("no set of contracts to read");
  }
  return client;
}

function decodeEntry(
  { networkName: network }: VaultReader,
  { call, target }: Extract<PreparedReading, { readonly call: EncodedCall }>,
  blockTag: string,
  answer: LensAnswer,
  entry: LensEntry,
): unknown {
  try {
    return decodeAnswer({
      call,
      target,
      network,
      blockTag,
      answer: entryAnswer(answer, entry),
      hasCode: entry.hasCode,
    });
  } catch (error) {
    return { error: expectedError(error) };
  }
}

const encodedReadings = new WeakMap<Reading, EncodedCall>();

/** The readings are constants, and so are their calls. */
function encodeReading(reading: Reading): EncodedCall {
  const encoded =
    encodedReadings.get(reading) ?? encodeCall(reading.operation, reading.args);
  encodedReadings.set(reading, encoded);
  return encoded;
}

/** Encodes a reading's call and finds out where it goes. */
export async function prepareReading(
  client: VaultReader,
  reading: Reading,
): Promise<PreparedReading> {
  try {
    const call = encodeReading(reading);
    const target = await client.addressOf(call.role, reading.operation);
    return { ...reading, call, target };
  } catch (error) {
    return { ...reading, error: expectedError(error) };
  }
}

async function readCallByCall(
  clients: readonly VaultReader[],
  { from, blockTag }: ReadOptions,
): Promise<Picture> {
  const client = anyOf(clients);
  const [chainId, block] = await Promise.all([
    client.chainId(),
    client.block(blockTag),
  ]);
  const pinned = pinTo(block, from, blockTag);
  const values = await Promise.all(
    clients.map(
      async (set) =>
        await Promise.all(
          standaloneReadings.map(
            async (reading) => await readOne(set, reading, pinned),
          ),
        ),
    ),
  );
  return { chainId, block, values };
}

function pinTo(
  { number }: BlockInfo,
  from: string | undefined,
  blockTag: unknown,
): ReadOptions {
  // A pending block has no number that a node could be asked for.
  return { from, blockTag: blockTag === "pending" ? blockTag : number };
}

/** One reading in a request of its own, or why it failed. */
export async function readOne(
  client: VaultReader,
  { operation, args }: Reading,
  pinned: ReadOptions,
): Promise<unknown> {
  try {
    return await client.read(
      operation,
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table that made this reading also makes the argument types
      args as OperationArguments<ReadOperationName>,
      pinned,
    );
  } catch (error) {
    return { error: expectedError(error) };
  }
}

/** The error if it is one that a reading may have; anything else is thrown. */
function expectedError(error: unknown): VaultError {
  if (!VaultError.isVaultError(error) || error.kind === "bug") {
    throw error;
  }
  return error;
}
