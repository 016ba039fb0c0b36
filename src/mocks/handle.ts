import { Contract, MaxUint256 } from "ethers";

import type {
  MockLiquidityPool,
  MockTrading,
  MockUnderlyingAsset,
  MockVault,
  MockVaultFactory,
} from "../bindings/index.js";
import { parseEnum, parseUint256 } from "../client/inputs.js";
import { ContractType, byRole } from "../protocol/index.js";
import type {
  ContractTypeName,
  MarginAmounts,
  OperationName,
  PoolAmounts,
  PoolName,
  VaultRound,
} from "../protocol/index.js";
import { inOrder } from "../rpc/in-order.js";
import { requireMocks } from "./mock-contracts.js";
import type { MockAddresses } from "./mock-contracts.js";
import type { MockSender } from "./mock-sender.js";
import { readNamed } from "./read-named.js";
import type { ScenarioName } from "./scenarios.js";
import {
  call,
  callsForChanges,
  callsForFailure,
  callsForOrders,
  encodeScript,
  mockInterfaces,
} from "./setters.js";
import type { ScriptCall } from "./setters.js";
import {
  applyOverrides,
  checkAllValues,
  checkTarget,
  checkValues,
} from "./state.js";
import { nextRoundFields } from "./types.js";
import type {
  MockHost,
  MockOrder,
  MockOverrides,
  NextRound,
  ScriptedReason,
  ScriptedSettlement,
} from "./types.js";

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

/** Length of a next round where the latest one has none. */
const DEFAULT_ROUND_SECONDS = 7n * 86_400n;

/**
 * Scripts mocks. Every method is one transaction (many orders take more) and
 * resolves once it is mined; values are unscaled, as on the wire.
 *
 * Every method throws VAULT_NOT_A_MOCK if the contract is not a mock,
 * VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER or VAULT_INVALID_ADDRESS for a
 * value that the contract cannot hold, and VAULT_MOCK_SCRIPT_FAILED if the
 * transaction fails. Those that keep what is not named read it first, and fail
 * as that reading does.
 */
export class MockVaultHandle<VaultT extends MockHost = MockHost> {
  readonly #send: MockSender;
  #contracts: MockContracts | undefined;

  /** @internal Use `deployMocks()`. */
  constructor(
    /** A vault bound to the mocks, whatever the connection is bound to later. */
    public readonly vault: VaultT,
    public readonly addresses: MockAddresses,
    send: MockSender,
    /** The scenario they were deployed with; null if that is not known. */
    public readonly scenario: ScenarioName | null = null,
  ) {
    this.#send = send;
  }

  /**
   * The typed mock contracts, for what the other methods do not cover.
   *
   * @example
   * ```ts
   * await mocks.contracts.vault.settlementCount();
   * // 0n
   * ```
   */
  public get contracts(): MockContracts {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- each role's interface is that of exactly that type
    this.#contracts ??= byRole(
      (role) =>
        new Contract(
          this.addresses[role],
          mockInterfaces[role],
          this.vault.contracts.vault.runner,
        ),
    ) as unknown as MockContracts;
    return this.#contracts;
  }

  /**
   * Changes what the mocks answer, in one transaction where it fits into one.
   * The names are those of `deployMocks({ overrides })`; what is not named
   * keeps its value, but margins and a settlement are named whole. Failures are
   * added to those that there are.
   *
   * @example
   * ```ts
   * await mocks.set({ round: { APY: 5n }, pools: { public: { locked: 0n } } });
   * (await mocks.vault.getLatestRoundInfo()).APY;
   * // 5n
   * ```
   */
  public async set(changes: MockOverrides): Promise<void> {
    await this.#script(async () => {
      const current = await readNamed(this.vault, changes);
      return callsForChanges(applyOverrides(current, changes, ""), changes);
    });
  }

  /**
   * Sets the latest round; what is not named keeps its value.
   *
   * @example
   * ```ts
   * await mocks.setRound({ minDeposit: 7n });
   * (await mocks.vault.getLatestRoundInfo()).minDeposit;
   * // 7n
   * ```
   */
  public async setRound(round: Partial<VaultRound>): Promise<void> {
    await this.set({ round });
  }

  /**
   * Puts a new, unsettled round in place of the latest one.
   *
   * Unless named, its terms are those of the latest round, nothing is filled,
   * and it starts by the chain's clock and is as long as the latest one. It
   * settles at its strike price, with its filled volume, unless
   * {@link setSettlement} has said otherwise.
   *
   * @example
   * ```ts
   * await mocks.startNextRound({ APY: 5n });
   * const { APY, filledVolume } = await mocks.vault.getLatestRoundInfo();
   * [APY, filledVolume];
   * // [ 5n, 0n ]
   * ```
   */
  public async startNextRound(round: Partial<NextRound> = {}): Promise<void> {
    const changes = checkValues(
      "getLatestRoundInfo",
      round,
      "round",
      nextRoundFields,
    );
    await this.#script(async () => {
      const [latest, block] = await Promise.all([
        this.vault.getLatestRoundInfo(),
        this.vault.block(),
      ]);
      const startTime = changes.startTime ?? BigInt(block.timestamp);
      const length = latest.endTime - latest.startTime;
      const endTime =
        startTime + (length > 0n ? length : DEFAULT_ROUND_SECONDS);
      return [
        call("vaultFactory", "startNextRound", {
          strikePrice: latest.strikePrice,
          APY: latest.APY,
          maxVolume: latest.maxVolume,
          filledVolume: 0n,
          minDeposit: latest.minDeposit,
          startTime,
          endTime: endTime > MaxUint256 ? MaxUint256 : endTime,
          ...changes,
        } satisfies NextRound),
      ];
    });
  }

  /**
   * Sets one order. What is not named stays; of an order that there is not, it
   * is as in order 1 of `open-round`.
   *
   * @example
   * ```ts
   * await mocks.setOrder(1n, { state: 2, closePrice: 5n });
   * (await mocks.vault.getOrderInfo(1n)).closePrice;
   * // 5n
   * ```
   */
  public async setOrder(
    orderID: bigint | number,
    order: Partial<MockOrder>,
  ): Promise<void> {
    const id = parseUint256(orderID, "orderID");
    await this.set({ orders: { [`${id}`]: order } });
  }

  /**
   * Sets whole orders by id, in as few transactions as their gas allows.
   *
   * @example
   * ```ts
   * const order = await mocks.vault.getOrderInfo(1n);
   * await mocks.addOrders(new Map([[8n, order], [9n, { ...order, state: 2 }]]));
   * (await mocks.vault.getOrderInfo(9n)).state;
   * // 2
   * ```
   */
  public async addOrders(
    orders: ReadonlyMap<bigint, MockOrder>,
  ): Promise<void> {
    const checked = [...orders].map(([id, order]): [bigint, MockOrder] => [
      parseUint256(id, "orderID"),
      checkAllValues("getOrderInfo", order, `order ${id}`),
    ]);
    await this.#script(() => callsForOrders(new Map(checked)));
  }

  /**
   * Makes an order a missing one.
   *
   * @example
   * ```ts
   * await mocks.removeOrder(1n);
   * (await mocks.vault.getOrderInfo(1n)).state;
   * // 0
   * ```
   */
  public async removeOrder(orderID: bigint | number): Promise<void> {
    const id = parseUint256(orderID, "orderID");
    await this.set({ orders: { [`${id}`]: null } });
  }

  /**
   * Computes the orders of a range of ids; see `generatedOrder`.
   *
   * @example
   * ```ts
   * await mocks.generateOrders(1_000n, 1_999n);
   * (await mocks.vault.getOrderInfo(1_999n)).exType;
   * // 'XRP-USDT'
   * ```
   */
  public async generateOrders(
    firstId: bigint | number,
    lastId: bigint | number,
  ): Promise<void> {
    await this.set({
      generatedOrders: {
        firstId: parseUint256(firstId, "firstId"),
        lastId: parseUint256(lastId, "lastId"),
      },
    });
  }

  /**
   * Whether a missing order reverts; else it answers zeros, as at first.
   *
   * @example
   * ```ts
   * await mocks.setMissingOrdersRevert(true);
   * await mocks.vault.getOrderInfo(404n);
   * // VAULT_CALL_REVERTED: getOrderInfo reverted: OrderNotFound(orderID: 404) …
   * ```
   */
  public async setMissingOrdersRevert(reverts: boolean): Promise<void> {
    await this.set({ missingOrdersRevert: reverts });
  }

  /**
   * Sets the amounts of a pool; what is not named keeps its value.
   *
   * @example
   * ```ts
   * await mocks.setPool("public", { locked: 0n });
   * (await mocks.vault.getLPAmountInfo("public")).locked;
   * // 0n
   * ```
   */
  public async setPool(
    pool: PoolName,
    amounts: Partial<PoolAmounts>,
  ): Promise<void> {
    await this.set({ pools: { [pool]: amounts } });
  }

  /**
   * Sets the funding fee rate; real value times 1E8.
   *
   * @example
   * ```ts
   * await mocks.setFundingFeeRate("put", 30_000n);
   * await mocks.vault.getFundingFeeRate("put");
   * // 30000n
   * ```
   */
  public async setFundingFeeRate(
    contractType: ContractType | ContractTypeName,
    rate: bigint,
  ): Promise<void> {
    const type = parseEnum("contractType", contractType, "contractType");
    const word = type === ContractType.call ? "call" : "put";
    await this.set({ fundingFeeRate: { [word]: rate } });
  }

  /**
   * Sets what `calMargins` answers, whatever it is asked; `"proportional"`:
   * the margins that were set last are those for a round like the latest, and
   * others are in proportion to volume, interest and length. Each answer is
   *
   *     margin × maxVolume / round.maxVolume × (1E18 + APY) / (1E18 + round.APY)
   *       × (endTime − now) / (round.endTime − round.startTime)
   *
   * with every division rounded down, so that a caller's mistake shows, swapped
   * arguments among them.
   *
   * @example
   * ```ts
   * await mocks.setMargins({ baseMarginAmount: 3n, xMarginAmount: 4n });
   * await mocks.vault.calMargins({ maxVolume: 1n, APY: 1n, endTime: 1n });
   * // { baseMarginAmount: 3n, xMarginAmount: 4n }
   * ```
   */
  public async setMargins(
    margins: Readonly<MarginAmounts> | "proportional",
  ): Promise<void> {
    await this.set({ margins });
  }

  /**
   * Sets the margins that can be withdrawn.
   *
   * @example
   * ```ts
   * await mocks.setMarginBalance({ baseMarginAmount: 3n, xMarginAmount: 4n });
   * await mocks.vault.queryMarginBalance();
   * // { baseMarginAmount: 3n, xMarginAmount: 4n }
   * ```
   */
  public async setMarginBalance(
    marginBalance: Readonly<MarginAmounts>,
  ): Promise<void> {
    await this.set({ marginBalance });
  }

  /**
   * Sets the vault's volume.
   *
   * @example
   * ```ts
   * await mocks.setVolume(5n);
   * await mocks.vault.queryVolume();
   * // 5n
   * ```
   */
  public async setVolume(volume: bigint): Promise<void> {
    await this.set({ volume });
  }

  /**
   * Sets the X token margin to pay when issuing a vault.
   *
   * @example
   * ```ts
   * await mocks.setMinXMargin(5n);
   * await mocks.vault.minXMargin();
   * // 5n
   * ```
   */
  public async setMinXMargin(minXMargin: bigint): Promise<void> {
    await this.set({ minXMargin });
  }

  /**
   * Sets what `settleAll` writes to this round and to those that follow.
   *
   * @example
   * ```ts
   * await mocks.setSettlement({ settledPrice: 6n, settledAmount: 5n });
   * (await mocks.vault.settleAll()).after?.settledPrice;
   * // 6n
   * ```
   */
  public async setSettlement(settlement: ScriptedSettlement): Promise<void> {
    await this.set({ settlement });
  }

  /**
   * Makes an operation revert from now on, until {@link succeed} or the next
   * `deployMocks()`. A call that reverts leaves no trace on a chain, so a mock
   * cannot count how often it has failed.
   *
   * @param reason A text, `{ panic }`, `{ customError, args }` or `{ data }`;
   * `{ data: "0x" }` is a revert without a reason.
   * @param options `pool`: the one pool that fails; both unless given.
   * @throws VaultError VAULT_INVALID_ENUM for an operation or a pool that there
   * is not, VAULT_INVALID_ARGUMENT for a pool of an operation without pools
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
    { pool }: { readonly pool?: PoolName } = {},
  ): Promise<void> {
    checkTarget({ operation, pool }, "fail()");
    await this.#script(() => callsForFailure({ operation, pool, reason }));
  }

  /**
   * Ends what {@link fail} began, and throws alike.
   *
   * @example
   * ```ts
   * await mocks.fail("queryVolume");
   * await mocks.succeed("queryVolume");
   * await mocks.vault.queryVolume();
   * // 420000000000000000000n
   * ```
   */
  public async succeed(
    operation: OperationName,
    { pool }: { readonly pool?: PoolName } = {},
  ): Promise<void> {
    checkTarget({ operation, pool }, "succeed()");
    await this.#script(() =>
      callsForFailure({ operation, pool, reason: null }),
    );
  }

  /**
   * The settlements that the mock vault has seen, oldest first. One that
   * reverted has left no trace.
   *
   * @throws VaultError VAULT_NOT_A_MOCK
   *
   * @example
   * ```ts
   * await mocks.vault.settleAll();
   * (await mocks.settlements()).map(({ caller }) => caller);
   * // [ '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266' ]
   * ```
   */
  public async settlements(): Promise<RecordedSettlement[]> {
    await requireMocks(this.vault, this.addresses, ["vault"]);
    const { vault } = this.contracts;
    const count = Number(await vault.settlementCount());
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const [caller, timestamp, blockNumber] = await vault.settlement(index);
        return { caller, timestamp, blockNumber };
      }),
    );
  }

  /**
   * Makes calls, in as few transactions as they fit into, and after everything
   * that was begun before.
   *
   * @param plan What the calls are; it may read first what they do not change.
   */
  async #script(
    plan: () => readonly ScriptCall[] | Promise<readonly ScriptCall[]>,
  ): Promise<void> {
    await inOrder(this.vault, async () => {
      const script = await plan();
      if (script.length === 0) {
        return;
      }
      await requireMocks(
        this.vault,
        this.addresses,
        new Set(script.map(({ role }) => role)),
      );
      await this.#send(encodeScript(this.addresses, script));
    });
  }
}
