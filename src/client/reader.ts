import type { Eip1193Provider } from "../rpc/eip1193.js";
import type {
  ContractRole,
  OperationArguments,
  OperationResult,
  ReadMethods,
  ReadOperationName,
} from "../protocol/index.js";
import type { BlockInfo } from "../rpc/node.js";
import type { LocatedAddress } from "./addresses.js";
import type { BlockTag } from "./inputs.js";

/** Options of every read. */
export interface ReadOptions {
  /** Sender of the `eth_call`; else the client's, else the zero address. */
  readonly from?: string | undefined;
  /** Block to read at; "latest" unless given. */
  readonly blockTag?: BlockTag | undefined;
}

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
  /** @internal The options of a read as they go over the wire. */
  readContext(options: ReadOptions): { from: string; blockTag: string };
  addressOf(role: ContractRole, operation?: string): Promise<LocatedAddress>;
  read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options?: ReadOptions,
  ): Promise<OperationResult<Name>>;
  block(blockTag?: BlockTag): Promise<BlockInfo>;
  chainId(): Promise<number>;
}
