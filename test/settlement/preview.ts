import { expect } from "chai";
import { AbiCoder, toBeHex } from "ethers";

import { vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import type { SettlementResult } from "../../src/settlement/result.js";
import { renderText } from "../../tasks/output/render-text.js";
import { preflightBlocks } from "../../tasks/output/settlement.js";
import { describeTransfers } from "../../tasks/output/simulation.js";
import { createStyle } from "../../tasks/output/style.js";
import { connectionLost, itSettles, useKeeper } from "../helpers/keeper.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  OPEN_ROUND,
  contractsWithHistory,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

/** The selectors of `symbol()` and `decimals()`. */
const SYMBOL = "0x95d89b41";
const DECIMALS = "0x313ce567";

describe("settleAll: preview", () => {
  const keeper = useKeeper();

  const settled = settledRound(OPEN_ROUND);
  for (const [title, after] of [
    ["cannot be read", "revert"],
    [
      "is settled, and has another strike price",
      { ...settled, strikePrice: 9n },
    ],
    ["is settled, and has other volume", { ...settled, filledVolume: 9n }],
  ] as const) {
    itSettles(keeper, [
      {
        title: `settleAll refuses with VAULT_WOULD_NOT_SETTLE if the round ${title} only once a block is mined`,
        given: (on) => {
          const history = contractsWithHistory([
            [0, OPEN_ROUND],
            [6, after],
          ]);
          on.chain = new ScriptedNode(history);
        },
        is: { status: "refused", code: "VAULT_WOULD_NOT_SETTLE" },
        events: "preflight",
      },
    ]);
  }

  itSettles(keeper, [
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
  ]);

  describe("if the answers of a simulation are lost", () => {
    speedUpTime();

    itSettles(keeper, [
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
        options: {
          confirm: async () => await Promise.reject(new Error("asked")),
        },
        throws: "VAULT_NETWORK_UNREACHABLE",
      },
    ]);
  });

  /** Without `eth_simulateV1`, and with a fork that ends so. */
  const forkEnds = async (problem: VaultError): Promise<SettlementResult> => {
    keeper.chain.overrides = false;
    const host = keeper.host();
    const config = {
      paths: { root: keeper.projectRoot },
      get networks(): never {
        throw problem;
      },
    };
    Object.defineProperty(host, "context", { value: { config } });
    return await keeper.end({}, host);
  };
  const network = "scripted";
  for (const problem of [
    vaultError("VAULT_FORK_REORGED", {
      ...{ network, block: 5, expected: "0x1", found: "0x2" },
    }),
    vaultError("VAULT_FORK_NETWORK_TAKEN", { network }),
    vaultError("VAULT_ENGINE_UNAVAILABLE", {
      ...{ network, engine: "fork", problem: "no" },
    }),
  ]) {
    it(`settleAll calls the settlement in place of a simulation if its fork ends with ${problem.code}`, async () => {
      const { settlement } = await forkEnds(problem);
      expect(settlement).to.include({ status: "settled", preview: null });
    });
  }

  it("settleAll sends nothing if its fork fails in another way", async () => {
    const problem = vaultError("VAULT_INTERNAL", { problem: "x" });
    await expectVaultError(forkEnds(problem), "VAULT_INTERNAL");
    expect(keeper.sends).to.equal(0);
  });
});
