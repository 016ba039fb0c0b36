import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { itSettles, remote, useKeeper } from "../helpers/keeper.js";
import type { Keeper } from "../helpers/keeper.js";

// The scripted node has none of the methods of development nodes, so it is a live one.
describe("settleAll, before it sends: fees", () => {
  const keeper = useKeeper();
  const isDevelopmentNode = (on: Keeper): void => {
    on.makeDevelopmentNode();
  };
  const yes = { confirm: async () => await Promise.resolve(true as const) };

  /** The base fee of the scripted node is 7, and its tip 1. */
  const limited = (limits: object) => ({ vault: limits });
  const suggesting = (tip: string) => (): void => {
    keeper.chain.on("eth_maxPriorityFeePerGas", () => tip);
  };
  const paid = (...prices: readonly string[]): void => {
    paidAbove("0x0", ...prices);
  };
  /** Of a base fee and tips; without a tip, the chain's own transaction is alone. */
  const paidAbove = (baseFee: string, ...prices: readonly string[]): void => {
    keeper.chain.on("eth_feeHistory", () => ({
      // One more than blocks: that of the next block.
      baseFeePerGas: [...prices.map(() => baseFee), "0xffffff"],
      gasUsedRatio: prices.map((price) =>
        price === "0x0" && baseFee === "0x0" ? 0 : 0.5,
      ),
      reward: prices.map((price) => [price]),
    }));
  };

  itSettles(keeper, [
    {
      title:
        "settleAll refuses a price above maxFeePerGasLimit, with both figures and the setting: VAULT_FEE_ABOVE_LIMIT",
      network: limited({ maxFeePerGasLimit: 7n }),
      is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
      says: ["8 wei", "7 wei", "networks.scripted.vault.maxFeePerGasLimit"],
    },
    {
      title:
        "settleAll refuses a tip above maxPriorityFeePerGasLimit, also if a person would agree",
      given: suggesting("0x3"),
      network: limited({ maxPriorityFeePerGasLimit: 2n }),
      options: yes,
      is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
      says: ["a priority fee of 3 wei"],
      events: "",
    },
    {
      title: "settleAll refuses a price above its option maxFeePerGas",
      network: limited({ maxFeePerGasLimit: 100n }),
      options: { maxFeePerGas: 7n },
      is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
      says: ["(maxFeePerGas)"],
    },
    {
      title:
        "settleAll does not take a maxFeePerGas above the configured limit: VAULT_INVALID_ARGUMENT",
      network: limited({ maxFeePerGasLimit: 100n }),
      options: { maxFeePerGas: 101n },
      throws: "VAULT_INVALID_ARGUMENT",
      says: ["may only lower the configured limit of 100 wei"],
    },
    {
      title:
        "settleAll refuses a gas price above the limit on a chain without a base fee",
      given: ({ chain }) => {
        chain.on("eth_getBlockByNumber", async (_, answer) => {
          const { baseFeePerGas: _fee, ...block } = fieldsOf(await answer());
          return block;
        });
      },
      network: limited({ maxFeePerGasLimit: 999_999_999n }),
      is: { status: "refused", code: "VAULT_FEE_ABOVE_LIMIT" },
      says: ["1000000000 wei"],
    },
    {
      title:
        "settleAll settles below the limit, and offers no more than it, in place of twice the base fee",
      network: { ...limited({ maxFeePerGasLimit: 9n }), ...remote },
      is: { status: "settled" },
      sends: 1,
      then: async (on) => {
        const { transactions } = await on.journal(".finished");
        expect(transactions).to.have.deep.nested.property("[0].fees", {
          maxFeePerGas: "9",
          maxPriorityFeePerGas: "1",
        });
      },
    },
    {
      title:
        "settleAll without a question refuses a price of more than 20 times the recent median, with both figures: VAULT_FEE_UNUSUAL",
      given: () => {
        paid("0x1", "0x2", "0x99", "0x0");
        suggesting("0x22")();
      },
      is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
      says: ["41 wei", "median: 2 wei", "maxFeePerGasLimit"],
      events: "preflight",
    },
    {
      title: "settleAll settles at exactly 20 times the recent median",
      given: () => {
        paid("0x2");
        suggesting("0x21")();
      },
      is: { status: "settled" },
      sends: 1,
      then: ({ chain }) => {
        const asked = chain.asked.filter(
          ({ method }) => method === "eth_feeHistory",
        );
        // Of the last 20 blocks, the median of each.
        expect(asked.map(({ params }) => params)).to.deep.equal([
          ["0x14", "0x5", [50]],
        ]);
      },
    },
    {
      title:
        "settleAll finds the median in the transactions of the blocks if the node has no fee history",
      given: ({ chain }) => {
        chain.on("eth_feeHistory", () => {
          throw Object.assign(new Error("no such method"), { code: -32601 });
        });
        chain.on("eth_getBlockByNumber", async ([, whole], answer) => {
          const block = fieldsOf(await answer());
          const one = { input: "0x", nonce: "0x0", from: "0x1" };
          const hash = block["hash"] ?? `0x${"ab".repeat(32)}`;
          const prices = ["0x0", "0x1", "0x1"];
          return whole === true
            ? {
                ...block,
                transactions: prices.map((gasPrice) => ({
                  ...{ ...one, hash, gasPrice },
                })),
              }
            : block;
        });
        suggesting("0xe")();
      },
      is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
      says: ["21 wei", "median: 1 wei"],
    },
    {
      title:
        "settleAll pays a priority fee of 1 gwei on a rollup whose blocks mostly have none",
      given: () => {
        paidAbove("0x1", "0x0", "0x0", "0x2");
        suggesting("0x3b9aca00")();
      },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title:
        "settleAll compares with no block that has no transactions: VAULT_FEE_UNUSUAL",
      given: ({ chain }) => {
        chain.on("eth_feeHistory", () => ({
          baseFeePerGas: ["0xffff", "0xffff", "0x1", "0xffff"],
          gasUsedRatio: [0, 0, 0.5],
          reward: [["0x0"], ["0x0"], ["0x1"]],
        }));
        suggesting("0x22")();
      },
      is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
      says: ["median: 2 wei"],
    },
    {
      title: "settleAll pays it also if half of the blocks have one",
      given: () => {
        paidAbove("0x1", "0x0", "0x2");
        suggesting("0x3b9aca00")();
      },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title:
        "settleAll refuses a priority fee above 1 gwei on such a rollup: VAULT_FEE_UNUSUAL",
      given: () => {
        paidAbove("0x1", "0x0", "0x0", "0x2");
        suggesting("0x3b9aca01")();
      },
      is: { status: "refused", code: "VAULT_FEE_UNUSUAL" },
      says: ["median: 3 wei"],
    },
    {
      title: "settleAll pays an unusual price if no transaction is recent",
      given: () => {
        paid("0x0");
        suggesting("0xffff")();
      },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title: "settleAll pays an unusual price below a configured limit",
      given: () => {
        paid("0x1");
        suggesting("0xff")();
      },
      network: limited({ maxFeePerGasLimit: 1_000n }),
      is: { status: "settled" },
      sends: 1,
    },
    {
      title:
        "settleAll says that a chain of the OP stack adds a fee for the data",
      given: ({ chain }) => {
        chain.on("eth_getCode", async ([address], answer) =>
          String(address).startsWith("0x4200") ? "0x60" : await answer(),
        );
        chain.on("eth_getTransactionReceipt", async (_, answer) => {
          const receipt = await answer();
          return receipt === null
            ? null
            : {
                ...fieldsOf(receipt),
                ...{ effectiveGasPrice: "0x2", l1Fee: "0x5" },
              };
        });
      },
      options: yes,
      is: { status: "settled", cost: 120_005n },
      sends: 1,
      then: ({ events: [first] }) => {
        expect(first)
          .to.have.nested.property("preflight.warnings")
          .that.satisfies(([text]: readonly string[]) =>
            text?.includes("fee for the transaction's data"),
          );
      },
    },
    {
      title: "settleAll pays an unusual price on a development node",
      given: (on) => {
        isDevelopmentNode(on);
        paid("0x1");
        suggesting("0xff")();
      },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title: "settleAll pays an unusual price if a person agrees",
      given: () => {
        paid("0x1");
        suggesting("0xff")();
      },
      options: yes,
      is: { status: "settled" },
      sends: 1,
    },
  ]);
});
