import { expect } from "chai";

import { TRANSACTION_GAS_CAP } from "../../src/rpc/gas.js";
import { Chain } from "../../src/rpc/node.js";
import { RevertedCall } from "../../src/rpc/request.js";
import {
  currentPricePerGas,
  maxPricePerGas,
  resolveFees,
  resolveGas,
} from "../../src/rehearsal/fees.js";
import { expectVaultError } from "../helpers/assertions.js";

const call = {
  from: `0x${"a1".repeat(20)}`,
  to: `0x${"a2".repeat(20)}`,
  data: "0xa015aefe",
};

describe("the fees of a settlement", () => {
  let asked: Array<readonly [string, readonly unknown[]]>;

  beforeEach(() => {
    asked = [];
  });

  /** A node that answers by method; what is an error, it throws. */
  const chainOf = (answers: Readonly<Record<string, unknown>>): Chain =>
    new Chain(
      {
        request: async ({ method, params = [] }) => {
          asked.push([method, [...params]]);
          const answer = answers[method];
          if (answer instanceof Error) {
            throw answer;
          }
          return await Promise.resolve(answer);
        },
      },
      "test",
    );
  const noMethod = Object.assign(new Error("the method is not available"), {
    code: -32601,
  });
  const lost = Object.assign(new Error("socket hang up"), {
    code: "ECONNRESET",
  });
  const market = { gasPrice: "auto" } as const;
  const london = { baseFeePerGas: 5n };

  it("should be those that are configured, without a question", async () => {
    expect(
      await resolveFees(chainOf({}), { gasPrice: 0n }, london),
    ).to.deep.equal({ gasPrice: 0n });
    expect(asked).to.deep.equal([]);
  });

  it("should be a gas price where blocks have no base fee", async () => {
    const chain = chainOf({ eth_gasPrice: "0x7" });
    expect(
      await resolveFees(chain, market, { baseFeePerGas: undefined }),
    ).to.deep.equal({ gasPrice: 7n });
    expect(asked.map(([method]) => method)).to.deep.equal(["eth_gasPrice"]);
  });

  it("should be those of ethers' getFeeData: twice the base fee, and the tip that the node suggests", async () => {
    const chain = chainOf({ eth_maxPriorityFeePerGas: "0x3" });
    expect(await resolveFees(chain, market, london)).to.deep.equal({
      maxFeePerGas: 13n,
      maxPriorityFeePerGas: 3n,
    });
    expect(asked).to.deep.equal([["eth_maxPriorityFeePerGas", []]]);
  });

  it("should tip 1 gwei, as getFeeData does, where the node has no such method", async () => {
    const chain = chainOf({ eth_maxPriorityFeePerGas: noMethod });
    expect(await resolveFees(chain, market, london)).to.deep.equal({
      maxFeePerGas: 1_000_000_010n,
      maxPriorityFeePerGas: 1_000_000_000n,
    });
  });

  it("should not be guessed where the node cannot be reached", async () => {
    await expectVaultError(
      resolveFees(chainOf({ eth_maxPriorityFeePerGas: lost }), market, london),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });

  it("should cost the base fee and the tip, at most what is offered", () => {
    const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 2n };
    expect(maxPricePerGas(fees)).to.equal(10n);
    expect(maxPricePerGas({ gasPrice: 7n })).to.equal(7n);
    expect(currentPricePerGas(fees, { baseFeePerGas: 5n })).to.equal(7n);
    expect(currentPricePerGas(fees, { baseFeePerGas: 9n })).to.equal(10n);
    expect(currentPricePerGas(fees, { baseFeePerGas: undefined })).to.equal(
      10n,
    );
    expect(
      currentPricePerGas({ gasPrice: 7n }, { baseFeePerGas: 5n }),
    ).to.equal(7n);
  });

  describe("its gas", () => {
    const block = { gasLimit: 1_000_000n };
    const auto = { gas: "auto", gasMultiplier: 1 } as const;
    const estimating = (gas: number): Chain =>
      chainOf({ eth_estimateGas: `0x${gas.toString(16)}` });
    const rehearsed = async (
      used: bigint,
      needed = used,
      gasLimit = 60_000_000n,
    ): Promise<unknown> =>
      await resolveGas(chainOf({}), auto, call, { gasLimit }, { used, needed });

    it("should be what is configured, without a question", async () => {
      expect(
        await resolveGas(chainOf({}), { ...auto, gas: 5n }, call, block),
      ).to.equal(5n);
      expect(asked).to.deep.equal([]);
    });

    it("should be the estimate by the configured factor, below the block's", async () => {
      for (const [estimate, factor, gas] of [
        [100_001, 1.5, 150_001n],
        [475_000, 2, 950_000n],
        [475_001, 2, 949_999n],
      ] as const) {
        expect(
          await resolveGas(
            estimating(estimate),
            { ...auto, gasMultiplier: factor },
            call,
            block,
          ),
        ).to.equal(gas);
      }
      expect(asked[0]).to.deep.equal(["eth_estimateGas", [call]]);
    });

    it("should be a quarter more than the estimate", async () => {
      expect(await resolveGas(estimating(100_000), auto, call, block)).to.equal(
        125_000n,
      );
    });

    it("should be a quarter more than a rehearsal needed, which is not asked again", async () => {
      expect(await rehearsed(80_000n, 100_000n)).to.equal(125_000n);
      expect(asked).to.deep.equal([]);
    });

    it("should keep below the block's limit, unless more is needed", async () => {
      expect(await rehearsed(760_000n, 760_000n, 1_000_000n)).to.equal(
        950_000n,
      );
      expect(await rehearsed(760_001n, 760_001n, 1_000_000n)).to.equal(
        950_000n,
      );
      expect(await rehearsed(960_000n, 960_000n, 1_000_000n)).to.equal(
        960_000n,
      );
      expect(await rehearsed(960_000n, 1_100_000n, 1_000_000n)).to.equal(
        1_000_000n,
      );
    });

    it("should keep what fits in a transaction's cap within it", async () => {
      const cap = TRANSACTION_GAS_CAP;
      expect(await rehearsed(cap - 1n)).to.equal(cap);
      expect(await rehearsed(cap)).to.equal(cap);
      expect(await rehearsed(cap + 1n)).to.equal(((cap + 1n) * 5n) / 4n);
    });

    it("should be the revert that an estimate runs into", async () => {
      const reverts = Object.assign(new Error("execution reverted"), {
        code: 3,
        data: "0x",
      });
      for (const gasMultiplier of [1, 2]) {
        expect(
          await resolveGas(
            chainOf({ eth_estimateGas: reverts }),
            { ...auto, gasMultiplier },
            call,
            block,
          ),
        ).to.be.instanceOf(RevertedCall);
      }
    });
  });
});
