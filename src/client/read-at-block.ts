import { VaultError, fallbackTo, hasErrorCode, vaultError } from "../errors.js";
import { asRecord } from "../json.js";
import { set, standaloneQueries } from "../protocol/index.js";
import type { ContractRole, StandaloneReadings } from "../protocol/index.js";
import {
  getBlock,
  getNextBlock,
  readOnBranch,
  toBlockId,
} from "../rpc/blocks.js";
import type { BlockId, BlockInfo, PinnedBlock } from "../rpc/blocks.js";
import {
  callContract,
  chainsCountingOtherBlocks,
  getChainId,
  hasCode,
} from "../rpc/chain.js";
import type { CallResult, ErrorAbisOf } from "../rpc/revert-reason.js";
import { allowsAnotherRequest } from "../rpc/errors.js";
import { DEFAULT_TIMEOUT_MS } from "../rpc/rpc-client.js";
import type { RequestOptions, RpcClient } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./contracts.js";
import { decodeAnswer, decodeOutputs, encodeCall } from "./codec.js";
import type { EncodedCall, LocatedCall } from "./codec.js";
import { explainAnswer } from "../rpc/revert-reason.js";
import { checkOptions, optional } from "./inputs.js";
import type { AccountLike, BlockTag, OptionsOf } from "./inputs.js";
import { tryLens } from "./lens/lens.js";
import type { CallContext } from "./lens/lens.js";

export const readOptions = {
  /**
   * Caller that the contracts see: an address, or whatever has one, as a signer or a contract.
   * Default: the client's, else the zero address.
   */
  from: optional<AccountLike>(),
  /**
   * Block to read at; one with its hash is read of that branch of the chain. Default:
   * "latest".
   */
  blockTag: optional<BlockTag | PinnedBlock>(),
  /** Milliseconds for the whole read, retries included. Default: 300,000. */
  timeout: optional<number>(),
  /** Ends the read when aborted; the read throws its reason. */
  signal: optional<AbortSignal>(),
  /** Called before each retry of a request; its failure is a warning of the process. */
  onRetry: optional<RequestOptions["onRetry"]>(),
};

/** Options of every read. */
export interface ReadOptions extends OptionsOf<typeof readOptions> {}

/** Progress of `orders()` or `rounds()`. */
export interface ScanProgress {
  /** Ids or blocks read so far, listed or not. */
  readonly done: number;
  /** Ids or blocks to read; grows while more are found. */
  readonly total: number;
}

export const scanOptions = {
  ...readOptions,
  /** Called after further ids or blocks were read. */
  onProgress: optional<(progress: ScanProgress) => unknown>(),
};

/** Options of `orders()` and `rounds()`. */
export interface ScanOptions extends OptionsOf<typeof scanOptions> {}

/** What reads need. One at another block takes a copy, by a spread. */
export interface ReadContext extends CallContext {
  /** @param operation Names in errors what needs the address. */
  readonly addressOf: (
    role: ContractRole,
    operation: string,
  ) => Promise<LocatedAddress>;
  readonly errorAbisOf: ErrorAbisOf;
}

/** A vault, for whatever reads by several requests. */
export interface Readable {
  /** @param standardTimeout Milliseconds if there is no deadline yet. */
  openContext(
    options: ReadOptions,
    standardTimeout?: number,
  ): Promise<ReadContext>;
}

/** The error in place of a reading that failed. */
export interface FailedReading {
  readonly error: VaultError;
}

/**
 * True if this key of a snapshot holds an error instead of a value.
 *
 * @example
 * ```ts
 * const { volume } = await vault.snapshot();
 * isFailedReading(volume) ? volume.error.code : volume;
 * // 420000000000000000000n
 * ```
 */
export function isFailedReading(reading: unknown): reading is FailedReading {
  return VaultError.isVaultError(asRecord(reading)["error"]);
}

/**
 * Wraps the error of a reading; throws a bug of this package, and VAULT_REORGED, after
 * which all readings are of another branch.
 */
export function failedReading(error: unknown): FailedReading {
  if (
    !VaultError.isVaultError(error) ||
    error.kind === "bug" ||
    error.code === "VAULT_REORGED"
  ) {
    throw error;
  }
  return { error };
}

export function isNotConfigured({ code }: Pick<VaultError, "code">): boolean {
  return code === "VAULT_CONTRACT_NOT_CONFIGURED";
}

/** @throws VaultError for a contract without an address */
export async function locate(
  { addressOf }: ReadContext,
  call: EncodedCall,
): Promise<LocatedCall> {
  return { ...call, ...(await addressOf(call.role, call.operation)) };
}

/** Reads by one `eth_call` of a contract. */
export async function readCall(
  context: ReadContext,
  call: LocatedCall,
): Promise<unknown> {
  const { rpc, from, block } = context;
  const { address, data } = call;
  const request = { from, to: address, data };
  const answer = await withArchiveCheck(
    rpc,
    block,
    async (at) => await callContract(rpc, request, at),
  );
  const isEmpty = "data" in answer && answer.data.length === 0;
  // A call to an account without code succeeds with empty data.
  const lacksCode = isEmpty && !(await hasCode(rpc, address, block));
  return await readAnswer(context, call, answer, lacksCode);
}

/**
 * The value of an answer.
 *
 * @throws VaultError with the reason if the contract reverted
 */
export async function readAnswer(
  context: ReadContext,
  call: Omit<LocatedCall, "data">,
  given: CallResult,
  lacksCode: boolean,
): Promise<unknown> {
  const { rpc, block } = context;
  const answer = await explainAnswer(given, context);
  const { network } = rpc;
  return decodeAnswer(call, answer, { network, block, lacksCode });
}

/**
 * Makes a request at a block. If the node refuses it, checks if the block's state is
 * missing: a node without an archive has the block, answers the same request at the
 * newest block, but has no older state. Nodes have no common words for this.
 *
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED, VAULT_BLOCK_NOT_FOUND, else the error of
 * the request
 */
export async function withArchiveCheck<Answer>(
  rpc: RpcClient,
  block: BlockId,
  request: (block: BlockId) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request(block);
  } catch (refusal) {
    // VAULT_BLOCK_NOT_FOUND is no refusal: it is thrown.
    const orRefused = fallbackTo(undefined, allowsAnotherRequest);
    const isFixed =
      block === "earliest" || !Number.isNaN(Number(toBlockId(block)));
    if (!isFixed || !hasErrorCode(refusal, "VAULT_RPC_ERROR")) {
      throw refusal;
    }
    const header = await getBlock(rpc, block).catch(orRefused);
    if (
      header === undefined ||
      (await request("latest").then(() => true, orRefused)) !== true
    ) {
      throw refusal;
    }
    // The first refusal may have had another cause, which has passed.
    return await request(block).catch((again: unknown) => {
      if (!hasErrorCode(again, "VAULT_RPC_ERROR")) {
        throw again;
      }
      const problem = String(again.details["problem"]);
      const details = { network: rpc.network, block: header.number, problem };
      throw vaultError("VAULT_ARCHIVE_NODE_NEEDED", details, again);
    });
  }
}

/**
 * Reads which block a context names now, and with what it is read from then on. Of the pending
 * block, this is what the next block would have.
 */
export async function pinBlock({ rpc, block }: ReadContext): Promise<{
  readonly block: BlockInfo;
  readonly pin: PinnedBlock;
}> {
  if (typeof block === "object" && block.timestamp !== undefined) {
    const { number, timestamp } = block;
    return { block: { number, timestamp }, pin: block };
  }
  const { number, timestamp, hash } =
    block === "pending"
      ? { ...(await getNextBlock(rpc)), hash: undefined }
      : await getBlock(rpc, block);
  return { block: { number, timestamp }, pin: { number, hash } };
}

interface ReadValues {
  readonly chainId: number;
  /** In the place of each call its value, or what stands for it. */
  readonly values: readonly unknown[];
}

/**
 * Reads values at a pinned block, all of its branch, in one request if the node can run
 * the lens.
 *
 * @param orFailed Makes what stands for a value that cannot be read, or throws its error.
 */
export async function readPinned(
  context: ReadContext,
  pin: PinnedBlock,
  calls: readonly LocatedCall[],
  orFailed?: (error: unknown) => unknown,
): Promise<ReadValues> {
  const { rpc } = context;
  // Nodes do not accept the number of the pending block.
  const block = context.block === "pending" ? context.block : pin;
  const at = { ...context, block };
  return await readOnBranch(rpc, pin, async () => {
    const { lens, answers } = await askLens(at, calls);
    return {
      chainId: lens?.chainId ?? (await getChainId(rpc)),
      // These requests come last, so that nothing in the answer is newer than the values. The
      // contract may refuse callers with code, such as the lens.
      values: await Promise.all(
        calls.map(async (call, index) => {
          const answer = answers[index];
          return answer !== undefined && "value" in answer
            ? answer.value
            : await readCall(at, call).catch(orFailed);
        }),
      ),
    };
  });
}

/**
 * Reads values at the newest block by one request, without its header: the answer has its
 * number and time as contracts see them.
 *
 * @returns Undefined if one request does not do.
 */
export async function readNewest(
  context: ReadContext,
  calls: readonly LocatedCall[],
): Promise<(ReadValues & { readonly block: BlockInfo }) | undefined> {
  const { lens, answers } = await askLens(context, calls);
  if (
    lens === undefined ||
    chainsCountingOtherBlocks.has(lens.chainId) ||
    !answers.every((answer) => "value" in answer)
  ) {
    return undefined;
  }
  const { chainId, block } = lens;
  return { chainId, block, values: answers.map(({ value }) => value) };
}

/** @returns The answer of the lens, and of each call its value if it has one. */
async function askLens(context: ReadContext, calls: readonly LocatedCall[]) {
  const lens = await tryLens(context, calls);
  const answers = calls.map(({ operation }, index) => {
    const entry = lens?.entries[index];
    return lens !== undefined && entry?.status === "returned"
      ? decodeOutputs(operation, lens.bytes.subarray(entry.start, entry.end))
      : { problem: "not read" };
  });
  return { lens, answers };
}

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

const snapshotOptions = {
  ...readOptions,
  /** Throws the error of a reading that failed. Default: false. */
  strict: optional<boolean>(),
};

/** Options of {@link VaultClient.snapshot}. */
export interface SnapshotOptions extends OptionsOf<typeof snapshotOptions> {}

/** Those of every snapshot, encoded once. */
const standaloneCalls = standaloneQueries.map(({ operation, args }) =>
  encodeCall(operation, args),
);

/** Takes a snapshot, and returns the block with which a series of reads may go on. */
export async function takePinnedSnapshot(
  vault: Readable,
  options: SnapshotOptions,
): Promise<{ readonly snapshot: VaultSnapshot; readonly pin: PinnedBlock }> {
  checkOptions("snapshot()", options, snapshotOptions);
  const orThrow = (error: unknown): FailedReading => {
    const failed = failedReading(error);
    if (options.strict === true) {
      throw error;
    }
    return failed;
  };
  const context = await vault.openContext(options, DEFAULT_TIMEOUT_MS);
  const found = await Promise.all(
    standaloneCalls.map(
      async (call) => await locate(context, call).catch(orThrow),
    ),
  );
  const located = found.filter((call) => "data" in call);
  const { block, pin } = await pinBlock(context);
  const { values, chainId } = await readPinned(context, pin, located, orThrow);
  const left = values.values();
  const readings: Record<string, unknown> = {};
  for (const [index, { path }] of standaloneQueries.entries()) {
    const call = found[index];
    const isRead = call !== undefined && "data" in call;
    set(readings, path, isRead ? left.next().value : call);
  }
  const snapshot: unknown = { chainId, block, ...readings };
  // the loop above fills exactly the places that the type names
  return { snapshot: snapshot as VaultSnapshot, pin };
}
