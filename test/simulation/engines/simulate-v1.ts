import { readFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";

import { VaultLensArtifact } from "../../../src/client/lens/artifact.js";
import { parseSimulated } from "../../../src/simulation/engines/simulate-v1.js";
import { transfersIn } from "../../../src/simulation/tokens.js";
import { simulateSettleAll } from "../../../src/simulation/simulate.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { fieldsOf, listOf } from "../../helpers/fields.js";
import { SETTLER } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";
import {
  FACTS,
  askedOf,
  changeCalls,
  changeFacts,
  changeSettlement,
  changeSimulated,
  refuse,
  settlementIn,
  simulateOn,
} from "../../helpers/simulate-on.js";

const SIMULATE = "eth_simulateV1";
const onlyV1 = { engine: "simulateV1" } as const;

describe("the request of simulateV1", () => {
  for (const baseFeePerGas of ["0x9", undefined]) {
    it(`simulateV1 simulates with number, time and base fee (${String(baseFeePerGas)}) of the block, on the state of the one before, and traces transfers`, async () => {
      const node = new ScriptedNode();
      node.on("eth_getBlockByNumber", async (_, answer) => ({
        ...fieldsOf(await answer()),
        baseFeePerGas,
      }));
      await simulateOn(node, { blockNumber: 2 });
      const { base, traceTransfers, blockOverrides } = askedOf(node);
      const { hash: blockHash } = fieldsOf(
        await node.answerTo("eth_getBlockByNumber", ["0x2", false]),
      );
      expect([base, traceTransfers]).to.deep.equal([
        { blockHash, requireCanonical: true },
        true,
      ]);
      const { gasLimit: _, ...overrides } = blockOverrides;
      expect(overrides).to.deep.equal({
        number: "0x3",
        time: `0x${(1_700_000_003).toString(16)}`,
        ...(baseFeePerGas !== undefined && { baseFeePerGas }),
      });
    });
  }

  it("simulateV1 reads as the sender of reads before and after the settlement, with the code of the lens, names the gas of every call, and the gas price of the settlement", async () => {
    const node = new ScriptedNode();
    await simulateOn(node, { ...onlyV1, gas: 100_000 });
    const { calls, stateOverrides, blockOverrides } = askedOf(node);
    // What the lens lends to a sender who needs it.
    expect(Object.values(stateOverrides)[0]).to.deep.equal({
      code: VaultLensArtifact.deployedBytecode,
      balance: `0x${(100_000 * 8).toString(16)}`,
    });
    const reads = settlementIn(calls) - 1;
    const nobody = `0x${"0".repeat(40)}`;
    const both = (read: unknown, settlement: unknown): unknown[] => {
      const side = Array<unknown>(reads).fill(read);
      return [...side, read, settlement, ...side];
    };
    expect(calls.map(({ from }) => from)).to.deep.equal(both(nobody, SETTLER));
    const limits = calls.map(({ gas }) => Number(gas));
    expect(limits).to.deep.equal(both(10_000_000, 100_000));
    const prices = calls.map(({ gasPrice }) => gasPrice);
    expect(prices).to.deep.equal(both(undefined, "0x8"));
    expect(Number(blockOverrides["gasLimit"])).to.equal(
      limits.reduce((sum, gas) => sum + gas),
    );
  });
});

describe("wrong answers of eth_simulateV1", () => {
  const otherForm = /something else than it should/u;
  const changed =
    (change: Parameters<typeof changeSimulated>[1]) =>
    (node: ScriptedNode): void => {
      changeSimulated(node, change);
    };
  const wrong: ReadonlyArray<
    readonly [
      title: string,
      change: (node: ScriptedNode) => void,
      problem: RegExp,
    ]
  > = [
    [
      "another block number",
      changed((block) => [{ ...block, number: "0x1" }]),
      /asked for block 6 .* executes in block 1 at 1700000006/u,
    ],
    [
      "contracts that see another time than was asked for",
      (node) => changeFacts(node, { before: { [FACTS.time]: 5n } }),
      /executes in block 6 at 5$/u,
    ],
    [
      "a lens that has no code, as without state overrides",
      changed((block, [first, ...calls]) => [
        {
          ...block,
          calls: [{ ...fieldsOf(first), returnData: "0x" }, ...calls],
        },
      ]),
      /does not apply state overrides/u,
    ],
    [
      "that it does not know state overrides",
      (node) => node.on(SIMULATE, refuse("unknown field", -32_602)),
      /refuses eth_simulateV1: unknown field/u,
    ],
    [
      "that the method is missing",
      (node) => {
        node.overrides = false;
      },
      /refuses eth_simulateV1: Method not found/u,
    ],
    [
      "less gas for settleAll than any transaction takes",
      (node) => changeSettlement(node, { gasUsed: "0x5247" }),
      otherForm,
    ],
    [
      "more gas after refunds than before them",
      (node) =>
        changeSettlement(node, { gasUsed: "0xea60", maxUsedGas: "0xea5f" }),
      otherForm,
    ],
    ["two blocks", changed((block) => [block, block]), otherForm],
    [
      "a revert that is not of the settlement",
      (node) => node.on(SIMULATE, refuse("execution reverted", 3)),
      /eth_simulateV1 as a whole reverts/u,
    ],
    [
      "a call too few",
      changed((block, calls) => [{ ...block, calls: calls.slice(1) }]),
      otherForm,
    ],
    [
      "a refusal that is not of the method",
      (node) => node.on(SIMULATE, refuse("unlucky")),
      /refuses eth_simulateV1: unlucky/u,
    ],
  ];
  for (const [title, change, problem] of wrong) {
    it(`simulateV1 throws VAULT_ENGINE_UNAVAILABLE for ${title}`, async () => {
      const node = new ScriptedNode();
      change(node);
      const { details } = await expectVaultError(
        simulateOn(node, onlyV1),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(details["problem"]).to.match(problem);
    });
  }

  it("simulateV1 throws VAULT_ENGINE_UNAVAILABLE if the state of the block is gone", async () => {
    const node = new ScriptedNode({ oldestState: 6 });
    const { details } = await expectVaultError(
      simulateOn(node, { blockNumber: 4, ...onlyV1 }),
      "VAULT_ENGINE_UNAVAILABLE",
    );
    expect(details["problem"]).to.contain("missing trie node");
  });

  const readings = "gas for a reading, which uses it up";
  const OUT = { code: -32_015, message: "out of gas" };
  const limited = { gasUsed: "0xf4240", error: OUT };
  // All of a reading's 10,000,000, at least 95 % of it.
  const silent = { gasUsed: "0x90f560", error: undefined };
  for (const [what, place, problem, starved] of [
    ["the settlement", 0, "1000000 gas for settleAll", limited],
    ["a reading after it", 2, readings, limited],
    ["a reading before it", -2, readings, limited],
    ["a reading, and does not say so", -2, readings, silent],
  ] as const) {
    it(`simulateV1 is no engine if the node's own limit of gas ends ${what}, and is one the next time: VAULT_ENGINE_UNAVAILABLE`, async () => {
      const node = new ScriptedNode();
      let isLimited = true;
      changeCalls(node, (at) =>
        isLimited && at === place
          ? { ...{ status: "0x0", returnData: "0x" }, ...starved }
          : {},
      );
      const host = node.host();
      const { message } = await expectVaultError(
        simulateSettleAll(host, onlyV1),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.contain(problem);
      isLimited = false;
      const { simulation } = await simulateSettleAll(host, {});
      expect(simulation.engine).to.equal("simulateV1");
    });
  }
});

describe("eth_simulateV1 as geth answers it", () => {
  const file = path.join(import.meta.dirname, "../recorded/geth.json");
  const recorded: unknown = JSON.parse(readFileSync(file, "utf8"));
  const answers = listOf(fieldsOf(recorded)["answers"])
    .map(fieldsOf)
    .filter(({ method }) => method === SIMULATE);

  it("parseSimulated() reads every recorded answer of geth whole", () => {
    const results = answers.filter(({ result }) => result !== undefined);
    expect(results.length).to.be.greaterThan(50);
    for (const { name, result } of results) {
      const read = parseSimulated(result, "geth").flatMap(({ calls }) => calls);
      const expected = listOf(result)
        .flatMap((block) => listOf(fieldsOf(block)["calls"]))
        .map(fieldsOf)
        .map(({ status, returnData, gasUsed, maxUsedGas, error }) => {
          const { code, message, data = returnData } = fieldsOf(error);
          return {
            ...{ succeeded: status === "0x1", data, returned: returnData },
            message: code === 3 ? undefined : message,
            gasUsed: BigInt(String(gasUsed)),
            maxUsedGas: BigInt(String(maxUsedGas)),
          };
        });
      expect(
        read.map(({ logs: _logs, ...call }) => ({
          ...call,
          returned: `0x${call.returned.toString("hex")}`,
        })),
        String(name),
      ).to.deep.equal(expected);
    }
  });

  it("parseSimulated() takes the revert data of the result if the error's is empty", () => {
    const call = { status: "0x0", gasUsed: "0x5208", error: { data: "0x" } };
    const calls = [{ ...call, returnData: "0x12345678" }];
    const block = { number: "0x1", timestamp: "0x1", calls };
    const [found] = parseSimulated([block], "anvil");
    expect(found?.calls[0]?.data).to.equal("0x12345678");
  });

  it("parseSimulated() finds a transfer of native currency that moves, and none that comes back", () => {
    for (const [name, amounts] of [
      ["eth-send-should-produce-logs", [1_000n]],
      ["eth-send-should-produce-more-logs-on-forward", [1_000n, 1_000n]],
      ["eth-send-should-not-produce-logs-on-revert", []],
      ["logs", []],
    ] as const) {
      const { result } =
        answers.find((answer) => answer["name"] === name) ?? {};
      const moved = parseSimulated(result, "geth")
        .flatMap(({ calls }) => calls)
        .flatMap(({ logs }) => transfersIn(logs) ?? []);
      expect(
        moved.map(({ token, amount }) => [token, amount]),
        name,
      ).to.deep.equal(amounts.map((amount) => ["native", amount]));
    }
  });
});
