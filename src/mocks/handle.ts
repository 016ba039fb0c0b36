import { Contract, MaxUint256 } from "ethers";

import type {
  MockLiquidityPool,
  MockTrading,
  MockUnderlyingAsset,
  MockVault,
  MockVaultFactory,
} from "../bindings/index.js";
import { parseUint256 } from "../client/inputs.js";
import { isEmptyOrder, isFailedOrder } from "../client/orders/types.js";
import { checkValues } from "../client/values.js";
import type { VaultClient } from "../client/vault-client.js";
import { asRecord } from "../json.js";
import { byRole, get, set } from "../protocol/index.js";
import type { OperationName, PoolName, VaultOrder } from "../protocol/index.js";
import {
  call,
  countScripts,
  mockInterfaces,
  readClock,
  requireMocks,
} from "./mock-contracts.js";
import type { MockAddresses, ScriptCall } from "./mock-contracts.js";
import { scenarios } from "./scenarios.js";
import type { ScenarioName } from "./scenarios.js";
import { sendScript } from "./mock-sender.js";
import {
  answers,
  applyOverrides,
  callsForChanges,
  callsForFailure,
  callsForOrders,
  checkTarget,
  nextRoundFields,
  orderFields,
  parseOrderKey,
} from "./state.js";
import type {
  MockOrder,
  MockOverrides,
  MockState,
  NextRound,
  ScriptedReason,
} from "./types.js";

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

/** Length of a next round if the latest one has none. */
const DEFAULT_ROUND_SECONDS = 7n * 86_400n;

/**
 * Scripts mocks. Every method is one transaction (many orders take more) and
 * resolves once it is mined; values are unscaled.
 *
 * Every method throws VAULT_NOT_A_MOCK, VAULT_MOCK_SCRIPT_FAILED, and
 * VAULT_INVALID_ARGUMENT, VAULT_INVALID_INTEGER or VAULT_INVALID_ADDRESS for a
 * value that the contract cannot hold. A method that keeps values reads them
 * first, and fails as that reading does.
 */
export class MockVaultHandle<VaultT extends VaultClient = VaultClient> {
  /** @internal Use `deployMocks()`. */
  constructor(
    /** A vault bound to the mocks, whatever the connection is bound to later. */
    public readonly vault: VaultT,
    public readonly addresses: MockAddresses,
    /** The scenario they were deployed with; null if that is not known. */
    public readonly scenario: ScenarioName | null = null,
  ) {}

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
    return byRole(
      (role) =>
        new Contract(
          this.addresses[role],
          mockInterfaces[role],
          this.vault.contracts.vault.runner,
        ),
    ) as unknown as MockContracts;
  }

  /**
   * Changes what the mocks answer, by the names of `deployMocks({ overrides })`.
   * What is not named keeps its value, but of a settlement both values are
   * named. Failures are added to those that there are.
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
      const current = await this.#readNamed(changes);
      return callsForChanges(applyOverrides(current, changes), changes);
    });
  }

  /**
   * Puts a new, unsettled round in place of the latest one.
   *
   * Unless named, its terms are those of the latest round, nothing is filled,
   * and it starts now, by the node's clock, and is as long as the latest one. It
   * settles at its strike price, with its filled volume, unless
   * `set({ settlement })` has scripted another settlement.
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
    const terms: Partial<NextRound> = {
      filledVolume: 0n,
      ...checkValues<Partial<NextRound>>(nextRoundFields, round, "round", true),
    };
    const isWhole = nextRoundFields.every(({ name }) => name in terms);
    await this.#script(async () => {
      const others = isWhole ? {} : await this.#latestTerms(terms.startTime);
      const next = { ...others, ...terms };
      return [call("vaultFactory", "startNextRound", next)];
    });
  }

  /**
   * Sets whole orders by id, in as few transactions as their gas allows.
   *
   * @example
   * ```ts
   * const order = await mocks.vault.getOrderInfo(1n);
   * await mocks.addOrders(
   *   new Map([[8n, order], [9n, { ...order, state: "closed" }]]),
   * );
   * (await mocks.vault.getOrderInfo(9n)).state;
   * // 2
   * ```
   */
  public async addOrders(
    orders: ReadonlyMap<bigint, MockOrder>,
  ): Promise<void> {
    const checked = [...orders].map(([id, order]): [bigint, VaultOrder] => [
      parseUint256(id, "orderID"),
      checkValues(orderFields, order, `order ${id}`),
    ]);
    await this.#script(() => callsForOrders(new Map(checked)));
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
    await this.set({ generatedOrders: { firstId, lastId } });
  }

  /**
   * Makes an operation revert from now on, until {@link succeed} or the next
   * `deployMocks()`: a mock cannot count how often it has failed.
   *
   * @param reason A text, `{ panic }`, `{ customError, args }` or `{ data }`.
   * @param options `pool`: the one pool that fails. Default: both.
   * @throws VaultError VAULT_INVALID_ENUM, VAULT_INVALID_ARGUMENT
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
    const { from } = this.vault.readContext({});
    const count = Number(await vault.settlementCount({ from }));
    return await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const [caller, timestamp, blockNumber] = await vault.settlement(index, {
          from,
        });
        return { caller, timestamp, blockNumber };
      }),
    );
  }

  /** The terms of the latest round, but from a start on that is now by default. */
  async #latestTerms(startTime?: bigint): Promise<NextRound> {
    const [latest, now] = await Promise.all([
      this.vault.getLatestRoundInfo(),
      readClock(this.vault),
    ]);
    const start = startTime ?? now;
    const length = latest.endTime - latest.startTime;
    const end = start + (length > 0n ? length : DEFAULT_ROUND_SECONDS);
    return {
      ...latest,
      startTime: start,
      endTime: end > MaxUint256 ? MaxUint256 : end,
    };
  }

  /** Reads what changes name; the rest of the state may be anything. */
  async #readNamed(changes: MockOverrides): Promise<MockState> {
    const state: Record<string, unknown> = {
      ...scenarios["open-round"](0n),
      settlement: {},
      orders: await this.#readOrders(asRecord(get(changes, ["orders"]))),
    };
    for (const { operation, args, path } of answers) {
      if (typeof get(changes, path) === "object") {
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the arguments of a query are what its operation takes
        set(state, path, await this.vault.read(operation, args as never));
      }
    }
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a scenario, of which the settlement is checked to be named whole
    return state as unknown as MockState;
  }

  async #readOrders(changes: object): Promise<MockState["orders"]> {
    const ids = Object.entries(changes)
      .filter(([, change]) => change !== null && change !== undefined)
      .map(([key]) => parseOrderKey(key));
    const orders = new Map<bigint, VaultOrder>();
    const found = ids.length === 0 ? [] : this.vault.orders({ ids });
    for await (const order of found) {
      if (isFailedOrder(order)) {
        const reason = String(order.error.details["reason"]);
        if (!reason.startsWith("OrderNotFound(")) {
          throw order.error;
        }
      } else {
        const { orderID, ...values } = order;
        if (!isEmptyOrder(order)) {
          orders.set(orderID, values);
        }
      }
    }
    return orders;
  }

  /**
   * Makes the calls of a plan, after everything that was begun before. If another
   * process scripted the same mocks meanwhile, they are planned again.
   */
  async #script(
    plan: () => readonly ScriptCall[] | Promise<readonly ScriptCall[]>,
  ): Promise<void> {
    const { vault, addresses } = this;
    await vault.rpc.inOrder(async () => {
      for (let attempt = 1; ; attempt += 1) {
        const counts = await countScripts(vault, addresses);
        const script = await plan();
        const roles = script.map(({ role }) => role);
        await requireMocks(vault, addresses, roles, counts);
        try {
          await sendScript(vault, addresses, script, counts);
          return;
        } catch (error) {
          // Another process sends from the same account, and its transaction may
          // not be mined yet.
          const isOvertaken =
            attempt < MOST_ATTEMPTS && /nonce too low/iu.test(String(error));
          const now = await countScripts(vault, addresses);
          if (
            !isOvertaken &&
            roles.every((role) => now.get(role) === counts.get(role))
          ) {
            throw error;
          }
        }
      }
    });
  }
}

/** A node that refuses the nonce so often does so for another reason. */
const MOST_ATTEMPTS = 20;
