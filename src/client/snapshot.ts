import { set, standaloneQueries } from "../protocol/index.js";
import type {
  OperationArguments,
  ReadOperationName,
  Query,
  StandaloneReadings,
} from "../protocol/index.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeOutputs, encodeCall } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { hasCode } from "../rpc/accounts.js";
import type { PinnedBlock } from "../rpc/block-id.js";
import { getBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/rpc-client.js";
import { withAddress } from "./inputs.js";
import { failedReading } from "./failed-reading.js";
import type { FailedReading } from "./failed-reading.js";
import { tryLens } from "./lens/lens.js";
import type { LensAnswer } from "./lens/lens.js";
import { option } from "./options.js";
import type { OptionsOf } from "./options.js";
import { readOptions } from "./reader.js";
import type { ReadOptions, VaultReader } from "./reader.js";

/**
 * Every reading without arguments, at one block. Values are unscaled. A reading that
 * failed is a {@link FailedReading} in its place.
 */
export interface VaultSnapshot extends StandaloneReadings<FailedReading> {
  readonly chainId: number;
  readonly block: BlockInfo;
}

/** A snapshot in which no reading failed. */
export interface StrictVaultSnapshot extends StandaloneReadings {
  readonly chainId: number;
  readonly block: BlockInfo;
}

export const snapshotOptions = {
  ...readOptions,
  /** Throws the error of a reading that failed. Default: false. */
  strict: option<boolean>(),
};

/** Options of {@link VaultClient.snapshot}. */
export interface SnapshotOptions extends OptionsOf<typeof snapshotOptions> {}

/** @see VaultClient.snapshot */
export async function takeSnapshot(
  vault: VaultReader,
  options: SnapshotOptions,
): Promise<VaultSnapshot> {
  return (await takePinnedSnapshot(vault, options, false)).snapshot;
}

/** Takes a snapshot with which a series of reads begins. */
export async function takePinnedSnapshot(
  vault: VaultReader,
  options: SnapshotOptions,
  needsPin = true,
): Promise<{ readonly snapshot: VaultSnapshot; readonly pin: PinnedBlock }> {
  const { blockTag, strict = false } = options;
  const given = await withAddress(options);
  const client = vault.withOptions(given, DEFAULT_TIMEOUT_MS);
  // A wait for each address would take as long as decoding the answer.
  const prepared = await client.rpc.withinDeadline(
    "the requests that look up an address",
    Promise.all(
      standaloneCalls.map(
        async (query) =>
          await (strict
            ? locate(vault, query)
            : locate(vault, query).catch(failedReading)),
      ),
    ),
  );
  const located = prepared.filter((query) => "call" in query);
  const { values, pin, chainId, block } = await readTogether(
    client,
    located,
    { blockTag, needsPin },
    strict ? readOrThrow : readOne,
  );
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneQueries.entries()) {
    const query = prepared[index];
    const isLocated = query !== undefined && "call" in query;
    set(readings, path, isLocated ? values[located.indexOf(query)] : query);
  }
  const snapshot: unknown = { chainId, block, ...readings };
  // the loop above fills exactly the places that the type names
  return { snapshot: snapshot as VaultSnapshot, pin };
}

interface Call extends Pick<Query, "operation" | "args"> {
  /** Default: it is encoded. */
  readonly call?: EncodedCall;
}

/** Those of every snapshot, encoded once. */
const standaloneCalls: readonly Call[] = standaloneQueries.map((query) => ({
  ...query,
  call: encodeCall(query.operation, query.args),
}));

interface LocatedCall extends Call {
  readonly call: EncodedCall;
  readonly target: LocatedAddress;
}

/** @throws VaultError for wrong arguments, and for a contract without an address */
export async function locate(
  client: VaultReader,
  { operation, args, call = encodeCall(operation, args) }: Call,
): Promise<LocatedCall> {
  const target = await client.addressOf(call.role, operation);
  return { operation, args, call, target };
}

interface Together {
  readonly chainId: number;
  readonly block: BlockInfo;
  readonly pin: PinnedBlock;
  /** In the place of each call its value, or a {@link FailedReading}. */
  readonly values: readonly unknown[];
  /** For each of `targets`, whether there is a contract. */
  readonly codes: readonly boolean[];
  /**
   * The values as answered at a block that may come after the header's, if it was; each
   * undefined if only a request of its own would answer.
   */
  readonly later: readonly unknown[] | undefined;
}

interface TogetherOptions extends Pick<ReadOptions, "from" | "blockTag"> {
  /** Addresses at which to look for code. */
  readonly targets?: readonly string[];
  /**
   * True if what the lens does not answer is read at `blockTag` again, as the last
   * request, and not at the block of the header.
   */
  readonly isNewest?: boolean;
  /** False if no other reads follow at the same block. Default: true. */
  readonly needsPin?: boolean;
}

/**
 * Reads chain, block and values, in one request if the node can run the lens.
 *
 * @param readAlone Reads a call that the lens does not answer. Default: {@link readOne}.
 */
export async function readTogether(
  client: VaultReader,
  calls: readonly LocatedCall[],
  together: TogetherOptions,
  readAlone = readOne,
): Promise<Together> {
  const { from, blockTag, targets = [], isNewest = false } = together;
  const { needsPin = true } = together;
  const lens = await tryLens(
    client.readContext({ from, blockTag }),
    [
      ...calls.map(({ call: { data }, target: { address: target } }) => ({
        target,
        data,
      })),
      // Only the presence of code matters here, not the result.
      ...targets.map((target) => ({ target, data: "0x" })),
    ],
    needsPin,
  );
  const { chainId, block, pin } = lens ?? (await readHeader(client, blockTag));
  const options = {
    from,
    // A node does not accept the number of a pending block.
    blockTag: isNewest || blockTag === "pending" ? blockTag : block.number,
  };
  const answers = decodeCalls(calls, lens);
  const isWhole = answers.every((answer) => "value" in answer);
  if (!isWhole && lens?.hasHeader === false) {
    // The others have to be of the same block.
    return await readTogether(
      client,
      calls,
      { ...together, needsPin: true },
      readAlone,
    );
  }
  const readMissing = async (): Promise<readonly unknown[]> => {
    const pinned = client.pinnedTo(pin);
    const read = async (): Promise<readonly unknown[]> =>
      await Promise.all(
        calls.map(async (one, index) => {
          const answer = answers[index] ?? {};
          // The contract may refuse callers with code, such as the lens: read without it.
          return "value" in answer
            ? answer.value
            : await readAlone(pinned, one, options);
        }),
      );
    return await (isNewest ? read() : pinned.withProof(read));
  };
  const codes = await Promise.all(
    targets.map(
      async (target, index) =>
        lens?.entries[calls.length + index]?.hasCode ??
        (await hasCode(
          client.rpc,
          target,
          client.pinnedTo(pin).readContext(options).block,
        )),
    ),
  );
  const values = isWhole
    ? answers.map(({ value }) => value)
    : await readMissing();
  const later =
    lens?.later === undefined
      ? undefined
      : decodeCalls(calls, lens.later).map((answer) =>
          "value" in answer ? answer.value : undefined,
        );
  return { chainId, block, pin, values, codes, later };
}

/** @returns For each call its value, if the lens has one. */
function decodeCalls(
  calls: readonly LocatedCall[],
  lens: Pick<LensAnswer, "bytes" | "entries"> | undefined,
): ReadonlyArray<{ readonly value?: unknown }> {
  return calls.map(({ operation }, index) => {
    const entry = lens?.entries[index];
    return lens !== undefined && entry?.status === "returned"
      ? decodeOutputs(operation, lens.bytes.subarray(entry.start, entry.end))
      : {};
  });
}

async function readHeader(
  client: VaultReader,
  blockTag: ReadOptions["blockTag"],
): Promise<{
  readonly chainId: number;
  readonly block: BlockInfo;
  readonly pin: PinnedBlock;
}> {
  const { rpc, block: asked } = client.readContext({ blockTag });
  const [chainId, { number, timestamp, hash }] = await Promise.all([
    client.chainId(),
    getBlock(rpc, asked),
  ]);
  return { chainId, block: { number, timestamp }, pin: { number, hash } };
}

/** @returns The value, or a {@link FailedReading}. */
export async function readOne(
  client: VaultReader,
  call: Call,
  options: ReadOptions,
): Promise<unknown> {
  return await readOrThrow(client, call, options).catch(failedReading);
}

export async function readOrThrow(
  client: VaultReader,
  { operation, args }: Call,
  options: ReadOptions,
): Promise<unknown> {
  return await client.read(
    operation,
    // the table that made this reading also makes the argument types
    args as OperationArguments<ReadOperationName>,
    options,
  );
}
