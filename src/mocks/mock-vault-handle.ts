import { Contract } from "ethers";

import type {
  MockLiquidityPool,
  MockTrading,
  MockUnderlyingAsset,
  MockVault,
  MockVaultFactory,
} from "../bindings/index.js";
import { parseContractType, parseUint256 } from "../client/inputs.js";
import type { HardhatVault } from "../connection/hardhat-vault.js";
import {
  ContractType,
  contractRoleNames,
  operationEntry,
  targetsOf,
} from "../protocol/index.js";
import type {
  ContractTypeName,
  MarginAmounts,
  OperationName,
  PoolAmounts,
  PoolName,
  VaultRound,
} from "../protocol/index.js";
import type { MockSender } from "./mock-sender.js";
import { encodeRevertData } from "./revert-data.js";
import type { ScriptedReason } from "./revert-data.js";
import type { ScenarioName } from "./scenarios.js";
import { calls, encodeScript, mockFactories } from "./script.js";
import type { MockAddresses, ScriptCall } from "./script.js";
import type { MockOrder, NextRound, ScriptedSettlement } from "./types.js";

/** The TypeChain-typed mocks, by role. */
export interface MockContracts {
  readonly underlyingAsset: MockUnderlyingAsset;
  readonly publicPool: MockLiquidityPool;
  readonly privatePool: MockLiquidityPool;
  readonly trading: MockTrading;
  readonly vaultFactory: MockVaultFactory;
  readonly vault: MockVault;
}

/** A call of `settleAll` that a mock vault recorded; reverted ones leave none. */
export interface RecordedSettlement {
  readonly caller: string;
  /** Unix seconds. */
  readonly timestamp: bigint;
  readonly blockNumber: bigint;
}

/** How many orders one transaction may carry, about 300,000 gas each. */
const ORDERS_PER_TRANSACTION = 40;

/**
 * Scripts six mocks. Every method is one transaction and resolves once it is
 * mined; values are unscaled, as on the wire.
 */
export class MockVaultHandle {
  /** A vault bound to the mocks, whatever the connection is bound to later. */
  public readonly vault: HardhatVault;
  public readonly addresses: MockAddresses;
  /** The scenario they were deployed with; null if that is not known. */
  public readonly scenario: ScenarioName | null;
  readonly #sender: MockSender;
  #contracts: MockContracts | undefined;

  /** @internal Use `deployMocks()`. */
  constructor(parts: {
    vault: HardhatVault;
    addresses: MockAddresses;
    scenario: ScenarioName | null;
    sender: MockSender;
  }) {
    this.vault = parts.vault;
    this.addresses = parts.addresses;
    this.scenario = parts.scenario;
    this.#sender = parts.sender;
  }

  /** The typed mock contracts, for what the other methods do not cover. */
  public get contracts(): MockContracts {
    this.#contracts ??= this.#createContracts();
    return this.#contracts;
  }

  /** Sets the latest round; what is not named keeps its value. */
  public async setRound(round: Partial<VaultRound>): Promise<void> {
    const current = await this.vault.getLatestRoundInfo();
    await this.script(calls.round({ ...current, ...round }));
  }

  /**
   * Puts a new, unsettled round in place of the latest one; what is not named
   * is as in the round before.
   */
  public async startNextRound(round: Partial<NextRound> = {}): Promise<void> {
    const current = await this.vault.getLatestRoundInfo();
    await this.script(calls.startNextRound({ ...current, ...round }));
  }

  /** Sets one order; of an order that exists, what is not named stays. */
  public async setOrder(
    orderID: bigint | number,
    order: Partial<MockOrder>,
  ): Promise<void> {
    const id = parseUint256(orderID, "orderID");
    const current = await this.vault.getOrderInfo(id);
    await this.addOrders(new Map([[id, { ...current, ...order }]]));
  }

  /** Sets whole orders by id, in as few transactions as their gas allows. */
  public async addOrders(
    orders: ReadonlyMap<bigint, MockOrder>,
  ): Promise<void> {
    const entries = [...orders];
    for (let at = 0; at < entries.length; at += ORDERS_PER_TRANSACTION) {
      await this.script(
        calls.orders(new Map(entries.slice(at, at + ORDERS_PER_TRANSACTION))),
      );
    }
  }

  /** Makes an order a missing one. */
  public async removeOrder(orderID: bigint | number): Promise<void> {
    await this.script(calls.removeOrder(parseUint256(orderID, "orderID")));
  }

  /** Computes the orders of a range of ids; see `generatedOrder`. */
  public async generateOrders(
    firstId: bigint | number,
    lastId: bigint | number,
  ): Promise<void> {
    await this.script(
      calls.generateOrders(
        parseUint256(firstId, "firstId"),
        parseUint256(lastId, "lastId"),
      ),
    );
  }

  /** Whether a missing order reverts; else it answers zeros, as at first. */
  public async setMissingOrdersRevert(reverts: boolean): Promise<void> {
    await this.script(calls.missingOrdersRevert(reverts));
  }

  /** Sets the amounts of a pool; what is not named keeps its value. */
  public async setPool(
    pool: PoolName,
    amounts: Partial<PoolAmounts>,
  ): Promise<void> {
    const current = await this.vault.getLPAmountInfo(pool);
    await this.script(
      calls.pool(pool === "public" ? "publicPool" : "privatePool", {
        ...current,
        ...amounts,
      }),
    );
  }

  /** Sets the funding fee rate; real value times 1E8. */
  public async setFundingFeeRate(
    contractType: ContractType | ContractTypeName,
    rate: bigint,
  ): Promise<void> {
    const isCall =
      parseContractType(contractType, "contractType") ===
      BigInt(ContractType.CALL);
    await this.script(
      calls.fundingFeeRate(isCall ? ContractType.CALL : ContractType.PUT, rate),
    );
  }

  /** Sets what `calMargins` answers, whatever it is asked. */
  public async setMargins(margins: Readonly<MarginAmounts>): Promise<void> {
    await this.script(calls.margins(margins));
  }

  /** Sets the margins that can be withdrawn. */
  public async setMarginBalance(
    margins: Readonly<MarginAmounts>,
  ): Promise<void> {
    await this.script(calls.marginBalance(margins));
  }

  /** Sets the vault's volume. */
  public async setVolume(volume: bigint): Promise<void> {
    await this.script(calls.volume(volume));
  }

  /** Sets the X token margin to pay when issuing a vault. */
  public async setMinXMargin(margin: bigint): Promise<void> {
    await this.script(calls.minXMargin(margin));
  }

  /** Sets what the next `settleAll` writes to the round. */
  public async setSettlement(settlement: ScriptedSettlement): Promise<void> {
    await this.script(calls.settlement(settlement));
  }

  /**
   * Makes an operation revert from now on, until {@link succeed} or the next
   * `deployMocks()`. A call that reverts leaves no trace on a chain, so a mock
   * cannot count how often it has failed.
   *
   * For an operation of several contracts (the pools) all of them fail.
   */
  public async failNext(
    operation: OperationName,
    reason: ScriptedReason = "scripted failure",
  ): Promise<void> {
    const data = encodeRevertData(reason);
    const { selector } = operationEntry(operation);
    await this.script(
      ...targetsOf(operation).map(({ role }) =>
        calls.revert(role, selector, data),
      ),
    );
  }

  /** Ends what {@link failNext} began. */
  public async succeed(operation: OperationName): Promise<void> {
    const { selector } = operationEntry(operation);
    await this.script(
      ...targetsOf(operation).map(({ role }) =>
        calls.clearRevert(role, selector),
      ),
    );
  }

  /** The settlements that the mock vault has seen, oldest first. */
  public async settlements(): Promise<RecordedSettlement[]> {
    const { vault } = this.contracts;
    const count = Number(await vault.settlementCount());
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const [caller, timestamp, blockNumber] = await vault.settlement(index);
        return { caller, timestamp, blockNumber };
      }),
    );
  }

  /** @internal Makes several calls in one transaction, all or none. */
  public async script(...script: readonly ScriptCall[]): Promise<void> {
    const { to, data } = encodeScript(this.addresses, script);
    await this.#sender.send(to, data);
  }

  #createContracts(): MockContracts {
    const runner = this.vault.connection.ethers.provider;
    const byRole = contractRoleNames.map((role) => [
      role,
      new Contract(
        this.addresses[role],
        mockFactories[role].createInterface(),
        runner,
      ),
    ]);
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each role's factory made the interface of exactly that type
    return Object.fromEntries(byRole) as MockContracts;
  }
}
