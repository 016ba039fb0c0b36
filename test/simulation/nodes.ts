import { expect } from "chai";
import { Interface, toQuantity } from "ethers";

import { VaultError } from "../../src/client/index.js";
import { SimulationLensArtifact } from "../../src/client/lens/artifact.js";
import { TRANSACTION_GAS_CAP } from "../../src/rpc/gas.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { BareHost } from "../helpers/bare-host.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  ScriptedNode,
  VAULT,
  documentedContracts,
  documentedNode,
  nextRound,
  settledRound,
} from "../helpers/scripted-node.js";
import type { Rewrite } from "../helpers/scripted-node.js";

const NOBODY = "0x00000000000000000000000000000000000000AA";

/** Of the scripted node: its head is block 5. */
const NEXT = { number: 6, timestamp: 1_700_000_006 };
const GAS_LIMIT = 30_000_000n;
const BALANCE = 10n ** 18n;
/** The base fee and the tip that the node suggests. */
const GAS_PRICE = 8n;

const engines = ["simulateV1", "call"] as const;
type Engine = (typeof engines)[number];
/** The call lens measures the call, without the transaction around it. */
const gasUsed = { simulateV1: 60_000n, call: 81_064n } as const;
const methods = { simulateV1: "eth_simulateV1", call: "eth_call" } as const;

function hostOf(
  node: ScriptedNode,
  networkConfig: Readonly<Record<string, unknown>> = {},
): BareHost {
  return node.host({
    networkConfig: { type: "http", gasPrice: "auto", ...networkConfig },
    projectRoot: "",
  });
}

async function simulate(
  host: BareHost,
  options: SimulateSettleAllOptions = {},
): Promise<Simulation> {
  return (await simulateSettleAll(host, options)).simulation;
}

const refuse =
  (code: number, message: string): Rewrite =>
  () => {
    throw Object.assign(new Error(message), { code });
  };
const unknownMethod = refuse(-32_601, "the method is not available");

/** Changes the block that eth_simulateV1 answers. */
const changing =
  (change: (block: Record<string, unknown>) => void): Rewrite =>
  async (_, answer) => {
    const [block] = listOf(await answer());
    const changed = { ...fieldsOf(block) };
    change(changed);
    return [changed];
  };

/** Changes the settlement among the calls of a simulated block. */
const changingSettlement = (change: object): Rewrite =>
  changing((block) => {
    const calls = [...listOf(block["calls"])];
    const middle = (calls.length - 1) / 2;
    calls[middle] = { ...fieldsOf(calls[middle]), ...change };
    block["calls"] = calls;
  });

const settling =
  (change: object) =>
  (node: ScriptedNode): void => {
    node.on("eth_simulateV1", changingSettlement(change));
  };
const failing = (change: object): ReturnType<typeof settling> =>
  settling({ status: "0x0", returnData: "0x", ...change });
const ABOVE_CAP = toQuantity(TRANSACTION_GAS_CAP + 1n);

const settlement = [
  { field: "settledPrice", before: 0n, after: OPEN_ROUND.strikePrice + 1n },
  { field: "settledAmount", before: 0n, after: OPEN_ROUND.filledVolume },
  { field: "settled", before: false, after: true },
].map((change) => ({ reading: "round", ...change }));

/** A behaviour of a vault or a node, and the simulation of a settlement on it. */
interface Behaviour {
  readonly title: string;
  readonly script?: (node: ScriptedNode) => void;
  readonly options?: SimulateSettleAllOptions;
  readonly network?: Readonly<Record<string, unknown>>;
  readonly only?: Engine;
  readonly expected: Partial<Simulation>;
  readonly reason?: RegExp;
  readonly note?: RegExp;
}

const behaviours: readonly Behaviour[] = [
  {
    title: "a vault that settles",
    expected: {
      status: "settled",
      code: null,
      block: NEXT,
      changes: settlement,
    },
    note: /^Not known beforehand: the block's randomness/u,
  },
  {
    title: "a vault that reverts with data",
    script: (node) => {
      node.revertsWith = "0x12345678";
    },
    expected: { status: "reverted", code: "VAULT_CALL_REVERTED", changes: [] },
    reason: /^unknown error 0x12345678/u,
  },
  {
    title: "a vault that succeeds and leaves the round open",
    script: (node) => {
      node.effect = (round) => round;
    },
    expected: {
      status: "not-settled",
      code: "VAULT_NOT_SETTLED",
      changes: [],
    },
    reason: /not settled by it/u,
  },
  {
    title: "a vault that opens the next round",
    script: (node) => {
      node.effect = nextRound;
    },
    expected: {
      status: "settled",
      changes: [
        {
          reading: "round",
          field: "startTime",
          before: OPEN_ROUND.startTime,
          after: OPEN_ROUND.endTime,
        },
        {
          reading: "round",
          field: "endTime",
          before: OPEN_ROUND.endTime,
          after: OPEN_ROUND.endTime + 604_800n,
        },
      ],
    },
  },
  {
    title: "a round that is settled already",
    script: (node) => {
      node.rounds = node.rounds.map(settledRound);
    },
    expected: {
      ...{ status: "nothing-to-do", code: null, gasUsed: null, block: null },
      ...{ changes: [], balances: [], transfers: [], notes: [] },
    },
    reason: /^the round is settled already$/u,
  },
  {
    title: "orders that cannot be read",
    options: { orders: [1, 2, 7, 7] },
    expected: { status: "settled", changes: settlement },
    note: /^Of 3 orders that were asked about, 3 could not be read\.$/u,
  },
  {
    title: "the round's end",
    options: { atTime: "end" },
    expected: {
      block: { number: 6, timestamp: Number(OPEN_ROUND.endTime) },
    },
  },
  {
    title: "the chain's own time if the round has ended",
    script: (node) => {
      node.rounds = node.rounds.map((round) => ({ ...round, endTime: 5n }));
    },
    options: { atTime: "end" },
    expected: { block: NEXT },
  },
  {
    title: "a past block",
    options: { blockNumber: 2 },
    expected: {
      status: "settled",
      block: { number: 3, timestamp: 1_700_000_003 },
    },
  },
  {
    title: "a past block, at the end of the round that was open then",
    script: (node) => {
      node.rounds = node.rounds.map((round, block) =>
        block > 2 ? nextRound(round) : round,
      );
    },
    options: { blockNumber: 2, atTime: "end" },
    expected: {
      status: "settled",
      block: { number: 3, timestamp: Number(OPEN_ROUND.endTime) },
    },
  },
  {
    title: "a sender whose network has a gas price of 0",
    network: { gasPrice: 0n },
    expected: { status: "settled", balances: [] },
  },
  {
    title: "a node that does not know the price of gas",
    script: (node) => {
      node.on("eth_gasPrice", unknownMethod);
      node.on("eth_getBlockByNumber", async (_, answer) => {
        const block = await answer();
        return { ...fieldsOf(block), baseFeePerGas: undefined };
      });
    },
    expected: { status: "settled", balances: [] },
    note: /^The price of gas is not known: no fee is subtracted\.$/u,
  },
  {
    title: "a node that gives its newest block as pending",
    script: (node) => {
      node.on("eth_getBlockByNumber", async (_, answer) => {
        const block = fieldsOf(await answer());
        return { ...block, number: "0x5", hash: `0x${"05".repeat(32)}` };
      });
    },
    expected: { status: "settled" },
  },
  {
    title: "a node that ignores the base fee of the request",
    script: (node) => {
      node.on("eth_getBlockByNumber", async (_, answer) => ({
        ...fieldsOf(await answer()),
        baseFeePerGas: "0x9",
      }));
    },
    expected: { status: "settled" },
    note: /^The node simulates with a base fee of 7 wei instead of 9: /u,
  },
  {
    title: "a settlement above the gas cap of a transaction",
    script: settling({ gasUsed: ABOVE_CAP, maxUsedGas: ABOVE_CAP }),
    only: "simulateV1",
    expected: { status: "settled", gasUsed: TRANSACTION_GAS_CAP + 1n },
    note: /^It uses 16777217 gas, for which a limit of 16777217 may be needed: .*EIP-7825/u,
  },
  {
    title:
      "a settlement below that cap which may need more, its refunds unknown",
    script: settling({ gasUsed: "0xe00000" }),
    only: "simulateV1",
    expected: { gasUsed: 14_680_064n },
    note: /^It uses 14680064 gas, for which a limit of 18350080 may be needed/u,
  },
  {
    title: "a vault that runs out of the gas of the caller",
    options: { gas: 60_000 },
    network: { gas: 5n },
    script: failing({ error: { code: -32_000, message: "out of gas" } }),
    only: "simulateV1",
    expected: { status: "reverted", code: "VAULT_OUT_OF_GAS" },
    reason:
      /^out of gas: it uses all of the 60000 that it is given\. .*`gas` of simulateSettleAll/u,
  },
  {
    title: "a block whose gas a vault uses up",
    script: failing({ gasUsed: "0x1c9c380" }),
    only: "simulateV1",
    expected: { status: "reverted", code: "VAULT_OUT_OF_GAS" },
    reason:
      /^out of gas, or an invalid instruction: it uses all of the 30000000 that a block of this chain has room for/u,
  },
  {
    title: "a vault that runs an invalid instruction",
    script: failing({
      gasUsed: "0x1c9c380",
      error: { code: -32_000, message: "invalid opcode: INVALID" },
    }),
    only: "simulateV1",
    expected: { status: "reverted", code: "VAULT_CALL_REVERTED" },
    reason: /^invalid opcode: INVALID$/u,
  },
];

/** Nodes whose eth_simulateV1 is wrong. */
const wrong: ReadonlyArray<readonly [title: string, rewrite: Rewrite]> = [
  ["says another number", changing((block) => (block["number"] = "0x1"))],
  ["says another time", changing((block) => (block["timestamp"] = "0x5"))],
  [
    "executes in another block than it says",
    changing((block) => {
      const [six, seven] = ["6", "7"].map((number) => number.padStart(64, "0"));
      block["calls"] = JSON.parse(
        JSON.stringify(block["calls"]).replaceAll(`"0x${six}`, `"0x${seven}`),
      );
    }),
  ],
  [
    "uses less gas than any transaction",
    changingSettlement({ gasUsed: "0x5247" }),
  ],
  ["uses more gas than its most", changingSettlement({ maxUsedGas: "0x5248" })],
  [
    "leaves a call out",
    changing((block) => (block["calls"] = listOf(block["calls"]).slice(1))),
  ],
  [
    "has a call too many",
    changing((block) => {
      const calls = listOf(block["calls"]);
      block["calls"] = [...calls, calls[0]];
    }),
  ],
  [
    "answers two blocks",
    async (_, answer) => {
      const [block] = listOf(await answer());
      return [block, block];
    },
  ],
  ["answers something else", () => "0x"],
];

describe("simulateSettleAll on a node, with eth_simulateV1 and with eth_call", () => {
  for (const {
    title,
    script,
    options,
    network,
    only,
    expected,
    ...says
  } of behaviours) {
    for (const engine of only === undefined ? engines : [only]) {
      it(`${engine} reports ${expected.status ?? "settled"}: ${title}`, async () => {
        const node = new ScriptedNode();
        script?.(node);
        const simulation = await simulate(hostOf(node, network), {
          engine,
          ...options,
        });
        expect(simulation).to.deep.include({ engine, ...expected });
        expect(simulation.reason ?? "").to.match(says.reason ?? /^$/u);
        if (says.note !== undefined) {
          expect(
            simulation.notes.filter((note) => says.note?.test(note) === true),
          ).to.have.length(1);
        }
      });
    }
  }

  for (const engine of engines) {
    it(`${engine} subtracts the fee, lists what it sees, and notes what it does not see`, async () => {
      const {
        balances,
        transfers,
        notes,
        gasUsed: used,
      } = await simulate(hostOf(new ScriptedNode()), { engine });
      expect(used).to.equal(gasUsed[engine]);
      expect(balances).to.deep.equal([
        {
          account: SETTLER,
          token: "native",
          before: BALANCE,
          after: BALANCE - gasUsed[engine] * GAS_PRICE,
        },
      ]);
      expect(transfers).to.deep.equal(
        engine === "call"
          ? null
          : [{ token: VAULT, from: VAULT, to: VAULT, amount: 5n }],
      );
      expect(notes).to.have.length(engine === "call" ? 3 : 1);
      expect(notes.join(" ").includes("Transfers are not seen")).to.equal(
        engine === "call",
      );
    });

    it(`${engine} adds the fee to the balance of a sender who cannot pay it`, async () => {
      const host = hostOf(new ScriptedNode(), { gasPrice: BALANCE });
      const { balances } = await simulate(host, { engine });
      const fee = gasUsed[engine] * BALANCE;
      expect(balances[0]).to.include({ before: BALANCE + fee, after: BALANCE });
    });

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

    it(`${engine} finds no code at the vault's address: VAULT_NO_CODE`, async () => {
      const node = new ScriptedNode({ codeOf: () => "0x" });
      const { details } = await expectVaultError(
        simulate(hostOf(node), { engine }),
        "VAULT_NO_CODE",
      );
      expect(details).to.include({ contract: "vault", address: VAULT });
    });

    it(`${engine} reports readings that fail afterwards, and notes that the round cannot be read`, async () => {
      const node = new ScriptedNode({
        answerOf: ({ data, phase }) => ({
          reverted: phase === "after" && data !== SETTLE,
          data: `0x${"00".repeat(data === SETTLE ? 0 : 320)}`,
        }),
      });
      const simulation = await simulate(hostOf(node), { engine });
      expect(simulation).to.deep.include({
        status: "settled",
        changes: ["round", "volume", "marginBalance", "minXMargin"].map(
          (reading) => ({
            ...{ reading, field: "error" },
            ...{ before: null, after: "VAULT_CALL_REVERTED" },
          }),
        ),
      });
      expect(simulation.notes[0]).to.match(/^The round cannot be read after/u);
    });

    it(`${engine} watches 400 orders in one request, and none above: VAULT_INVALID_ARGUMENT`, async () => {
      const node = documentedNode();
      node.overrides = true;
      const host = new BareHost(node, documentedContracts, SETTLER);
      const orders = Array.from({ length: 401 }, (_, index) => index);
      await simulate(host, { engine, orders: [...orders.slice(1), 7n] });
      expect(
        node.asked.filter(
          ({ method, params }) =>
            method === methods[engine] &&
            JSON.stringify(params).includes("d311636b"),
        ),
      ).to.have.length(1);
      node.asked.length = 0;
      const { message } = await expectVaultError(
        simulate(host, { engine, orders }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message).to.contain("orders: at most 400 can be watched");
      expect(node.asked).to.deep.equal([]);
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

  it("call is used on a node that has nothing but eth_call, which is tried once for more", async () => {
    const node = new ScriptedNode();
    for (const method of ["eth_simulateV1", "eth_maxPriorityFeePerGas"]) {
      node.on(method, unknownMethod);
    }
    node.on("eth_getBlockByNumber", async ([tag], answer) =>
      tag === "pending" ? await unknownMethod([], answer, 0) : await answer(),
    );
    const host = hostOf(node);
    for (const atTime of [undefined, "end"]) {
      expect(await simulate(host, { atTime })).to.deep.include({
        status: "settled",
        engine: "call",
        changes: settlement,
      });
    }
    expect(node.count("eth_simulateV1")).to.equal(1);
  });

  for (const [title, rewrite] of wrong) {
    it(`call is used if eth_simulateV1 ${title}, which is not tried again`, async () => {
      const node = new ScriptedNode();
      node.on("eth_simulateV1", rewrite);
      const host = hostOf(node);
      for (let time = 0; time < 2; time += 1) {
        expect(await simulate(host)).to.deep.include({
          status: "settled",
          engine: "call",
          changes: settlement,
        });
      }
      expect(node.count("eth_simulateV1")).to.equal(1);
    });
  }

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

  for (const [title, script, requests] of [
    [
      "refuses state overrides",
      (node: ScriptedNode) => {
        node.overrides = false;
      },
      [1, 2],
    ],
    [
      "ignores state overrides",
      (node: ScriptedNode) => {
        node.overrides = false;
        node.on("eth_call", () => "0x");
      },
      [1, 2],
    ],
    [
      "refuses for a moment",
      (node: ScriptedNode) => {
        node.on("eth_call", refuse(-32_000, "unlucky"));
        node.on("eth_simulateV1", refuse(-32_000, "unlucky"));
      },
      [2, 4],
    ],
  ] as const) {
    it(`neither simulateV1 nor call works on a node that ${title}: VAULT_ENGINE_UNAVAILABLE`, async () => {
      const node = new ScriptedNode();
      script(node);
      const host = hostOf(node);
      for (let time = 0; time < 2; time += 1) {
        for (const engine of engines) {
          await expectVaultError(
            simulate(host, { engine }),
            "VAULT_ENGINE_UNAVAILABLE",
          );
        }
      }
      expect([
        node.count("eth_simulateV1"),
        node.count("eth_call"),
      ]).to.deep.equal(requests);
    });
  }

  it("call leaves a vault that treats a sender with code differently to a fork: VAULT_ENGINE_UNAVAILABLE", async () => {
    const node = new ScriptedNode();
    node.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["to"] === VAULT
        ? await refuse(3, "execution reverted")([], answer, 0)
        : await answer(),
    );
    const { message } = await expectVaultError(
      simulate(hostOf(node), { engine: "call" }),
      "VAULT_ENGINE_UNAVAILABLE",
    );
    expect(message).to.contain("a sender that has code");
  });

  for (const [options, code] of [
    [{ as: "0x12" }, "VAULT_INVALID_ADDRESS"],
    [{ tokens: ["0x12"] }, "VAULT_INVALID_ADDRESS"],
    [{ orders: [-1] }, "VAULT_INVALID_INTEGER"],
    [{ gas: -1 }, "VAULT_INVALID_INTEGER"],
    [{ atTime: "soon" }, "VAULT_INVALID_TIME"],
    [{ atTime: -1 }, "VAULT_INVALID_TIME"],
    [{ atTime: 1.5 }, "VAULT_INVALID_TIME"],
    [{ atTime: 2n ** 64n }, "VAULT_INVALID_TIME"],
    [{ atTime: "2020-01-01" }, "VAULT_TIME_IN_PAST"],
    [{ atTime: 1_700_000_005 }, "VAULT_TIME_IN_PAST"],
    [{ atTime: "+0s" }, "VAULT_TIME_IN_PAST"],
    [{ engine: "call", hardfork: "prague" }, "VAULT_INVALID_ARGUMENT"],
    [{ engine: "all" }, "VAULT_INVALID_ENUM"],
    [{ blockNumber: "pending" }, "VAULT_INVALID_BLOCK"],
    [{ blockNumber: 9 }, "VAULT_BLOCK_NOT_FOUND"],
  ] as const) {
    it(`simulateSettleAll refuses ${Object.entries(options).join(" and ").replace(",", " ")}: ${code}`, async () => {
      const node = new ScriptedNode();
      const error = await expectVaultError(
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- some are wrong on purpose
        simulate(hostOf(node), options as SimulateSettleAllOptions),
        code,
      );
      if (code === "VAULT_TIME_IN_PAST") {
        expect(error.details["where"]).to.equal("atTime");
      }
      expect(node.count("eth_simulateV1")).to.equal(0);
    });
  }

  it("simulateSettleAll throws the error of an address that cannot be used: VAULT_INVALID_ADDRESS", async () => {
    const error = new VaultError("VAULT_INVALID_ADDRESS", {});
    class WrongTrading extends BareHost {
      public override withDeadline(): this {
        return this;
      }
      public override async addressOf(
        ...[role]: Parameters<BareHost["addressOf"]>
      ) {
        return role === "trading"
          ? await Promise.reject(error)
          : await Promise.resolve({ address: VAULT, source: "a test" });
      }
    }
    const host = new WrongTrading(new ScriptedNode(), {}, NOBODY);
    await expectVaultError(simulate(host), "VAULT_INVALID_ADDRESS");
  });

  it("simulateSettleAll refuses the end of a round that cannot be read: VAULT_INVALID_ARGUMENT", async () => {
    const host = new BareHost(new ScriptedNode(), { vault: VAULT }, NOBODY);
    await expectVaultError(
      simulate(host, { atTime: "end" }),
      "VAULT_INVALID_ARGUMENT",
    );
    // It is not needed otherwise.
    expect((await simulate(host)).status).to.equal("settled");
  });
});
