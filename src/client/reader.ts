import { inspect } from "node:util";

import { ZeroAddress } from "ethers";
import type { InterfaceAbi } from "ethers";

import { checkOptions, option } from "./options.js";
import type { OptionsOf } from "./options.js";
import { GIVEN_PROVIDER } from "../errors.js";
import type {
  ContractRole,
  OperationArguments,
  OperationResult,
  ReadOperationName,
} from "../protocol/index.js";
import { contractRoles } from "../protocol/index.js";
import { hasCode } from "../rpc/accounts.js";
import { toBlockId } from "../rpc/block-id.js";
import type { BlockId, PinnedBlock } from "../rpc/block-id.js";
import { getBlock } from "../rpc/blocks.js";
import type { BlockInfo } from "../rpc/blocks.js";
import { callContract } from "../rpc/calls.js";
import { getChainId } from "../rpc/chain.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { requireSameBranch } from "../rpc/pinned-block.js";
import type { RevertReason } from "../rpc/revert-reason.js";
import { DEFAULT_TIMEOUT_MS, RpcClient } from "../rpc/rpc-client.js";
import type { RequestOptions } from "../rpc/rpc-client.js";
import { fixedAddresses, requireAddress } from "./addresses.js";
import type {
  AddressResolver,
  ContractAddresses,
  LocatedAddress,
} from "./addresses.js";
import { decodeOrThrow, encodeCall } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import { errorAbisIn, explainAnswer, explainReason } from "./error-abis.js";
import type { ErrorAbisOf } from "./error-abis.js";
import {
  parseAccount,
  parseBlockTag,
  parseDuration,
  withAddress,
} from "./inputs.js";
import { requireProvider } from "../rpc/eip1193.js";
import type { AccountLike, AddressLike, BlockTag } from "./inputs.js";
import { requestAtBlock } from "./missing-state.js";

export const readOptions = {
  /**
   * Sender of the `eth_call`: an address, or whatever has one, as a signer or a contract.
   * Default: the client's, else the zero address.
   */
  from: option<AccountLike>(),
  /** Block to read at. Default: "latest". */
  blockTag: option<BlockTag>(),
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

/** The parts of a vault that a copy of it may have of its own. */
interface VaultParts {
  readonly locate?: AddressResolver;
  readonly rpc?: RpcClient;
  /** Sender of reads that name none. */
  readonly from?: string;
  readonly pin?: PinnedBlock;
}

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

/** Name of the work in the error of a deadline. */
export const LOOK_UP = "the requests that look up an address";

/** Reads by one `eth_call` of a contract. */
export async function readCall(
  context: Context,
  call: EncodedCall,
  target: LocatedAddress,
): Promise<unknown> {
  const { rpc, from, block, errorAbisOf } = context;
  const request = { from, to: target.address, data: call.data };
  // If the node refuses a past block, its header and the newest block show why:
  // VAULT_BLOCK_NOT_FOUND, VAULT_ARCHIVE_NODE_NEEDED or the refusal itself.
  const answer = await requestAtBlock(
    rpc,
    block,
    async (at) => await callContract(rpc, request, at),
  );
  const isEmpty = "data" in answer && answer.data.length === 0;
  return decodeOrThrow({
    call,
    target,
    network: rpc.network,
    block,
    answer: await explainAnswer(answer, errorAbisOf, rpc.hide),
    // A call to an account without code succeeds with empty data.
    lacksCode: isEmpty && !(await hasCode(rpc, target.address, block)),
  });
}

/** The single reads of a {@link VaultClient}, on which its other methods build. */
export abstract class VaultReader {
  public readonly provider: Eip1193Provider;
  /** The network's name in error texts. */
  public readonly networkName: string;
  /** @internal */
  public readonly rpc: RpcClient;
  protected readonly locate: AddressResolver;
  /** Sender of reads that name none. Default: `defaultFrom()`. */
  protected readonly from: string | undefined;
  /** The block whose reads are all of one branch of the chain. */
  protected readonly pin?: PinnedBlock;
  /** @internal */
  protected readonly errorAbisOf: ErrorAbisOf;

  /**
   * @param contracts Addresses by role. A missing one fails when it is used.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   */
  constructor(
    provider: Eip1193Provider,
    contracts: ContractAddresses | AddressResolver,
    options: VaultClientOptions = {},
  ) {
    checkOptions("VaultClient", options, clientOptions);
    this.provider = requireProvider(provider);
    this.networkName = options.networkName ?? GIVEN_PROVIDER;
    this.rpc = options.rpc ?? new RpcClient(provider, this.networkName);
    this.locate =
      typeof contracts === "function"
        ? contracts
        : fixedAddresses(contracts, "VaultClient");
    this.from =
      options.from === undefined
        ? undefined
        : parseAccount(options.from, "from");
    this.errorAbisOf = options.errorAbisOf ?? errorAbisIn(options.abis ?? []);
  }

  /**
   * Resolves the address of a contract and its source, such as a setting.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED, VAULT_INVALID_ADDRESS,
   * VAULT_CONFIG_VARIABLE
   */
  public async addressOf(
    role: ContractRole,
    operation = `the ${contractRoles[role].label}`,
  ): Promise<LocatedAddress> {
    const context = { operation, network: this.networkName };
    return await this.rpc.withinDeadline(
      LOOK_UP,
      requireAddress(this.locate, role, context),
    );
  }

  /**
   * Reads one operation by its name, as the method of that name does.
   *
   * @throws VaultError for invalid arguments and options: VAULT_INVALID_INTEGER,
   * VAULT_INVALID_ENUM, VAULT_INVALID_ADDRESS, VAULT_INVALID_BLOCK,
   * VAULT_INVALID_ARGUMENT; for the contract: VAULT_CONTRACT_NOT_CONFIGURED,
   * VAULT_CONFIG_VARIABLE, VAULT_NO_CODE, VAULT_CALL_REVERTED,
   * VAULT_RETURN_DATA_MALFORMED; for the block: VAULT_BLOCK_NOT_FOUND,
   * VAULT_ARCHIVE_NODE_NEEDED; and errors of a request
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
    checkOptions(operation, options, readOptions);
    const call = encodeCall(operation, args);
    const context = await this.openContext(options, DEFAULT_TIMEOUT_MS);
    const target = await context.locate(call.role, operation);
    const value = await readCall(context, call, target);
    // the decoder follows the table entry that makes the type
    return value as OperationResult<Name>;
  }

  /** @internal `console.log()` would print every part of the network. */
  public [inspect.custom](): string {
    return `${this.constructor.name} { networkName: ${inspect(this.networkName)} }`;
  }

  /**
   * Returns the same vault, all of whose requests share these options.
   *
   * @param standardTimeout Milliseconds if there is no deadline yet.
   * @internal
   */
  public withOptions(
    { from, timeout, signal, onRetry }: Omit<ReadOptions, "blockTag">,
    standardTimeout?: number,
  ): this {
    const milliseconds =
      timeout === undefined ? undefined : parseDuration("timeout", timeout);
    const rpc = this.rpc.withOptions(
      { timeout: milliseconds, signal, onRetry },
      standardTimeout,
    );
    return this.copy({
      rpc,
      ...(from !== undefined && { from: parseAccount(from, "from") }),
    });
  }

  /**
   * Returns a vault with the methods and the fields of this one, those of a subclass among
   * them, but for these parts.
   *
   * @internal
   */
  protected copy(parts: VaultParts): this {
    // an object of the same class
    const copied = Object.create(Reflect.getPrototypeOf(this)) as this;
    return Object.assign(copied, this, parts);
  }

  /** Reads number and timestamp (Unix seconds) of a block. */
  public async block(blockTag: BlockTag = "latest"): Promise<BlockInfo> {
    const { number, timestamp } = await getBlock(
      this.rpc,
      parseBlockTag(blockTag),
    );
    return { number, timestamp };
  }

  public async chainId(): Promise<number> {
    return await getChainId(this.rpc);
  }

  /**
   * Returns the same vault, whose reads at this block's number are of this branch of the
   * chain. At the end of a series of reads, {@link VaultReader.requirePin} shows that the
   * block is still there.
   *
   * @internal
   */
  public pinnedTo(pin: PinnedBlock): this {
    return this.copy({ pin });
  }

  /**
   * @throws VaultError VAULT_REORGED if the chain has replaced the block
   * @internal
   */
  public async requirePin(): Promise<void> {
    if (this.pin !== undefined) {
      await requireSameBranch(this.rpc, this.pin);
    }
  }

  /** @internal What reads by this sender at this block need. */
  public readContext({ from, blockTag = "latest" }: ReadOptions = {}): Context {
    const { rpc, pin, errorAbisOf } = this;
    const tag = parseBlockTag(blockTag);
    return {
      rpc,
      from:
        from === undefined
          ? (this.from ?? this.defaultFrom())
          : parseAccount(from, "from"),
      block: pin !== undefined && tag === toBlockId(pin) ? pin : tag,
      locate: async (role, operation) => await this.addressOf(role, operation),
      errorAbisOf,
    };
  }

  /**
   * The same with all options of a read.
   *
   * @param standardTimeout Milliseconds if there is no deadline yet.
   * @internal
   */
  public async openContext(
    options: ReadOptions,
    standardTimeout?: number,
  ): Promise<Context> {
    const { blockTag } = options;
    const given = await withAddress(options);
    return this.withOptions(given, standardTimeout).readContext({ blockTag });
  }

  /** @internal Decodes a custom error whose ABI is known. */
  public async explain(reason: RevertReason): Promise<RevertReason> {
    return await explainReason(reason, this.errorAbisOf, this.rpc.hide);
  }

  /** Sender if neither the vault nor the read has one; a subclass may override it. */
  protected defaultFrom(): string {
    return ZeroAddress;
  }
}
