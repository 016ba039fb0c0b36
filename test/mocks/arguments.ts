import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { encodeRevertData, generatedOrder } from "../../src/mocks/index.js";
import type { MockOrder, MockOverrides } from "../../src/mocks/types.js";
import type { VaultErrorCode } from "../../src/errors.js";
import type { MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts } from "../helpers/distinct-state.js";
import { connectTo } from "../helpers/hre.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
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
  const badReason = { operation: "queryVolume", reason: { data: "0x1" } };
  const overrides: readonly Refusal[] = [
    [null, ARGUMENT, CHANGES],
    [{ volumes: 1n }, ARGUMENT, CHANGES],
    [{ volume: null }, INTEGER, "volume"],
    [{ volume: -1n }, INTEGER, "volume"],
    [{ volume: BEYOND }, INTEGER, "volume"],
    [{ pools: null }, ARGUMENT, "pools"],
    [{ pools: { both: {} } }, ARGUMENT, "pools"],
    [{ pools: { public: null } }, ARGUMENT, "pools.public"],
    [{ round: null }, ARGUMENT, "round"],
    [{ round: { price: 1n } }, ARGUMENT, "round"],
    [{ round: { settled: 1 } }, ENUM, "round.settled"],
    [{ settlement: null }, ARGUMENT, "settlement"],
    [{ margins: [{ xMarginAmount: 1n }] }, ARGUMENT, "margins[0]"],
    [
      {
        margins: [
          { baseMarginAmount: 1n, xMarginAmount: 1n },
          { baseMarginAmount: 1n, xMarginAmount: 1n, APY: -1n },
        ],
      },
      ...([INTEGER, "margins[1].APY"] as const),
    ],
    [{ orders: null }, ARGUMENT, "orders"],
    [{ orders: { 1: "open" } }, ARGUMENT, "orders.1"],
    [{ orders: { 1: { price: 1n } } }, ARGUMENT, "orders.1"],
    [{ orders: { 1: { state: 256 } } }, INTEGER, "orders.1.state"],
    [{ orders: { 1: { state: "shut" } } }, ENUM, "orders.1.state"],
    [
      { orders: { 1: { exType: { bytes: "0x41" } } } },
      ARGUMENT,
      "orders.1.exType",
    ],
    [
      { orders: { 1: { exType: Uint8Array.of(65) } } },
      ARGUMENT,
      "orders.1.exType",
    ],
    // Two spellings of one id would overwrite each other.
    [{ orders: { "01": {} } }, INTEGER, "An order's id"],
    [
      { orders: { "1": { state: 2 }, "2": { states: 2 } } },
      ARGUMENT,
      "orders.2",
    ],
    [{ generatedOrders: { firstId: 1n } }, ARGUMENT, "generatedOrders"],
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
    [{ failures: [badReason] }, ARGUMENT, "failures[0].reason"],
    [
      { failures: [{ operation: "queryVolume", reason: "no", from: "0x12" }] },
      ...(["VAULT_INVALID_ADDRESS", "failures[0].from"] as const),
    ],
    [
      { failures: [{ operation: "queryVolume", reason: "no", pools: 1 }] },
      ...([ARGUMENT, "failures[0]"] as const),
    ],
    [
      {
        failures: [{ operation: "getLPAmountInfo", pool: "both", reason: "" }],
      },
      ...([ENUM, "failures[0].pool"] as const),
    ],
  ];
  for (const [given, code, where] of overrides) {
    it(`deployMocks(), mockAt() and set() refuse ${titleOf(given)}, and send nothing: ${code}`, async () => {
      const changes: MockOverrides = untyped(given);
      const { vault } = connection;
      for (const call of [
        async () => await vault.deployMocks({ overrides: changes }),
        async () => await vault.mockAt("trading", { overrides: changes }),
        async () => {
          await mocks.set(changes);
        },
      ]) {
        await expectRefusal(call, code, where);
      }
    });
  }

  it("set() refuses a holder whose checksum is wrong, and takes one in lower case", async () => {
    const wrong = HOLDER.replace("C5", "c5");
    await expectRefusal(
      async () => {
        await mocks.set({ orders: { 1: { holder: wrong } } });
      },
      "VAULT_INVALID_ADDRESS",
      "orders.1.holder",
    );
    await mocks.set({ orders: { 1: { holder: HOLDER.toLowerCase() } } });
    const { holder } = await connection.vault.getOrderInfo(1);
    expect(holder).to.equal(HOLDER);
  });

  it("fail() names the condition that its operation does not have", async () => {
    for (const condition of ["pool", "orderID", "terms"]) {
      const { details } = await expectVaultError(async () => {
        await mocks.fail("settleAll", "no", untyped({ [condition]: "public" }));
      }, ARGUMENT);
      expect(details["problem"]).to.equal(`settleAll has no ${condition}`);
    }
  });

  it("set() needs both values of a settlement", async () => {
    await expectRefusal(
      async () => {
        // @ts-expect-error -- both
        await mocks.set({ settlement: { settledPrice: 1n } });
      },
      ARGUMENT,
      "settlement",
    );
  });

  it("set() applies a change after one that is refused", async () => {
    const ends = await Promise.allSettled([
      mocks.set({ volume: -1n }),
      mocks.set({ volume: 3n }),
    ]);
    expect(ends.map(({ status }) => status)).to.eql(["rejected", "fulfilled"]);
    expect(await connection.vault.queryVolume()).to.equal(3n);
  });

  for (const [title, call, code, where] of [
    [
      "deployMocks() refuses an unknown scenario",
      async () =>
        await connection.vault.deployMocks({
          scenario: untyped("closed-round"),
        }),
      ...([ENUM, "scenario"] as const),
    ],
    [
      "deployMocks() refuses a scenario beside a fixture",
      async () =>
        // @ts-expect-error -- one of them
        await connection.vault.deployMocks({
          ...{ scenario: "extremes", fixture: "x.json" },
        }),
      ...([ARGUMENT, "deployMocks()"] as const),
    ],
    [
      "deployMocks() refuses an address that is none",
      async () =>
        await connection.vault.deployMocks({
          at: { ...contracts, vault: "0x12" },
        }),
      ...([
        "VAULT_INVALID_ADDRESS",
        "The address of the vault contract (deployMocks())",
      ] as const),
    ],
    [
      "mockAt() refuses an unknown role",
      async () => await connection.vault.mockAt(untyped("tradings")),
      ...([ENUM, "role"] as const),
    ],
    [
      "fail() refuses an unknown operation",
      async () => {
        await mocks.fail(untyped("minSLDMargin"));
      },
      ...([ENUM, "operation"] as const),
    ],
    [
      "fail() refuses an unknown pool",
      async () => {
        await mocks.fail("getLPAmountInfo", "dry", { pool: untyped("both") });
      },
      ...([ENUM, "pool"] as const),
    ],
    [
      "fail() refuses the pool of an operation without pools",
      async () => {
        await mocks.fail("settleAll", "no", { pool: "public" });
      },
      ...([ARGUMENT, "fail()"] as const),
    ],
    [
      "fail() refuses null for an order's id, which would be every order",
      async () => {
        await mocks.fail("getOrderInfo", "no", { orderID: untyped(null) });
      },
      ...(["VAULT_INVALID_INTEGER", "orderID"] as const),
    ],
    [
      "fail() refuses to fail no time",
      async () => {
        await mocks.fail("queryVolume", "no", { times: 0 });
      },
      ...([ARGUMENT, "times"] as const),
    ],
    [
      "succeed() refuses an unknown pool",
      async () => {
        await mocks.succeed("getLPAmountInfo", { pool: untyped("both") });
      },
      ...([ENUM, "pool"] as const),
    ],
    [
      "startNextRound() refuses what a settlement writes",
      async () => {
        await mocks.startNextRound(untyped({ settledPrice: 1n }));
      },
      ...([ARGUMENT, "round"] as const),
    ],
    [
      "startNextRound() refuses a time that the contract cannot hold",
      async () => {
        await mocks.startNextRound({ endTime: BEYOND });
      },
      ...([INTEGER, "round.endTime"] as const),
    ],
    [
      "startNextRound() refuses null",
      async () => {
        await mocks.startNextRound(untyped({ APY: null }));
      },
      ...([INTEGER, "round.APY"] as const),
    ],
    [
      "generateOrders() refuses a range without an end",
      async () => {
        await mocks.generateOrders(3, untyped(undefined));
      },
      ...([ARGUMENT, "generatedOrders"] as const),
    ],
    [
      "generateOrders() refuses an id that the contract cannot hold",
      async () => {
        await mocks.generateOrders(5, BEYOND);
      },
      ...([INTEGER, "generatedOrders.lastId"] as const),
    ],
  ] as const) {
    it(`${title}, and sends nothing: ${code}`, async () => {
      await expectRefusal(call, code, where);
    });
  }

  const order = generatedOrder(1n);
  const orders: ReadonlyArray<readonly [unknown, ...Refusal]> = [
    [1n, null, ARGUMENT, "order 1"],
    [1n, {}, ARGUMENT, "order 1"],
    [5n, { ...order, state: undefined }, ARGUMENT, "order 5"],
    [5n, { ...order, price: 1n }, ARGUMENT, "order 5"],
    [-1n, order, INTEGER, "orderID"],
    [BEYOND, order, INTEGER, "orderID"],
    ["x", order, INTEGER, "orderID"],
  ];
  for (const [id, given, code, where] of orders) {
    const what =
      given === order ? "a whole order" : titleOf(given).slice(0, 30);
    it(`addOrders() refuses ${titleOf(id)}: ${what}, and sends nothing: ${code}`, async () => {
      const added = new Map<bigint, MockOrder>([[untyped(id), untyped(given)]]);
      await expectRefusal(
        async () => {
          await mocks.addOrders(added);
        },
        code,
        where,
      );
    });
  }

  describe("the reason of a failure", () => {
    for (const [reason, data] of [
      ["", `0x08c379a0${"20".padStart(64, "0")}${"0".repeat(64)}`],
      [
        "no",
        `0x08c379a0${"20".padStart(64, "0")}${"2".padStart(64, "0")}${"6e6f".padEnd(64, "0")}`,
      ],
      [{ panic: 0 }, `0x4e487b71${"0".repeat(64)}`],
      [{ panic: BEYOND - 1n }, `0x4e487b71${"f".repeat(64)}`],
      [{ customError: "FactoryNotSet" }, "0xa7df7fac"],
      [{ customError: "FactoryNotSet()" }, "0xa7df7fac"],
      [
        { customError: "A(uint8 b)", args: [255] },
        `0x37e081be${"ff".padStart(64, "0")}`,
      ],
      [
        { customError: " Paused (address account)", args: [HOLDER] },
        `0x62e78cea${HOLDER.slice(2).toLowerCase().padStart(64, "0")}`,
      ],
      [{ data: "0xAB" }, "0xAB"],
      [{ data: "0x" }, "0x"],
    ] as const) {
      it(`${titleOf(reason)} is encoded as Solidity does`, () => {
        expect(encodeRevertData(reason)).to.equal(data);
      });
    }

    for (const reason of [
      undefined,
      null,
      7,
      {},
      ["no"],
      { args: [] },
      { customError: "Nope" },
      { customError: 5 },
      { customError: "OrderNotFound" },
      { customError: "OrderNotFound", args: [1, 2] },
      { customError: "Paused()", args: [1] },
      { panic: -1 },
      { panic: "one" },
      { data: "0x1" },
      { data: "" },
      { data: 5 },
    ]) {
      it(`${titleOf(reason ?? null)} is refused: ${ARGUMENT}`, async () => {
        const { details } = await expectVaultError(
          () => encodeRevertData(untyped(reason), "here"),
          ARGUMENT,
        );
        expect(details["where"]).to.equal("here");
      });
    }

    for (const [signature, args, problem] of [
      [
        "NotSettler(address caller)",
        ["0x12"],
        "args[0] (caller) is not a valid address",
      ],
      ["A(uint8 n, string)", [256, "x"], "args[0] (n): 256 is no uint8 ("],
      ["A(uint8 n, string)", [1, 2], "args[1]: 2 is no string ("],
      [
        "A(uint8 n, string)",
        [],
        "args has 0 values in place of 2 (uint8 n, string)",
      ],
      ["A()", [1], "args has 1 values in place of 0"],
    ] as const) {
      it(`fail() names the argument of a custom error that it refuses: ${problem}`, async () => {
        const reason = { customError: signature, args };
        const refused = await mocks.fail("queryVolume", reason).catch(String);
        expect(refused).to.contain(problem);
      });
    }

    it("fail() refuses one that cannot be encoded, and sends nothing", async () => {
      await expectRefusal(
        async () => {
          // @ts-expect-error -- no signature
          await mocks.fail("queryVolume", { customError: "Nope" });
        },
        ARGUMENT,
        "The reason to revert",
      );
    });
  });
});
