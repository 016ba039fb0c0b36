import { expect } from "chai";
import { toQuantity } from "ethers";

import { vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import type { Address } from "../../src/protocol/index.js";
import type { SettlementRoute } from "../../src/guard/call.js";
import { lossInGuard } from "../../src/settlement/propose.js";
import type { SettlementResult } from "../../src/settlement/result.js";
import type { Simulated } from "../../src/simulation/simulate.js";
import type { Simulation } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { GUARD, itSettles, remote, useKeeper } from "../helpers/keeper.js";
import type { Keeper } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import {
  FACTORY as TOKEN,
  OPEN_ROUND,
  VAULT,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { NOT_YET } from "../helpers/settlement-cases.js";

describe("lossInGuard()", () => {
  const simulatedAs = (
    changes: Partial<Simulation>,
    kept: Simulated["kept"] = [],
  ): Simulated => ({
    simulation: {
      ...{ status: "settled", code: null, reason: null, guard: GUARD },
      ...{ engine: "simulateV1", gasUsed: 60_000n, block: null },
      ...{ changes: [], balances: [], transfers: [], notes: [], ...changes },
    },
    ...{ chainId: 1, sender: VAULT, contracts: [], ordersRead: 0 },
    ...{ block: { number: 1, timestamp: 1 }, pin: { number: 1, hash: "" } },
    ...{ balance: 0n, gasNeeded: null, kept },
  });
  const routeBy = (guard: Address | null): SettlementRoute => ({
    ...{ from: VAULT, vault: VAULT },
    ...(guard !== null && {
      guard: {
        ...{ address: guard, factory: VAULT, round: OPEN_ROUND },
        ...{ mustHaveEnded: false, mustSettle: true, tokens: [] },
      },
    }),
  });
  const NOT_KNOWN = "VAULT_TOKENS_NOT_KNOWN";
  const KEEPS = "VAULT_GUARD_KEEPS_TOKENS";
  const reverts = simulatedAs({ status: "reverted", reason: "not yet." });
  const settled = simulatedAs({ status: "nothing-to-do", gasUsed: null });
  const token = simulatedAs({}, [TOKEN]);

  for (const [title, guard, simulated, code, codeIfNamed] of [
    ["no guard is on the way", null, undefined, undefined, undefined],
    ["no engine can simulate", GUARD, undefined, NOT_KNOWN, undefined],
    ["nothing stays", GUARD, simulatedAs({}), undefined, undefined],
    ["the simulation reverts", GUARD, reverts, NOT_KNOWN, undefined],
    ["the round is settled already", GUARD, settled, undefined, undefined],
    ["a token stays", GUARD, token, KEEPS, KEEPS],
  ] as const) {
    it(`refuses with ${String(code)}, and ${String(codeIfNamed)} for named tokens, if ${title}`, () => {
      const host = new ScriptedNode().host();
      const codeOf = (areNamed: boolean) =>
        lossInGuard(host, routeBy(guard), simulated, areNamed)?.code;
      expect([codeOf(false), codeOf(true)]).to.eql([code, codeIfNamed]);
    });
  }
});

// The settlement of the scripted node uses 60,000 gas, at a base fee of 7 and
// a priority fee of 1. Its account has 10^18 wei.
describe("the proposal of settleAll", () => {
  const keeper = useKeeper();
  const neverAsk = {
    confirm: async () => await Promise.reject(new Error("asked")),
  };
  const yes = { confirm: async () => await Promise.resolve(true as const) };
  const withoutEngine = ({ chain }: Keeper): void => {
    chain.overrides = false;
  };
  /** The simulation reports that the settlement used up the gas of a block. */
  const useUp = ({ chain }: Keeper): void => {
    const outOfGas = {
      ...{ status: "0x0", returnData: "0x", gasUsed: "0x1c9c380", logs: [] },
      error: { code: -32_015, message: "out of gas" },
    };
    chain.on("eth_simulateV1", async (_, answer) =>
      listOf(await answer()).map((block) => ({
        ...fieldsOf(block),
        calls: listOf(fieldsOf(block)["calls"]).map((call) =>
          listOf(fieldsOf(call)["logs"]).length > 0 ? outOfGas : call,
        ),
      })),
    );
  };

  itSettles(keeper, [
    ...(
      [
        ["gas below that of any transaction", { gas: 20_999n }, 0],
        ["1 gas less than it uses", { gas: 59_999n }, 1],
        ["a gasMultiplier that leaves less", { gasMultiplier: 0.5 }, 1],
      ] as const
    ).map(([title, network, simulations]) => ({
      title: `refuses ${title}, and does not ask: VAULT_GAS_LIMIT_TOO_LOW`,
      network,
      options: neverAsk,
      is: "refused VAULT_GAS_LIMIT_TOO_LOW" as const,
      then: ({ chain }: Keeper) => {
        expect(chain.count("eth_simulateV1")).to.equal(simulations);
      },
    })),
    {
      title: "settles with exactly the gas that it uses",
      network: { gas: 60_000n },
      is: { status: "settled", gasUsed: 60_000n },
    },
    ...(
      [
        ["settles", 0n, "settled"],
        ["refuses", 1n, "refused VAULT_INSUFFICIENT_FUNDS"],
      ] as const
    ).map(([title, missing, is]) => ({
      title: `${title} if the account has its highest cost less ${missing} wei for each gas`,
      network: { gas: 100_000n, gasPrice: 10n ** 13n + missing },
      is,
      says: missing === 0n ? [] : [String(10n ** 18n + 100_000n)],
    })),
    {
      title:
        "without an engine refuses if 1 wei of its highest cost is missing",
      given: (on) => {
        withoutEngine(on);
        on.chain.on("eth_getBalance", () => toQuantity(75_000n * 15n - 1n));
      },
      is: "refused VAULT_INSUFFICIENT_FUNDS",
    },
    {
      title: "is reverted if it uses all gas of a block: VAULT_OUT_OF_GAS",
      given: useUp,
      options: neverAsk,
      is: "reverted VAULT_OUT_OF_GAS",
      says: ["30000000"],
      events: "preflight",
    },
    {
      title: "refuses if it uses all configured gas: VAULT_GAS_LIMIT_TOO_LOW",
      given: useUp,
      network: { gas: 30_000n },
      options: neverAsk,
      is: "refused VAULT_GAS_LIMIT_TOO_LOW",
      says: ["30000 gas"],
    },
    {
      title: "without an engine estimates the gas, with a quarter more",
      given: withoutEngine,
      is: { status: "settled", preview: null },
      then: ({ events: [first] }) => {
        expect(first).to.have.deep.nested.include({
          "preflight.gas": 75_000n,
          "preflight.chainTime": 1_700_000_006,
          "preflight.preview": null,
          "preflight.tokens": new Map(),
        });
      },
    },
    {
      title:
        "without an engine refuses a gasMultiplier that leaves less than any settlement: VAULT_GAS_LIMIT_TOO_LOW",
      given: withoutEngine,
      network: { gasMultiplier: 0.35 },
      is: "refused VAULT_GAS_LIMIT_TOO_LOW",
      says: ["21000 gas"],
    },
    {
      title: "without an engine calls it with the configured gas",
      given: withoutEngine,
      network: { gas: 70_000n },
      is: "settled",
      then: ({ chain }) => {
        const gas = chain.asked
          .filter(({ method }) => method === "eth_call")
          .map(({ params: [call] }) => fieldsOf(call)["gas"]);
        expect(gas).to.include(toQuantity(70_000n));
      },
    },
    {
      title: "goes by the base fee of the next block, not of the newest",
      given: ({ chain }) => {
        chain.on("eth_getBlockByNumber", async ([tag], answer) => ({
          ...fieldsOf(await answer()),
          ...(tag === "pending" && { baseFeePerGas: "0x9" }),
        }));
      },
      is: "settled",
      then: ({ events: [first] }) => {
        expect(first).to.have.deep.nested.include({
          ...{ "preflight.cost": 93_750n * 10n },
          "preflight.maxCost": 93_750n * 19n,
        });
      },
    },
    {
      title: "without an engine is reverted with the reason of its estimate",
      given: (on) => {
        withoutEngine(on);
        on.chain.on("eth_estimateGas", () => {
          throw Object.assign(new Error("execution reverted"), {
            ...{ code: 3, data: NOT_YET },
          });
        });
      },
      is: { status: "reverted", reason: "not yet" },
    },
    {
      title: "has nothing to do if the round is settled while it reads prices",
      given: ({ chain }) => {
        chain.on("eth_maxPriorityFeePerGas", async (_, answer) => {
          chain.rounds = chain.rounds.map(settledRound);
          return await answer();
        });
      },
      is: "nothing-to-do",
      says: ["meanwhile"],
      events: "",
    },
    {
      title:
        "refuses a price above the limit of the network, also if a person would agree: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxFeePerGasLimit: 7n } },
      options: yes,
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: ["8 wei", "7 wei", "networks.scripted.vault.maxFeePerGasLimit"],
      events: "",
    },
    {
      title:
        "refuses a tip above the limit of the network: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxPriorityFeePerGasLimit: 0n } },
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: ["networks.scripted.vault.maxPriorityFeePerGasLimit"],
    },
    {
      title:
        "refuses a price above the option maxFeePerGas: VAULT_FEE_ABOVE_LIMIT",
      network: { vault: { maxFeePerGasLimit: 7n } },
      options: { maxFeePerGas: 7n },
      is: "refused VAULT_FEE_ABOVE_LIMIT",
      says: ["(maxFeePerGas)"],
    },
    {
      title: "signs with no more than the limit",
      network: { vault: { maxFeePerGasLimit: 9n }, ...remote },
      is: "settled",
      then: async (on) => {
        expect(on.events[0]).to.have.deep.nested.include({
          ...{ "preflight.cost": 93_750n * 8n },
          "preflight.maxCost": 93_750n * 9n,
        });
        const { transactions } = await on.journal(".finished");
        expect(transactions).to.have.deep.nested.property("[0].fees", {
          ...{ maxFeePerGas: "9", maxPriorityFeePerGas: "1" },
        });
      },
    },
    ...(
      [
        ["warns of a fee for the data on a chain of the OP stack", "0x60", 1],
        ["settles if it is not known whether the chain is one", undefined, 0],
      ] as const
    ).map(([title, code, count]) => ({
      title,
      given: ({ chain }: Keeper) => {
        chain.on("eth_getCode", async ([address], answer) => {
          if (!String(address).startsWith("0x4200")) {
            return await answer();
          }
          if (code === undefined) {
            throw new Error("not now");
          }
          return code;
        });
      },
      options: yes,
      is: "settled" as const,
      then: ({ events: [first] }: Keeper) => {
        const warnings = "preflight.warnings";
        expect(first)
          .to.have.nested.property(warnings)
          .that.has.lengthOf(count);
        if (count === 1) {
          expect(first)
            .to.have.nested.property(`${warnings}[0]`)
            .that.includes("fee for the transaction's data");
        }
      },
    })),
  ]);

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
  for (const problem of [
    vaultError("VAULT_FORK_NETWORK_TAKEN", { network: "scripted" }),
    vaultError("VAULT_ENGINE_UNAVAILABLE", {
      ...{ network: "scripted", engine: "fork", problem: "no" },
    }),
    vaultError("VAULT_FORK_REORGED", {
      ...{ network: "scripted", block: 5, expected: HASH, found: OTHER_HASH },
    }),
    vaultError("VAULT_RPC_ERROR", {
      ...{ network: "scripted", method: "eth_getProof", problem: "no" },
    }),
  ]) {
    it(`is a plain call if a fork ends with ${problem.code}`, async () => {
      const { settlement } = await forkEnds(problem);
      expect(settlement).to.include({ status: "settled", preview: null });
    });
  }

  it("fails if a fork fails in another way, and sends nothing", async () => {
    const problem = vaultError("VAULT_INTERNAL", { problem: "x" });
    await expectVaultError(forkEnds(problem), "VAULT_INTERNAL");
    expect(keeper.sends).to.equal(0);
  });
});
