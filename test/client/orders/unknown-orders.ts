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
import type { ServerProcess } from "../../helpers/child-process.js";
import { deployInstance, sendTo } from "../../helpers/deployment/deploy.js";
import { fetchProvider } from "../../helpers/fetch-provider.js";
import { fieldsOf } from "../../helpers/fields.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcServer } from "../../helpers/rpc-server.js";

const LATENCY_MS = 20;
const MOST_WAVES = 10;
/** More than the gas of the orders demands. */
const MOST_REQUESTS = 30;

/** An id of each 23 is removed, and answers zeros. */
const isRemoved = (id: number): boolean => id % 23 === 11;
const range = (first: number, end: number): number[] =>
  Array.from({ length: end - first }, (_, index) => first + index);

const startBehind = async (upstream: string): Promise<RpcServer> =>
  await startRpcServer({ upstream, stepMs: LATENCY_MS });

/** Forwards each call, as a proxy does, but reads the storage of the target. */
const forwarderTo = (target: string): string =>
  `0x363d3d373d3d3d363d73${target.slice(2)}5afa3d82803e903d91602b57fd5bf3`;

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

  const LARGE = 1_400;
  before(async () => {
    anvil = await startAnvil({ args: ["--gas-limit", "1000000000000"] });
    node = fetchProvider(anvil.url);
    for (const orders of [0, 1, 10_000]) {
      contracts[orders] = (
        await deployInstance(node, { orders })
      ).contracts.trading;
    }
    const large = await deployInstance(node, { orders: 0 });
    const pair = "BTCDAI".padEnd(10_000, "x");
    // Chunks of 700 begin and end with a large order.
    for (let chunk = 0; chunk < 2; ++chunk) {
      await sendTo(node, large, "Trading", "open", pair, 1);
      await sendTo(node, large, "Trading", "seed", 698);
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
          (id) => [0, 699, 700, 1_399].includes(id) || !isRemoved(id),
        );
        const trading = contracts[contract];
        expect(await read(provider, trading, {})).to.deep.equal({
          found: all,
          failed: [],
        });
        const between = [...range(1_400, 1_420), 699, ...range(1_420, 1_440)];
        expect(await read(provider, trading, { ids: between })).to.deep.equal({
          found: [699],
          failed: range(1_400, 1_440),
        });
        const ids = [...range(690, 710), ...range(1_390, 1_410)];
        expect(
          await read(provider, trading, { ids, skipEmpty: true }),
        ).to.deep.equal({
          found: ids.filter((id) => all.includes(id)),
          failed: range(1_400, 1_410),
        });
        expect(
          await read(provider, trading, { lastId: 2_999, skipEmpty: true }),
        ).to.deep.equal({ found: all, failed: range(1_400, 3_000) });
      });
    }
  }

  it("orders() lists orders that need more gas than the node allows as failed, behind a proxy all but the last", async () => {
    const provider = capped(node, 700_000);
    const { large, "behind a proxy": proxy } = contracts;
    expect((await read(provider, large, {})).failed).to.deep.equal([
      0, 699, 700, 1_399,
    ]);
    expect((await read(provider, proxy, {})).failed).to.deep.equal([
      0, 699, 700,
    ]);
  });

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

  for (const [cap, more, demand] of [
    [50_000_000, 0, 0],
    [10_000_000, 4, 40],
  ] as const) {
    for (const count of [0, 1, 10_000]) {
      it(`orders() reads ${count} orders in ${MOST_WAVES + more} waves and ${MOST_REQUESTS + demand} requests at most, with ${cap / 1e6} M gas a call`, async () => {
        const behind = await startBehind(anvil.url);
        const provider = capped(fetchProvider(behind.url), cap);
        const { found, failed } = await read(provider, contracts[count], {});
        await behind.stop();
        expect(found).to.have.length(
          range(0, count).filter((id) => !isRemoved(id)).length,
        );
        expect(failed).to.deep.equal([]);
        expect(behind.waves).to.be.at.most(MOST_WAVES + more);
        expect(behind.bodies.length).to.be.at.most(MOST_REQUESTS + demand);
      });
    }
  }

  it("orders() reads hundreds of missing ids in 4 waves", async () => {
    const behind = await startBehind(anvil.url);
    const options = { firstId: 9_900, lastId: 10_500 };
    await read(fetchProvider(behind.url), contracts[10_000], options);
    await behind.stop();
    expect(behind.waves).to.be.at.most(4);
  });

  it("snapshot() has the error of a reading that uses up all gas, and the others, in one wave more than without", async () => {
    const outage = await deployInstance(node);
    const behind = await startBehind(anvil.url);
    const take = async (): Promise<VaultSnapshot> => {
      behind.clear();
      const provider = capped(fetchProvider(behind.url), 10_000_000);
      return await new VaultClient(provider, outage.contracts).snapshot();
    };
    const before = await take();
    const { waves } = behind;
    const ZERO = 3;
    // The rate divides by it.
    await sendTo(node, outage, "PriceFeed", "setOutage", ZERO);
    const after = await take();
    await behind.stop();
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
