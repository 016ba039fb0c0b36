import { expect } from "chai";
import { id } from "ethers";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { VaultError } from "../../src/errors.js";
import type { MockVaultHandle } from "../../src/types.js";
import { connectMocks, generatedOrder } from "../../src/mocks/index.js";
import type { ScriptedReason } from "../../src/mocks/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { expectedReads } from "../helpers/distinct-state.js";
import type { ExpectedRead } from "../helpers/distinct-state.js";
import { everyNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { connectTo, createTestHre } from "../helpers/hre.js";

const STRANGER = "0x00000000000000000000000000000000000000aa";

const read = async (
  vault: HardhatVault,
  { operation, args }: ExpectedRead,
): Promise<unknown> =>
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of expected reads was made from these types
  await vault.read(operation, args as never);

for (const { name, start } of everyNode) {
  describe(`mocks - scripting on ${name}`, () => {
    let node: TestNode;
    let vault: HardhatVault;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      ({ vault } = await connectTo(node.url));
    });

    beforeEach(async () => {
      mocks = await vault.deployMocks();
    });

    after(async () => {
      await node.stop();
    });

    it("should add orders, however many", async () => {
      const orders = new Map(
        Array.from({ length: 90 }, (_, index) => [
          BigInt(index) * 7n,
          generatedOrder(BigInt(index)),
        ]),
      );
      await mocks.addOrders(orders);
      for (const orderID of [0n, 7n, 45n * 7n, 89n * 7n]) {
        expect(await vault.getOrderInfo(orderID)).to.deep.equal(
          orders.get(orderID),
        );
      }
      await mocks.set({ orders: { 7: null } });
      expect((await vault.getOrderInfo(7n)).state).to.equal(0);
    });

    it("startNextRound() settles by the round's own terms until a settlement is scripted", async () => {
      const first = await vault.getLatestRoundInfo();
      await mocks.startNextRound({ strikePrice: 77n, filledVolume: 5n });
      expect((await vault.settleAll()).after).to.include({
        settledPrice: 77n,
        settledAmount: 5n,
      });
      await mocks.startNextRound({ strikePrice: 78n });
      const next = await vault.getLatestRoundInfo();
      expect(next).to.include({
        strikePrice: 78n,
        APY: first.APY,
        filledVolume: 0n,
        settledPrice: 0n,
        settled: false,
      });
      expect(next.endTime - next.startTime).to.equal(
        first.endTime - first.startTime,
      );
      await mocks.set({ settlement: { settledPrice: 1n, settledAmount: 2n } });
      for (let round = 0; round < 2; round += 1) {
        expect((await vault.settleAll()).after).to.include({
          settledPrice: 1n,
          settledAmount: 2n,
        });
        await mocks.startNextRound();
      }
      const [signer] = await vault.connection.ethers.getSigners();
      const callers = (await mocks.settlements()).map(({ caller }) => caller);
      expect(callers).to.deep.equal(Array(3).fill(signer?.address));
    });

    it("startNextRound() starts now on a node that was idle for two minutes", async () => {
      const { timestamp } = await vault.block();
      await vault.provider.request({
        method: "evm_increaseTime",
        params: [120],
      });
      await mocks.startNextRound();
      const { startTime } = await vault.getLatestRoundInfo();
      expect(Number(startTime)).to.be.at.least(timestamp + 120);
      expect(Number(startTime)).to.be.at.most((await vault.block()).timestamp);
    });

    it("startNextRound() reads no round if all terms are named", async () => {
      const terms = {
        strikePrice: 1n,
        APY: 2n,
        maxVolume: 3n,
        filledVolume: 4n,
        minDeposit: 5n,
        startTime: 6n,
        endTime: 7n,
      };
      await mocks.fail("getLatestRoundInfo", "closed");
      await mocks.startNextRound(terms);
      await mocks.succeed("getLatestRoundInfo");
      expect(await vault.getLatestRoundInfo()).to.include(terms);
    });

    it("set() changes several answers at once, and keeps what is not named", async () => {
      const before = await vault.snapshot();
      const order = await vault.getOrderInfo(1n);
      await mocks.set({
        round: { APY: 5n },
        pools: { public: { locked: 6n }, private: { deposit: 7n } },
        fundingFeeRate: { put: 8n },
        volume: 9n,
        margins: { baseMarginAmount: 12n },
        marginBalance: { xMarginAmount: 10n },
        orders: { 1: { state: 2 }, 2: null, 77: { number: 11n } },
        missingOrdersRevert: true,
        failures: [{ operation: "minXMargin", reason: "closed" }],
      });
      const after = await vault.snapshot();
      expect(after.round).to.deep.equal({ ...before.round, APY: 5n });
      expect(after.pools).to.deep.equal({
        public: { ...before.pools.public, locked: 6n },
        private: { ...before.pools.private, deposit: 7n },
      });
      expect(after.fundingFeeRate).to.deep.equal({
        ...before.fundingFeeRate,
        put: 8n,
      });
      expect(after.volume).to.equal(9n);
      expect(after.marginBalance).to.deep.equal({
        ...before.marginBalance,
        xMarginAmount: 10n,
      });
      expect(after.minXMargin).to.have.property("error");
      expect(
        await vault.calMargins({ maxVolume: 0n, APY: 0n, endTime: 0n }),
      ).to.deep.equal({
        baseMarginAmount: 12n,
        xMarginAmount: 10_500n * 10n ** 18n,
      });
      expect(await vault.getOrderInfo(1n)).to.deep.equal({
        ...order,
        state: 2,
      });
      expect((await vault.getOrderInfo(77n)).number).to.equal(11n);
      await expectVaultError(vault.getOrderInfo(2n), "VAULT_CALL_REVERTED");
    });

    it("should revert a second settlement of a round", async () => {
      await vault.settleAll();
      const { contracts } = mocks;
      const error: unknown = await contracts.vault.settleAll
        .staticCall()
        .catch((thrown: unknown) => thrown);
      expect(String(Reflect.get(Object(error), "data")).slice(0, 10)).to.equal(
        id("RoundAlreadySettled(uint256,uint256,uint256)").slice(0, 10),
      );
      expect(await mocks.settlements()).to.have.length(1);
    });

    const reasons: ReadonlyArray<[string, ScriptedReason, RegExp]> = [
      ["a string", "out of order: ä🚀", /reverted: out of order: ä🚀 \(/u],
      ["a panic", { panic: 0x11 }, /reverted: panic 0x11: arithmetic/u],
      [
        "a custom error of the mocks",
        { customError: "OrderNotFound", args: [5n] },
        /reverted: OrderNotFound\(orderID: 5\)/u,
      ],
      [
        "a custom error of others",
        { customError: "Paused(address account)", args: [STRANGER] },
        /reverted: unknown error 0x62e78cea with 32 bytes/u,
      ],
      ["no reason", { data: "0x" }, /reverted: no reason given/u],
      [
        "bytes that say nothing",
        { data: "0x0102" },
        /reverted: unknown error data 0x0102/u,
      ],
    ];
    for (const [what, reason, text] of reasons) {
      it(`should fail with ${what}, until it is to succeed`, async () => {
        for (const [operation, attempt] of [
          ["queryVolume", async () => await vault.queryVolume()],
          ["getOrderInfo", async () => await vault.getOrderInfo(1n)],
        ] as const) {
          await mocks.fail(operation, reason);
          const error = await expectVaultError(attempt, "VAULT_CALL_REVERTED");
          expect(error.message).to.match(text);
          await mocks.succeed(operation);
          await attempt();
        }
      });
    }

    it("should fail and succeed each operation by itself", async () => {
      for (const failing of expectedReads) {
        await mocks.fail(failing.operation, "closed");
        for (const each of expectedReads) {
          await (each.operation === failing.operation
            ? expectVaultError(read(vault, each), "VAULT_CALL_REVERTED")
            : read(vault, each));
        }
        await mocks.succeed(failing.operation);
      }
    });

    it("should fail a settlement, and change nothing by it", async () => {
      const before = await vault.getLatestRoundInfo();
      await mocks.fail("settleAll", "not yet");
      const { status, reason } = await vault.settleAll();
      expect({ status, reason }).to.deep.equal({
        status: "reverted",
        reason: "not yet",
      });
      expect(await vault.getLatestRoundInfo()).to.deep.equal(before);
      expect(await mocks.settlements()).to.deep.equal([]);
      await mocks.succeed("settleAll");
      expect((await vault.settleAll()).status).to.equal("settled");
    });

    it("should refuse to script what is not a mock", async () => {
      for (const target of [
        STRANGER,
        // A mock, but of another contract.
        mocks.addresses.trading,
      ]) {
        const error = await expectVaultError(
          connectMocks(vault.at({ vault: target })),
          "VAULT_NOT_A_MOCK",
        );
        expect(error.details).to.include({ contract: "vault" });
      }
    });
  });
}

describe("mocks - scripting", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
    mocks = await vault.deployMocks();
  });

  it("should refuse to script mocks that a revert took away", async () => {
    const hre = await createTestHre();
    const { vault: other, provider } = await hre.network.create();
    const snapshot: unknown = await provider.request({
      method: "evm_snapshot",
    });
    const gone = await other.deployMocks();
    await provider.request({ method: "evm_revert", params: [snapshot] });
    await expectVaultError(gone.set({ volume: 1n }), "VAULT_NOT_A_MOCK");
    await expectVaultError(gone.settlements(), "VAULT_NOT_A_MOCK");
  });

  const invalid: ReadonlyArray<[string, () => Promise<void>, RegExp]> = [
    [
      "an error that there is not",
      async () => await mocks.fail("queryVolume", { customError: "Nope" }),
      /the mocks have no error "Nope"/u,
    ],
    [
      "arguments that do not fit the error",
      async () =>
        await mocks.fail("queryVolume", {
          customError: "OrderNotFound",
          args: ["one"],
        }),
      /cannot be encoded/u,
    ],
    [
      "revert data that is not hex",
      async () => await mocks.fail("queryVolume", { data: "0x1" }),
      /data is not 0x hex/u,
    ],
    [
      "a failure of an operation that there is not",
      // @ts-expect-error -- the function's name on the wire
      async () => await mocks.fail("minSLDMargin"),
      /operation is not one of getFundingFeeRate, .*: "minSLDMargin"/u,
    ],
    [
      "a failure of a pool that there is not",
      async () =>
        await mocks.fail("getLPAmountInfo", "dry", {
          // @ts-expect-error -- public or private
          pool: "both",
        }),
      /pool is not one of public, private: "both"/u,
    ],
    [
      "a pool of an operation without pools",
      async () => await mocks.fail("settleAll", "no", { pool: "public" }),
      /fail\(\): settleAll has no pool/u,
    ],
    [
      "a reason that is none",
      // @ts-expect-error -- a text, or an object with one of three keys
      async () => await mocks.fail("queryVolume", {}),
      /a text, \{ panic \}, \{ customError, args \} or \{ data \} is needed/u,
    ],
    [
      "half a settlement",
      async () => await mocks.set({ settlement: { settledPrice: 1n } }),
      /settlement: settledAmount is missing/u,
    ],
    [
      "a next round that is settled already",
      // @ts-expect-error -- not a value of a new round
      async () => await mocks.startNextRound({ settled: true }),
      /"settled" is not a field/u,
    ],
  ];
  for (const [what, script, text] of invalid) {
    it(`should refuse ${what}`, async () => {
      const error: unknown = await script().catch((thrown: unknown) => thrown);
      expect(VaultError.isVaultError(error), String(error)).to.equal(true);
      expect(String(error)).to.match(text);
    });
  }

  it("should be able to fail a reading that scripting needs", async () => {
    await mocks.fail("getLatestRoundInfo", "closed");
    await expectVaultError(
      mocks.set({ round: { APY: 1n } }),
      "VAULT_CALL_REVERTED",
    );
    await mocks.succeed("getLatestRoundInfo");
    await mocks.set({ round: { APY: 1n } });
  });
});
