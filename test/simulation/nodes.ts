import { expect } from "chai";
import { Interface } from "ethers";

import { SimulationLensArtifact } from "../../src/client/lens/artifact.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { BareHost } from "../helpers/bare-host.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  SETTLE,
  SETTLER,
  ScriptedNode,
  VAULT,
  documentedContracts,
  documentedNode,
} from "../helpers/scripted-node.js";

const GAS_LIMIT = 30_000_000n;
const BALANCE = 10n ** 18n;

const engines = ["simulateV1", "call"] as const;
const methods = { simulateV1: "eth_simulateV1", call: "eth_call" } as const;

const networkConfig = { type: "http", gasPrice: "auto" };
const hostOf = (node: ScriptedNode): BareHost =>
  node.host({ networkConfig, projectRoot: "" });

async function simulate(
  host: BareHost,
  options: SimulateSettleAllOptions = {},
): Promise<Simulation> {
  return (await simulateSettleAll(host, options)).simulation;
}

// What simulations say of vaults and nodes is in the recorded session.
describe("simulateSettleAll on a node, with eth_simulateV1 and with eth_call", () => {
  for (const engine of engines) {
    it(`${engine} retries a request that the node drops, and tells onRetry`, async () => {
      const node = new ScriptedNode();
      let drops = 1;
      node.on(methods[engine], async (_, answer) => {
        if (drops > 0) {
          drops -= 1;
          throw Object.assign(new Error("gone"), { code: "ECONNRESET" });
        }
        return await answer();
      });
      const told: string[] = [];
      const { status } = await simulate(hostOf(node), {
        engine,
        onRetry: ({ method }) => told.push(method),
      });
      expect(status).to.equal("settled");
      expect(told).to.deep.equal([methods[engine]]);
    });
  }

  it("simulateV1 asks for two blocks and the settlement, and once for the price of gas", async () => {
    const node = new ScriptedNode();
    const host = hostOf(node);
    const ofEach = [
      "eth_getBlockByNumber",
      "eth_getBlockByNumber",
      "eth_simulateV1",
    ];
    for (const asked of [[...ofEach, "eth_maxPriorityFeePerGas"], ofEach]) {
      node.asked.length = 0;
      await simulate(host);
      expect(node.asked.map(({ method }) => method)).to.have.members(asked);
    }
  });

  it("simulateSettleAll reports the chain, the block that it starts from, the sender and the orders that it read", async () => {
    const node = documentedNode();
    node.overrides = true;
    node.on("eth_chainId", () => "0x1");
    const host = new BareHost(node, documentedContracts, SETTLER);
    const simulated = await simulateSettleAll(host, { orders: [1, 2] });
    expect(simulated).to.deep.include({
      ...{ chainId: 1, base: 1_000, sender: SETTLER, ordersRead: 2 },
      ...{ balance: BALANCE, gasNeeded: null },
    });
  });

  it("simulateV1 and call replace the code of the lens and name the gas of every call, and simulateV1 traces transfers", async () => {
    const node = new ScriptedNode();
    await simulate(hostOf(node), { engine: "simulateV1" });
    await simulate(hostOf(node), { engine: "call", gas: 60_000 });
    const [simulated, ...calls] = node.asked.filter(({ method }) =>
      ["eth_simulateV1", "eth_call"].includes(method),
    );
    const payload = fieldsOf(simulated?.params[0]);
    const [block] = listOf(payload["blockStateCalls"]);
    const code = SimulationLensArtifact.deployedBytecode;
    const { stateOverrides } = fieldsOf(block);
    expect(payload["traceTransfers"]).to.equal(true);
    expect(Object.values(fieldsOf(stateOverrides))).to.deep.equal([{ code }]);
    expect(fieldsOf(calls[0]?.params[2])[SETTLER]).to.deep.equal({ code });
    const gasOf = (call: unknown): bigint =>
      BigInt(String(fieldsOf(call)["gas"]));
    const limits = listOf(fieldsOf(block)["calls"]).map(gasOf);
    const reads = Array<bigint>((limits.length - 1) / 2).fill(10_000_000n);
    expect(limits).to.deep.equal([...reads, GAS_LIMIT, ...reads]);
    const { gasLimit } = fieldsOf(fieldsOf(block)["blockOverrides"]);
    expect(BigInt(String(gasLimit))).to.equal(
      limits.reduce((sum, gas) => sum + gas),
    );
    const lens = new Interface(SimulationLensArtifact.abi);
    const [lensCall, plain] = calls.map(({ params }) => fieldsOf(params[0]));
    expect(plain).to.deep.equal({
      from: SETTLER,
      to: VAULT,
      data: SETTLE,
      gas: "0xea60",
    });
    const given: readonly unknown[] = lens.decodeFunctionData(
      "simulate",
      String(lensCall?.["data"]),
    );
    // A transaction to settleAll takes 21,064 before any code runs.
    const reserve = 200_000n + 60_000n * BigInt(listOf(given[1]).length);
    expect(given.slice(4)).to.deep.equal([60_000n - 21_064n, reserve]);
    expect(gasOf(lensCall)).to.equal((60_000n * 64n) / 63n + 2n * reserve);
  });

  const readings = "does not suffice for the readings";
  for (const [what, isStarved, problem] of [
    ["the settlement", (at: number) => at === 0, "1000000 gas for settleAll"],
    ["a reading after it", (at: number) => at === 2, readings],
    ["a reading before it", (at: number) => at === -1, readings],
  ] as const) {
    it(`call is used if the node's own limit of gas ends ${what}, and simulateV1 the next time`, async () => {
      const node = new ScriptedNode();
      let isLimited = true;
      node.on("eth_simulateV1", async (_, answer) => {
        const [block] = listOf(await answer());
        const calls = listOf(fieldsOf(block)["calls"]);
        const starved = {
          ...{ status: "0x0", returnData: "0x", gasUsed: "0xf4240" },
          error: { code: -32_015, message: "out of gas" },
        };
        return [
          {
            ...fieldsOf(block),
            calls: calls.map((call, index) =>
              isLimited && isStarved(index - (calls.length - 1) / 2)
                ? { ...fieldsOf(call), ...starved }
                : call,
            ),
          },
        ];
      });
      const host = hostOf(node);
      expect((await simulate(host)).engine).to.equal("call");
      const { message } = await expectVaultError(
        simulate(host, { engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.contain(problem);
      isLimited = false;
      expect((await simulate(host)).engine).to.equal("simulateV1");
    });
  }
});
