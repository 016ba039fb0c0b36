import { expect } from "chai";
import { toQuantity } from "ethers";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import type { FeeLimits, GasPrice } from "../../src/settlement-call/fees.js";
import {
  recentPrices,
  requireUsualPrice,
} from "../../src/settlement-call/usual-price.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const GWEI = 1_000_000_000n;
const NEWEST = 5;

describe("recentPrices()", () => {
  let chain: ScriptedNode;
  beforeEach(() => {
    chain = new ScriptedNode();
  });
  const pricesOf = async (newest = NEWEST) =>
    await recentPrices(new RpcClient(chain, "scripted"), newest);

  for (const [title, baseFees, tips, used, median, isQuiet = false] of [
    ["takes the middle of what was paid", [0, 0, 0], [1, 2, 153], 0.5, 2n],
    [
      "adds the base fee of each block to its own tip",
      ...([[1, 20, 30], [1, 2, 3], 0.5, 22n] as const),
    ],
    [
      "leaves out blocks without a tip, and takes a chain for quiet if half are so",
      ...([[1, 1], [0, 2], 0.5, 3n, true] as const),
    ],
    [
      "takes a chain for busy if more have a tip",
      ...([[1, 1, 1], [0, 2, 2], 0.5, 3n] as const),
    ],
    [
      "takes the base fees if no block has a tip",
      ...([[5, 6, 7], [0, 0, 0], 0.5, 6n, true] as const),
    ],
    ["finds nothing if no block uses gas", [9], [1], 0, undefined],
  ] as const) {
    it(title, async () => {
      chain.on("eth_feeHistory", ([count, newest, percentiles]) => {
        expect([count, newest]).to.deep.equal(["0x14", toQuantity(NEWEST)]);
        expect(percentiles).to.deep.equal([50]);
        return {
          // One more than blocks: that of the next block.
          baseFeePerGas: [...baseFees, 9_999].map((fee) => toQuantity(fee)),
          gasUsedRatio: baseFees.map(() => used),
          reward: tips.map((tip) => [toQuantity(tip)]),
        };
      });
      expect(await pricesOf()).to.deep.equal(
        median === undefined ? undefined : { median, isQuiet },
      );
    });
  }

  it("takes the transactions of the blocks if the node has no fee history", async () => {
    chain.on("eth_feeHistory", () => {
      throw Object.assign(new Error("no such method"), { code: -32_601 });
    });
    chain.on("eth_getBlockByNumber", async (_, answer) => {
      const one = { input: "0x", nonce: "0x0", from: "0x1", to: null };
      const hash = `0x${"ab".repeat(32)}`;
      // The chain's own transaction pays nothing.
      const transactions = ["0x0", "0x3", "0x4", "0x5"].map((gasPrice) => ({
        ...{ ...one, hash, gasPrice },
      }));
      return { ...fieldsOf(await answer()), transactions };
    });
    expect(await pricesOf()).to.deep.equal({ median: 4n, isQuiet: false });
    expect(chain.count("eth_getBlockByNumber")).to.equal(NEWEST + 1);
    chain.asked.length = 0;
    await pricesOf(30);
    const numbers = chain.asked.flatMap(({ method, params: [block] }) =>
      method === "eth_getBlockByNumber" ? Number(block) : [],
    );
    expect([numbers.length, Math.min(...numbers)]).to.deep.equal([20, 11]);
  });
});

describe("requireUsualPrice()", () => {
  const limit = { wei: 10n ** 20n, setting: "a limit" };
  const fee: FeeLimits = { maxFeePerGas: limit };
  const tip: FeeLimits = { maxPriorityFeePerGas: limit };
  const busy = { median: 2n, isQuiet: false };
  const quiet = { median: 2n, isQuiet: true };
  const offer = (current: bigint, maxPriorityFeePerGas = 9n): GasPrice => ({
    fees: { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas },
    ...{ current, highest: 10n ** 10n },
  });
  const legacy = (gasPrice: bigint): GasPrice => ({
    fees: { gasPrice },
    ...{ current: gasPrice, highest: gasPrice },
  });
  const require = async (
    price: GasPrice,
    limits: FeeLimits,
    recent?: typeof busy,
    chain = new ScriptedNode(),
    type = "http",
  ): Promise<void> => {
    await requireUsualPrice(chain.host({ settings: { type } }), price, {
      limits,
      newest: { number: NEWEST, baseFeePerGas: 1n },
      recent: recent === undefined ? undefined : Promise.resolve(recent),
    });
  };

  for (const [title, price, limits, recent] of [
    ["20 times the median", offer(40n), {}, busy],
    ["a tip of 1 gwei on a quiet chain", offer(GWEI + 2n, GWEI), {}, quiet],
    ["any price without a recent one", offer(GWEI), {}, undefined],
    ["any price below a limit", offer(GWEI), fee, busy],
    ["any base fee if the tip has a limit", offer(GWEI), tip, busy],
  ] as const) {
    it(`accepts ${title}`, async () => {
      await require(price, limits, recent);
    });
  }

  for (const [title, price, limits, recent] of [
    ["more than 20 times the median", offer(41n), {}, busy],
    ["a tip above 1 gwei on a quiet chain", offer(GWEI, GWEI + 1n), {}, quiet],
    ["a gas price above 1 gwei there", legacy(GWEI + 1n), {}, quiet],
    ["a tip of 1 gwei on a busy chain", offer(GWEI, GWEI), {}, busy],
    ["a gas price with a limit of the tip alone", legacy(GWEI), tip, busy],
  ] as const) {
    it(`refuses ${title}, with both figures: VAULT_FEE_UNUSUAL`, async () => {
      const { message } = await expectVaultError(
        require(price, limits, recent),
        "VAULT_FEE_UNUSUAL",
      );
      expect(message)
        .to.include(`${price.current} wei`)
        .and.include("median: 2 wei")
        .and.include("maxFeePerGasLimit");
    });
  }

  it("reads the recent prices itself if they are not given", async () => {
    const chain = new ScriptedNode();
    await require(offer(GWEI), {}, undefined, chain);
    expect(chain.count("eth_feeHistory")).to.equal(1);
  });

  it("accepts any price on a development node, and in process", async () => {
    const chain = new ScriptedNode();
    await require(offer(GWEI), {}, busy, chain, "edr-simulated");
    chain.makeDevelopmentNode();
    await require(offer(GWEI), {}, busy, chain);
  });
});
