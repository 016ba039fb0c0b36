import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  FACTS,
  changeFacts,
  changeSettlement,
  changeSimulated,
  hostOn,
  refuse,
  simulateOn,
} from "../helpers/simulate-on.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";

describe("wrong answers of eth_simulateV1", () => {
  const otherForm = /something else than it should/u;
  const wrong: ReadonlyArray<
    readonly [
      title: string,
      change: (node: ScriptedNode) => void,
      problem: RegExp,
    ]
  > = [
    [
      "another block number",
      (node) => {
        changeSimulated(node, (block) => [{ ...block, number: "0x1" }]);
      },
      /asked for block 6 .* executes in block 1 at 1700000006/u,
    ],
    [
      "another time",
      (node) => {
        changeSimulated(node, (block) => [{ ...block, timestamp: "0x5" }]);
      },
      /executes in block 6 at 5$/u,
    ],
    [
      "contracts that see another block number than the answer has",
      (node) => {
        const [six, seven] = [6, 7].map((number) =>
          String(number).padStart(64, "0"),
        );
        node.on("eth_simulateV1", async (_, answer) => {
          const text = JSON.stringify(await answer());
          const changed: unknown = JSON.parse(
            text.replaceAll(`"0x${six}`, `"0x${seven}`),
          );
          return changed;
        });
      },
      /executes in block 7 at 1700000006/u,
    ],
    [
      "contracts that see another time than the answer has",
      (node) => {
        changeFacts(node, { before: { [FACTS.time]: 5n } });
      },
      /executes in block 6 at 5$/u,
    ],
    [
      "a lens that has no code, as without state overrides",
      (node) => {
        changeSimulated(node, (block, [first, ...calls]) => [
          {
            ...block,
            calls: [{ ...fieldsOf(first), returnData: "0x" }, ...calls],
          },
        ]);
      },
      /does not apply state overrides/u,
    ],
    [
      "that it does not know state overrides",
      (node) => {
        node.on("eth_simulateV1", refuse("unknown field", -32_602));
      },
      /refuses eth_simulateV1: unknown field/u,
    ],
    [
      "that the method is not allowed",
      (node) => {
        const text = "eth_simulateV1 is not available on your plan";
        node.on("eth_simulateV1", refuse(text, -32_000));
      },
      /is not available on your plan/u,
    ],
    [
      "less gas for settleAll than any transaction takes",
      (node) => {
        changeSettlement(node, { gasUsed: "0x5247" });
      },
      otherForm,
    ],
    [
      "less gas before refunds than after them",
      (node) => {
        changeSettlement(node, { maxUsedGas: "0xea5f" });
      },
      otherForm,
    ],
    [
      "a call too few",
      (node) => {
        changeSimulated(node, (block, calls) => [
          { ...block, calls: calls.slice(1) },
        ]);
      },
      otherForm,
    ],
    [
      "a call too many",
      (node) => {
        changeSimulated(node, (block, calls) => [
          { ...block, calls: [...calls, calls[0]] },
        ]);
      },
      otherForm,
    ],
    [
      "a block too many",
      (node) => {
        changeSimulated(node, (block) => [block, block]);
      },
      otherForm,
    ],
    [
      "no list",
      (node) => {
        changeSimulated(node, () => "0x");
      },
      otherForm,
    ],
    [
      "that the method is missing",
      (node) => {
        node.overrides = false;
      },
      /refuses eth_simulateV1: Method not found/u,
    ],
  ];
  for (const [title, change, problem] of wrong) {
    // A backend of a gateway may garble one answer; what a node cannot do, it never can.
    const asked = problem === otherForm ? 2 : 1;
    it(`simulateV1 throws VAULT_ENGINE_UNAVAILABLE for ${title}, and ${asked === 1 ? "does not ask" : "asks"} again`, async () => {
      const node = new ScriptedNode();
      change(node);
      const host = hostOn(node);
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const { details } = await expectVaultError(
          simulateSettleAll(host, { engine: "simulateV1" }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
        expect(details["problem"]).to.match(problem);
      }
      expect(node.count("eth_simulateV1")).to.equal(asked);
    });
  }

  it("simulateV1 asks again after a refusal that is not of the method", async () => {
    const node = new ScriptedNode();
    node.on("eth_simulateV1", refuse("unlucky"));
    const host = hostOn(node);
    for (const count of [1, 2]) {
      await expectVaultError(
        simulateSettleAll(host, { engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(node.count("eth_simulateV1")).to.equal(count);
    }
  });

  for (const blockNumber of [4, "latest"] as const) {
    it(`simulateV1 throws VAULT_ENGINE_UNAVAILABLE for { blockNumber: ${blockNumber} } if the state of that block is gone`, async () => {
      const node = new ScriptedNode({ oldestState: 6 });
      const { details } = await expectVaultError(
        simulateOn(node, { blockNumber, engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(details["problem"]).to.contain("missing trie node");
    });
  }

  it("simulateSettleAll calls onRetry for each request, that for the block included", async () => {
    const node = new ScriptedNode();
    const refused = new Set<string>();
    const busy = async (
      name: string,
      answer: () => Promise<unknown>,
    ): Promise<unknown> => {
      if (refused.has(name)) {
        return await answer();
      }
      refused.add(name);
      return refuse("limit exceeded", -32_005)();
    };
    node.on("eth_getBlockByNumber", async ([tag], answer) =>
      tag === "latest" ? await busy("the block", answer) : await answer(),
    );
    node.on("eth_simulateV1", async (_, answer) => await busy("it", answer));
    const retried: string[] = [];
    await simulateOn(node, {
      onRetry: ({ method }) => {
        retried.push(method);
      },
    });
    expect(retried).to.deep.equal(["eth_getBlockByNumber", "eth_simulateV1"]);
  });

  it("simulateSettleAll throws VAULT_RPC_INVALID_RESPONSE for a block without a number, and VAULT_RPC_TIMEOUT for none in time", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", () => ({}));
    await expectVaultError(simulateOn(node), "VAULT_RPC_INVALID_RESPONSE");
    node.on(
      "eth_getBlockByNumber",
      async () => await new Promise(() => undefined),
    );
    await expectVaultError(
      simulateOn(node, { timeout: 50 }),
      "VAULT_RPC_TIMEOUT",
    );
  });

  it("simulateSettleAll simulates a second after the latest block if the node does not know a pending one", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", async ([tag], answer) =>
      tag === "pending"
        ? refuse("not available", -32_601)()
        : // Later than this machine's clock.
          { ...fieldsOf(await answer()), timestamp: "0x77359400" },
    );
    const { block } = await simulateOn(node);
    expect(block).to.deep.equal({ number: 6, timestamp: 2_000_000_001 });
  });
});
