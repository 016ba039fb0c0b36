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
  const located = found.filter((query) => "call" in query);
  const { block, pin } = await readHeader(context);
  const { values, chainId } = await readAt(context, pin, located, [], orThrow);
  const left = values.values();
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneQueries.entries()) {
    const query = found[index];
    const isRead = query !== undefined && "call" in query;
    set(readings, path, isRead ? left.next().value : query);
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
  /** For each of the further addresses, whether there is a contract. */
  readonly codes: readonly boolean[];
}

/** The header of a context's block; of the pending one, what the next block would have. */
export async function readHeader({
  rpc,
  block,
}: Context): Promise<{ readonly block: BlockInfo; readonly pin: PinnedBlock }> {
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

/**
 * Reads values at a pinned block, all of its branch, in one request if the node can run
 * the lens.
 *
 * @param targets Further addresses, at which to look for code.
 * @param orFailed Makes what stands for a value that cannot be read, or throws its error.
 */
export async function readAt(
  context: Context,
  pin: PinnedBlock,
  calls: readonly LocatedCall[],
  targets: readonly string[] = [],
  orFailed: (error: unknown) => unknown = raise,
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
            codes[index] ?? (await hasCode(rpc, target, block)),
        ),
      ),
      // The last requests: at the newest block, nothing is older than they are. The contract
      // may refuse callers with code, such as the lens.
      values: await Promise.all(
        calls.map(async ({ call, target }, index) => {
          const answer = answers[index];
          return answer !== undefined && "value" in answer
            ? answer.value
            : await readCall(at, call, target).catch(orFailed);
        }),
      ),
    };
  });
}

function raise(error: unknown): never {
  throw error;
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
): Promise<
  (Omit<Values, "codes"> & { readonly block: BlockInfo }) | undefined
> {
  const { lens, answers } = await askLens(context, calls, []);
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
  return { chainId, block, values: answers.map(({ value }) => value) };
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
  const { entries = [], bytes } = lens ?? {};
  const answers = calls.map(({ call: { operation } }, index) => {
    const entry = entries[index];
    return entry?.status === "returned" && bytes !== undefined
      ? decodeOutputs(operation, bytes.subarray(entry.start, entry.end))
      : { problem: "not read" };
  });
  const codes = entries
    .slice(calls.length)
    .map(({ hasCode: isCode }) => isCode);
  return { lens, answers, codes };
}
