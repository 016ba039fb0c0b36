import { expect } from "chai";

import { VaultLensArtifact } from "../../src/client/lens/artifact.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import { expectVaultError } from "../helpers/assertions.js";
import { BareHost } from "../helpers/bare-host.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { hostOn, simulateOn, settlementIn } from "../helpers/simulate-on.js";

const GAS_LIMIT = 30_000_000n;
const BALANCE = 10n ** 18n;

describe("simulateSettleAll on a node with eth_simulateV1", () => {
  it("simulateV1 retries a request that the node drops, and tells onRetry", async () => {
    const node = new ScriptedNode();
    let drops = 1;
    node.on("eth_simulateV1", async (_, answer) => {
      if (drops > 0) {
        drops -= 1;
        throw Object.assign(new Error("gone"), { code: "ECONNRESET" });
      }
      return await answer();
    });
    const told: string[] = [];
    const { status } = await simulateOn(node, {
      engine: "simulateV1",
      onRetry: ({ method }) => told.push(method),
    });
    expect(status).to.equal("settled");
    expect(told).to.deep.equal(["eth_simulateV1"]);
  });

  it("simulateV1 asks for two blocks, the price of gas and the settlement, and calls it", async () => {
    const node = new ScriptedNode();
    const host = hostOn(node);
    const ofEach = [
      ...["latest", "pending"].map(() => "eth_getBlockByNumber"),
      "eth_maxPriorityFeePerGas",
      "eth_simulateV1",
      "eth_call",
    ];
    await simulateSettleAll(host, {});
    expect(node.asked.map(({ method }) => method)).to.have.members(ofEach);
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

  it("simulateV1 replaces the code of the lens, names the gas of every call, and traces transfers", async () => {
    const node = new ScriptedNode();
    await simulateOn(node, { engine: "simulateV1" });
    const simulated = node.asked.find(
      ({ method }) => method === "eth_simulateV1",
    );
    const payload = fieldsOf(simulated?.params[0]);
    const [block] = listOf(payload["blockStateCalls"]);
    const code = VaultLensArtifact.deployedBytecode;
    const { stateOverrides } = fieldsOf(block);
    expect(payload["traceTransfers"]).to.equal(true);
    expect(Object.values(fieldsOf(stateOverrides))[0]).to.deep.equal({ code });
    const limits = listOf(fieldsOf(block)["calls"]).map((call) =>
      BigInt(String(fieldsOf(call)["gas"])),
    );
    const reads = Array<bigint>(settlementIn(limits)).fill(10_000_000n);
    expect(limits.slice(0, -1)).to.deep.equal([...reads, GAS_LIMIT, ...reads]);
    const { gasLimit } = fieldsOf(fieldsOf(block)["blockOverrides"]);
    expect(BigInt(String(gasLimit))).to.equal(
      limits.reduce((sum, gas) => sum + gas),
    );
  });

  const readings = "does not suffice for the readings";
  const error = { code: -32_015, message: "out of gas" };
  const limited = { gasUsed: "0xf4240", error };
  // All of a reading's 10,000,000, at least 95 % of it.
  const silent = { gasUsed: "0x90f560", error: undefined };
  for (const [what, isStarved, problem, starved] of [
    [
      "the settlement",
      (at: number) => at === 0,
      "1000000 gas for settleAll",
      limited,
    ],
    ["a reading after it", (at: number) => at === 2, readings, limited],
    ["a reading before it", (at: number) => at === -1, readings, limited],
    ["a reading, and does not say so", (at) => at === -1, readings, silent],
  ] satisfies ReadonlyArray<
    readonly [string, (at: number) => boolean, string, object]
  >) {
    it(`simulateV1 is unavailable if the node's own limit of gas ends ${what}, and is used the next time`, async () => {
      const node = new ScriptedNode();
      let isLimited = true;
      node.on("eth_simulateV1", async (_, answer) => {
        const [block] = listOf(await answer());
        const calls = listOf(fieldsOf(block)["calls"]);
        return [
          {
            ...fieldsOf(block),
            calls: calls.map((call, index) =>
              isLimited && isStarved(index - settlementIn(calls))
                ? {
                    ...fieldsOf(call),
                    status: "0x0",
                    returnData: "0x",
                    ...starved,
                  }
                : call,
            ),
          },
        ];
      });
      const host = hostOn(node);
      const { message } = await expectVaultError(
        simulateSettleAll(host, { engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.contain(problem);
      isLimited = false;
      expect((await simulateSettleAll(host, {})).simulation.engine).to.equal(
        "simulateV1",
      );
    });
  }
});
