import { expect } from "chai";
import { toQuantity } from "ethers";

import { TRANSACTION_GAS_CAP } from "../../src/rpc/chain.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { resolveFees, resolveGas } from "../../src/settlement-call/fees.js";
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

  const CAP = TRANSACTION_GAS_CAP;
  const auto = { gas: "auto", gasMultiplier: 1 } as const;
  const estimates = [
    ["the configured gas", { gas: 5n }, 100_000, 5n],
    ["the estimate and a quarter", {}, 100_000, 125_000n],
    ["the estimate × 1.5", { gasMultiplier: 1.5 }, 100_001, 150_001n],
    ["95 % of a block", { gasMultiplier: 2 }, 475_000, 950_000n],
    ["less than 95 % of a block", { gasMultiplier: 2 }, 475_001, 949_999n],
  ] as const;
  for (const [title, settings, estimate, gas] of estimates) {
    it(`resolveGas() returns ${gas} for an estimate of ${estimate}: ${title}`, async () => {
      const rpc = chainOf({ eth_estimateGas: toQuantity(estimate) });
      const block = { gasLimit: 1_000_000n };
      expect(
        await resolveGas(rpc, { ...auto, ...settings }, call, block),
      ).to.deep.equal({ gas });
      expect(asked).to.deep.equal(
        "gas" in settings ? [] : [["eth_estimateGas", [call]]],
      );
    });
  }

  for (const [title, used, needed, gasLimit, gas] of [
    ["the gas needed and a quarter", 80_000n, 100_000n, 10n ** 8n, 125_000n],
    ["95 % of a block", 760_000n, 760_000n, 1_000_000n, 950_000n],
    ["not more than that", 760_001n, 760_001n, 1_000_000n, 950_000n],
    ["more if it is needed", 960_000n, 960_000n, 1_000_000n, 960_000n],
    ["a block at most", 960_000n, 1_100_000n, 1_000_000n, 1_000_000n],
    ["a transaction's cap", CAP - 1n, CAP - 1n, 10n ** 8n, CAP],
    ["a transaction's cap", CAP, CAP, 10n ** 8n, CAP],
    ["a transaction's cap", CAP, CAP + 1n, 10n ** 8n, CAP],
    ["more", CAP + 1n, CAP + 1n, 10n ** 8n, ((CAP + 1n) * 5n) / 4n],
  ] as const) {
    it(`resolveGas() returns ${gas} without a request if a simulation used ${used}, needs ${needed}: ${title}`, async () => {
      const rpc = chainOf({});
      expect(
        await resolveGas(rpc, auto, call, { gasLimit }, { used, needed }),
      ).to.deep.equal({ gas });
      expect(asked).to.deep.equal([]);
    });
  }

  it("resolveGas() returns the revert of an estimate", async () => {
    const reverts = Object.assign(new Error("execution reverted"), {
      ...{ code: 3, data: "0x" },
    });
    for (const gasMultiplier of [1, 2]) {
      const rpc = chainOf({ eth_estimateGas: reverts });
      const settings = { ...auto, gasMultiplier };
      expect(
        await resolveGas(rpc, settings, call, { gasLimit: 1n }),
      ).to.have.property("reverted");
    }
  });
});
