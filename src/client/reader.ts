import type { InterfaceAbi } from "ethers";

import { fallbackTo, hasErrorCode, vaultError } from "../errors.js";
import type { ContractRole } from "../protocol/index.js";
import { hasCode } from "../rpc/accounts.js";
import { getBlock, toBlockId } from "../rpc/blocks.js";
import type { BlockId, PinnedBlock } from "../rpc/blocks.js";
import { callContract } from "../rpc/calls.js";
import type { CallResult } from "../rpc/calls.js";
import { isRefusal } from "../rpc/errors.js";
import type { RequestOptions, RpcClient } from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./addresses.js";
import { decodeAnswer } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { explainAnswer } from "./error-abis.js";
import type { ErrorAbisOf } from "./error-abis.js";
import type { AccountLike, AddressLike, BlockTag } from "./inputs.js";
import { option } from "./options.js";
import type { OptionsOf } from "./options.js";

export const readOptions = {
  /**
   * Sender of the `eth_call`: an address, or whatever has one, as a signer or a contract.
   * Default: the client's, else the zero address.
   */
  from: option<AccountLike>(),
  /**
   * Block to read at; one with its hash is read of that branch of the chain. Default:
   * "latest".
   */
  blockTag: option<BlockTag | PinnedBlock>(),
  /** Milliseconds for the whole read, retries included. Default: 300,000. */
  timeout: option<number>(),
  /** Ends the read when aborted; the read throws its reason. */
  signal: option<AbortSignal>(),
  /** Called before each retry of a request. */
  onRetry: option<RequestOptions["onRetry"]>(),
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
  onProgress: option<(progress: ScanProgress) => unknown>(),
};

/** Options of `orders()` and `rounds()`. */
export interface ScanOptions extends OptionsOf<typeof scanOptions> {}

export const clientOptions = {
  /** Sender of reads that name none: an address or a signer. Default: the zero address. */
  from: option<AddressLike>(),
  /** The network's name in error texts. */
  networkName: option<string>(),
  /**
   * ABIs of the contracts' custom errors, each as in an artifact.
   * `connection.vault` uses the project's artifacts.
   */
  abis: option<readonly InterfaceAbi[]>(),
  /** @internal In place of `abis`. */
  errorAbisOf: option<ErrorAbisOf>(),
  /** @internal */
  rpc: option<RpcClient>(),
};

/** Options of a {@link VaultClient}. */
export interface VaultClientOptions extends OptionsOf<typeof clientOptions> {}

/** What reads need. One at another block takes a copy, by a spread. */
export interface Context {
  readonly rpc: RpcClient;
  /** The caller that the contracts see. */
  readonly from: string;
  readonly block: BlockId;
  /** @param operation Names in errors what needs the address. */
  readonly locate: (
    role: ContractRole,
    operation: string,
  ) => Promise<LocatedAddress>;
  readonly errorAbisOf: ErrorAbisOf;
}

/** A vault, for whatever reads by several requests. */
export interface Readable {
  /** @param standardTimeout Milliseconds if there is no deadline yet. */
  openContext(options: ReadOptions, standardTimeout?: number): Promise<Context>;
}

/** Name of the work in the error of a deadline. */
export const LOOK_UP = "the requests that look up an address";

/** Reads by one `eth_call` of a contract. */
export async function readCall(
  context: Context,
  call: EncodedCall,
  target: LocatedAddress,
): Promise<unknown> {
  const { rpc, from, block } = context;
  const request = { from, to: target.address, data: call.data };
  const answer = await requestAtBlock(
    rpc,
    block,
    async (at) => await callContract(rpc, request, at),
  );
  const isEmpty = "data" in answer && answer.data.length === 0;
  // A call to an account without code succeeds with empty data.
  const lacksCode = isEmpty && !(await hasCode(rpc, target.address, block));
  const read = await readAnswer(context, call, target, answer, lacksCode);
  if ("error" in read) {
    throw read.error;
  }
  return read.value;
}

/** The value of an answer, or its error, with the reason if the contract reverted. */
export async function readAnswer(
  context: Context,
  call: Pick<EncodedCall, "operation" | "role">,
  target: LocatedAddress,
  given: CallResult,
  lacksCode: boolean,
): Promise<ReturnType<typeof decodeAnswer>> {
  const { rpc, block } = context;
  const answer = await explainAnswer(given, context);
  const { network } = rpc;
  return decodeAnswer({ call, target, network, block, answer, lacksCode });
}

/**
 * Makes a request at a block. If the node refuses it, finds out if the block's state is
 * missing: a node without an archive has the block, answers the same request at the
 * newest block, but has no older state. Nodes have no common words for this.
 *
 * @throws VaultError VAULT_ARCHIVE_NODE_NEEDED, VAULT_BLOCK_NOT_FOUND, else the error of
 * the request
 */
export async function requestAtBlock<Answer>(
  rpc: RpcClient,
  block: BlockId,
  request: (block: BlockId) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request(block);
  } catch (refusal) {
    // VAULT_BLOCK_NOT_FOUND is no refusal: it is thrown.
    const orRefused = fallbackTo(undefined, isRefusal);
    const isFixed =
      block === "earliest" || !Number.isNaN(Number(toBlockId(block)));
    const header =
      isFixed && hasErrorCode(refusal, "VAULT_RPC_ERROR")
        ? await getBlock(rpc, block).catch(orRefused)
        : undefined;
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
