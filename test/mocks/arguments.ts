import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { generatedOrder } from "../../src/mocks/index.js";
import type { MockOverrides } from "../../src/mocks/types.js";
import type { VaultErrorCode } from "../../src/errors.js";
import type { MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { callMethod } from "../helpers/call-method.js";
import { connectTo } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";

const BEYOND = 2n ** 256n;

/** A value of any type, as JavaScript may pass it. */
const untyped = (value: unknown): never =>
  // what is refused has no type
  value as never;

type Refusal = readonly [
  given: unknown,
  code: VaultErrorCode,
  /** Detail `where` of the error. */
  where: string,
];

const titleOf = (given: unknown): string =>
  JSON.stringify(given, (_, value: unknown) =>
    typeof value === "bigint"
      ? value === BEYOND
        ? "2^256"
        : `${value}n`
      : value === undefined
        ? "undefined"
        : value,
  ).replaceAll('"', "");

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

  /** Neither the mocks nor the chain change. */
  const expectRefusal = async (
    call: () => unknown,
    code: VaultErrorCode,
    where: string,
  ): Promise<void> => {
    const { provider } = connection;
    const height = async (): Promise<unknown> =>
      await provider.request({ method: "eth_blockNumber" });
    const before = await height();
    const { details } = await expectVaultError(call, code);
    expect(details["where"]).to.equal(where);
    expect(await height()).to.equal(before);
  };

  const ARGUMENT = "VAULT_INVALID_ARGUMENT";
  const INTEGER = "VAULT_INVALID_INTEGER";
  const ENUM = "VAULT_INVALID_ENUM";
  const CHANGES = "The changes to the mocks";
  const overrides: readonly Refusal[] = [
    [{ volumes: 1n }, ARGUMENT, CHANGES],
    [{ volume: BEYOND }, INTEGER, "volume"],
    [{ pools: { both: {} } }, ARGUMENT, "pools"],
    [{ round: { price: 1n } }, ARGUMENT, "round"],
    // It needs both values.
    [{ settlement: { settledPrice: 1n } }, ARGUMENT, "settlement"],
    [{ settlement: { reward: {} } }, ARGUMENT, "settlement.reward"],
    [
      { margins: [{ baseMarginAmount: 1n, xMarginAmount: 1n, APY: -1n }] },
      ...([INTEGER, "margins[0].APY"] as const),
    ],
    [{ margins: [{ xMarginAmount: 1n }] }, ARGUMENT, "margins[0]"],
    [{ orders: { 1: { price: 1n } } }, ARGUMENT, "orders.1"],
    [{ orders: { 1: { state: "shut" } } }, ENUM, "orders.1.state"],
    // Two spellings of one id would overwrite each other.
    [{ orders: { "01": {} } }, INTEGER, "An order's id"],
    [
      { generatedOrders: { firstId: -1, lastId: 1 } },
      ...([INTEGER, "generatedOrders.firstId"] as const),
    ],
    [{ unknownOrders: null }, ENUM, "unknownOrders"],
    [{ failures: {} }, ARGUMENT, "failures"],
    [
      { failures: [{ operation: "volume", reason: "no" }] },
      ...([ENUM, "failures[0].operation"] as const),
    ],
    [
      { failures: [{ operation: "queryVolume" }] },
      ...([ARGUMENT, "failures[0].reason"] as const),
    ],
    [
      { failures: [{ operation: "queryVolume", reason: "no", from: "0x12" }] },
      ...(["VAULT_INVALID_ADDRESS", "failures[0].from"] as const),
    ],
  ];
  for (const [given, code, where] of overrides) {
    it(`set() refuses ${titleOf(given)}, and sends nothing: ${code}`, async () => {
      await expectRefusal(
        async () => {
          await mocks.set(untyped(given));
        },
        code,
        where,
      );
    });
  }

  it("deployMocks() refuses overrides as set() does, and sends nothing", async () => {
    const changes: MockOverrides = untyped({ round: { price: 1n } });
    await expectRefusal(
      async () => await connection.vault.deployMocks({ overrides: changes }),
      ARGUMENT,
      "round",
    );
  });

  it("set() refuses a holder whose checksum is wrong, and takes one in lower case", async () => {
    const wrong = SECOND.replace("C5", "c5");
    await expectRefusal(
      async () => {
        await mocks.set({ orders: { 1: { holder: wrong } } });
      },
      "VAULT_INVALID_ADDRESS",
      "orders.1.holder",
    );
    await mocks.set({ orders: { 1: { holder: SECOND.toLowerCase() } } });
    const { holder } = await connection.vault.getOrderInfo(1);
    expect(holder).to.equal(SECOND);
  });

  it("fail() names the condition that its operation does not have", async () => {
    for (const condition of ["pool", "orderID", "terms"]) {
      const { details } = await expectVaultError(async () => {
        await mocks.fail("settleAll", "no", untyped({ [condition]: "public" }));
      }, ARGUMENT);
      expect(details["problem"]).to.equal(`settleAll has no ${condition}`);
    }
  });

  const order = generatedOrder(1n);
  const both = { scenario: "extremes", fixture: "x.json" };
  const calls: ReadonlyArray<
    readonly [method: string, args: readonly unknown[], ...Refusal]
  > = [
    ["deployMocks", [{ scenario: "closed" }], "", ENUM, "scenario"],
    ["deployMocks", [both], "", ARGUMENT, "deployMocks()"],
    ["mockAt", ["tradings"], "", ENUM, "role"],
    ["fail", ["minSLDMargin"], "", ENUM, "operation"],
    ["fail", ["getLPAmountInfo", "dry", { pool: "both" }], "", ENUM, "pool"],
    ["fail", ["settleAll", "no", { pool: "public" }], "", ARGUMENT, "fail()"],
    // It would be every order.
    ["fail", ["getOrderInfo", "no", { orderID: null }], "", INTEGER, "orderID"],
    ["fail", ["queryVolume", "no", { times: 0 }], "", ARGUMENT, "times"],
    [
      "fail",
      ["queryVolume", { customError: "Nope" }],
      "",
      ARGUMENT,
      "The reason to revert",
    ],
    ["succeed", ["getLPAmountInfo", { pool: "both" }], "", ENUM, "pool"],
    // What a settlement writes.
    ["startNextRound", [{ settledPrice: 1n }], "", ARGUMENT, "round"],
    ["generateOrders", [3, undefined], "", ARGUMENT, "generatedOrders"],
    ...(
      [
        [5n, { ...order, state: undefined }, ARGUMENT, "order 5"],
        [BEYOND, order, INTEGER, "orderID"],
      ] as const
    ).map(
      ([id, given, code, where]) =>
        ["addOrders", [new Map([[id, given]])], id, code, where] as const,
    ),
  ];
  for (const [method, args, what, code, where] of calls) {
    const title =
      what === "" ? titleOf(args).slice(1, -1) : `${titleOf(what)}: …`;
    it(`${method}(${title}) is refused for ${where}, and sends nothing: ${code}`, async () => {
      const target: object = Reflect.has(mocks, method)
        ? mocks
        : connection.vault;
      await expectRefusal(
        async () => {
          await callMethod(target, method, ...args);
        },
        code,
        where,
      );
    });
  }
});
