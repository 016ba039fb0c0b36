import { set, standaloneQueries } from "../protocol/index.js";
import type { StandaloneReadings } from "../protocol/index.js";
import { hasCode } from "../rpc/accounts.js";
import type { BlockInfo, PinnedBlock } from "../rpc/blocks.js";
import { getBlock, getNextBlock, readOnBranch } from "../rpc/blocks.js";
import { chainsCountingOtherBlocks, getChainId } from "../rpc/chain.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeOutputs, encodeCall } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { failedReading } from "./failed-reading.js";
import type { FailedReading } from "./failed-reading.js";
import { tryLens } from "./lens/lens.js";
import { option } from "./options.js";
import type { OptionsOf } from "./options.js";
import { LOOK_UP, readCall, readOptions } from "./reader.js";
import type { Context, Readable } from "./reader.js";

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
  vault: Readable,
  options: SnapshotOptions,
): Promise<{ readonly snapshot: VaultSnapshot; readonly pin: PinnedBlock }> {
  const orThrow = (error: unknown): FailedReading => {
    const failed = failedReading(error);
    if (options.strict === true) {
      throw error;
    }
    return failed;
  };
  const context = await vault.openContext(options, DEFAULT_TIMEOUT_MS);
  const found = await context.rpc.withinDeadline(
    LOOK_UP,
    Promise.all(
      standaloneCalls.map(
        async (call) => await locate(context, call).catch(orThrow),
      ),
    ),
  );
  const { values, pin, chainId, block } = await readTogether(
    context,
    found.filter((query) => "call" in query),
    async (at, call) => await readOrThrow(at, call).catch(orThrow),
  );
  const left = [...values];
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneQueries.entries()) {
    const query = found[index];
    const isLocated = query !== undefined && "call" in query;
    set(readings, path, isLocated ? left.shift() : query);
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
  /** In the place of each call its value, or what stands for it. */
  readonly values: readonly unknown[];
  /** For each of `targets`, whether there is a contract. */
  readonly codes: readonly boolean[];
}

export interface Together extends Values {
  readonly block: BlockInfo;
  readonly pin: PinnedBlock;
}

/** Reads a call that the lens does not answer. */
type ReadAlone = (context: Context, call: LocatedCall) => Promise<unknown>;

/**
 * Reads the header of a context's block, then all values at its hash.
 *
 * @param targets Addresses at which to look for code.
 */
export async function readTogether(
  context: Context,
  calls: readonly LocatedCall[],
  readAlone: ReadAlone = readOrThrow,
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

/** Reads values at a pinned block, all of its branch, in one request if the node can run the lens. */
export async function readAt(
  context: Context,
  pin: PinnedBlock,
  calls: readonly LocatedCall[],
  readAlone: ReadAlone = readOrThrow,
  targets: readonly string[] = [],
): Promise<Values> {
  const { rpc } = context;
  // Nodes do not accept the number of the pending block.
  const block = context.block === "pending" ? context.block : pin;
  const at = { ...context, block };
  return await readOnBranch(rpc, pin, async () => {
    const { lens, answers, codes } = await askLens(at, calls, targets);
    return {
      chainId: lens?.chainId ?? (await getChainId(rpc)),
      codes: await Promise.all(
        targets.map(
          async (target, index) =>
            codes?.[index] ?? (await hasCode(rpc, target, block)),
        ),
      ),
      // The last requests: at the newest block, nothing is older than they are. The contract
      // may refuse callers with code, such as the lens.
      values: await Promise.all(
        calls.map(async (call, index) => {
          const answer = answers[index];
          return answer !== undefined && "value" in answer
            ? answer.value
            : await readAlone(at, call);
        }),
      ),
    };
  });
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
): Promise<Omit<Together, "pin"> | undefined> {
  const { lens, answers, codes = [] } = await askLens(context, calls, []);
  if (
    lens === undefined ||
    chainsCountingOtherBlocks.has(lens.chainId) ||
    !answers.every((answer) => "value" in answer)
  ) {
    return undefined;
  }
  const { chainId, block } = lens;
  // Another node behind the URL may lack it when it is read next.
  context.rpc.node.noteBlock(block.number);
  return { chainId, block, values: answers.map(({ value }) => value), codes };
}

/** @returns The answer of the lens, and of each call its value if it has one. */
async function askLens(
  context: Context,
  calls: readonly LocatedCall[],
  targets: readonly string[],
) {
  const lens = await tryLens(context, [
    ...calls.map(({ call: { data }, target: { address: target } }) => ({
      target,
      data,
    })),
    // Only the presence of code matters here, not the result.
    ...targets.map((target) => ({ target, data: "0x" })),
  ]);
  const answers = calls.map(({ call: { operation } }, index) => {
    const entry = lens?.entries[index];
    return lens !== undefined && entry?.status === "returned"
      ? decodeOutputs(operation, lens.bytes.subarray(entry.start, entry.end))
      : { problem: "not read" };
  });
  const codes = lens?.entries
    .slice(calls.length)
    .map(({ hasCode: isCode }) => isCode);
  return { lens, answers, codes };
}

export async function readOrThrow(
  context: Context,
  { call, target }: LocatedCall,
): Promise<unknown> {
  return await readCall(context, call, target);
}
