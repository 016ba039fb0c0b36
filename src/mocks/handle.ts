import { Contract, MaxUint256 } from "ethers";

import type {
  MockLiquidityPool,
  MockTrading,
  MockUnderlyingAsset,
  MockVault,
  MockVaultFactory,
} from "../bindings/index.js";
import { parseContractType, parseUint256 } from "../client/inputs.js";
import type { VaultHost } from "../host.js";
import {
  ContractType,
  contractRoleNames,
  operations,
} from "../protocol/index.js";
import type {
  ContractTypeName,
  MarginAmounts,
  OperationName,
  PoolAmounts,
  PoolName,
  ReadOperationName,
  VaultRound,
} from "../protocol/index.js";
import type { MockSender } from "./mock-sender.js";
import { requireMocks } from "./require-mocks.js";
import type { ScenarioName } from "./scenarios.js";
import {
  calls,
  callsForOrders,
  encodeScript,
  mockFactories,
  setAnswer,
} from "./setters.js";
import type { MockAddresses, ScriptCall } from "./setters.js";
import {
  answerOf,
  checkAllValues,
  checkAnswer,
  checkTarget,
  checkValues,
  requireBoolean,
} from "./state.js";
import { nextRoundFields, settlementFields } from "./types.js";
import type {
  MockOrder,
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

const ORDER_FIELDS = operations.getOrderInfo.outputs.length;

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
export class MockVaultHandle<VaultT extends VaultHost = VaultHost> {
  /** A vault bound to the mocks, whatever the connection is bound to later. */
  public readonly vault: VaultT;
  public readonly addresses: MockAddresses;
  /** The scenario they were deployed with; null if that is not known. */
  public readonly scenario: ScenarioName | null;
  readonly #sender: MockSender;
  #contracts: MockContracts | undefined;

  /** @internal Use `deployMocks()`. */
  constructor(parts: {
    vault: VaultT;
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
    await this.#change("getLatestRoundInfo", undefined, round, "round");
  }

  /**
   * Puts a new, unsettled round in place of the latest one.
   *
   * Unless named, its terms are those of the latest round, nothing is filled,
   * and it starts by the chain's clock and is as long as the latest one.
   */
  public async startNextRound(round: Partial<NextRound> = {}): Promise<void> {
    const changes = checkValues(
      "getLatestRoundInfo",
      round,
      "round",
      nextRoundFields,
    );
    const [latest, block] = await Promise.all([
      this.vault.getLatestRoundInfo(),
      this.vault.block(),
    ]);
    const startTime = changes.startTime ?? BigInt(block.timestamp);
    const length = latest.endTime - latest.startTime;
    const endTime = startTime + (length > 0n ? length : DEFAULT_ROUND_SECONDS);
    await this.script(
      calls.startNextRound({
        strikePrice: latest.strikePrice,
        APY: latest.APY,
        maxVolume: latest.maxVolume,
        filledVolume: 0n,
        minDeposit: latest.minDeposit,
        startTime,
        endTime: endTime > MaxUint256 ? MaxUint256 : endTime,
        ...changes,
      }),
    );
  }

  /** Sets one order; of an order that exists, what is not named stays. */
  public async setOrder(
    orderID: bigint | number,
    order: Partial<MockOrder>,
  ): Promise<void> {
    const id = parseUint256(orderID, "orderID");
    const changes = checkValues("getOrderInfo", order, `order ${id}`);
    const isWhole = Object.keys(changes).length === ORDER_FIELDS;
    const current = isWhole ? {} : await this.vault.getOrderInfo(id);
    await this.addOrders(
      new Map([
        [
          id,
          checkAllValues<MockOrder>(
            "getOrderInfo",
            { ...current, ...changes },
            `order ${id}`,
          ),
        ],
      ]),
    );
  }

  /** Sets whole orders by id, in as few transactions as their gas allows. */
  public async addOrders(
    orders: ReadonlyMap<bigint, MockOrder>,
  ): Promise<void> {
    const checked = [...orders].map(([id, order]): [bigint, MockOrder] => [
      parseUint256(id, "orderID"),
      checkAllValues("getOrderInfo", order, `order ${id}`),
    ]);
    await this.script(...callsForOrders(new Map(checked)));
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
    await this.script(
      calls.missingOrdersRevert(requireBoolean(reverts, "reverts")),
    );
  }

  /** Sets the amounts of a pool; what is not named keeps its value. */
  public async setPool(
    pool: PoolName,
    amounts: Partial<PoolAmounts>,
  ): Promise<void> {
    await this.#change("getLPAmountInfo", pool, amounts, `${pool} pool`);
  }

  /** Sets the funding fee rate; real value times 1E8. */
  public async setFundingFeeRate(
    contractType: ContractType | ContractTypeName,
    rate: bigint,
  ): Promise<void> {
    const type = Number(parseContractType(contractType, "contractType"));
    const word = type === ContractType.CALL ? "call" : "put";
    await this.#set("getFundingFeeRate", word, rate, "rate");
  }

  /** Sets what `calMargins` answers, whatever it is asked. */
  public async setMargins(margins: Readonly<MarginAmounts>): Promise<void> {
    await this.#set("calMargins", undefined, margins, "margins");
  }

  /** Sets the margins that can be withdrawn. */
  public async setMarginBalance(
    margins: Readonly<MarginAmounts>,
  ): Promise<void> {
    await this.#set("queryMarginBalance", undefined, margins, "margins");
  }

  /** Sets the vault's volume. */
  public async setVolume(volume: bigint): Promise<void> {
    await this.#set("queryVolume", undefined, volume, "volume");
  }

  /** Sets the X token margin to pay when issuing a vault. */
  public async setMinXMargin(margin: bigint): Promise<void> {
    await this.#set("minXMargin", undefined, margin, "margin");
  }

  /** Sets what the next `settleAll` writes to the round. */
  public async setSettlement(settlement: ScriptedSettlement): Promise<void> {
    await this.script(
      calls.settlement(
        checkAllValues<ScriptedSettlement>(
          "getLatestRoundInfo",
          settlement,
          "settlement",
          settlementFields,
        ),
      ),
    );
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
   */
  public async fail(
    operation: OperationName,
    reason: ScriptedReason = "scripted failure",
    { pool }: { readonly pool?: PoolName } = {},
  ): Promise<void> {
    checkTarget({ operation, pool }, "fail()");
    await this.script(...calls.fail({ operation, pool, reason }));
  }

  /** Ends what {@link fail} began, and throws alike. */
  public async succeed(
    operation: OperationName,
    { pool }: { readonly pool?: PoolName } = {},
  ): Promise<void> {
    checkTarget({ operation, pool }, "succeed()");
    await this.script(...calls.succeed(operation, pool));
  }

  /**
   * The settlements that the mock vault has seen, oldest first. One that
   * reverted has left no trace.
   *
   * @throws VaultError VAULT_NOT_A_MOCK
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

  /** @internal Makes several calls, in as few transactions as they fit into. */
  public async script(...script: readonly ScriptCall[]): Promise<void> {
    await requireMocks(
      this.vault,
      this.addresses,
      new Set(script.map(({ role }) => role)),
    );
    await this.#sender.send(encodeScript(this.addresses, script));
  }

  /** Sets what an operation answers, as a whole. */
  async #set(
    operation: ReadOperationName,
    variant: string | undefined,
    answer: unknown,
    where: string,
  ): Promise<void> {
    await this.script(
      setAnswer(
        answerOf(operation, variant),
        checkAnswer(operation, answer, where),
      ),
    );
  }

  /** Sets what an operation answers; what is not named stays. */
  async #change(
    operation: ReadOperationName,
    variant: string | undefined,
    changes: object,
    where: string,
  ): Promise<void> {
    const checked = checkValues(operation, changes, where);
    const answer = answerOf(operation, variant);
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the arguments of a reading are what its operation takes
    const current = await this.vault.read(operation, answer.args as never);
    await this.script(setAnswer(answer, { ...Object(current), ...checked }));
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
