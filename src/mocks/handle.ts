import { deepMerge } from "@nomicfoundation/hardhat-utils/lang";
import { Contract } from "ethers";
import type { ContractRunner } from "ethers";

import type {
  MockLiquidityPool,
  MockTrading,
  MockUnderlyingAsset,
  MockVault,
  MockVaultFactory,
} from "../bindings/index.js";
import { withAddress, checkOptions } from "../client/inputs.js";
import { isEmptyOrder } from "../client/order-reader.js";
import type { Order } from "../client/order-reader.js";
import type { VaultClient } from "../client/vault-client.js";
import { fallbackTo } from "../errors.js";
import type { VaultError } from "../errors.js";
import { isInProcess } from "../host.js";
import type { VaultHost } from "../host.js";
import { byRole, set } from "../protocol/index.js";
import type { OperationName, Query } from "../protocol/index.js";
import { callsForFailure, conditionOptions } from "./failure.js";
import type { FailureCondition, ScriptedReason } from "./failure.js";
import {
  call,
  changeMocks,
  mockInterfaces,
  readClock,
  requireMocks,
  sendScript,
} from "./mock-contracts.js";
import type { MockAddresses, ScriptCall } from "./mock-contracts.js";
import type { ScenarioName } from "./scenarios.js";
import { callsFor, checkChanges, nextRound, partlyChanged } from "./state.js";
import type { MockOverrides, NextRound } from "./types.js";

export interface MockContracts {
  readonly underlyingAsset: MockUnderlyingAsset;
  readonly publicPool: MockLiquidityPool;
  readonly privatePool: MockLiquidityPool;
  readonly trading: MockTrading;
  readonly vaultFactory: MockVaultFactory;
  readonly vault: MockVault;
}

/** A settlement that succeeded, as the mock recorded it. */
export interface RecordedSettlement {
  /** The account or contract that called the mock. */
  readonly caller: string;
  /** Unix seconds. */
  readonly timestamp: bigint;
  readonly blockNumber: number;
}

/**
 * Scripts mocks. Every method that changes something is one transaction (many
 * orders need more) and resolves once it is mined. It is sent as `deployMocks()` sends.
 * Values are unscaled.
 *
 * Every method throws VAULT_NOT_A_MOCK, VAULT_MOCK_SCRIPT_FAILED, and
 * VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER or VAULT_INVALID_ADDRESS for a
 * value that the contract cannot hold. A method that keeps current values reads
 * them, and throws the errors of that reading.
 */
export class MockVaultHandle<VaultT extends VaultClient = VaultClient> {
  /** @internal Use `deployMocks()`. */
  constructor(
    /** Vault that stays bound to these mocks. */
    public readonly vault: VaultT,
    public readonly addresses: MockAddresses,
    /** Scenario of `deployMocks()`; null after a fixture, `mockAt()` or `connectMocks()`. */
    public readonly scenario: ScenarioName | null = null,
  ) {}

  /**
   * The typed mock contracts, with all their setters. In process they send from the first
   * account; elsewhere connect a signer.
   */
  public get contracts(): MockContracts {
    const { vault, addresses } = this;
    const runner = isInProcess(vault)
      ? firstSigner(vault)
      : vault.contracts.vault.runner;
    // each role's interface is that of exactly that type
    return byRole(
      (role) => new Contract(addresses[role], mockInterfaces[role], runner),
    ) as unknown as MockContracts;
  }

  /**
   * Changes what the mocks return, with the keys of `deployMocks({ overrides })`.
   * An omitted key keeps its value. `settlement` needs both its price and its amount, or
   * neither.
   * `failures` adds to the failures that are set.
   *
   * @example
   * ```ts
   * await mocks.set({ round: { APY: 5n }, pools: { public: { locked: 0n } } });
   * (await mocks.vault.getLatestRoundInfo()).APY;
   * // 5n
   * ```
   */
  public async set(changes: MockOverrides): Promise<void> {
    const checked = checkChanges(changes);
    await this.#script(async () => {
      const current = {};
      for (const query of partlyChanged(checked)) {
        set(current, query.path, await this.#read(query));
      }
      return callsFor(deepMerge(current, checked));
    });
  }

  /**
   * Replaces the latest round by a new, unsettled one.
   *
   * Defaults: the terms of the latest round, `filledVolume` 0, `startTime` the
   * time of the node's next block, and the same length.
   * The round settles at its strike price, with as many orders as the scenario's
   * settlement has, or none if nothing is filled, unless `set({ settlement })` changed the
   * settlement.
   *
   * @example
   * ```ts
   * await mocks.startNextRound({ APY: 5n });
   * (await mocks.vault.getLatestRoundInfo()).APY;
   * // 5n
   * ```
   */
  public async startNextRound(round: Partial<NextRound> = {}): Promise<void> {
    // each value was checked to be of the type that its field has
    const terms = nextRound.parse(round, {
      path: ["round"],
    }) as Partial<NextRound>;
    await this.#script(async () => {
      const latest = await this.vault.getLatestRoundInfo();
      const startTime = terms.startTime ?? (await readClock(this.vault));
      const endTime = startTime + latest.endTime - latest.startTime;
      const times = { startTime, endTime };
      const next = { ...latest, filledVolume: 0n, ...times, ...terms };
      return [call("vaultFactory", "startNextRound", next)];
    });
  }

  /**
   * Makes an operation revert until {@link succeed} or the next `deployMocks()`. Of
   * several failures that match a call, the arguments count more than the caller.
   *
   * @param options The calls that revert. Default: every call.
   * @throws VaultError VAULT_INVALID_ARGUMENT
   *
   * @example
   * ```ts
   * await mocks.fail("queryVolume", "paused");
   * await mocks.vault.queryVolume();
   * // VAULT_CALL_REVERTED: queryVolume reverted: paused …
   * ```
   */
  public async fail(
    operation: OperationName,
    reason: ScriptedReason = "scripted failure",
    options: FailureCondition = {},
  ): Promise<void> {
    await this.#scriptFailure("fail()", operation, options, reason);
  }

  /**
   * Ends a failure of {@link fail}.
   *
   * @param options Those of the failure. Without `args` and `from`, all failures of the
   * operation end.
   * @throws VaultError VAULT_INVALID_ARGUMENT
   */
  public async succeed(
    operation: OperationName,
    options: FailureCondition = {},
  ): Promise<void> {
    await this.#scriptFailure("succeed()", operation, options, null);
  }

  async #scriptFailure(
    where: string,
    operation: OperationName,
    options: FailureCondition,
    reason: ScriptedReason | null,
  ): Promise<void> {
    checkOptions(where, options, conditionOptions);
    const condition = await withAddress(options);
    const script = callsForFailure({ operation, ...condition, reason });
    await this.#script(() => script);
  }

  /**
   * Reads the settlements that succeeded, oldest first. Reads leave no trace on a chain.
   *
   * @throws VaultError VAULT_NOT_A_MOCK
   *
   * @example
   * ```ts
   * await mocks.vault.settleAll();
   * const [settlement] = await mocks.settlements();
   * settlement?.caller;
   * // '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
   * ```
   */
  public async settlements(): Promise<RecordedSettlement[]> {
    await requireMocks(this.vault, this.addresses, ["vault"]);
    const { vault } = this.contracts;
    const { from } = this.vault.readContext({});
    const count = Number(await vault.settlementCount({ from }));
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const [caller, timestamp, blockNumber] = await vault.settlement(index, {
          from,
        });
        return { caller, timestamp, blockNumber: Number(blockNumber) };
      }),
    );
  }

  /** Reads what the mocks return now; undefined if there is no such order, or no margins. */
  async #read({ operation, args }: Query): Promise<unknown> {
    const value = await this.vault
      // the arguments of a query are what its operation takes
      .read(operation, args as never)
      .catch(fallbackTo(undefined, isUnknown));
    const isOrder = operation === "getOrderInfo" && value !== undefined;
    // it is the result of that operation; zeros are no order
    return isOrder && isEmptyOrder(value as Order) ? undefined : value;
  }

  /** Makes the calls of a plan, once earlier ones are done. */
  async #script(
    plan: () => readonly ScriptCall[] | Promise<readonly ScriptCall[]>,
  ): Promise<void> {
    const { vault, addresses } = this;
    await changeMocks(vault, async () => {
      const script = await plan();
      const roles = script.map(({ role }) => role);
      await requireMocks(vault, addresses, roles);
      await sendScript(vault, addresses, script);
    });
  }
}

/** In process, transactions are the first account's, as with hardhat-ethers. */
function firstSigner({ connection: { ethers } }: VaultHost): ContractRunner {
  const { provider } = ethers;
  return {
    provider,
    // The look-up of the account takes a request, so it waits for the first use.
    sendTransaction: async (transaction) =>
      await (await provider.getSigner(0)).sendTransaction(transaction),
  };
}

/** True of the error of a mock that has no margins for these terms, or no such order. */
function isUnknown({ details }: VaultError): boolean {
  return /^(?:UnexpectedTerms|OrderNotFound)\(/u.test(
    String(details["reason"]),
  );
}
