import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import type { VaultErrorCode } from "../../src/errors.js";
import type { MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { callMethod } from "../helpers/call-method.js";
import { connectTo } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";

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
