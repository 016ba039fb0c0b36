import { expect } from "chai";
import { Transaction } from "ethers";

import { signReplacement } from "../../src/settlement/replace.js";
import type { SignedReplacement } from "../../src/settlement/replace.js";
import type { SentTransaction } from "../../src/settlement/transaction.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { remote, sent, useStage } from "../helpers/settlement-stage.js";

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
    const made = await signReplacement(stage.host(), {}, old, kind);
    if (made.kind !== "signed") {
      throw new Error(made.problem);
    }
    const signed = made.transaction;
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

  it("reserves no more for later base fees than the limit, and names a limit below what it needs", async () => {
    const sign = async (
      limit: bigint,
      old = 10n,
    ): Promise<SignedReplacement> => {
      const fees = { maxFeePerGas: old, maxPriorityFeePerGas: 1n };
      const maxFeePerGas = { wei: limit, setting: "the limit" };
      return await signReplacement(
        stage.host(),
        { maxFeePerGas },
        { ...newest, fees },
        "bump",
      );
    };
    // An eighth more than 10 is 12, and the reserve would make it 15.
    expect(await sign(12n))
      .to.have.property("transaction")
      .that.deep.includes({
        fees: { maxFeePerGas: 12n, maxPriorityFeePerGas: 2n },
      });
    expect(await sign(12n, 11n)).to.deep.equal({
      kind: "forbidden",
      problem:
        "it would need a maxFeePerGas of 13 wei, and the limit allows 12 wei",
    });
  });

  const suggestHighTip = (): void => {
    stage.chain.on("eth_maxPriorityFeePerGas", () => "0xffff");
    stage.chain.on("eth_feeHistory", () => ({
      baseFeePerGas: ["0x1", "0x7"],
      gasUsedRatio: [0.5],
      reward: [["0x1"]],
    }));
  };
  for (const kind of ["bump", "cancel"] as const) {
    it(`is forbidden at a price far above recent ones, if nobody is asked and no limit bounds it: ${kind}`, async () => {
      suggestHighTip();
      const made = await signReplacement(stage.host(), {}, newest, kind);
      expect(made).to.include({ kind: "forbidden" });
      expect(made).to.have.property("problem").that.includes("20 times");
      const maxFeePerGas = { wei: 10n ** 9n, setting: "the limit" };
      expect(
        await signReplacement(stage.host(), { maxFeePerGas }, newest, kind),
      ).to.include({ kind: "signed" });
    });
  }

  it("is shown with the old and the new cost to a person, whose answer counts", async () => {
    suggestHighTip();
    const shown: unknown[] = [];
    const ask = async (answer: true | string): Promise<SignedReplacement> =>
      await signReplacement(stage.host(), {}, newest, "bump", async (one) => {
        shown.push(one);
        return await Promise.resolve(answer);
      });
    expect(await ask(true)).to.include({ kind: "signed" });
    expect(await ask("too much")).to.deep.equal({
      kind: "declined",
      problem: "too much",
    });
    expect(shown[0]).to.deep.equal({
      ...{ chainId: 31_337, from: SETTLER, nonce: 7, hash: newest.hash },
      earlierMaxCost: newest.gas * 100n,
      cost: newest.gas * (7n + 0xffffn),
      maxCost: newest.gas * (14n + 0xffffn),
    });
  });

  it("is prepared now, so that the next one waits as long", async () => {
    const before = Date.now();
    const { preparedAt } = await replace("bump");
    expect(preparedAt).to.be.within(before, Date.now());
  });

  it("is none, with VAULT_CANNOT_REPLACE, of what has no signed bytes, and where the node no longer signs", async () => {
    const unsigned = { ...newest, raw: undefined };
    await expectVaultError(replace("bump", unsigned), "VAULT_CANNOT_REPLACE");
    await expectVaultError(
      signReplacement(stage.host(remote), {}, newest, "bump"),
      "VAULT_CANNOT_REPLACE",
    );
    expect(stage.sends).to.equal(0);
  });
});
