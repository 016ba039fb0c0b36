import { expect } from "chai";
import { getAddress, toQuantity } from "ethers";

import {
  VaultClient,
  isFailedOrder,
  isFailedReading,
} from "../../../src/client/index.js";
import type {
  Eip1193Provider,
  OrdersOptions,
  VaultSnapshot,
} from "../../../src/client/index.js";
import { startAnvil } from "../../helpers/anvil.js";
import { expectVaultError } from "../../helpers/assertions.js";
import type { ServerProcess } from "../../helpers/child-process.js";
import { deployInstance, sendTo } from "../../helpers/deployment/deploy.js";
import { fetchProvider } from "../../helpers/fetch-provider.js";
import { fieldsOf } from "../../helpers/fields.js";
import { Waves } from "../../helpers/waves.js";

/** An id of each 23 is removed, and answers zeros. */
const isRemoved = (id: number): boolean => id % 23 === 11;
const range = (first: number, end: number): number[] =>
  Array.from({ length: end - first }, (_, index) => first + index);

/** Forwards each call, as a proxy does, but reads the storage of the target. */
const forwarderTo = (target: string): string =>
  `0x363d3d373d3d3d363d73${target.slice(2)}5afa3d82803e903d91602b57fd5bf3`;

/** The same from id 1 on, but each takes more gas, for memory up to a byte; id 0 and what fails is INVALID. */
const expensiveTo = (target: string, byte: number): string =>
  `0x600435600757fe5b62${byte.toString(16).padStart(6, "0")}5150363d3d373d3d3d363d73${target.slice(2)}5afa3d82803e903d91603957fe5bf3`;

describe("orders() of a contract whose unknown ids use up all gas", () => {
  let anvil: ServerProcess;
  let node: Eip1193Provider;
  /** Addresses by what answers there. */
  const contracts: Record<string, string> = {};

  /** A provider of a node that allows so much gas for a call. */
  const capped = (
    provider: Eip1193Provider,
    cap: number | undefined,
  ): Eip1193Provider => ({
    request: async ({ method, params = [] }) => {
      const [call, ...more] = params;
      const gas = cap === undefined ? {} : { gas: toQuantity(cap) };
      return await provider.request({
        method,
        params:
          method === "eth_call"
            ? [{ ...fieldsOf(call), ...gas }, ...more]
            : params,
      });
    },
  });

  const LARGE = 1_600;
  before(async () => {
    anvil = await startAnvil({ args: ["--gas-limit", "1000000000000"] });
    node = fetchProvider(anvil.url);
    for (const orders of [0, 20, 40, 1_000, 10_000]) {
      contracts[orders] = (
        await deployInstance(node, { orders })
      ).contracts.trading;
    }
    const large = await deployInstance(node, { orders: 0 });
    const pair = "BTCDAI".padEnd(10_000, "x");
    // Chunks of 800 begin and end with a large order.
    for (let chunk = 0; chunk < 2; ++chunk) {
      await sendTo(node, large, "Trading", "open", pair, 1);
      await sendTo(node, large, "Trading", "seed", 798);
      await sendTo(node, large, "Trading", "open", pair, 1);
    }
    const { trading } = large.contracts;
    contracts["large"] = trading;
    contracts["behind a proxy"] = getAddress(`0x${"c0de".padStart(40, "0")}`);
    await node.request({
      method: "anvil_setCode",
      params: [contracts["behind a proxy"], forwarderTo(trading)],
    });
  });
  after(async () => {
    await anvil.stop();
  });

  const read = async (
    provider: Eip1193Provider,
    trading: string | undefined,
    options: OrdersOptions,
  ): Promise<{ found: number[]; failed: number[] }> => {
    const found: number[] = [];
    const failed: number[] = [];
    for await (const order of new VaultClient(provider, { trading }).orders(
      options,
    )) {
      (isFailedOrder(order) ? failed : found).push(Number(order.orderID));
    }
    return { found, failed };
  };

  for (const cap of [10_000_000, 25_000_000, 50_000_000, undefined]) {
    const gas = cap === undefined ? "no cap" : `${cap / 1e6} M gas a call`;
    for (const contract of ["large", "behind a proxy"]) {
      it(`orders() takes no existing order for a missing one, with ${gas}, pairs of 10 kB at both ends of a chunk: ${contract}`, async () => {
        const provider = capped(node, cap);
        const all = range(0, LARGE).filter(
          (id) => [0, 799, 800, 1_599].includes(id) || !isRemoved(id),
        );
        const trading = contracts[contract];
        expect(await read(provider, trading, {})).to.deep.equal({
          found: all,
          failed: [],
        });
        const between = [...range(1_600, 1_620), 799, ...range(1_620, 1_640)];
        expect(await read(provider, trading, { ids: between })).to.deep.equal({
          found: [799],
          failed: range(1_600, 1_640),
        });
        const ids = [...range(790, 810), ...range(1_590, 1_610)];
        expect(
          await read(provider, trading, { ids, skipEmpty: true }),
        ).to.deep.equal({
          found: ids.filter((id) => all.includes(id)),
          failed: range(1_600, 1_610),
        });
        expect(
          await read(provider, trading, { lastId: 2_999, skipEmpty: true }),
        ).to.deep.equal({ found: all, failed: range(1_600, 3_000) });
      });
    }
  }

  it("orders() lists orders that need more gas than the node allows as failed, and does not take the last one for an unknown id", async () => {
    const provider = capped(node, 700_000);
    const { large, "behind a proxy": proxy } = contracts;
    const { failed } = await read(provider, large, { lastId: LARGE - 1 });
    expect(failed).to.deep.equal([0, 799, 800, 1_599]);
    await expectVaultError(read(provider, large, {}), "VAULT_RPC_ERROR");
    // The proxy reverts for want of gas as it does for an unknown id.
    expect((await read(provider, proxy, {})).failed).to.deep.equal([
      0, 799, 800,
    ]);
  });

  it("orders() leaves out the unknown ids at the end of a request, and those of the next one", async () => {
    for (const contract of ["large", "behind a proxy"]) {
      const options = { chunkSize: LARGE + 15 };
      expect(
        await read(node, contracts[contract], options),
      ).to.have.deep.property("failed", []);
    }
  });

  for (const cap of [4_000_000, 10_000_000, 50_000_000, undefined]) {
    it(`orders() lists orders of 1,000,000 gas each between unknown ids, of a range with a last id and without, with ${cap ?? "any"} gas a call`, async () => {
      const trading = getAddress(`0x${"c057".padStart(40, "0")}`);
      await node.request({
        method: "anvil_setCode",
        params: [trading, expensiveTo(String(contracts[20]), 700_000)],
      });
      const found = range(1, 20).filter((id) => !isRemoved(id));
      const provider = capped(node, cap);
      expect(await read(provider, trading, {})).to.deep.equal({
        found,
        failed: [0],
      });
      expect(
        await read(provider, trading, { lastId: 40, skipEmpty: true }),
      ).to.deep.equal({ found, failed: [0, ...range(20, 41)] });
    });
  }

  it("orders() lists nothing of an empty contract behind a proxy, which reverts without a reason", async () => {
    const proxy = getAddress(`0x${"c0ffee".padStart(40, "0")}`);
    await node.request({
      method: "anvil_setCode",
      params: [proxy, forwarderTo(String(contracts[0]))],
    });
    expect(await read(node, proxy, {})).to.deep.equal({
      found: [],
      failed: [],
    });
  });

  it("orders() lists nothing of an empty contract, whose ids are an invalid opcode each, if each is a call of its own", async () => {
    const { 0: trading } = contracts;
    expect(await read(node, trading, { from: trading })).to.deep.equal({
      found: [],
      failed: [],
    });
  });

  // A header, the first chunk, the others three at a time, and the header once more.
  for (const [cap, count, waves, requests] of [
    [undefined, 0, 3, 3],
    [undefined, 40, 3, 3],
    [undefined, 1_000, 4, 6],
    [undefined, 10_000, 8, 19],
    // The gas of a call suffices for fewer orders, and not to tell an unknown id.
    [10_000_000, 40, 4, 5],
    [10_000_000, 10_000, 16, 80],
  ] as const) {
    const gas = cap === undefined ? "" : `, with ${cap / 1e6} M gas a call`;
    it(`orders() reads ${count} orders in ${waves} waves and ${requests} requests at most${gas}`, async () => {
      const behind = new Waves(node);
      const provider = capped(behind, cap ?? 50_000_000);
      const { found, failed } = await read(provider, contracts[count], {});
      expect(found).to.have.length(
        range(0, count).filter((id) => !isRemoved(id)).length,
      );
      expect(failed).to.deep.equal([]);
      expect(behind.waves).to.be.at.most(waves);
      expect(behind.requests).to.be.at.most(requests);
    });
  }

  it("orders() lists hundreds of missing ids of a range with two requests for each hundred, and why they are no orders", async () => {
    const behind = new Waves(node);
    const options = { firstId: 9_900, lastId: 10_500 };
    const client = new VaultClient(capped(behind, 50_000_000), {
      trading: contracts[10_000],
    });
    const orders = await Array.fromAsync(client.orders(options));
    const failed = orders.filter(isFailedOrder);
    expect(failed.map(({ orderID }) => Number(orderID))).to.deep.equal(
      range(10_000, 10_501),
    );
    const reasons = failed.map(({ error }) => error.details["reason"]);
    for (const reason of reasons) {
      expect(reason).to.match(/used up 500,000 gas|invalid opcode/u);
    }
    expect(behind.requests).to.be.within(3, 30);
  });

  it("snapshot() has the error of a reading that uses up all gas, and the others, in one wave more than without", async () => {
    const outage = await deployInstance(node);
    const behind = new Waves(node);
    const take = async (): Promise<VaultSnapshot> => {
      behind.clear();
      const provider = capped(behind, 10_000_000);
      return await new VaultClient(provider, outage.contracts).snapshot();
    };
    const before = await take();
    const { waves } = behind;
    const ZERO = 3;
    // The rate divides by it.
    await sendTo(node, outage, "PriceFeed", "setOutage", ZERO);
    const after = await take();
    for (const rate of Object.values(after.fundingFeeRate)) {
      expect(isFailedReading(rate) && rate.error.code).to.equal(
        "VAULT_CALL_REVERTED",
      );
    }
    const { fundingFeeRate, block } = before;
    expect({ ...after, fundingFeeRate, block }).to.deep.equal(before);
    expect(behind.waves).to.be.at.most(waves + 1);
  });
});
