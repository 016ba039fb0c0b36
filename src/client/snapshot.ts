import { set, standaloneQueries } from "../protocol/index.js";
import type { StandaloneReadings } from "../protocol/index.js";
import { hasCode } from "../rpc/accounts.js";
import type { PinnedBlock } from "../rpc/block-id.js";
import { getBlock, getNextBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { chainsCountingOtherBlocks, getChainId } from "../rpc/chain.js";
import { readOnBranch } from "../rpc/pinned-block.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeOutputs, encodeCall } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { failedReading } from "./failed-reading.js";
import type { FailedReading } from "./failed-reading.js";
import { tryLens } from "./lens/lens.js";
import type { LensAnswer, ReadCall } from "./lens/lens.js";
import { option } from "./options.js";
import type { OptionsOf } from "./options.js";
import { LOOK_UP, readCall, readOptions } from "./reader.js";
import type { Context, VaultReader } from "./reader.js";

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

/** Takes a snapshot, and returns the block with which a series of reads may go on. */
export async function takePinnedSnapshot(
  vault: VaultReader,
  options: SnapshotOptions,
): Promise<{ readonly snapshot: VaultSnapshot; readonly pin: PinnedBlock }> {
  const { strict = false } = options;
  const context = await vault.openContext(options, DEFAULT_TIMEOUT_MS);
  const found = await context.rpc.withinDeadline(
    LOOK_UP,
    Promise.all(
      standaloneCalls.map(
        async (query) =>
          await (strict
            ? locate(context, query)
            : locate(context, query).catch(failedReading)),
      ),
    ),
  );
  const located = found.filter((query) => "call" in query);
  const { values, pin, chainId, block } = await readTogether(
    context,
    located,
    strict ? readOrThrow : readOne,
  );
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneQueries.entries()) {
    const query = found[index];
    const isLocated = query !== undefined && "call" in query;
    set(readings, path, isLocated ? values[located.indexOf(query)] : query);
  }
  const snapshot: unknown = { chainId, block, ...readings };
  // the loop above fills exactly the places that the type names
  return { snapshot: snapshot as VaultSnapshot, pin };
}

/** Those of every snapshot, encoded once. */
const standaloneCalls = standaloneQueries.map(({ operation, args }) =>
  encodeCall(operation, args),
);

export interface LocatedCall {
  readonly call: EncodedCall;
  readonly target: LocatedAddress;
}

/** @throws VaultError for a contract without an address */
export async function locate(
  { locate: find }: Context,
  call: EncodedCall,
): Promise<LocatedCall> {
  return { call, target: await find(call.role, call.operation) };
}

interface Values {
  readonly chainId: number;
  /** In the place of each call its value, or a {@link FailedReading}. */
  readonly values: readonly unknown[];
  /** For each of `targets`, whether there is a contract. */
  readonly codes: readonly boolean[];
}

export interface Together extends Values {
  readonly block: BlockInfo;
  readonly pin: PinnedBlock;
}

/**
 * Reads the header of a context's block, then all values at its hash.
 *
 * @param readAlone Reads a call that the lens does not answer.
 * @param targets Addresses at which to look for code.
 */
export async function readTogether(
  context: Context,
  calls: readonly LocatedCall[],
  readAlone = readOrThrow,
  targets: readonly string[] = [],
): Promise<Together> {
  const { block, pin } = await readHeader(context);
  const found = await readAt(context, pin, calls, readAlone, targets);
  return { block, pin, ...found };
}

/** The header of a context's block; of the pending one, what the next block would have. */
export async function readHeader({
  rpc,
  block,
}: Context): Promise<Pick<Together, "block" | "pin">> {
  if (typeof block === "object" && block.timestamp !== undefined) {
    const { number, timestamp } = block;
    return { block: { number, timestamp }, pin: block };
  }
  const { number, timestamp, hash } =
    block === "pending"
      ? { ...(await getNextBlock(rpc)).next, hash: undefined }
      : await getBlock(rpc, block);
  return { block: { number, timestamp }, pin: { number, hash } };
}

/** Reads values at a pinned block, all of its branch. */
export async function readAt(
  context: Context,
  pin: PinnedBlock,
  calls: readonly LocatedCall[],
  readAlone = readOrThrow,
  targets: readonly string[] = [],
): Promise<Values> {
  // Nodes do not accept the number of the pending block.
  const block = context.block === "pending" ? context.block : pin;
  return await readOnBranch(
    context.rpc,
    pin,
    async () =>
      await readValues({ ...context, block }, calls, readAlone, targets),
  );
}

/** Reads values, in one request if the node can run the lens. */
export async function readValues(
  context: Context,
  calls: readonly LocatedCall[],
  readAlone = readOrThrow,
  targets: readonly string[] = [],
): Promise<Values> {
  const { rpc, block } = context;
  const lens = await tryLens(context, toReadCalls(calls, targets));
  const answers = decodeCalls(calls, lens);
  const [chainId, codes] = await Promise.all([
    lens?.chainId ?? getChainId(rpc),
    Promise.all(
      targets.map(
        async (target, index) =>
          lens?.entries[calls.length + index]?.hasCode ??
          (await hasCode(rpc, target, block)),
      ),
    ),
  ]);
  // The last requests: at the newest block, nothing is older than they are.
  const values = await Promise.all(
    calls.map(async (call, index) => {
      const answer = answers[index] ?? {};
      // The contract may refuse callers with code, such as the lens.
      return "value" in answer ? answer.value : await readAlone(context, call);
    }),
  );
  return { chainId, values, codes };
}

/**
 * Reads values at the newest block by one request, which has its number and time as contracts
 * see them.
 *
 * @returns Undefined if one request does not do.
 */
export async function readInOneCall(
  context: Context,
  calls: readonly LocatedCall[],
  targets: readonly string[] = [],
): Promise<(Values & Pick<Together, "block">) | undefined> {
  const lens = await tryLens(context, toReadCalls(calls, targets));
  const answers = decodeCalls(calls, lens);
  if (
    lens === undefined ||
    chainsCountingOtherBlocks.has(lens.chainId) ||
    !answers.every((answer) => "value" in answer)
  ) {
    return undefined;
  }
  const { chainId, block, entries } = lens;
  // Another node behind the URL may lack it when it is read next.
  context.rpc.node.blocks.note(block.number);
  return {
    chainId,
    block,
    values: answers.map(({ value }) => value),
    codes: entries.slice(calls.length).map(({ hasCode: isCode }) => isCode),
  };
}

function toReadCalls(
  calls: readonly LocatedCall[],
  targets: readonly string[],
): readonly ReadCall[] {
  return [
    ...calls.map(({ call: { data }, target: { address: target } }) => ({
      target,
      data,
    })),
    // Only the presence of code matters here, not the result.
    ...targets.map((target) => ({ target, data: "0x" })),
  ];
}

/** @returns For each call its value, if the lens has one. */
function decodeCalls(
  calls: readonly LocatedCall[],
  lens: LensAnswer | undefined,
): ReadonlyArray<{ readonly value?: unknown }> {
  return calls.map(({ call: { operation } }, index) => {
    const entry = lens?.entries[index];
    return lens !== undefined && entry?.status === "returned"
      ? decodeOutputs(operation, lens.bytes.subarray(entry.start, entry.end))
      : {};
  });
}

export async function readOrThrow(
  context: Context,
  { call, target }: LocatedCall,
): Promise<unknown> {
  return await readCall(context, call, target);
}

/** @returns The value, or a {@link FailedReading}. */
export async function readOne(
  context: Context,
  call: LocatedCall,
): Promise<unknown> {
  return await readOrThrow(context, call).catch(failedReading);
}
