import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import {
  connectMocks,
  deployMocks,
  generatedOrder,
} from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts as places } from "../helpers/distinct-state.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { recordCalls } from "../helpers/recording-node.js";
import { sendTransaction } from "../helpers/transactions.js";

for (const { name, start } of differentNodes) {
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

    it("deployMocks() over a bare EIP-1193 provider deploys a scenario that connectMocks() scripts, too", async () => {
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
      await provider.request({ method: "evm_mine" });
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

    it("calMargins() returns the margins of the first terms that match, and reverts with UnexpectedTerms for others until margins are set for all", async () => {
      const terms = { maxVolume: 5n, APY: 6n, endTime: 7n };
      await mocks.set({
        margins: [
          { ...terms, baseMarginAmount: 1n, xMarginAmount: 2n },
          { APY: 6n, baseMarginAmount: 3n, xMarginAmount: 4n },
          { ...terms, APY: 0n, baseMarginAmount: 5n, xMarginAmount: 6n },
        ],
      });
      for (const [changes, xMarginAmount] of [
        [{}, 2n],
        [{ endTime: 8n }, 4n],
        [{ APY: 0n }, 6n],
      ] as const) {
        expect(await vault.calMargins({ ...terms, ...changes })).to.include({
          xMarginAmount,
        });
      }
      const unexpected = { maxVolume: 9n, APY: 10n, endTime: 11n };
      const { details } = await expectVaultError(
        vault.calMargins(unexpected),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.equal(
        "UnexpectedTerms(maxVolume: 9, APY: 10, endTime: 11)",
      );
      const { details: incomplete } = await expectVaultError(
        mocks.set({ margins: { baseMarginAmount: 7n } }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(incomplete["problem"]).to.equal(
        "xMarginAmount is missing: give both",
      );
      await mocks.set({ margins: { baseMarginAmount: 7n, xMarginAmount: 8n } });
      expect(await vault.calMargins(unexpected)).to.deep.equal({
        baseMarginAmount: 7n,
        xMarginAmount: 8n,
      });
      // Terms that are added now are the only ones.
      const { interface: mock } = mocks.contracts.vault;
      await sendTransaction(provider, {
        to: mocks.addresses.vault,
        data: mock.encodeFunctionData("whenCalMargins", [
          { maxVolume: 9n, APY: 10n, endTime: 11n },
          { base: 1n, x: 2n },
        ]),
      });
      expect(await vault.calMargins(unexpected)).to.include({
        xMarginAmount: 2n,
      });
      await expectVaultError(vault.calMargins(terms), "VAULT_CALL_REVERTED");
    });

    it("fail() makes one order, one caller or one set of terms fail, and the arguments count more than the caller", async () => {
      const terms = { maxVolume: 5n, APY: 6n, endTime: 7n };
      await mocks.fail("getOrderInfo", "every");
      await mocks.fail("getOrderInfo", "caller", { from: NOBODY });
      await mocks.fail("getOrderInfo", "order", { orderID: 2 });
      await mocks.fail("calMargins", "terms", { terms });
      const reasonOf = async (
        orderID: bigint,
        from?: string,
      ): Promise<unknown> => {
        const { details } = await expectVaultError(
          vault.getOrderInfo(orderID, { from }),
          "VAULT_CALL_REVERTED",
        );
        return details["reason"];
      };
      expect([
        await reasonOf(1n),
        await reasonOf(1n, NOBODY),
        await reasonOf(2n, NOBODY),
      ]).to.deep.equal(["every", "caller", "order"]);
      await mocks.succeed("getOrderInfo", { orderID: 2n });
      expect(await reasonOf(2n, NOBODY)).to.equal("caller");
      await mocks.succeed("getOrderInfo");
      expect(await vault.getOrderInfo(1n, { from: NOBODY })).to.include({
        state: 1,
      });
      await expectVaultError(vault.calMargins(terms), "VAULT_CALL_REVERTED");
      await vault.calMargins({ ...terms, APY: 7n });
    });

    it("settlements() lists who settled in which block", async () => {
      const from = await vault.defaultSender();
      await vault.settleAll({ from: { address: from } });
      const [only, ...others] = await mocks.settlements();
      expect(others).to.deep.equal([]);
      expect(only).to.include({ caller: from });
      expect(only?.blockNumber).to.equal((await vault.block()).number);
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

  const misScripted: Readonly<Record<string, () => Promise<unknown>>> = {
    "an unknown field": async () =>
      // @ts-expect-error -- the field is strikePrice
      await mocks.set({ round: { strikeprice: 1n } }),
    "a value out of range": async () => await mocks.set({ volume: -1n }),
    "a bad reason": async () => await mocks.fail("settleAll", { data: "0x1" }),
    "an unknown scenario": async () =>
      // @ts-expect-error -- no such scenario
      await vault.deployMocks({ scenario: "open" }),
    "contracts that are no mocks": async () =>
      await connectMocks(vault.at(places)),
    "a missing fixture": async () =>
      await vault.deployMocks({ fixture: "missing.json" }),
    "a mock that reverts": async () => {
      await mocks.fail("getLatestRoundInfo", "closed");
      await mocks.set({ round: { APY: 1n } });
    },
  };
  for (const [what, misScript] of Object.entries(misScripted)) {
    it(`an error for ${what} has a frame of the test's file, also behind Promise.all`, async () => {
      const [settled] = await Promise.allSettled([misScript()]);
      const error: unknown = Reflect.get(settled, "reason");
      expect(Reflect.get(Object(error), "stack")).to.match(
        /at .*test\/mocks\/mock-sender\.[jt]s/u,
      );
    });
  }

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

  it("deployMocks() waits for transactions that are mined late", async () => {
    let looks = 0;
    const late: Eip1193Provider = {
      request: async (call) => {
        const answer: unknown = await vault.provider.request(call);
        const isReceipt = call.method === "eth_getTransactionReceipt";
        looks += isReceipt ? 1 : 0;
        // Six mocks: each receipt is missing five times.
        return isReceipt && looks <= 30 ? null : answer;
      },
    };
    const { vault: bound } = await deployMocks(late);
    expect(await bound.queryVolume()).to.equal(420n * 10n ** 18n);
  });

  it("set() of two mocks retries when another process scripts one of them meanwhile", async () => {
    const other = await deployMocks(vault.provider);
    let isFirst = true;
    const contended = recordCalls(vault.provider, async (method) => {
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

  it("set() fails with VAULT_MOCK_SCRIPT_FAILED if others script the mock before each of 20 attempts", async () => {
    const other = await deployMocks(vault.provider);
    let attempts = 0;
    const contended = recordCalls(vault.provider, async (method) => {
      if (method === "eth_sendTransaction") {
        attempts += 1;
        await other.set({ volume: BigInt(attempts) });
      }
    });
    const handle = await connectMocks(contended, other.addresses);
    await expectVaultError(
      handle.set({ volume: 5n }),
      "VAULT_MOCK_SCRIPT_FAILED",
    );
    expect(attempts).to.equal(20);
  });

  for (const refusal of [
    "nonce too low",
    "replacement transaction underpriced",
  ]) {
    it(`set() retries at "${refusal}", and fails after 20 times with VAULT_RPC_ERROR`, async () => {
      const { addresses } = await deployMocks(vault.provider);
      let refusals = 2;
      const contended = recordCalls(vault.provider, (method) => {
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
