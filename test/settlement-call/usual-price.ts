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
/** A block that has used no gas, whatever it pays. */
const EMPTY = [65_535, 0, 0] as const;

describe("recentPrices()", () => {
  let chain: ScriptedNode;
  beforeEach(() => {
    chain = new ScriptedNode();
  });
  const pricesOf = async () =>
    await recentPrices(new RpcClient(chain, "scripted"), NEWEST);

  /** Base fee and median tip of each block, and the part of its gas that is used. */
  type Block = readonly [baseFee: number, tip: number, used?: number];
  const histories: ReadonlyArray<
    readonly [
      title: string,
      blocks: readonly Block[],
      median?: bigint,
      isQuiet?: true,
    ]
  > = [
    [
      "takes the middle of what was paid",
      [[0, 1], [0, 2], [0, 153], EMPTY],
      2n,
    ],
    [
      "adds the base fee of each block to its own tip",
      [
        [1, 1],
        [20, 2],
        [30, 3],
      ],
      22n,
    ],
    [
      "leaves out blocks without a tip, and takes a chain for quiet if half are so",
      [
        [1, 0],
        [1, 2],
      ],
      3n,
      true,
    ],
    [
      "takes it for busy if more have one",
      [
        [1, 0],
        [1, 2],
        [1, 2],
      ],
      3n,
    ],
    [
      "takes the base fees if no block has a tip",
      [
        [5, 0],
        [6, 0],
        [7, 0],
      ],
      6n,
      true,
    ],
    ["finds nothing if no block has a transaction", [EMPTY]],
  ];
  for (const [title, blocks, median, isQuiet = false] of histories) {
    it(title, async () => {
      chain.on("eth_feeHistory", ([count, newest, percentiles]) => {
        expect([count, newest]).to.deep.equal(["0x14", toQuantity(NEWEST)]);
        expect(percentiles).to.deep.equal([50]);
        return {
          // One more than blocks: that of the next block.
          baseFeePerGas: [...blocks.map(([fee]) => fee), 9_999].map((fee) =>
            toQuantity(fee),
          ),
          gasUsedRatio: blocks.map(([, , used = 0.5]) => used),
          reward: blocks.map(([, tip]) => [toQuantity(tip)]),
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
    await requireUsualPrice(
      chain.host({ networkConfig: { type }, projectRoot: "" }),
      price,
      {
        limits,
        newest: { number: NEWEST, baseFeePerGas: 1n },
        recent: recent === undefined ? undefined : Promise.resolve(recent),
      },
    );
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
