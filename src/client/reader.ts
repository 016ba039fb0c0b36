import { ZeroAddress } from "ethers";
import type { InterfaceAbi } from "ethers";

import type {
  ContractRole,
  OperationArguments,
  OperationResult,
  ReadMethods,
  ReadOperationName,
} from "../protocol/index.js";
import { contractRoles } from "../protocol/index.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { DEFAULT_TIMEOUT_MS, RpcClient } from "../rpc/rpc-client.js";
import type { BlockInfo, RequestOptions } from "../rpc/rpc-client.js";
import { fixedAddresses, requireAddress } from "./addresses.js";
import type {
  AddressResolver,
  ContractAddresses,
  LocatedAddress,
} from "./addresses.js";
import { decodeAnswer } from "./answer.js";
import { encodeCall } from "./codec.js";
import { explainReason, findInAbis } from "./error-abis.js";
import type { FindErrors } from "./error-abis.js";
import { parseAddress, parseBlockTag, parseDuration } from "./inputs.js";
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

/** The progress of a scan of orders or of a search for rounds. */
export interface ScanProgress {
  /** Ids or blocks that were dealt with, whether or not they are listed. */
  readonly done: number;
  /** As far as is known; of a search, it grows with what is found. */
  readonly total: number;
}

/** Options of a scan of orders and of a search for rounds. */
export interface ScanOptions extends ReadOptions {
  /** Ends it when aborted: the iteration throws its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called each time further ids or blocks were dealt with. */
  readonly onProgress?: ((progress: ScanProgress) => void) | undefined;
}

/** Options of an operation of several reads. */
export type OperationOptions = Omit<ReadOptions, "blockTag">;

/** The read methods of a client, one for each read operation of the protocol. */
export interface VaultReads extends ReadMethods<ReadOptions> {}

/** Options of a {@link VaultClient}. */
export interface VaultClientOptions {
  /** Sender of reads that name none; the zero address unless given. */
  readonly from?: string | undefined;
  /** The network's name in error texts. */
  readonly networkName?: string | undefined;
  /**
   * ABIs with the custom errors that the contracts may revert with, each as in
   * an artifact. A `connection.vault` looks in the project's artifacts.
   */
  readonly abis?: readonly InterfaceAbi[] | undefined;
  /** @internal In the place of `abis`. */
  readonly findErrors?: FindErrors | undefined;
  /** @internal The way to the node, where there is one already. */
  readonly rpc?: RpcClient | undefined;
}

/**
 * The single reads of a {@link VaultClient}, with which snapshots and scans of
 * orders and rounds are made.
 */
export abstract class VaultReader {
  /** The provider that requests go to. */
  public readonly provider: Eip1193Provider;
  /** The network's name in error texts. */
  public readonly networkName: string;
  /** @internal The way to the node. */
  public readonly rpc: RpcClient;
  protected readonly addresses: AddressResolver;
  readonly #from: string;
  /** @internal */
  protected readonly findErrors: FindErrors;

  /**
   * @param provider Any EIP-1193 provider.
   * @param contracts Addresses by role; a missing one fails when it is needed.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   */
  constructor(
    provider: Eip1193Provider,
    contracts: ContractAddresses | AddressResolver,
    options: VaultClientOptions = {},
  ) {
    this.provider = provider;
    this.networkName = options.networkName ?? "of the given provider";
    this.rpc = options.rpc ?? new RpcClient(provider, this.networkName);
    this.addresses =
      typeof contracts === "function"
        ? contracts
        : fixedAddresses(contracts, "VaultClient");
    this.#from =
      options.from === undefined
        ? ZeroAddress
        : parseAddress(options.from, "from");
    this.findErrors = options.findErrors ?? findInAbis(options.abis ?? []);
  }

  /**
   * The address of a contract and where it came from.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED
   *
   * @example
   * ```ts
   * await vault.addressOf("vault");
   * // {
   * //   address: '0x7661756C74000000000000000000000000000006',
   * //   source: 'deployMocks()'
   * // }
   * ```
   */
  public async addressOf(
    role: ContractRole,
    operation = `the ${contractRoles[role].label}`,
  ): Promise<LocatedAddress> {
    return await this.#locate(this.rpc, role, operation);
  }

  async #locate(
    rpc: RpcClient,
    role: ContractRole,
    operation: string,
  ): Promise<LocatedAddress> {
    const context = { operation, network: this.networkName };
    return await rpc.withinDeadline(
      "the requests that look up an address",
      requireAddress(this.addresses, role, context),
    );
  }

  /**
   * Reads one operation by its name; the named methods do the same.
   *
   * @param args The operation's arguments, without the options.
   * @throws VaultError of every code that the named methods raise
   *
   * @example
   * ```ts
   * await vault.read("getFundingFeeRate", ["call"]);
   * // 25000n
   * ```
   */
  public async read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options: ReadOptions = {},
  ): Promise<OperationResult<Name>> {
    const call = encodeCall(operation, args);
    const { from, blockTag } = this.readContext(options);
    const rpc = this.rpcFor({
      ...options,
      timeout: options.timeout ?? DEFAULT_TIMEOUT_MS,
    });
    const target = await this.#locate(rpc, call.role, operation);
    const answer = await rpc.call(
      { from, to: target.address, data: call.data },
      blockTag,
    );
    const value = decodeAnswer({
      call,
      target,
      network: this.networkName,
      blockTag,
      answer:
        "reverted" in answer
          ? { reverted: await this.explain(answer.reverted) }
          : answer,
      hasCode:
        // An account without code answers too: with nothing.
        "reverted" in answer ||
        answer.data.length > 0 ||
        (await rpc.hasCode(target.address, blockTag)),
    });
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
    return value as OperationResult<Name>;
  }

  /** @internal The same client, its requests with one deadline, and retried. */
  public abstract withDeadline(options: OperationOptions): VaultReader;

  /**
   * Number and timestamp (Unix seconds) of a block.
   *
   * @example
   * ```ts
   * (await vault.block()).number;
   * // 1
   * ```
   */
  public async block(blockTag: BlockTag = "latest"): Promise<BlockInfo> {
    const { number, timestamp } = await this.rpc.getBlock(
      parseBlockTag(blockTag),
    );
    return { number, timestamp };
  }

  /**
   * The chain id that the node answers.
   *
   * @example
   * ```ts
   * await vault.chainId();
   * // 31337
   * ```
   */
  public async chainId(): Promise<number> {
    return await this.rpc.chainId();
  }

  /** @internal The options of a read as they go over the wire. */
  public readContext({ from, blockTag }: ReadOptions): LensContext {
    return {
      rpc: this.rpc,
      from:
        from === undefined ? this.defaultFrom() : parseAddress(from, "from"),
      blockTag: parseBlockTag(blockTag ?? "latest"),
    };
  }

  /** @internal The reason of a revert, as a custom error if its ABI is known. */
  public async explain(reason: RevertReason): Promise<RevertReason> {
    return await explainReason(reason, this.findErrors);
  }

  /** @internal The client of the requests of one operation. */
  protected rpcFor({ timeout, onRetry }: OperationOptions): RpcClient {
    return this.rpc.withOptions({
      timeout:
        timeout === undefined ? undefined : parseDuration("timeout", timeout),
      onRetry,
    });
  }

  /** Sender of reads that name none; a subclass may know better. */
  protected defaultFrom(): string {
    return this.#from;
  }
}
