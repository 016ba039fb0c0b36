import { BrowserProvider, Contract, ZeroAddress } from "ethers";
import type { ContractRunner } from "ethers";

import type {
  LiquidityPool,
  Trading,
  UnderlyingAsset,
  Vault,
  VaultFactory,
} from "../bindings/index.js";
import { vaultError } from "../errors.js";
import {
  argumentCount,
  contractRoleNames,
  contractRoles,
  readOperationNames,
} from "../protocol/index.js";
import type {
  AbiName,
  ContractRole,
  OperationArguments,
  OperationName,
  OperationResult,
  ReadOperationName,
  operations,
} from "../protocol/index.js";
import { escapeUntrusted } from "../untrusted-text.js";
import {
  FixedAddresses,
  LayeredAddresses,
  isAddressBook,
  requireAddress,
} from "./addresses.js";
import type {
  AddressBook,
  ContractAddresses,
  LocatedAddress,
} from "./addresses.js";
import { readBlock } from "./block.js";
import { contractFactories, decodeResult, encodeCall } from "./codec.js";
import type { EncodedCall } from "./codec.js";
import type { Eip1193Provider } from "./eip1193.js";
import { parseAddress, parseBlockTag } from "./inputs.js";
import type { BlockTag } from "./inputs.js";
import {
  RevertedCall,
  invalidResponse,
  isHexData,
  requestQuantity,
  requestRpc,
} from "./rpc.js";
import { takeSnapshot } from "./snapshot.js";
import type { VaultSnapshot } from "./snapshot.js";

/** Options of every read. */
export interface ReadOptions {
  /** Sender of the `eth_call`; else the client's, else the zero address. */
  readonly from?: string | undefined;
  /** Block to read at; "latest" unless given. */
  readonly blockTag?: BlockTag | undefined;
}

/** Options of a {@link VaultClient}. */
export interface VaultClientOptions {
  /** Sender of reads that name none; the zero address unless given. */
  readonly from?: string | undefined;
  /** What error texts call the network. */
  readonly networkName?: string | undefined;
}

interface ContractTypes {
  UnderlyingAsset: UnderlyingAsset;
  LiquidityPool: LiquidityPool;
  Trading: Trading;
  VaultFactory: VaultFactory;
  Vault: Vault;
}

/** The TypeChain-typed contracts, by role. */
export type VaultContracts = {
  readonly [
    Role in ContractRole
  ]: ContractTypes[(typeof contractRoles)[Role]["abi"]];
};

/** The read methods of a client, one for each read operation of the protocol. */
export type VaultReads = {
  [
    Name in keyof typeof operations as Name extends ReadOperationName
      ? Name
      : never
  ]: (
    ...args: [
      ...OperationArguments<Extract<Name, OperationName>>,
      options?: ReadOptions,
    ]
  ) => Promise<OperationResult<Extract<Name, OperationName>>>;
};

// The read methods are attached to the prototype below, from the operations
// table; this declares them.
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the loop under the class defines exactly these
export interface VaultClient extends VaultReads {}

/**
 * Reads the protocol's contracts over an EIP-1193 provider.
 *
 * Every read is one `eth_call` (protocol, section 4.1). Values come back as on
 * the wire: uint256 as `bigint`, unscaled.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see the interface
export class VaultClient {
  /** The provider that requests go to. */
  public readonly provider: Eip1193Provider;
  /** What error texts call the network. */
  public readonly networkName: string;
  /** The addresses in use. */
  protected readonly addresses: AddressBook;
  readonly #from: string;
  #contracts: VaultContracts | undefined;

  /**
   * @param provider Any EIP-1193 provider.
   * @param contracts Addresses by role; a missing one fails when it is needed.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   */
  constructor(
    provider: Eip1193Provider,
    contracts: ContractAddresses | AddressBook,
    options: VaultClientOptions = {},
  ) {
    this.provider = provider;
    this.networkName = options.networkName ?? "of the given provider";
    this.addresses = isAddressBook(contracts)
      ? contracts
      : new FixedAddresses(contracts, "VaultClient");
    this.#from =
      options.from === undefined
        ? ZeroAddress
        : parseAddress(options.from, "from");
  }

  /**
   * The TypeChain-typed contracts, by role. An address that is not configured
   * is only missed when the contract is used.
   */
  public get contracts(): VaultContracts {
    this.#contracts ??= this.#createContracts();
    return this.#contracts;
  }

  /**
   * The same client with other addresses: those named replace its own.
   *
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   */
  public at(contracts: ContractAddresses): VaultClient {
    return new VaultClient(
      this.provider,
      new LayeredAddresses(
        new FixedAddresses(contracts, "at()"),
        this.addresses,
      ),
      { from: this.#from, networkName: this.networkName },
    );
  }

  /**
   * The address of a contract and where it came from.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED
   */
  public async addressOf(
    role: ContractRole,
    operation = `the ${contractRoles[role].label}`,
  ): Promise<LocatedAddress> {
    return await requireAddress(this.addresses, role, {
      operation,
      network: this.networkName,
    });
  }

  /**
   * Reads one operation by its name; the named methods do the same.
   *
   * @param args The operation's arguments, without the options.
   * @throws VaultError of every code that the named methods raise
   */
  public async read<Name extends ReadOperationName>(
    operation: Name,
    args: OperationArguments<Name>,
    options: ReadOptions = {},
  ): Promise<OperationResult<Name>> {
    const call = encodeCall(operation, args);
    const { from, blockTag } = this.#readContext(options);
    const { address, source } = await this.addressOf(call.role, operation);
    const result = await requestRpc(
      this.provider,
      this.networkName,
      "eth_call",
      [{ from, to: address, data: call.data }, blockTag],
    );
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the decoder follows the table entry that makes the type
    return (await this.decodeAnswer(
      call,
      { address, source },
      result,
      blockTag,
    )) as OperationResult<Name>;
  }

  /**
   * Takes every reading that needs no argument, all at one block.
   *
   * A reading that fails stands as `{ error }` in its place.
   *
   * @throws VaultError if the block itself cannot be read
   */
  public async snapshot(options: ReadOptions = {}): Promise<VaultSnapshot> {
    return await takeSnapshot(this, options);
  }

  /** Number and timestamp (Unix seconds) of a block. */
  public async block(
    blockTag: BlockTag = "latest",
  ): Promise<{ number: number; timestamp: number }> {
    return await readBlock(
      this.provider,
      this.networkName,
      parseBlockTag(blockTag),
    );
  }

  /** The chain id that the node answers. */
  public async chainId(): Promise<number> {
    return Number(
      await requestQuantity(this.provider, this.networkName, "eth_chainId"),
    );
  }

  /**
   * Turns the answer to a call into its value or into the error that it is.
   *
   * @throws VaultError VAULT_CALL_REVERTED, VAULT_NO_CODE,
   * VAULT_RETURN_DATA_TOO_SHORT, VAULT_RETURN_DATA_MALFORMED,
   * VAULT_RPC_INVALID_RESPONSE
   */
  protected async decodeAnswer(
    { operation, role }: EncodedCall,
    { address, source }: LocatedAddress,
    answer: unknown,
    blockTag: string,
  ): Promise<unknown> {
    const contract = contractRoles[role].label;
    if (answer instanceof RevertedCall) {
      throw vaultError("VAULT_CALL_REVERTED", {
        operation,
        reason: escapeUntrusted(answer.reason.text),
        contract,
        address,
      });
    }
    if (!isHexData(answer)) {
      throw invalidResponse(this.networkName, "eth_call", "not hex data");
    }
    if (answer === "0x" && !(await this.#hasCode(address, blockTag))) {
      throw vaultError("VAULT_NO_CODE", {
        address,
        contract,
        network: this.networkName,
        source,
      });
    }
    const decoded = decodeResult(operation, role, answer);
    if ("value" in decoded) {
      return decoded.value;
    }
    if (decoded.problem === "short") {
      throw vaultError("VAULT_RETURN_DATA_TOO_SHORT", {
        operation,
        actual: (answer.length - 2) / 2,
        expected: decoded.expected,
        contract,
        address,
        source,
      });
    }
    throw vaultError("VAULT_RETURN_DATA_MALFORMED", {
      operation,
      problem: decoded.text,
      contract,
      address,
      source,
    });
  }

  /** Who sends the contracts' own calls; a subclass may know better. */
  protected runner(): ContractRunner {
    return new BrowserProvider(this.provider, "any");
  }

  #readContext({ from, blockTag }: ReadOptions): {
    from: string;
    blockTag: string;
  } {
    return {
      from: from === undefined ? this.#from : parseAddress(from, "from"),
      blockTag: parseBlockTag(blockTag ?? "latest"),
    };
  }

  async #hasCode(address: string, blockTag: string): Promise<boolean> {
    const code = await requestRpc(
      this.provider,
      this.networkName,
      "eth_getCode",
      [address, blockTag],
    );
    return code !== "0x";
  }

  #createContracts(): VaultContracts {
    const runner = this.runner();
    const byRole = contractRoleNames.map((role) => {
      const abi: AbiName = contractRoles[role].abi;
      const target = {
        // ethers resolves an addressable when it is used, so that looking at
        // `contracts` needs no configuration variable.
        getAddress: async () => (await this.addressOf(role)).address,
      };
      return [
        role,
        new Contract(target, contractFactories[abi].createInterface(), runner),
      ] as const;
    });
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- TypeChain's types describe what the generic contract does with this ABI; its own connect() takes no addressable
    return Object.fromEntries(byRole) as unknown as VaultContracts;
  }
}

for (const operation of readOperationNames) {
  Object.defineProperty(VaultClient.prototype, operation, {
    configurable: true,
    writable: true,
    async value(
      this: VaultClient,
      ...argsAndOptions: unknown[]
    ): Promise<unknown> {
      const count = argumentCount(operation);
      const args = argsAndOptions.slice(0, count);
      return await this.read(
        operation,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- what the caller passed is checked by the encoder, whatever the types said
        args as OperationArguments<typeof operation>,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- checked by the options' parsers
        argsAndOptions[count] as ReadOptions | undefined,
      );
    },
  });
}
