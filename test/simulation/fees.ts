import { expect } from "chai";

import { TRANSACTION_GAS_CAP } from "../../src/rpc/gas.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { resolveFees, resolveGas } from "../../src/simulation/fees.js";
import { expectVaultError } from "../helpers/assertions.js";

const TIP = "eth_maxPriorityFeePerGas";

const call = {
  from: `0x${"a1".repeat(20)}`,
  to: `0x${"a2".repeat(20)}`,
  data: "0xa015aefe",
};

describe("fees and gas of a settlement", () => {
  let asked: Array<readonly [string, readonly unknown[]]>;

  beforeEach(() => {
    asked = [];
  });

  /** A node that answers by method; what is an error, it throws. */
  const chainOf = (answers: Readonly<Record<string, unknown>>): RpcClient =>
    new RpcClient(
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

  for (const [fees, [current, highest], settings, block, answers, methods] of [
    [{ gasPrice: 0n }, [0n, 0n], { gasPrice: 0n }, london, {}, []],
    [
      { gasPrice: 7n },
      [7n, 7n],
      market,
      {},
      { eth_gasPrice: "0x7" },
      ["eth_gasPrice"],
    ],
    [
      { maxFeePerGas: 13n, maxPriorityFeePerGas: 3n },
      [8n, 13n],
      market,
      london,
      { [TIP]: "0x3" },
      [TIP],
    ],
    // As getFeeData of ethers has it if the node has no such method.
    [
      { maxFeePerGas: 1_000_000_010n, maxPriorityFeePerGas: 1_000_000_000n },
      [1_000_000_005n, 1_000_000_010n],
      market,
      london,
      { [TIP]: noMethod },
      [TIP],
    ],
  ] as const) {
    it(`resolveFees() returns ${JSON.stringify(fees, (_, fee: unknown) => (typeof fee === "bigint" ? String(fee) : fee))}, as configured or as getFeeData of ethers has them`, async () => {
      const rpc = chainOf(answers);
      const price = await resolveFees(rpc, settings, {
        baseFeePerGas: undefined,
        ...block,
      });
      expect(price).to.deep.equal({ fees, current, highest });
      expect(asked.map(([method]) => method)).to.deep.equal(methods);
    });
  }

  it("resolveFees() fails if the node cannot be reached: VAULT_NETWORK_UNREACHABLE", async () => {
    await expectVaultError(
      resolveFees(chainOf({ [TIP]: lost }), market, london),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });

  describe("gas limit of a settlement", () => {
    const block = { gasLimit: 1_000_000n };
    const auto = { gas: "auto", gasMultiplier: 1 } as const;
    const estimating = (gas: number): RpcClient =>
      chainOf({ eth_estimateGas: `0x${gas.toString(16)}` });
    const simulated = async (
      used: bigint,
      needed = used,
      gasLimit = 60_000_000n,
    ): Promise<unknown> =>
      await resolveGas(chainOf({}), auto, call, { gasLimit }, { used, needed });

    it("resolveGas() returns the configured gas without a request", async () => {
      expect(
        await resolveGas(chainOf({}), { ...auto, gas: 5n }, call, block),
      ).to.equal(5n);
      expect(asked).to.deep.equal([]);
    });

    it("resolveGas() returns the estimate times the configured factor, below the block's limit", async () => {
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

    it("resolveGas() adds a quarter to the estimate, or to the gas that a simulation needed", async () => {
      expect(await simulated(80_000n, 100_000n)).to.equal(125_000n);
      expect(asked).to.deep.equal([]);
      expect(await resolveGas(estimating(100_000), auto, call, block)).to.equal(
        125_000n,
      );
    });

    it("resolveGas() stays below the block's limit, unless more is needed", async () => {
      for (const [used, needed, gas] of [
        [760_000n, 760_000n, 950_000n],
        [760_001n, 760_001n, 950_000n],
        [960_000n, 960_000n, 960_000n],
        [960_000n, 1_100_000n, 1_000_000n],
      ] as const) {
        expect(await simulated(used, needed, 1_000_000n)).to.equal(gas);
      }
    });

    it("resolveGas() stays within a transaction's gas cap if the gas used fits", async () => {
      const cap = TRANSACTION_GAS_CAP;
      expect(await simulated(cap - 1n)).to.equal(cap);
      expect(await simulated(cap)).to.equal(cap);
      expect(await simulated(cap + 1n)).to.equal(((cap + 1n) * 5n) / 4n);
    });

    it("resolveGas() returns the revert of an estimate", async () => {
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
        ).to.have.property("reverted");
      }
    });
  });
});
