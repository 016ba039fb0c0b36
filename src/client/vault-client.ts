import { BrowserProvider, Contract } from "ethers";
import type { ContractRunner } from "ethers";

import {
  argumentCount,
  contractRoleNames,
  contractRoles,
  readOperationNames,
} from "../protocol/index.js";
import type { ContractRole, OperationArguments } from "../protocol/index.js";
import { fixedAddresses, inOrder } from "./addresses.js";
import type { ContractAddresses } from "./addresses.js";
import { contractFactories } from "./codec.js";
import type { ListedOrder, OrdersOptions } from "./orders/types.js";
import { VaultReader } from "./reader.js";
import type { OperationOptions, ReadOptions, VaultReads } from "./reader.js";
import type { PastRound, RoundsOptions } from "./rounds.js";
import type { VaultSnapshot } from "./snapshot.js";

/** The TypeChain-typed contracts, by role. */
export type VaultContracts = {
  readonly [Role in ContractRole]: ReturnType<
    (typeof contractFactories)[(typeof contractRoles)[Role]["abi"]]["connect"]
  >;
};

// The read methods are attached to the prototype below, from the operations
// table; this declares them.
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the loop under the class defines exactly these
export interface VaultClient extends VaultReads {}

/** Kept: an `import()` is resolved anew each time, in a tenth of a snapshot's. */
let snapshots: Promise<typeof import("./snapshot.js")> | undefined;

/**
 * Reads the protocol's contracts over an EIP-1193 provider. Values come back as on
 * the wire: uint256 as `bigint`, unscaled.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see the interface
export class VaultClient extends VaultReader {
  #contracts: VaultContracts | undefined;

  /**
   * The TypeChain-typed contracts, by role.
   *
   * @throws VaultError VAULT_CONTRACT_NOT_CONFIGURED once one without address is used
   *
   * @example
   * ```ts
   * await vault.contracts.vault.queryVolume();
   * // 420000000000000000000n
   * ```
   */
  public get contracts(): VaultContracts {
    this.#contracts ??= this.#createContracts();
    return this.#contracts;
  }

  /**
   * The same client with other addresses: those named replace its own.
   *
   * @param source Where they come from, for error texts.
   * @throws VaultError VAULT_INVALID_ADDRESS, VAULT_INVALID_ARGUMENT
   *
   * @example
   * ```ts
   * const trading = "0x00000000000000000000000000000000000000A1";
   * (await vault.at({ trading }).addressOf("trading")).address;
   * // '0x00000000000000000000000000000000000000A1'
   * ```
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
   * Takes every reading that needs no argument, all at one block: in one `eth_call`
   * where the node allows state overrides. The caller has code in that call, and a
   * contract may return something else to such a caller.
   *
   * A reading that fails stands as `{ error }` in its place.
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
    snapshots ??= import("./snapshot.js");
    const { takeSnapshot } = await snapshots;
    return await takeSnapshot(this, options);
  }

  /**
   * Reads orders, in the order of their ids, all at one block: those of a range,
   * those that `ids` names, or, without `lastId`, all there are.
   *
   * Values are unscaled. Memory does not grow with the range.
   *
   * An order that cannot be read stands as `{ orderID, error }` in its place.
   * An id that does not exist is one of those (the contract reverts) or an
   * order whose every value is zero: `isEmptyOrder()`. Without `lastId`, these are
   * left out, and the last order is the one behind which 500 ids in a row do not
   * exist, and none at a distance of 2^9, 2^10, … 2^20 ids. If every id reverts,
   * its error is thrown.
   *
   * @throws VaultError when iterated: for a wrong option, a contract that is not
   * there, and a node that does not answer; the reason of `signal` when aborted
   *
   * @example
   * ```ts
   * for await (const order of vault.orders({ firstId: 1, lastId: 2 })) {
   *   if (!isFailedOrder(order)) console.log(order.orderID, order.exType);
   * }
   * // 1n BTC-USDT
   * // 2n ETH-USDT
   * ```
   *
   * @example
   * ```ts
   * let open = 0;
   * for await (const order of vault.orders({ state: "open" })) open += 1;
   * open;
   * // 2
   * ```
   */
  public async *orders(
    options: OrdersOptions = {},
  ): AsyncGenerator<ListedOrder, void, undefined> {
    const { readOrders } = await import("./orders/read-orders.js");
    yield* readOrders(this, options);
  }

  /**
   * Finds every round that the vault ever had, oldest first, with the blocks in
   * which it was first and last the latest one and in which it was settled.
   *
   * Needs an archive node, about 2 × log2(blocks between) requests a round, and
   * start times that never go back: a round says if one does. A round that came and
   * went within one block is not found.
   *
   * @throws VaultError when iterated: VAULT_ARCHIVE_NODE_NEEDED; for a wrong option,
   * and a node that does not answer; why the last block has no round, if none has;
   * the reason of `signal` when aborted
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

  /** @internal See {@link VaultReader.withDeadline}. */
  public override withDeadline(options: OperationOptions): VaultClient {
    return new VaultClient(this.provider, this.addresses, {
      rpc: this.rpcFor(options),
      from: options.from ?? this.defaultFrom(),
      networkName: this.networkName,
      findErrors: this.findErrors,
    });
  }

  /** Sends the calls of `contracts`; a subclass may know better. */
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
    // ethers asks for the address right away. That there is none is an error
    // of whoever uses the contract, not one that nobody handles.
    contract.getAddress().catch(() => undefined);
    return contract;
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
