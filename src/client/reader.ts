import type { Eip1193Provider } from "../rpc/eip1193.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import type {
  ContractRole,
  OperationArguments,
  OperationResult,
  ReadMethods,
  ReadOperationName,
} from "../protocol/index.js";
import type {
  BlockInfo,
  RequestOptions,
  RpcClient,
} from "../rpc/rpc-client.js";
import type { LocatedAddress } from "./addresses.js";
import type { BlockTag } from "./inputs.js";
import type { LensContext } from "./lens/lens.js";

/** Options of every read. */
export interface ReadOptions {
  /** Sender of the `eth_call`; else the client's, else the zero address. */
  readonly from?: string | undefined;
  /** Block to read at; "latest" unless given. */
  readonly blockTag?: BlockTag | undefined;
  /**
   * Milliseconds until all of the read has to be answered, with whatever is
   * asked again; 300,000 unless given.
   */
  readonly timeout?: number | undefined;
  /** Called each time a request failed that is made again. */
  readonly onRetry?: RequestOptions["onRetry"];
}

/** How an operation of several reads is asked for. */
export type OperationOptions = Omit<ReadOptions, "blockTag">;

/** The read methods of a client, one for each read operation of the protocol. */
export interface VaultReads extends ReadMethods<ReadOptions> {}

/**
 * What snapshots, scans of orders and the like need of a client: one read at a
 * time, and where it goes to. They take this, never the client that has them as
 * methods.
 */
export interface VaultReader {
  readonly provider: Eip1193Provider;
  readonly networkName: string;
  /** @internal What is asked of the node itself. */
  readonly rpc: RpcClient;
  /** @internal The options of a read as they go over the wire, and where to. */
  readContext(options: ReadOptions): LensContext;
  addressOf(role: ContractRole, operation?: string): Promise<LocatedAddress>;
  read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options?: ReadOptions,
  ): Promise<OperationResult<Name>>;
  block(blockTag?: BlockTag): Promise<BlockInfo>;
  chainId(): Promise<number>;
  /**
   * @internal The same for one operation: its requests share one deadline, and
   * are made again where that may help.
   */
  withDeadline(options: OperationOptions): VaultReader;
  /**
   * @internal Why a call reverted, in the words of a custom error where its ABI is
   * known: it was given, or is in the project's artifacts.
   */
  explain(reason: RevertReason): Promise<RevertReason>;
}
