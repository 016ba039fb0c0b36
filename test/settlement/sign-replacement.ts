import { expect } from "chai";
import { Transaction } from "ethers";

import { signReplacement } from "../../src/settlement/replace.js";
import type { SentTransaction } from "../../src/settlement/transaction.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { sent, useStage } from "../helpers/settlement-stage.js";

const newest: SentTransaction = {
  ...sent,
  fees: { maxFeePerGas: 100n, maxPriorityFeePerGas: 2n },
};

// The scripted node asks for a base fee of 7, a tip of 1, and a gas price of 1 gwei.
describe("the transaction that replaces a settlement", () => {
  const stage = useStage();

  const replace = async (
    kind: "bump" | "cancel",
    old = newest,
  ): Promise<SentTransaction> => {
    const signed = await signReplacement(stage.host(), {}, old, kind);
    if (typeof signed === "string") {
      throw new Error(signed);
    }
    const { gasLimit, nonce } = Transaction.from(signed.raw);
    expect([gasLimit, nonce], "as signed").to.deep.equal([signed.gas, 7]);
    return signed;
  };

  it("is the same call with the same gas at a higher fee", async () => {
    const { to, data, gas } = newest;
    expect(await replace("bump")).to.deep.include({
      ...{ kind: "settlement", to, data, gas },
      fees: { maxFeePerGas: 113n, maxPriorityFeePerGas: 3n },
    });
  });

  it("has the node's gas price, if that is more, in place of a gas price", async () => {
    const old = { ...newest, fees: { gasPrice: 100n } };
    expect(await replace("bump", old)).to.deep.include({
      fees: { gasPrice: 1_000_000_000n },
    });
  });

  it("is a cancellation still if it raises the fee of one", async () => {
    const old: SentTransaction = {
      ...newest,
      kind: "cancellation",
      to: SETTLER,
      data: "0x",
    };
    expect(await replace("bump", old)).to.include({
      ...{ kind: "cancellation", to: SETTLER, data: "0x" },
    });
  });

  for (const [title, estimate, gas] of [
    ["21,000 if the node estimates less", () => "0x1", 21_000n],
    ["what a rollup estimates above that", () => "0xffff", 65_535n],
    [
      "21,000 if the node refuses to estimate",
      () => {
        throw Object.assign(new Error("nope"), { code: -32_000 });
      },
      21_000n,
    ],
  ] as const) {
    it(`has as a cancellation a gas limit of ${title}`, async () => {
      stage.chain.on("eth_estimateGas", estimate);
      expect(await replace("cancel")).to.include({
        ...{ kind: "cancellation", to: SETTLER, data: "0x", gas },
      });
    });
  }
});
