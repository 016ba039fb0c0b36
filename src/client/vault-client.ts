import { BrowserProvider, Contract } from "ethers";
import type { ContractRunner } from "ethers";

import {
  contractRoleNames,
  contractRoles,
  operationEntry,
  readOperationNames,
} from "../protocol/index.js";
import type { ContractRole, OperationArguments } from "../protocol/index.js";
import { fixedAddresses, inOrder } from "./addresses.js";
import type { ContractAddresses } from "./addresses.js";
import { contractFactories } from "./codec.js";
import type { ListedOrder, OrdersOptions } from "./orders/types.js";
import { checkOptionNames } from "./option-names.js";
import { VaultReader, readOptionNames } from "./reader.js";
import type { OperationOptions, ReadOptions, VaultReads } from "./reader.js";
import type { PastRound, RoundsOptions } from "./rounds.js";
import type { VaultSnapshot } from "./snapshot.js";

export type VaultContracts = {
  readonly [Role in ContractRole]: ReturnType<
    (typeof contractFactories)[(typeof contractRoles)[Role]["abi"]]["connect"]
  >;
};

// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the loop below the class defines these methods
export interface VaultClient extends VaultReads {}

/** Cached: resolving an `import()` takes a tenth of a snapshot's time. */
let snapshots: Promise<typeof import("./snapshot.js")> | undefined;

/**
 * Reads the protocol's contracts over an EIP-1193 provider. Values are unscaled: each
 * uint256 is a `bigint`.
 */
export class VaultClient extends VaultReader {
  #contracts: VaultContracts | undefined;

  /**
   * The ethers contracts by role, typed by TypeChain. Connect a signer to send.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED when a contract without an
   * address is used
   */
  public get contracts(): VaultContracts {
    this.#contracts ??= this.#createContracts();
    return this.#contracts;
  }

  /**
   * Creates a client with these addresses; other roles keep theirs.
   *
   * @param source Source of the addresses in error texts.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   */
  public at(contracts: ContractAddresses, source = "at()"): VaultClient {
    return new VaultClient(
      this.provider,
      inOrder(fixedAddresses(contracts, source), this.addresses),
      {
        from: this.defaultFrom(),
        networkName: this.networkName,
        findErrors: this.findErrors,
        rpc: this.rpc,
      },
    );
  }

  /**
   * Takes every reading that needs no argument, at the block of one header. If the
   * node allows state overrides, this is one `eth_call` beside the request for the
   * header. The caller has code in that call, so a contract that checks its caller may
   * return another value. A reading that fails is `{ error }` in its place.
   *
   * @throws VaultError if the block itself cannot be read
   *
   * @example
   * ```ts
   * const { chainId, volume, pools } = await vault.snapshot();
   * [chainId, volume, pools.public.locked];
   * // [ 31337, 420000000000000000000n, 1250000000000000000000000n ]
   * ```
   */
  public async snapshot(options: ReadOptions = {}): Promise<VaultSnapshot> {
    checkOptionNames("snapshot()", options, readOptionNames);
    snapshots ??= import("./snapshot.js");
    const { takeSnapshot } = await snapshots;
    return await takeSnapshot(this, options);
  }

  /**
   * Reads orders one by one, all at one block: a range, the orders of `ids`, or,
   * without `lastId`, every order. Values are unscaled. Memory does not grow with the
   * range.
   *
   * An order that cannot be read is `{ orderID, error }`. For an unknown id the
   * contract reverts, or every value is zero (`isEmptyOrder()`). Without `lastId`,
   * unknown ids are left out. The last order is then the one with 500 unknown ids
   * behind it, and no order at a distance of 2^9, 2^10, … 2^20 ids. If every id
   * reverts, the first error is thrown.
   *
   * @throws VaultError when iterated, for an invalid option, a missing contract or a
   * node that does not answer. An aborted `signal` throws its reason.
   *
   * @example
   * ```ts
   * for await (const order of vault.orders({ firstId: 1, lastId: 2 })) {
   *   if (!isFailedOrder(order)) console.log(order.orderID, order.exType);
   * }
   * // 1n BTC-USDT
   * // 2n ETH-USDT
   * ```
   */
  public async *orders(
    options: OrdersOptions = {},
  ): AsyncGenerator<ListedOrder, void, undefined> {
    const { readOrders } = await import("./orders/read-orders.js");
    yield* readOrders(this, options);
  }

  /**
   * Finds every round that the vault ever had, oldest first, with its first block,
   * its last block and the block that settled it.
   *
   * Needs an archive node, and about 2 × log2(blocks between) requests a round. Start
   * times must never go back; if one does, a round has `outOfOrder`. A round that came
   * and went within one block is not found.
   *
   * @throws VaultError when iterated: VAULT_ARCHIVE_NODE_NEEDED, an invalid option, or
   * a node that does not answer. If no block has a round, the last block's error is
   * thrown. An aborted `signal` throws its reason.
   *
   * @example
   * ```ts
   * for await (const round of vault.rounds()) {
   *   console.log(round.firstBlock, round.settledBlock, round.strikePrice);
   * }
   * // 1 null 65000000000000000000000n
   * ```
   */
  public async *rounds(
    options: RoundsOptions = {},
  ): AsyncGenerator<PastRound, void, undefined> {
    const { readRounds } = await import("./rounds.js");
    yield* readRounds(this, options);
  }

  /** @internal */
  public override withDeadline(options: OperationOptions): VaultClient {
    return new VaultClient(this.provider, this.addresses, {
      rpc: this.rpcFor(options),
      from: options.from ?? this.defaultFrom(),
      networkName: this.networkName,
      findErrors: this.findErrors,
    });
  }

  /** Runs the calls of `contracts`; a subclass may override it. */
  protected runner(): ContractRunner {
    return new BrowserProvider(this.provider, "any");
  }

  #createContracts(): VaultContracts {
    const contracts = {};
    for (const role of contractRoleNames) {
      let contract: Contract | undefined;
      Object.defineProperty(contracts, role, {
        enumerable: true,
        get: () => (contract ??= this.#createContract(role)),
      });
    }
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- TypeChain's types describe what the generic contract does with this ABI; its own connect() takes no addressable
    return contracts as VaultContracts;
  }

  #createContract(role: ContractRole): Contract {
    const { abi } = contractRoles[role];
    const contract = new Contract(
      { getAddress: async () => (await this.addressOf(role)).address },
      contractFactories[abi].createInterface(),
      this.runner(),
    );
    // ethers requests the address at once. A missing one is an error when the
    // contract is used, not an unhandled rejection now.
    contract.getAddress().catch(() => undefined);
    return contract;
  }
}

for (const operation of readOperationNames) {
  const { target, inputs } = operationEntry(operation);
  const count =
    (typeof target === "string" ? 0 : 1) + (inputs.length === 0 ? 0 : 1);
  Object.defineProperty(VaultClient.prototype, operation, {
    configurable: true,
    writable: true,
    async value(
      this: VaultClient,
      ...argsAndOptions: unknown[]
    ): Promise<unknown> {
      const args = argsAndOptions.slice(0, count);
      return await this.read(
        operation,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the encoder checks the arguments
        args as OperationArguments<typeof operation>,
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the options' parsers check it
        argsAndOptions[count] as ReadOptions | undefined,
      );
    },
  });
}
