import { inspect } from "node:util";
import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import type { DeployMocksOptions } from "../../src/mocks/deploy-mocks.js";
import { checkValue } from "../../src/mocks/state.js";
import type { CheckedField } from "../../src/mocks/state.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { distinctState, expectedReads } from "../helpers/distinct-state.js";
import { flatten } from "../helpers/flatten.js";
import { generatedOrder } from "../helpers/generated-order.js";
import { connectTo } from "../helpers/hre.js";
import { NOBODY, SECOND, ZERO } from "../helpers/names.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { callMethod } from "../helpers/call-method.js";

const MAX = 2n ** 256n - 1n;
const ONE = 10n ** 18n;
const TERMS = { maxVolume: 5n, APY: 6n, endTime: 7n };

describe("state of the mocks", () => {
  let vault: HardhatVault;

  before(async () => {
    ({ vault } = await connectTo(undefined));
  });
  after(async () => {
    await vault.connection.close();
  });

  const deploy = async (
    overrides: DeployMocksOptions["overrides"] = {},
    scenario: DeployMocksOptions["scenario"] = "open-round",
  ): Promise<MockVaultHandle> =>
    await vault.deployMocks({ scenario, overrides });
  /** The type, price and state of orders. */
  const shown = async (...ids: ReadonlyArray<number | bigint>) =>
    await Promise.all(
      ids.map(async (id) => {
        const { exType, openPrice, state } = await vault.getOrderInfo(id);
        return [exType, openPrice, state];
      }),
    );
  const notFound = async (...ids: ReadonlyArray<number | bigint>) => {
    for (const id of ids) {
      const { details } = await expectVaultError(
        vault.getOrderInfo(id),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.equal(`OrderNotFound(orderID: ${id})`);
    }
  };

  describe("overrides of deployMocks()", () => {
    it("replace single fields of the scenario, and leave the others", async () => {
      await deploy({ orders: { 2: { exFee: 3n }, 3: null } });
      expect(await shown(3)).to.deep.equal([["", 0n, 0]]);
      expect(await vault.getOrderInfo(2)).to.include({
        ...{ exFee: 3n, exType: "ETH-USDT" },
      });
    });

    it("name the orders of a range that differ, at both ends, or are missing", async () => {
      const doge = { exType: "DOGE" };
      await deploy(
        {
          orders: { 1: doge, 7: null, 1000: doge, 2000: generatedOrder(3n) },
          unknownOrders: "revert",
        },
        "many-orders",
      );
      expect(await shown(1, 1_000)).to.deep.equal(
        Array(2).fill(["DOGE", 64_000n * ONE, 1]),
      );
      expect(await vault.getOrderInfo(999)).to.eql(generatedOrder(999n));
      expect(await vault.getOrderInfo(2_000)).to.eql(generatedOrder(3n));
      expect(await shown(7)).to.deep.equal([["", 0n, 0]]);
      await notFound(1_001, 1_000_001);
    });
  });

  describe("set()", () => {
    const changes = [
      ["fundingFeeRate.put", { fundingFeeRate: { put: 62n } }, 62n],
      ["pools.public.locked", { pools: { public: { locked: 0n } } }, 0n],
      ["round.APY", { round: { APY: 64n } }, 64n],
      ["round.settled", { round: { settled: false } }, false],
      ["volume", { volume: 0n }, 0n],
      ["minXMargin", { minXMargin: MAX }, MAX],
    ] as const;
    let mocks: MockVaultHandle;
    before(async () => {
      mocks = await deploy(distinctState);
    });

    for (const [path, change, value] of changes) {
      it(`changes ${path}, and nothing else`, async () => {
        const { block: _one, ...before } = await vault.snapshot();
        await mocks.set(change);
        const { block: _other, ...after } = await vault.snapshot();
        expect(flatten(after)).to.deep.equal(flatten(before).set(path, value));
      });
    }

    it("sets margins by terms, of which the first that match count, and others revert until margins are set for all", async () => {
      const amounts = { baseMarginAmount: 1n, xMarginAmount: 1n };
      // It replaces these.
      await mocks.set({ margins: [amounts] });
      await mocks.set({
        margins: [
          { ...TERMS, baseMarginAmount: 1n, xMarginAmount: 2n },
          { APY: 6n, baseMarginAmount: 3n, xMarginAmount: 4n },
          { endTime: 9n, baseMarginAmount: 5n, xMarginAmount: 6n },
        ],
      });
      const xMargin = async (terms: object): Promise<bigint> =>
        (await vault.calMargins({ ...TERMS, ...terms })).xMarginAmount;
      expect(await xMargin({})).to.equal(2n);
      expect(await xMargin({ endTime: 8n })).to.equal(4n);
      expect(await xMargin({ APY: 10n, endTime: 9n })).to.equal(6n);
      const { details } = await expectVaultError(
        xMargin({ APY: 10n }),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.equal(
        "UnexpectedTerms(maxVolume: 5, APY: 10, endTime: 7)",
      );
      // There is no other margin to keep.
      await expectVaultError(
        mocks.set({ margins: { baseMarginAmount: 7n } }),
        "VAULT_INVALID_ARGUMENT",
      );
      await mocks.set({ margins: { baseMarginAmount: 7n, xMarginAmount: 8n } });
      expect(await xMargin({ APY: 10n })).to.equal(8n);
    });

    for (const [operation, change] of [
      ["getLatestRoundInfo", { round: { APY: 1n } }],
      ["calMargins", { margins: { xMarginAmount: 1n } }],
    ] as const) {
      it(`throws the error of ${operation} if it needs its answer, and sends nothing`, async () => {
        const { round: before } = await vault.snapshot();
        await mocks.fail(operation, "closed");
        const error = await expectVaultError(
          mocks.set(change),
          "VAULT_CALL_REVERTED",
        );
        expect(error.details).to.include({ reason: "closed" });
        // These need none.
        await mocks.set({ margins: [] });
        await mocks.succeed(operation);
        expect(await vault.getLatestRoundInfo()).to.deep.equal(before);
      });
    }
  });

  describe("orders of set()", () => {
    let mocks: MockVaultHandle;
    beforeEach(async () => {
      mocks = await deploy();
    });

    it("set() changes, adds and removes orders", async () => {
      await mocks.set({
        orders: { 1: null, 3: { state: "open" }, 9: { openPrice: 72n } },
      });
      expect(await shown(1, 3, 9)).to.deep.equal([
        ["", 0n, 0],
        ["BTC-USDT", 61_500n * ONE, 1],
        ["BTC-USDT", 72n, 1],
      ]);
    });

    it("set() pays a settlement in a token, and in none", async () => {
      for (const reward of [{ token: NOBODY, amount: 7n }, null]) {
        await mocks.set({ settlement: { reward } });
        const { token, amount } = await mocks.contracts.vault.reward();
        expect(amount).to.equal(reward?.amount ?? 0n);
        expect(token).to.equal(reward?.token ?? ZERO);
      }
    });

    it("set() keeps an order that fails for another reason, and reads none that it removes", async () => {
      await mocks.fail("getOrderInfo", "closed");
      await expectVaultError(
        mocks.set({ orders: { 1: { state: 2 } } }),
        "VAULT_CALL_REVERTED",
      );
      await mocks.set({ orders: { 2: null } });
      await mocks.succeed("getOrderInfo");
      expect((await vault.getOrderInfo(1)).state).to.equal(1);
      expect(await shown(2)).to.deep.equal([["", 0n, 0]]);
    });

    it("set() changes a computed order in part, and null ends the range", async () => {
      await mocks.set({ generatedOrders: { firstId: 20, lastId: 23 } });
      await mocks.set({ orders: { 21: { lockFee: 82n } } });
      expect(await vault.getOrderInfo(21)).to.deep.equal({
        ...generatedOrder(21n),
        lockFee: 82n,
      });
      expect(await vault.getOrderInfo(23)).to.eql(generatedOrder(23n));
      expect(await shown(19, 24)).to.deep.equal(Array(2).fill(["", 0n, 0]));
      await mocks.set({ generatedOrders: null });
      expect(await shown(0, 23)).to.deep.equal(Array(2).fill(["", 0n, 0]));
      expect((await vault.getOrderInfo(21)).lockFee).to.equal(82n);
    });

    it("set() makes the mock compute orders from their ids, up to the last one", async () => {
      await mocks.set({ generatedOrders: { firstId: 0n, lastId: MAX } });
      const ids = [
        ...Array.from({ length: 12 }, (_, id) => BigInt(id + 4)),
        ...[996n, 997n, 999_999n, 1_000_000n, 1_000_001n, 2n ** 255n, MAX],
      ];
      for (const id of ids) {
        expect(await vault.getOrderInfo(id)).to.eql(generatedOrder(id));
      }
    });

    it("set() sets an order at the greatest id, with words for type and state", async () => {
      const order = await vault.getOrderInfo(1);
      const words = { contractType: "put", state: "closed" } as const;
      await mocks.set({ orders: { [`${MAX}`]: { ...order, ...words } } });
      expect(await vault.getOrderInfo(MAX)).to.deep.equal({
        ...order,
        ...{ contractType: 2, state: 2 },
      });
    });
  });

  describe("failures", () => {
    let mocks: MockVaultHandle;
    before(async () => {
      mocks = await deploy(distinctState);
    });

    for (const { operation: failing } of expectedReads.filter(
      ({ operation }, index, all) =>
        all.findIndex((one) => one.operation === operation) === index,
    )) {
      it(`fail("${failing}") makes it revert, and no other operation`, async () => {
        await mocks.fail(failing, "closed");
        for (const { operation, args } of expectedReads) {
          const read = async (): Promise<unknown> =>
            // the table has the arguments of each
            await vault.read(operation, args as never);
          if (operation === failing) {
            await expectVaultError(read, "VAULT_CALL_REVERTED");
          } else {
            await read();
          }
        }
        await mocks.succeed(failing);
        await vault.snapshot();
      });
    }

    it("fail() and succeed() of a pool leave the other one", async () => {
      const reasons = async (): Promise<readonly unknown[]> => {
        const { pools } = await vault.snapshot();
        return [pools.public, pools.private].map((pool) =>
          "error" in pool ? pool.error.details["reason"] : "answers",
        );
      };
      await mocks.fail("getLPAmountInfo");
      expect(await reasons()).to.eql(Array(2).fill("scripted failure"));
      await mocks.succeed("getLPAmountInfo", { args: ["private"] });
      expect(await reasons()).to.eql(["scripted failure", "answers"]);
      await mocks.fail("getLPAmountInfo", "dry", { args: ["private"] });
      expect(await reasons()).to.eql(["scripted failure", "dry"]);
      await mocks.succeed("getLPAmountInfo");
      expect(await reasons()).to.eql(["answers", "answers"]);
    });

    it("fail() makes one contract type fail, and succeed() ends it", async () => {
      await mocks.fail("getFundingFeeRate", "closed", { args: ["put"] });
      expect(await vault.getFundingFeeRate("call")).to.equal(1n);
      await expectVaultError(
        vault.getFundingFeeRate("put"),
        "VAULT_CALL_REVERTED",
      );
      await mocks.succeed("getFundingFeeRate");
      expect(await vault.getFundingFeeRate("put")).to.equal(2n);
    });

    it("fail() makes one order, one caller or one set of terms fail, and the arguments count more than the caller", async () => {
      await mocks.fail("getOrderInfo", "every");
      const from = { getAddress: async () => await Promise.resolve(NOBODY) };
      await mocks.fail("getOrderInfo", "caller", { from });
      await mocks.fail("getOrderInfo", "order", { args: [2] });
      await mocks.fail("calMargins", "terms", { args: [TERMS] });
      const reasonOf = async (
        id: bigint,
        caller?: string,
      ): Promise<unknown> => {
        const read = vault.getOrderInfo(id, { from: caller });
        const error = await expectVaultError(read, "VAULT_CALL_REVERTED");
        return error.details["reason"];
      };
      expect([
        await reasonOf(1n),
        await reasonOf(1n, NOBODY),
        await reasonOf(2n, NOBODY),
      ]).to.deep.equal(["every", "caller", "order"]);
      await mocks.succeed("getOrderInfo", { args: [2n] });
      expect(await reasonOf(2n, NOBODY)).to.equal("caller");
      await mocks.succeed("getOrderInfo", { from });
      expect(await reasonOf(2n, NOBODY)).to.equal("every");
      await mocks.succeed("getOrderInfo");
      // No failure of before comes back.
      await mocks.fail("getOrderInfo", "gone", { args: [3n] });
      await vault.getOrderInfo(2n, { from: NOBODY });
      const others = { ...TERMS, APY: 7n };
      await mocks.succeed("calMargins", { args: [others] });
      await expectVaultError(vault.calMargins(TERMS), "VAULT_CALL_REVERTED");
      await vault.calMargins(others);
    });
  });
});

const plain = <T extends CheckedField["type"]>(type: T) =>
  ({ type, unit: "none" }) as const;
const state = { type: "uint8", unit: "orderState" } as const;
const flag = plain("bool");

describe("values of operations", () => {
  for (const [field, value, checked] of [
    [plain("uint256"), "1e3", 1_000n],
    [state, "closed", 2],
    // A contract may return an unlisted number.
    [state, "255", 255],
    [plain("uint8"), "0x1f", 31],
    [plain("address"), SECOND.toLowerCase(), SECOND],
    [flag, "false", false],
    [plain("string"), "0x41", "0x41"],
  ] as const) {
    it(`checkValue() takes ${inspect(value)} as ${field.type} ${field.unit}`, () => {
      expect(checkValue(field, value, "it")).to.deep.equal(checked);
    });
  }

  for (const [field, value, code] of [
    [plain("uint256"), MAX + 1n, "VAULT_INVALID_INTEGER"],
    [state, "shut", "VAULT_INVALID_ARGUMENT"],
    [state, "256", "VAULT_INVALID_INTEGER"],
    [plain("address"), "0x12", "VAULT_INVALID_ADDRESS"],
    [flag, "yes", "VAULT_INVALID_ARGUMENT"],
    [plain("string"), 7, "VAULT_INVALID_ARGUMENT"],
  ] as const) {
    it(`checkValue() throws ${code} for ${inspect(value)} as ${field.type} ${field.unit}`, async () => {
      await expectVaultError(() => checkValue(field, value, "it"), code);
    });
  }
});

const ARGUMENT = "VAULT_INVALID_ARGUMENT";
const INTEGER = "VAULT_INVALID_INTEGER";
const ADDRESS = "VAULT_INVALID_ADDRESS";

const titleOf = (args: readonly unknown[]): string =>
  JSON.stringify(args, (_, value: unknown) =>
    typeof value === "bigint"
      ? `${value}n`
      : value instanceof Map
        ? [...value.keys()]
        : value,
  )
    .replaceAll('"', "")
    .slice(1, -1);

describe("arguments of mocks", () => {
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    connection = await connectTo(undefined);
    mocks = await connection.vault.deployMocks();
  });
  after(async () => {
    await connection.close();
  });

  const whole = { operation: "queryVolume", reason: "no" };
  /** What `set()` refuses, and detail `where` of the error. */
  const changes: ReadonlyArray<
    readonly [change: object, code: VaultErrorCode, where: string]
  > = [
    [{ volumes: 1n }, ARGUMENT, "The changes to the mocks"],
    [{ round: { price: 1n } }, ARGUMENT, "round"],
    [{ round: [] }, ARGUMENT, "round"],
    [{ round: null }, ARGUMENT, "round"],
    [{ round: { APY: null } }, INTEGER, "round.APY"],
    // It needs both values.
    [{ settlement: { settledPrice: 1n } }, ARGUMENT, "settlement"],
    [{ settlement: { settledAmount: 1n } }, ARGUMENT, "settlement"],
    [
      { settlement: { reward: { token: SECOND } } },
      ARGUMENT,
      "settlement.reward.amount",
    ],
    [{ margins: { price: 1n } }, ARGUMENT, "margins"],
    [
      { margins: [{ xMarginAmount: 1n }] },
      ARGUMENT,
      "margins[0].baseMarginAmount",
    ],
    [
      { margins: [{ baseMarginAmount: 1n, xMarginAmount: 1n, price: 1n }] },
      ARGUMENT,
      "margins[0]",
    ],
    [{ generatedOrders: { lastId: 1 } }, ARGUMENT, "generatedOrders.firstId"],
    [{ orders: { 1: { price: 1n } } }, ARGUMENT, "orders.1"],
    [{ orders: { 1: { state: "shut" } } }, ARGUMENT, "orders.1.state"],
    // Two spellings of one id would overwrite each other.
    [{ orders: { "01": {} } }, INTEGER, "An order's id"],
    [{ generatedOrders: { firstId: -1 } }, INTEGER, "generatedOrders.firstId"],
    [{ failures: {} }, ARGUMENT, "failures"],
    [{ failures: [{ ...whole, order: 1n }] }, ARGUMENT, "failures[0]"],
    [{ failures: [{ ...whole, operation: "volume" }] }, ARGUMENT, "operation"],
    [
      { failures: [{ ...whole, reason: undefined }] },
      ARGUMENT,
      "The reason to revert",
    ],
    [{ failures: [{ ...whole, from: "0x12" }] }, ADDRESS, "from"],
  ];
  const calls: ReadonlyArray<
    readonly [
      method: string,
      args: readonly unknown[],
      code: VaultErrorCode,
      where: string,
    ]
  > = [
    ...changes.map(([change, ...is]) => ["set", [change], ...is] as const),
    ["deployMocks", [{ scenario: "toString" }], ARGUMENT, "scenario"],
    ["mockAt", ["tradings"], ARGUMENT, "role"],
    ["fail", ["getLPAmountInfo", "dry", { args: ["both"] }], ARGUMENT, "pool"],
    ["fail", ["settleAll", "no", { args: ["public"] }], ARGUMENT, "settleAll"],
    [
      "fail",
      ["getOrderInfo", "no", { args: [1n, 2n] }],
      ARGUMENT,
      "getOrderInfo",
    ],
    // It would be every order.
    ["fail", ["getOrderInfo", "no", { args: [null] }], INTEGER, "orderID"],
    ["fail", ["queryVolume", "no", { times: 1 }], ARGUMENT, "fail()"],
    ["fail", ["queryVolume", { data: "" }], ARGUMENT, "The reason to revert"],
    // What a settlement writes.
    ["startNextRound", [{ settledPrice: 1n }], ARGUMENT, "round"],
  ];
  for (const [method, args, code, where] of calls) {
    it(`${method}(${titleOf(args)}) is refused for ${where}, and sends nothing: ${code}`, async () => {
      const target: object = Reflect.has(mocks, method)
        ? mocks
        : connection.vault;
      const { number } = await connection.vault.block();
      const before = await connection.vault.snapshot();
      const { details } = await expectVaultError(
        callMethod(target, method, ...args),
        code,
      );
      expect(details["where"]).to.equal(where);
      expect((await connection.vault.block()).number).to.equal(number);
      expect(await connection.vault.snapshot()).to.deep.equal(before);
    });
  }
});
