import { expect } from "chai";
import { AbiCoder, Interface, toBeHex } from "ethers";

import { renderText } from "../../tasks/output/render-text.js";
import { preflightBlocks } from "../../tasks/output/settlement.js";
import { describeTransfers } from "../../tasks/output/simulation.js";
import { createStyle } from "../../tasks/output/style.js";
import { NOT_YET } from "../helpers/settlement-cases.js";
import {
  connectionLost,
  itSettles,
  useStage,
} from "../helpers/settlement-stage.js";
import type {
  SettlementStage,
  StageCase,
} from "../helpers/settlement-stage.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { SETTLE, settledRound } from "../helpers/scripted-node.js";

/** The selectors of `symbol()` and `decimals()`. */
const SYMBOL = "0x95d89b41";
const DECIMALS = "0x313ce567";

const TOO_LOW = {
  status: "refused",
  code: "VAULT_GAS_LIMIT_TOO_LOW",
  hash: null,
} as const;

const neverAsk = {
  confirm: async () => await Promise.reject(new Error("asked")),
};

/** The settlement of a simulation, which alone has logs, runs out of gas. */
function runOutOfGas({ chain }: SettlementStage): void {
  const failed = { status: "0x0", returnData: "0x", gasUsed: "0x1c9c380" };
  const error = { code: -32_015, message: "out of gas" };
  chain.on("eth_simulateV1", async (_, answer) =>
    listOf(await answer()).map((block) => ({
      ...fieldsOf(block),
      calls: listOf(fieldsOf(block)["calls"]).map((call) =>
        listOf(fieldsOf(call)["logs"]).length > 0
          ? { ...failed, logs: [], error }
          : call,
      ),
    })),
  );
}

/** Parameters of each call of settleAll. */
const callsOf = ({ chain }: SettlementStage): readonly unknown[] =>
  chain.asked
    .filter(({ method }) => method === "eth_call")
    .map(({ params: [call] }) => fieldsOf(call))
    .filter(({ data }) => data === SETTLE);

describe("settleAll: preview and gas", () => {
  const stage = useStage();

  const gasCases = [
    ["gas", 20_999n, "too low for any transaction to simulate", false],
    ["gas", 59_999n, "less than the simulation used", false],
    ["gas", 60_000n, "as much as the simulation used", true],
    ["gasMultiplier", 0.5, "half of the estimate", false],
    ["gasMultiplier", 1.5, "more than the estimate", true],
  ] as const;

  itSettles(stage, [
    ...gasCases.map(([name, value, what, isEnough]): StageCase => {
      const given = `${name} ${value} is ${what}`;
      return {
        title: isEnough
          ? `settleAll settles if ${given}`
          : `settleAll refuses with VAULT_GAS_LIMIT_TOO_LOW, and does not ask, if ${given}`,
        network: { [name]: value },
        options: isEnough ? {} : neverAsk,
        is: isEnough ? { status: "settled" } : TOO_LOW,
        says: isEnough
          ? []
          : ["Raise `gas` or `gasMultiplier` in networks.scripted"],
        sends: isEnough ? 1 : 0,
        then: ({ chain }) => {
          const simulations = value === 20_999n ? 0 : 1;
          expect(chain.count("eth_simulateV1")).to.equal(simulations);
        },
      };
    }),
    {
      title:
        "settleAll has nothing to do, and shows nothing, if the simulation finds the round settled",
      given: ({ chain }) => {
        chain.on("eth_maxPriorityFeePerGas", async (_, answer) => {
          // A re-org: the block that was read has another state now.
          chain.rounds = chain.rounds.map(settledRound);
          return await answer();
        });
      },
      is: {
        status: "nothing-to-do",
        reason: "The round was settled by somebody else meanwhile.",
        preview: null,
      },
      events: "",
    },
    {
      title:
        "settleAll is reverted with VAULT_OUT_OF_GAS if the simulation uses all gas of a block",
      given: runOutOfGas,
      options: neverAsk,
      is: { status: "reverted", code: "VAULT_OUT_OF_GAS", hash: null },
      events: "preflight",
    },
    {
      title:
        "settleAll refuses with VAULT_GAS_LIMIT_TOO_LOW if the simulation uses all of the configured gas",
      given: runOutOfGas,
      network: { gas: 30_000n },
      options: neverAsk,
      is: TOO_LOW,
    },
    {
      title:
        "settleAll calls with the configured gas if the node cannot simulate",
      given: ({ chain }) => {
        chain.overrides = false;
      },
      network: { gas: 500_000n },
      is: { status: "settled", preview: null },
      sends: 1,
      then: (after) => {
        const limits = callsOf(after).map((call) => fieldsOf(call)["gas"]);
        expect([...new Set(limits)]).to.deep.equal(["0x7a120"]);
        expect(after.chain.count("web3_clientVersion")).to.equal(1);
        const [preflight] = after.events;
        expect(
          preflight?.type === "preflight" && preflight.preflight.tokens.size,
        ).to.equal(0);
      },
    },
    {
      title: "settleAll estimates no gas of a call that reverts",
      given: ({ chain }) => {
        chain.overrides = false;
        chain.revertsWith = NOT_YET;
      },
      is: { status: "reverted", code: "VAULT_CALL_REVERTED" },
      says: ["not yet"],
      then: ({ chain }) => {
        expect(chain.count("eth_estimateGas")).to.equal(0);
      },
    },
    {
      title: "settleAll is reverted if only the estimate reverts",
      given: ({ chain }) => {
        chain.overrides = false;
        chain.on("eth_estimateGas", () => {
          throw Object.assign(new Error("execution reverted"), {
            code: 3,
            data: NOT_YET,
          });
        });
      },
      is: { status: "reverted", code: "VAULT_CALL_REVERTED" },
      says: ["not yet"],
    },
    {
      title:
        "settleAll reads symbol and decimals of a moved token, and settle prints them escaped",
      given: ({ chain }) => {
        chain.on("eth_call", async ([call], answer) => {
          const { data } = fieldsOf(call);
          return data === SYMBOL
            ? AbiCoder.defaultAbiCoder().encode(["string"], ["T\u001b[2J"])
            : data === DECIMALS
              ? toBeHex(0, 32)
              : await answer();
        });
      },
      is: { status: "settled" },
      sends: 1,
      then: ({ events: [preflight] }) => {
        if (preflight?.type !== "preflight") {
          throw new Error("nothing was shown");
        }
        const { preflight: shown } = preflight;
        const { preview, tokens } = shown;
        expect(preview === null || describeTransfers(preview, tokens))
          .to.have.nested.property("transfers[0]")
          .that.includes({ symbol: "T\u001b[2J", decimals: 0 });
        const text = renderText(
          preflightBlocks(
            shown,
            { network: "live", chainId: 31_337 },
            { tokenDecimals: undefined, chainTime: 0, raw: false },
          ),
          createStyle({}),
        );
        expect(text).to.include("5 T\\u{1b}[2J").and.include("vault contract");
      },
    },
    {
      title: "settleAll returns the contract's own text, whatever it contains",
      given: ({ chain }) => {
        const error = new Interface(["error Error(string)"]);
        chain.revertsWith = error.encodeErrorResult("Error", ["\u001b[2J"]);
      },
      is: { status: "reverted", reason: "\u001b[2J" },
    },
  ]);

  describe("if the answers of a simulation are lost", () => {
    speedUpTime();

    itSettles(stage, [
      {
        title: "settleAll throws VAULT_NETWORK_UNREACHABLE, and does not ask",
        given: ({ chain }) => {
          chain.on("eth_simulateV1", () => {
            throw connectionLost();
          });
          chain.on("eth_call", async (_, answer) => {
            if (chain.count("eth_simulateV1") > 0) {
              throw connectionLost();
            }
            return await answer();
          });
        },
        options: neverAsk,
        throws: "VAULT_NETWORK_UNREACHABLE",
      },
    ]);
  });
});
