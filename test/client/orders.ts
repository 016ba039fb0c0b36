import { inspect } from "node:util";

import { expect } from "chai";
import { Contract, ZeroAddress, toBeHex } from "ethers";

import { MockTrading__factory } from "../../src/bindings/factories/MockTrading__factory.js";
import {
  VaultClient,
  isEmptyOrder,
  isFailedOrder,
} from "../../src/client/index.js";
import type {
  ListedOrder,
  OrdersOptions,
  ScanProgress,
} from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { expectVaultError } from "../helpers/assertions.js";
import { collectAll } from "../helpers/collect.js";
import { createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/recording-provider.js";
import { deployGeneratedOrders } from "../helpers/trading.js";
import { sendTransaction } from "../helpers/transactions.js";

const mock = MockTrading__factory.createInterface();
const UNUSED = "0x00000000000000000000000000000000000A11cE";

async function collect(
  client: Pick<VaultClient, "orders">,
  options?: OrdersOptions,
): Promise<ListedOrder[]> {
  return await collectAll(client.orders(options));
}

const idsOf = (orders: readonly ListedOrder[]): bigint[] =>
  orders.map(({ orderID }) => orderID);

const thrownBy = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    return await work;
  } catch (error) {
    return error;
  }
};

const range = (first: number, last: number): bigint[] =>
  Array.from({ length: last - first + 1 }, (_, index) => BigInt(first + index));

describe("client - orders", () => {
  let provider: Eip1193Provider;
  let trading: string;
  let client: VaultClient;

  beforeEach(async () => {
    const hre = await createTestHre();
    ({ provider } = await hre.network.create());
    trading = await deployGeneratedOrders(provider, 1n, 100_000n);
    client = new VaultClient(provider, { trading });
  });

  describe("a range", () => {
    it("should list every id of it, in order", async () => {
      const orders = await collect(client, {
        firstId: 5,
        lastId: 505n,
        chunkSize: 7,
        concurrency: 3,
      });
      expect(idsOf(orders)).to.deep.equal(range(5, 505));
      expect(orders.some(isFailedOrder)).to.equal(false);
    });
  });

  describe("without a range", () => {
    const send = async (
      name: "generateOrders" | "removeOrder" | "setMissingOrdersRevert",
      args: ReadonlyArray<bigint | boolean>,
    ): Promise<void> => {
      const { data } = await new Contract(trading, mock)
        .getFunction(name)
        .populateTransaction(...args);
      await sendTransaction(provider, { to: trading, data });
    };
    const listAll = async (options?: OrdersOptions): Promise<bigint[]> =>
      idsOf(await collect(client, options));

    it("should list every order, in few requests", async () => {
      await send("generateOrders", [1n, 1_234n]);
      const recorder = recordCalls(provider);
      const totals: number[] = [];
      const orders = await collect(new VaultClient(recorder, { trading }), {
        onProgress: ({ total }) => totals.push(total),
      });
      expect(idsOf(orders)).to.deep.equal(range(1, 1_234));
      expect(recorder.calls.length).to.be.lessThan(25);
      expect(totals.at(-1)).to.equal(1_235);
    });

    it("should list none where there is none", async () => {
      await send("generateOrders", [1n, 0n]);
      let seen = 0;
      expect(await listAll({ onProgress: () => (seen += 1) })).to.deep.equal(
        [],
      );
      expect(seen, "nothing is left to read").to.equal(0);
    });

    it("should take what the ids behind the end answer for no order", async () => {
      await send("generateOrders", [1n, 20n]);
      await send("removeOrder", [7n]);
      await send("setMissingOrdersRevert", [true]);
      expect(await listAll()).to.deep.equal([...range(1, 6), ...range(8, 20)]);
      await send("removeOrder", [20n]);
      expect((await listAll({ from: trading })).at(-1)).to.equal(19n);
    });

    it("should end where ids do not", async () => {
      await send("generateOrders", [1n, 2n ** 256n - 1n]);
      const error = await expectVaultError(listAll(), "VAULT_INVALID_ARGUMENT");
      expect(error.message).to.include("2^40");
      const lastId = 2n ** 256n - 1n;
      expect(await listAll({ firstId: lastId - 1n })).to.deep.equal([
        lastId - 1n,
        lastId,
      ]);
    });
  });

  describe("ids", () => {
    it("should be listed as they are named, in one call", async () => {
      const recorder = recordCalls(provider);
      const orders = await collect(new VaultClient(recorder, { trading }), {
        ids: [9, 2n, 3],
      });
      expect(orders).to.deep.equal([
        { orderID: 9n, ...(await client.getOrderInfo(9)) },
        { orderID: 2n, ...(await client.getOrderInfo(2)) },
        { orderID: 3n, ...(await client.getOrderInfo(3)) },
      ]);
      expect(recorder.calls.map(({ method }) => method)).to.deep.equal([
        "eth_call",
        "eth_call",
      ]);
    });
  });

  describe("missing orders", () => {
    it("should be listed as empty where all is zero, or left out by skipEmpty", async () => {
      await sendTransaction(provider, {
        to: trading,
        data: mock.encodeFunctionData("removeOrder", [3]),
      });
      const orders = await collect(client, { firstId: 1, lastId: 5 });
      expect(idsOf(orders.filter(isEmptyOrder))).to.deep.equal([3n]);
      expect(orders).to.have.length(5);
      const present = { firstId: 1, lastId: 5, skipEmpty: true };
      expect(idsOf(await collect(client, present))).to.deep.equal([
        1n,
        2n,
        4n,
        5n,
      ]);
    });

    it("should be failed orders with their reason where the contract reverts", async () => {
      for (const data of [
        mock.encodeFunctionData("removeOrder", [3]),
        mock.encodeFunctionData("setMissingOrdersRevert", [true]),
      ]) {
        await sendTransaction(provider, { to: trading, data });
      }
      for (const skipEmpty of [false, true]) {
        const orders = await collect(client, {
          firstId: 1,
          lastId: 5,
          state: "open",
          skipEmpty,
        });
        const failed = orders.filter(isFailedOrder);
        expect(idsOf(failed)).to.deep.equal([3n]);
        expect(failed[0]?.error.code).to.equal("VAULT_CALL_REVERTED");
        expect(failed[0]?.error.message).to.include("OrderNotFound");
      }
    });
  });

  describe("filters", () => {
    it("should keep orders of a state, by number or word", async () => {
      const open = await collect(client, { firstId: 1, lastId: 9, state: 1 });
      expect(idsOf(open)).to.deep.equal([1n, 2n, 4n, 5n, 7n, 8n]);
      const closed = await collect(client, {
        firstId: 1,
        lastId: 9,
        state: "closed",
      });
      expect(idsOf(closed)).to.deep.equal([3n, 6n, 9n]);
    });

    it("should keep orders of a holder, however it is spelled", async () => {
      const { holder } = await client.getOrderInfo(2);
      const orders = await collect(client, {
        firstId: 1,
        lastId: 14,
        holder: holder.toLowerCase(),
      });
      expect(idsOf(orders)).to.deep.equal([2n, 9n]);
    });
  });

  describe("the block", () => {
    it("should be one for all chunks, whatever happens meanwhile", async () => {
      const orders: ListedOrder[] = [];
      for await (const order of client.orders({
        firstId: 1,
        lastId: 200,
        chunkSize: 10,
        concurrency: 1,
      })) {
        if (orders.length === 5) {
          await sendTransaction(provider, {
            to: trading,
            data: mock.encodeFunctionData("generateOrders", [1, 2]),
          });
        }
        orders.push(order);
      }
      expect(orders.filter(isEmptyOrder)).to.deep.equal([]);
      const [after] = await collect(client, { firstId: 3, lastId: 3 });
      expect(after !== undefined && isEmptyOrder(after)).to.equal(true);
    });

    it("should be the one that blockTag names", async () => {
      const { number } = await client.block();
      await sendTransaction(provider, {
        to: trading,
        data: mock.encodeFunctionData("generateOrders", [1, 2]),
      });
      const [order] = await collect(client, {
        firstId: 3,
        lastId: 3,
        blockTag: number,
      });
      expect(order !== undefined && isEmptyOrder(order)).to.equal(false);
    });
  });

  describe("requests", () => {
    it("should be a call a chunk, with two params and an override", async () => {
      const recorder = recordCalls(provider);
      const vault = new VaultClient(recorder, { trading });
      const askedUpTo = async (lastId: number): Promise<readonly string[]> => {
        recorder.calls.length = 0;
        await collect(vault, {
          firstId: 1,
          lastId,
          chunkSize: 50,
        });
        return recorder.calls.map(({ method }) => method);
      };
      expect(await askedUpTo(100)).to.deep.equal([
        // The block, and if the node allows overrides at all.
        "eth_call",
        "eth_call",
        "eth_call",
      ]);
      expect(await askedUpTo(50)).to.deep.equal(["eth_call", "eth_call"]);
      expect(recorder.calls.at(-1)?.params).to.have.length(3);
    });

    it("should be no more than are wanted: a slow reader stops them", async () => {
      const recorder = recordCalls(provider);
      const orders = new VaultClient(recorder, { trading }).orders({
        firstId: 1,
        lastId: 100_000,
        chunkSize: 10,
        concurrency: 3,
      });
      for (let taken = 0; taken < 10; ++taken) {
        await orders.next();
      }
      // Give what is under way the time to end and to start more.
      for (let round = 0; round < 10; ++round) {
        await client.block();
      }
      const chunks = recorder.calls.length - 1;
      expect(chunks).to.be.within(3, 5);
      await orders.return();
    });
  });

  describe("signal", () => {
    for (const [during, before] of [
      ["the first request", 0],
      ["a later request", 4],
    ] as const) {
      it(`should end the scan with its reason during ${during}`, async () => {
        const controller = new AbortController();
        const reason = new Error("enough");
        const recorder = recordCalls(provider, async () => {
          if (recorder.calls.length > before) {
            controller.abort(reason);
            // This request never ends.
            await new Promise(() => undefined);
          }
        });
        const orders = new VaultClient(recorder, { trading }).orders({
          firstId: 1,
          lastId: 1_000,
          chunkSize: 5,
          concurrency: 1,
          signal: controller.signal,
        });
        expect(await thrownBy(collectAll(orders))).to.equal(reason);
      });
    }

    it("should end the scan at the very next order, whatever was read ahead", async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const orders = client.orders({
        firstId: 1,
        lastId: 5,
        signal: controller.signal,
      });
      await orders.next();
      expect((await orders.next()).value).to.include({ orderID: 2n });
      controller.abort(reason);
      expect(await thrownBy(orders.next())).to.equal(reason);
    });

    it("should send nothing if it is aborted already", async () => {
      const recorder = recordCalls(provider);
      const reason = new Error("too late");
      const scan = collect(new VaultClient(recorder, { trading }), {
        firstId: 1,
        lastId: 10,
        signal: AbortSignal.abort(reason),
      });
      expect(await thrownBy(scan)).to.equal(reason);
      expect(recorder.calls).to.deep.equal([]);
    });
  });

  it("should report progress by the chunk, also if one is halved", async () => {
    const tenOrders = toBeHex(10, 32).slice(2);
    const recorder = recordCalls(provider, ({ method, params = [] }) => {
      if (method === "eth_call" && JSON.stringify(params).includes(tenOrders)) {
        throw Object.assign(new Error("response too large"), { code: -32000 });
      }
    });
    const seen: ScanProgress[] = [];
    await collect(new VaultClient(recorder, { trading }), {
      firstId: 1,
      lastId: 20,
      chunkSize: 10,
      concurrency: 1,
      onProgress: (progress) => seen.push(progress),
    });
    expect(seen).to.deep.equal(
      [10, 15, 20].map((done) => ({ done, total: 20 })),
    );
  });

  describe("mistakes", () => {
    const mistakes = [
      [{ firstId: -1 }, "VAULT_INVALID_INTEGER"],
      [{ lastId: 1.5 }, "VAULT_INVALID_INTEGER"],
      [{ firstId: 9 }, "VAULT_INVALID_ARGUMENT"],
      [{ ids: [1] }, "VAULT_INVALID_ARGUMENT"],
      [{ firstId: undefined, ids: [1] }, "VAULT_INVALID_ARGUMENT"],
      [{ lastId: undefined, ids: [1] }, "VAULT_INVALID_ARGUMENT"],
      [
        { firstId: undefined, lastId: undefined, ids: [1, -1] },
        "VAULT_INVALID_INTEGER",
      ],
      [{ state: 7 }, "VAULT_INVALID_ENUM"],
      [{ state: "shut" }, "VAULT_INVALID_ENUM"],
      [{ holder: "0x12" }, "VAULT_INVALID_ADDRESS"],
      [{ chunkSize: 0 }, "VAULT_INVALID_ARGUMENT"],
      [{ concurrency: 2.5 }, "VAULT_INVALID_ARGUMENT"],
      [{ from: "me" }, "VAULT_INVALID_ADDRESS"],
      [{ blockTag: "pending" }, "VAULT_INVALID_ARGUMENT"],
    ] as const;
    for (const [mistake, code] of mistakes) {
      it(`should be refused before any request: ${inspect(mistake)}`, async () => {
        const recorder = recordCalls(provider);
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the types refuse some of these mistakes
        const options = { firstId: 1, lastId: 5, ...mistake } as OrdersOptions;
        await expectVaultError(
          collect(new VaultClient(recorder, { trading }), options),
          code,
        );
        expect(recorder.calls).to.deep.equal([]);
      });
    }

    it("should end the scan where there is no contract", async () => {
      for (const from of [ZeroAddress, UNUSED]) {
        await expectVaultError(
          collect(new VaultClient(provider, { trading: UNUSED }), {
            firstId: 1,
            lastId: 5,
            from,
          }),
          "VAULT_NO_CODE",
        );
      }
    });
  });

  it("should end the scan, not each order, when the node is gone", async () => {
    let gone = false;
    const recorder = recordCalls(provider, () => {
      if (gone) {
        throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
      }
    });
    const orders = new VaultClient(recorder, { trading }).orders({
      firstId: 1,
      lastId: 1_000,
      chunkSize: 10,
      concurrency: 1,
    });
    await orders.next();
    gone = true;
    await expectVaultError(collectAll(orders), "VAULT_NETWORK_UNREACHABLE");
  });

  it("should be offered by hre.vault, which connects when it is iterated", async () => {
    const hre = await createTestHre();
    const connection = await hre.network.getOrCreate();
    const address = await deployGeneratedOrders(connection.provider, 1n, 5n);
    const orders = await collect(hre.vault.at({ trading: address }), {
      firstId: 1,
      lastId: 5,
    });
    expect(idsOf(orders)).to.deep.equal(range(1, 5));
  });
});
