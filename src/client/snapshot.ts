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
import { failedReading } from "./failed-reading.js";
import type { FailedReading } from "./failed-reading.js";
import { parseBlockTag } from "./inputs.js";
import { knownLensSupport, tryLens } from "./lens/lens.js";
import { entryAnswer } from "./lens/lens-answer.js";
import type { LensEntry } from "./lens/lens-answer.js";
import type { ReadOptions, VaultReader } from "./reader.js";

/**
 * Every reading that needs no argument, at one block. Values are unscaled; see
 * the operation of each key for its scale.
 */
export type VaultSnapshot = {
  readonly chainId: number;
  readonly block: BlockInfo;
} & StandaloneReadings<FailedReading>;

/** A picture of the chain: where it was taken, and what was read. */
interface Picture {
  readonly chainId: number;
  readonly block: BlockInfo;
  /** In the order of {@link standaloneReadings}. */
  readonly values: readonly unknown[];
}

/**
 * In one `eth_call` where the node allows that.
 *
 * @see VaultClient.snapshot
 */
export async function takeSnapshot(
  whole: VaultReader,
  options: ReadOptions,
): Promise<VaultSnapshot> {
  const client = whole.during({
    ...options,
    timeout: options.timeout ?? DEFAULT_TIMEOUT_MS,
  });
  const { chainId, block, values } =
    (await readInOneCall(client, options)) ??
    (await readCallByCall(client, options));
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneReadings.entries()) {
    placeReading(readings, path, values[index]);
  }
  return {
    chainId,
    block,
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the loop above fills exactly the places that the type names
    ...(readings as StandaloneReadings<FailedReading>),
  };
}

/** A reading with all that its call needs, or the reason why it has none. */
export type PreparedReading =
  | (Reading & { readonly call: EncodedCall; readonly target: LocatedAddress })
  | (Reading & FailedReading);

/** @returns Undefined where one call is not possible. */
async function readInOneCall(
  client: VaultReader,
  options: ReadOptions,
): Promise<Picture | undefined> {
  const context = client.readContext(options);
  const { network, from, blockTag } = context;
  if (knownLensSupport(client.provider) === false) {
    return undefined;
  }
  const prepared = await Promise.all(
    standaloneReadings.map(
      async (reading) => await prepareReading(client, reading),
    ),
  );
  const located = prepared.filter((reading) => "call" in reading);
  const answer = await tryLens(
    context,
    located.map(({ call, target: { address } }) => ({
      target: address,
      data: call.data,
    })),
  );
  if (answer?.entries.length !== located.length) {
    return undefined;
  }
  const entries = new Map<PreparedReading, LensEntry | undefined>(
    located.map((reading, index) => [reading, answer.entries[index]]),
  );
  const { block } = answer;
  const pinned = pinTo(block, from, blockTag);
  const values = await Promise.all(
    prepared.map(async (reading) => {
      if ("error" in reading) {
        return { error: reading.error };
      }
      const { call, target } = reading;
      const entry = entries.get(reading);
      if (entry !== undefined && entry.status !== "unknown") {
        try {
          return decodeAnswer({
            call,
            target,
            network,
            blockTag: parseBlockTag(pinned.blockTag),
            answer: entryAnswer(answer, entry),
            hasCode: entry.hasCode,
          });
        } catch (error) {
          const failed = failedReading(error);
          if (failed.error.code === "VAULT_NO_CODE") {
            return failed;
          }
        }
      }
      // What the lens could not find out is asked for by itself; so is what
      // failed: the contract may refuse callers that have code, as the lens has.
      return await readOne(client, reading, pinned);
    }),
  );
  return { chainId: answer.chainId, block, values };
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
    return { ...reading, ...failedReading(error) };
  }
}

async function readCallByCall(
  client: VaultReader,
  { from, blockTag }: ReadOptions,
): Promise<Picture> {
  const [chainId, block] = await Promise.all([
    client.chainId(),
    client.block(blockTag),
  ]);
  const pinned = pinTo(block, from, blockTag);
  const values = await Promise.all(
    standaloneReadings.map(
      async (reading) => await readOne(client, reading, pinned),
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
    return failedReading(error);
  }
}
