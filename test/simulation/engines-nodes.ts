import { expect } from "chai";
import { Interface } from "ethers";

import { SimulationLensArtifact } from "../../src/client/lens/artifact.js";
import type { HardhatVault, Simulation } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { connectTo } from "../helpers/hre.js";
import {
  SETTLEMENT_CHANGES,
  deployProtocol,
  directProvider,
} from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";

const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

const unknownMethod = {
  error: {
    code: -32601,
    message: "the method does not exist/is not available",
  },
} as const;

/**
 * What eth_simulateV1 says of a call for which no gas is left: Geth lets all
 * calls of a request share one allowance.
 */
const outOfGas = {
  status: "0x0",
  returnData: "0x",
  gasUsed: "0xf4240",
  error: { code: -32015, message: "out of gas" },
};

/** The settlement among the calls of a simulated block, others around it. */
function settlementIn({ calls }: Readonly<Record<string, unknown>>): object {
  const all: unknown[] = [calls].flat();
  const settlement = all[(all.length - 1) / 2];
  return typeof settlement === "object" ? (settlement ?? {}) : {};
}

/** What eth_simulateV1 answers, with one thing in it changed. */
function changing(
  change: (block: Record<string, unknown>) => void,
): RpcHandler {
  return async ({ request, forward }) => {
    if (request.method !== "eth_simulateV1") {
      return undefined;
    }
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- what anvil answers
    const { result } = JSON.parse(await forward()) as {
      result: Array<Record<string, unknown>>;
    };
    result.forEach(change);
    return { result };
  };
}

/** The overrides that a call has, beside the call and the block. */
function overridesOf({
  method,
  params,
}: {
  readonly method: string;
  readonly params: readonly unknown[];
}): readonly unknown[] {
  return method === "eth_call" ? params.slice(2) : [];
}

/** A node without eth_simulateV1 that refuses a call with more overrides. */
function refusingOverridesBeyond(most: number): RpcHandler {
  return ({ request }) =>
    request.method === "eth_simulateV1"
      ? unknownMethod
      : overridesOf(request).length > most
        ? {
            error: {
              code: -32602,
              message: `too many arguments, want at most ${2 + most}`,
            },
          }
        : undefined;
}

/** A node without eth_simulateV1 that answers as if there were no more. */
function ignoringOverridesBeyond(most: number): RpcHandler {
  return async ({ request, forward }) =>
    request.method === "eth_simulateV1"
      ? unknownMethod
      : overridesOf(request).length > most
        ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a result of anvil
          (JSON.parse(
            await forward({
              ...request,
              params: request.params.slice(0, 2 + most),
            }),
          ) as { result: unknown })
        : undefined;
}

describe("simulation - on every kind of node", () => {
  let anvil: ServerProcess;
  let server: RpcServer;
  let protocol: MockProtocol;

  before(async () => {
    anvil = await startAnvil();
    const provider = directProvider(anvil.url);
    protocol = await deployProtocol(await provider.getSigner(0));
    provider.destroy();
    server = await startRpcServer({ upstream: anvil.url });
  });
  after(async () => {
    await server.stop();
    await anvil.stop();
  });
  beforeEach(() => {
    server.requests.length = 0;
    server.handler = () => undefined;
  });

  async function open(
    url = server.url,
    contracts: Readonly<Record<string, string>> = protocol.contracts,
  ): Promise<HardhatVault> {
    return (await connectTo(url, { vault: { contracts } })).vault;
  }

  function expectSettled(
    simulation: Simulation,
    engine: Simulation["engine"],
  ): void {
    expect({ ...simulation, engine: simulation.engine }).to.deep.include({
      status: "settled",
      engine,
      changes: SETTLEMENT_CHANGES,
    });
  }

  it("should ask anvil for two blocks and the settlement, and once for its accounts and the price of a block", async () => {
    const vault = await open();
    const methodsOfOne = async (): Promise<readonly string[]> => {
      server.requests.length = 0;
      expectSettled(await vault.simulateSettleAll(), "simulateV1");
      return server.requests.map(({ method }) => method);
    };
    const ofEach = [
      "eth_getBlockByNumber",
      "eth_getBlockByNumber",
      "eth_simulateV1",
    ];
    expect(await methodsOfOne()).to.have.members([
      ...ofEach,
      "eth_maxPriorityFeePerGas",
      "eth_accounts",
    ]);
    expect(await methodsOfOne()).to.have.members(ofEach);
  });

  it("should take off the price of the latest block, also where another has the same number", async () => {
    let tip = 1_000_000_000n;
    server.handler = ({ request }) =>
      request.method === "eth_maxPriorityFeePerGas"
        ? { result: `0x${tip.toString(16)}` }
        : undefined;
    const vault = await open();
    const paidBy = ({ balances: [paid] }: Simulation): bigint =>
      (paid?.before ?? 0n) - (paid?.after ?? 0n);
    const snapshot = await vault.rpc.request("evm_snapshot");
    await vault.rpc.request("evm_mine");
    const first = await vault.simulateSettleAll();
    const { timestamp } = await vault.block();
    tip = 100_000_000_000n;
    await vault.rpc.request("evm_revert", [snapshot]);
    await vault.rpc.request("evm_mine", [`0x${(timestamp + 5).toString(16)}`]);
    const second = await vault.simulateSettleAll();
    expect(second.block?.number).to.equal(first.block?.number);
    const dearest = (second.gasUsed ?? 0n) * tip;
    expect(paidBy(first) < dearest).to.equal(true);
    expect(paidBy(second) >= dearest).to.equal(true);
  });

  it("should watch 400 orders in one request, and refuse the 401st before any", async () => {
    const vault = await open();
    const orders = Array.from({ length: 401 }, (_, index) => index);
    for (const [engine, method] of [
      ["simulateV1", "eth_simulateV1"],
      ["call", "eth_call"],
    ] as const) {
      server.requests.length = 0;
      await vault.simulateSettleAll({ engine, orders: orders.slice(1) });
      const asked = server.requests.filter(
        (request) =>
          request.method === method &&
          JSON.stringify(request.params).includes("d311636b"),
      );
      expect(asked, engine).to.have.length(1);
    }
    server.requests.length = 0;
    const { message } = await expectVaultError(
      vault.simulateSettleAll({ orders }),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.contain("orders: at most 400 can be watched");
    expect(server.requests).to.deep.equal([]);
  });

  it("should fork hardhat node, at the time that it would give its block", async () => {
    const node = await startHardhatNode();
    const provider = directProvider(node.url);
    try {
      const { contracts } = await deployProtocol(await provider.getSigner(0));
      const vault = await open(node.url, contracts);
      const head = await vault.block();
      await provider.send("evm_increaseTime", [1_000]);
      const simulation = await vault.simulateSettleAll();
      expectSettled(simulation, "fork");
      expect(simulation.block?.number).to.equal(head.number + 1);
      expect(simulation.block?.timestamp).to.be.within(
        head.timestamp + 1_000,
        head.timestamp + 1_300,
      );
      for (const engine of ["simulateV1", "call"] as const) {
        await expectVaultError(
          vault.simulateSettleAll({ engine }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
      }
    } finally {
      provider.destroy();
      await node.stop();
    }
  });

  it("should call a node that has nothing but eth_call", async () => {
    server.handler = async ({ request, forward }) => {
      if (request.method !== "eth_getBlockByNumber") {
        return ["eth_call", "eth_chainId"].includes(request.method)
          ? undefined
          : unknownMethod;
      }
      if (request.params[0] === "pending") {
        return unknownMethod;
      }
      const { result } = fieldsOf(JSON.parse(await forward()));
      return { result: { ...fieldsOf(result), baseFeePerGas: undefined } };
    };
    const vault = await open();
    const simulation = await vault.simulateSettleAll({ as: FIRST_ACCOUNT });
    expectSettled(simulation, "call");
    // Nor does such a node tell what gas costs.
    expect(simulation.balances).to.deep.equal([]);
    expect(simulation.notes.join(" ")).to.contain("no fee is subtracted");
    expectSettled(
      await vault.simulateSettleAll({ as: FIRST_ACCOUNT, atTime: "end" }),
      "call",
    );
    // What it has not is asked for once.
    expect(
      server.requests.filter(({ method }) => method === "eth_simulateV1"),
    ).to.have.length(1);
  });

  it("should ask a node once for what it refuses, and again for what failed for a moment", async () => {
    let failures = 2;
    server.handler = ({ request }) =>
      request.method === "eth_simulateV1"
        ? unknownMethod
        : overridesOf(request).length === 2
          ? {
              error:
                failures-- > 0
                  ? { code: -32000, message: "busy" }
                  : { code: -32602, message: "too many arguments" },
            }
          : undefined;
    const vault = await open();
    const askedInVain = async (): Promise<number> => {
      server.requests.length = 0;
      expectSettled(await vault.simulateSettleAll(), "fork");
      return server.requests.filter(
        (request) => overridesOf(request).length === 2,
      ).length;
    };
    // Once with code, and once plainly.
    expect(await askedInVain()).to.equal(2);
    expect(await askedInVain()).to.equal(2);
    expect(await askedInVain()).to.equal(0);
  });

  it("should start from the newest block of a node that gives it as pending", async () => {
    server.handler = async ({ request, forward }) =>
      request.method === "eth_getBlockByNumber" &&
      request.params[0] === "pending"
        ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a result of anvil
          (JSON.parse(
            await forward({ ...request, params: ["latest", false] }),
          ) as { result: unknown })
        : undefined;
    const vault = await open();
    const head = await vault.block("latest");
    const { block } = await vault.simulateSettleAll({ as: FIRST_ACCOUNT });
    expect(block?.number).to.equal(head.number + 1);
  });

  it("should name the gas of every call that tries a settlement", async () => {
    const lens = new Interface(SimulationLensArtifact.abi);
    const tries = ["0xa015aefe", lens.getFunction("simulate")?.selector ?? ""];
    for (const [most, calls] of [
      [2, 2],
      [0, 1],
    ] as const) {
      server.requests.length = 0;
      server.handler = refusingOverridesBeyond(most);
      const { status } = await (
        await open()
      ).settleAll({ confirm: async () => await Promise.resolve("no") });
      expect(status).to.equal("refused");
      const limits = server.requests.flatMap(({ method, params }) => {
        const { data, gas } = fieldsOf(params[0]);
        return method === "eth_call" &&
          tries.includes(String(data).slice(0, 10)) &&
          params.length === (most === 0 ? 2 : 4)
          ? [Number(gas)]
          : [];
      });
      expect(limits).to.have.length(calls);
      expect(limits.every((gas) => gas >= 30_000_000)).to.equal(true);
    }
  });

  for (const [node, handler] of [
    ["refuses to override blocks", refusingOverridesBeyond(1)],
    ["refuses all overrides", refusingOverridesBeyond(0)],
    ["ignores the block that is asked for", ignoringOverridesBeyond(1)],
    ["ignores code, and answers all the same", ignoringOverridesBeyond(0)],
  ] as const) {
    it(`should fork a node that ${node}`, async () => {
      server.handler = handler;
      const vault = await open();
      expectSettled(await vault.simulateSettleAll(), "fork");
      for (const engine of ["simulateV1", "call"] as const) {
        await expectVaultError(
          vault.simulateSettleAll({ engine }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
      }
    });
  }

  const wrong: ReadonlyArray<[name: string, handler: RpcHandler]> = [
    [
      "says another number",
      changing((block) => {
        block["number"] = "0x1";
      }),
    ],
    [
      "says another time",
      changing((block) => {
        block["timestamp"] = "0x5";
      }),
    ],
    [
      "executes in another block than it says",
      async ({ request, forward }) => {
        if (request.method !== "eth_simulateV1") {
          return undefined;
        }
        const [payload, tag] = request.params;
        const [block] = listOf(fieldsOf(payload)["blockStateCalls"]);
        const { number, time, ...others } = fieldsOf(
          fieldsOf(block)["blockOverrides"],
        );
        const answer: unknown = JSON.parse(
          await forward({
            ...request,
            params: [
              {
                ...fieldsOf(payload),
                blockStateCalls: [
                  { ...fieldsOf(block), blockOverrides: others },
                ],
              },
              tag,
            ],
          }),
        );
        return {
          result: listOf(fieldsOf(answer)["result"]).map((one) => ({
            ...fieldsOf(one),
            number,
            timestamp: time,
          })),
        };
      },
    ],
    [
      "uses less gas than any transaction",
      changing((block) => {
        Object.assign(settlementIn(block), { gasUsed: "0x5247" });
      }),
    ],
    [
      "uses more gas than it says to be the most",
      changing((block) => {
        Object.assign(settlementIn(block), { maxUsedGas: "0x5248" });
      }),
    ],
    [
      "leaves calls out",
      changing((block) => {
        block["calls"] = [block["calls"]].flat().slice(1);
      }),
    ],
    [
      "answers something else",
      ({ request }) =>
        request.method === "eth_simulateV1" ? { result: "0x" } : undefined,
    ],
  ];
  for (const [name, handler] of wrong) {
    it(`should not believe, nor ask again, a node whose eth_simulateV1 ${name}`, async () => {
      server.handler = handler;
      const vault = await open();
      expectSettled(await vault.simulateSettleAll(), "call");
      expectSettled(await vault.simulateSettleAll(), "call");
      expect(
        server.requests.filter(({ method }) => method === "eth_simulateV1"),
      ).to.have.length(1);
    });
  }

  const readings = "does not suffice for the readings";
  for (const [what, isStarved, problem] of [
    ["the settlement", (at: number) => at === 0, "1000000 gas for settleAll"],
    ["a reading after it", (at: number) => at === 2, readings],
    ["every call", () => true, readings],
  ] as const) {
    it(`should ask the next engine if a limit of the node's ends ${what}, and the node again the next time`, async () => {
      server.handler = changing((block) => {
        const calls = listOf(block["calls"]);
        for (const [index, call] of calls.entries()) {
          if (isStarved(index - (calls.length - 1) / 2)) {
            Object.assign(call ?? {}, outOfGas);
          }
        }
      });
      const vault = await open();
      expectSettled(await vault.simulateSettleAll(), "call");
      const { message } = await expectVaultError(
        vault.simulateSettleAll({ engine: "simulateV1" }),
        "VAULT_ENGINE_UNAVAILABLE",
      );
      expect(message).to.contain(problem);
      server.handler = () => undefined;
      expectSettled(await vault.simulateSettleAll(), "simulateV1");
    });
  }
});
