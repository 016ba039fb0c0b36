import { expect } from "chai";

import { VaultClient, VaultError } from "../../src/client/index.js";
import {
  connectMocks,
  deployMocks,
  generatedOrder,
} from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  contracts as places,
  expectedReads,
} from "../helpers/distinct-state.js";
import { everyNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/recording-provider.js";

const STRANGER = "0x00000000000000000000000000000000000000aa";

for (const { name, start } of everyNode) {
  describe(`mocks - scripting on ${name}`, () => {
    let node: TestNode;
    let vault: HardhatVault;
    let provider: Eip1193Provider;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      ({ vault } = await connectTo(node.url));
      provider =
        node.url === undefined ? vault.provider : fetchProvider(node.url);
    });

    beforeEach(async () => {
      mocks = await vault.deployMocks();
    });

    after(async () => {
      await node.stop();
    });

    it("deployMocks() over a bare provider deploys a scenario that a connected handle scripts too", async () => {
      const {
        addresses,
        scenario,
        vault: client,
      } = await deployMocks(provider, { scenario: "expired-round" });
      expect(scenario).to.equal("expired-round");
      expect(client).to.be.instanceOf(VaultClient);
      const again = await connectMocks(provider, addresses);
      await again.set({ round: { APY: 7n }, orders: { 5: { state: 2 } } });
      await again.fail("queryVolume", "closed");
      const { round, volume } = await client.snapshot();
      expect(round).to.include({ APY: 7n, settled: false });
      expect(volume).to.have.nested.property(
        "error.code",
        "VAULT_CALL_REVERTED",
      );
      const orders = await Array.fromAsync(
        client.orders({ firstId: 4, lastId: 5 }),
      );
      expect(
        orders.map((order): unknown => Reflect.get(order, "state")),
      ).to.deep.equal([0, 2]);
      await again.succeed("queryVolume");
      expect(await again.contracts.vault.queryVolume()).to.equal(
        420n * 10n ** 18n,
      );
    });

    it("deployMocks({ at }) places new mocks at the addresses each time, and resets their storage", async () => {
      for (const volume of [3n, 4n]) {
        for (const address of Object.values(places)) {
          const params = [address, "0x0", `0x${"ff".repeat(32)}`];
          await provider.request({ method: "hardhat_setStorageAt", params });
        }
        const placed = await deployMocks(provider, {
          at: places,
          overrides: { volume },
        });
        expect(placed.addresses).to.deep.equal(places);
        expect(await placed.settlements()).to.deep.equal([]);
        expect(await placed.vault.queryVolume()).to.equal(volume);
      }
    });

    it("addOrders() adds more orders than a transaction holds", async () => {
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
    });

    it("startNextRound() starts the round now when the node was idle for two minutes", async () => {
      const { timestamp } = await vault.block();
      await provider.request({ method: "evm_increaseTime", params: [120] });
      await mocks.startNextRound();
      const { startTime } = await vault.getLatestRoundInfo();
      expect(Number(startTime)).to.be.at.least(timestamp + 120);
      expect(Number(startTime)).to.be.at.most((await vault.block()).timestamp);
    });

    it("set() loses no change when two handles script at the same time", async () => {
      const other = await connectMocks(vault);
      for (let value = 1n; value <= 5n; value += 1n) {
        await Promise.all([
          mocks.set({ round: { strikePrice: value } }),
          other.set({ round: { APY: value } }),
          mocks.set({ round: { minDeposit: value }, volume: value }),
          other.set({ volume: 9n }),
        ]);
        expect(await vault.getLatestRoundInfo()).to.include({
          strikePrice: value,
          APY: value,
          minDeposit: value,
        });
        expect(await vault.queryVolume()).to.equal(9n);
      }
    });

    it("mockAt() replaces several contracts at the same time", async () => {
      await Promise.all([
        vault.mockAt("vaultFactory", { overrides: { minXMargin: 42n } }),
        vault.mockAt("vault", { overrides: { volume: 41n } }),
        vault.mockAt("trading"),
        vault.mockAt("underlyingAsset"),
      ]);
      expect(await vault.snapshot()).to.include({
        volume: 41n,
        minXMargin: 42n,
      });
    });
  });
}

describe("mocks - scripting", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
  });

  beforeEach(async () => {
    mocks = await vault.deployMocks();
  });

  it("startNextRound() keeps the length of the round, and settles by its own terms until a settlement is scripted", async () => {
    const first = await vault.getLatestRoundInfo();
    await mocks.startNextRound({ strikePrice: 77n, filledVolume: 5n });
    expect((await vault.settleAll()).after).to.include({
      settledPrice: 77n,
      settledAmount: 5n,
    });
    await mocks.startNextRound({ strikePrice: 78n, startTime: 5n });
    const next = await vault.getLatestRoundInfo();
    expect(next).to.include({
      strikePrice: 78n,
      APY: first.APY,
      startTime: 5n,
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
    expect(await mocks.settlements()).to.have.length(3);
  });

  it("startNextRound() reads no round when all terms are given", async () => {
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

  it("set() changes several answers at once, and keeps the others", async () => {
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
    const { block: _block, minXMargin, ...after } = await vault.snapshot();
    expect(after).to.deep.equal({
      chainId: before.chainId,
      round: { ...before.round, APY: 5n },
      pools: {
        public: { ...before.pools.public, locked: 6n },
        private: { ...before.pools.private, deposit: 7n },
      },
      fundingFeeRate: { ...before.fundingFeeRate, put: 8n },
      volume: 9n,
      marginBalance: { ...before.marginBalance, xMarginAmount: 10n },
    });
    expect(minXMargin).to.have.property("error");
    expect(
      await vault.calMargins({ maxVolume: 0n, APY: 0n, endTime: 0n }),
    ).to.deep.equal({
      baseMarginAmount: 12n,
      xMarginAmount: 10_500n * 10n ** 18n,
    });
    expect(await vault.getOrderInfo(1n)).to.deep.equal({ ...order, state: 2 });
    expect((await vault.getOrderInfo(77n)).number).to.equal(11n);
    await expectVaultError(vault.getOrderInfo(2n), "VAULT_CALL_REVERTED");
  });

  it("set() changes nothing when a value or a reading that it needs fails, and the next one works", async () => {
    const invalid = mocks.set({ volume: -1n });
    await Promise.all([
      expectVaultError(invalid, "VAULT_INVALID_INTEGER"),
      mocks.set({ volume: 3n }),
    ]);
    expect(await vault.queryVolume()).to.equal(3n);
    for (const [operation, change] of [
      ["getLatestRoundInfo", { round: { APY: 1n } }],
      ["getOrderInfo", { orders: { 1: { state: 2 } } }],
    ] as const) {
      await mocks.fail(operation, "closed");
      await expectVaultError(mocks.set(change), "VAULT_CALL_REVERTED");
      await mocks.succeed(operation);
      await mocks.set(change);
    }
  });

  it("fail() and succeed() change one operation only", async () => {
    for (const failing of expectedReads) {
      await mocks.fail(failing.operation, "closed");
      for (const { operation, args } of expectedReads) {
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table of expected reads was made from these types
        const reading = vault.read(operation, args as never);
        await (operation === failing.operation
          ? expectVaultError(reading, "VAULT_CALL_REVERTED")
          : reading);
      }
      await mocks.succeed(failing.operation);
    }
  });

  it("a handle refuses mocks that a revert of the chain removed, with VAULT_NOT_A_MOCK", async () => {
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

  it("connectMocks() and deployMocks() refuse an address that is missing or no mock of its role", async () => {
    const { vault: _vault, ...incomplete } = places;
    for (const target of [STRANGER, mocks.addresses.trading]) {
      const { details } = await expectVaultError(
        connectMocks(vault.at({ vault: target })),
        "VAULT_NOT_A_MOCK",
      );
      expect(details).to.include({ contract: "vault" });
    }
    await expectVaultError(
      // @ts-expect-error -- one address is missing
      deployMocks(vault.provider, { at: incomplete }),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    await expectVaultError(
      connectMocks(vault.provider, incomplete),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  it("connectMocks() connects to the mocks of hre.vault's own connection", async () => {
    const hre = await createTestHre();
    await hre.vault.deployMocks();
    await (await connectMocks(hre.vault)).set({ volume: 5n });
    expect(await hre.vault.queryVolume()).to.equal(5n);
  });

  it("deployMocks() fails with VAULT_MOCK_SCRIPT_FAILED when the node reverts a script or mines it as failed", async () => {
    for (const [method, answer, problem] of [
      [
        "eth_sendTransaction",
        () => {
          throw Object.assign(new Error("execution reverted"), { code: 3 });
        },
        "no reason given",
      ],
      [
        "eth_getTransactionReceipt",
        (receipt: unknown) => ({ ...fieldsOf(receipt), status: "0x0" }),
        "the transaction was mined and failed",
      ],
    ] as const) {
      const provider: Eip1193Provider = {
        request: async (call) => {
          const answered: unknown = await vault.provider.request(call);
          return call.method === method ? answer(answered) : answered;
        },
      };
      const { details } = await expectVaultError(
        deployMocks(provider),
        "VAULT_MOCK_SCRIPT_FAILED",
      );
      expect(details).to.include({ problem });
    }
  });

  it("fail(), set() and startNextRound() refuse each invalid argument", async () => {
    const refused = [
      [
        mocks.fail("queryVolume", { customError: "Nope" }),
        /the mocks have no error "Nope"/u,
      ],
      [
        mocks.fail("queryVolume", {
          customError: "OrderNotFound",
          args: ["one"],
        }),
        /cannot be encoded/u,
      ],
      [mocks.fail("queryVolume", { data: "0x1" }), /data is not 0x hex/u],
      [
        // @ts-expect-error -- a text, or an object with one of three keys
        mocks.fail("queryVolume", {}),
        /a text, \{ panic \}, \{ customError, args \} or \{ data \} is needed/u,
      ],
      [
        // @ts-expect-error -- the function's name on the wire
        mocks.fail("minSLDMargin"),
        /operation is not one of getFundingFeeRate, .*: "minSLDMargin"/u,
      ],
      [
        // @ts-expect-error -- public or private
        mocks.fail("getLPAmountInfo", "dry", { pool: "both" }),
        /pool is not one of public, private: "both"/u,
      ],
      [
        mocks.fail("settleAll", "no", { pool: "public" }),
        /fail\(\): settleAll has no pool/u,
      ],
      [
        mocks.set({ settlement: { settledPrice: 1n } }),
        /settlement: settledAmount is missing/u,
      ],
      [
        // @ts-expect-error -- not a value of a new round
        mocks.startNextRound({ settled: true }),
        /"settled" is not a field/u,
      ],
    ] as const;
    await Promise.all(
      refused.map(async ([attempt, text]) => {
        const error: unknown = await attempt.catch((thrown: unknown) => thrown);
        expect(VaultError.isVaultError(error), String(error)).to.equal(true);
        expect(String(error)).to.match(text);
      }),
    );
  });

  it("set() of two mocks retries when another process scripts one of them meanwhile", async () => {
    const other = await deployMocks(vault.provider);
    let isFirst = true;
    const contended = recordCalls(vault.provider, async ({ method }) => {
      if (method === "eth_sendTransaction" && isFirst) {
        isFirst = false;
        await other.set({ marginBalance: { xMarginAmount: 7n } });
      }
    });
    const handle = await connectMocks(contended, other.addresses);
    await handle.set({ volume: 5n, fundingFeeRate: { put: 6n } });
    expect(await other.vault.snapshot()).to.deep.nested.include({
      ...{ volume: 5n, "fundingFeeRate.put": 6n },
      "marginBalance.xMarginAmount": 7n,
    });
  });

  for (const refusal of [
    "nonce too low",
    "replacement transaction underpriced",
  ]) {
    it(`set() retries at "${refusal}", and fails after 20 times with VAULT_RPC_ERROR`, async () => {
      const { addresses } = await deployMocks(vault.provider);
      let refusals = 2;
      const contended = recordCalls(vault.provider, ({ method }) => {
        if (method === "eth_sendTransaction" && refusals > 0) {
          refusals -= 1;
          throw Object.assign(new Error(refusal), { code: -32003 });
        }
      });
      const handle = await connectMocks(contended, addresses);
      await handle.set({ volume: 5n });
      expect(await handle.vault.queryVolume()).to.equal(5n);
      refusals = 100;
      await expectVaultError(handle.set({ volume: 6n }), "VAULT_RPC_ERROR");
      expect(refusals).to.equal(80);
    });
  }
});
