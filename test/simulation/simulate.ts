import { expect } from "chai";
import { Interface } from "ethers";

import type { Address } from "../../src/protocol/index.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import { simulateSettleAll } from "../../src/simulation/simulate.js";
import type { Simulation } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { BareHost } from "../helpers/bare-host.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import { NOBODY } from "../helpers/names.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLER,
  TIME_OF_GENESIS,
  VAULT,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  FACTS,
  askedOf,
  changeCalls,
  changeFacts,
  changeSettlement,
  feeIn,
  refuse,
  settlementIn,
  simulateOn,
} from "../helpers/simulate-on.js";

const GUARD: Address = "0x00000000000000000000000000000000000000A7";
const TOKEN = "0x00000000000000000000000000000000000000b1";
const BALANCE = 10n ** 18n;
/** At the scripted node's price of 8 wei. */
const FEE = 480_000n;
const TRANSFER =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/** RoundNotSettled() of the guard. */
const NOT_SETTLED = "0x4704860a";

const word = (value: bigint | string): string =>
  BigInt(value).toString(16).padStart(64, "0");

const nodeWith = (change: (node: ScriptedNode) => void): ScriptedNode => {
  const node = new ScriptedNode();
  change(node);
  return node;
};

describe("the status of a simulation", () => {
  const nothing = {
    ...{ changes: [], balances: [], transfers: [], notes: [] },
    ...{ gasUsed: null, block: null, code: null, guard: null },
  };
  for (const [title, change, expected] of [
    [
      "settled, with the block, the gas, the changes of the round and the transfers of the logs",
      () => undefined,
      {
        ...{ status: "settled", code: null, reason: null, guard: null },
        ...{ engine: "simulateV1", gasUsed: 60_000n },
        block: { number: 6, timestamp: 1_700_000_006 },
        changes: [
          ["settledPrice", 0n, OPEN_ROUND.strikePrice + 1n] as const,
          ["settledAmount", 0n, 400n] as const,
          ["settled", false, true] as const,
        ].map(([field, before, after]) => ({
          ...{ reading: "round", field, before, after },
        })),
        transfers: [{ token: VAULT, from: VAULT, to: VAULT, amount: 5n }],
      },
    ],
    [
      "reverted, with the reason and without changes",
      (node) => {
        node.revertsWith = "0x12345678";
      },
      {
        ...{ status: "reverted", code: "VAULT_CALL_REVERTED" },
        reason: "unknown error 0x12345678 with 0 bytes of arguments",
        ...{ changes: [], transfers: [] },
      },
    ],
    [
      "not-settled if the round stays open",
      (node) => {
        node.effect = (round) => round;
      },
      { status: "not-settled", code: "VAULT_WOULD_NOT_SETTLE", changes: [] },
    ],
    [
      "nothing-to-do, without block, gas and notes, if the round is settled",
      (node) => {
        node.rounds = node.rounds.map(settledRound);
      },
      {
        ...{ ...nothing, status: "nothing-to-do", engine: "simulateV1" },
        reason: "the round is settled already",
      },
    ],
  ] satisfies ReadonlyArray<
    readonly [string, (node: ScriptedNode) => void, object]
  >) {
    it(`simulateSettleAll predicts ${title}`, async () => {
      const simulation = await simulateOn(nodeWith(change));
      expect(simulation).to.deep.include(expected);
    });
  }

  it("simulateSettleAll reports the chain, the block that it starts from, the sender and the orders that it read", async () => {
    const node = documentedNode();
    node.overrides = true;
    node.on("eth_chainId", () => "0x1");
    // Only contracts have code.
    node.on("eth_getCode", () => "0x");
    const host = new BareHost(node, documentedContracts, SETTLER);
    const from = { getAddress: () => NOBODY };
    const simulated = await simulateSettleAll(host, { orders: [1, 2], from });
    const timestamp = TIME_OF_GENESIS + 1_000;
    expect(simulated.base).to.include({ number: 1_000, timestamp });
    expect(simulated).to.deep.include({
      ...{ chainId: 1, sender: NOBODY },
      ...{ balance: BALANCE },
    });
  });

  it("simulateSettleAll settles in the next second at a round's end that is the time of the newest block", async () => {
    const node = new ScriptedNode();
    const endTime = 1_700_000_005n;
    node.rounds = node.rounds.map((round) => ({ ...round, endTime }));
    const { block } = await simulateOn(node, { atTime: "end" });
    expect(block).to.deep.equal({ number: 6, timestamp: 1_700_000_006 });
  });

  it("simulateSettleAll asks for the newest block and the next one, the tip, and one simulation", async () => {
    const node = new ScriptedNode();
    await simulateOn(node, { from: SETTLER });
    expect(node.asked.map(({ method }) => method)).to.deep.equal([
      ...["eth_getBlockByNumber", "eth_getBlockByNumber"],
      ...["eth_maxPriorityFeePerGas", "eth_simulateV1"],
    ]);
  });

  it("simulateSettleAll reads as the sender of reads, whoever settles", async () => {
    const readersOf = async (
      options: Parameters<typeof simulateOn>[1],
    ): Promise<readonly unknown[]> => {
      const node = new ScriptedNode();
      await simulateOn(node, options);
      const { calls } = askedOf(node);
      const place = settlementIn(calls);
      expect(calls[place]?.["from"]).to.equal(options?.from ?? SETTLER);
      return calls.toSpliced(place, 1).map(({ from }) => from);
    };
    expect(await readersOf({ from: NOBODY })).to.deep.equal(
      await readersOf({}),
    );
  });

  it("simulateSettleAll throws VAULT_NO_CODE of a vault without code, with the block that it starts from", async () => {
    const { message, details } = await expectVaultError(
      simulateOn(new ScriptedNode({ codeOf: () => "0x" }), { blockNumber: 2 }),
      "VAULT_NO_CODE",
    );
    expect(details).to.include({ contract: "vault", address: VAULT });
    expect(message).to.contain("at block 2");
  });
});

describe("the fee in a simulation", () => {
  it("the gas used × the price of the node is subtracted from the sender, and nothing if the configured price is 0", async () => {
    for (const [gasPrice, fee] of [
      ["auto", FEE],
      [0n, undefined],
    ] as const) {
      const simulation = await simulateOn(
        new ScriptedNode(),
        {},
        {
          settings: { gasPrice },
        },
      );
      expect(feeIn(simulation)).to.equal(fee);
    }
  });

  it("the fee is subtracted from a settlement that reverts", async () => {
    const node = new ScriptedNode();
    node.revertsWith = "0x12345678";
    expect(feeIn(await simulateOn(node))).to.equal(FEE);
  });

  it("no fee is subtracted from a contract that is the sender", async () => {
    const { balances } = await simulateOn(new ScriptedNode(), {
      from: FACTORY,
    });
    expect(balances).to.deep.equal([]);
  });

  for (const [title, before, after, isTooPoor, left] of [
    ["charges it", BALANCE, BALANCE - FEE, false, BALANCE - FEE],
    ["charges nothing", FEE, FEE, false, 0n],
    [
      "charges nothing to a sender who lacks a wei",
      ...([FEE - 1n, 2n * FEE - 1n, true, undefined] as const),
    ],
    [
      "charges a sender without a wei, whom the vault pays more",
      ...([0n, 11n * FEE, true, 11n * FEE] as const),
    ],
  ] as const) {
    it(`${isTooPoor ? "no fee is subtracted, with a note," : "the fee is subtracted once"} if the node ${title}`, async () => {
      const node = new ScriptedNode();
      changeFacts(node, {
        before: { [FACTS.senderBalance]: before },
        after: { [FACTS.senderBalance]: after },
      });
      const { balances, notes } = await simulateOn(node, { gas: 60_000 });
      expect(balances[0]?.after).to.equal(left);
      expect(notes.filter((note) => note.includes("cannot pay"))).to.deep.equal(
        isTooPoor
          ? [
              `The sender cannot pay for gas: it has ${before} wei, and the fee is ${FEE} wei. The fee was lent to it, and is not subtracted.`,
            ]
          : [],
      );
    });
  }

  for (const [title, status, before, after] of [
    ["settles and is paid 5 wei", "0x1", BALANCE, BALANCE + 5n],
    ["reverts, whose payment is undone", "0x0", BALANCE, BALANCE],
  ] as const) {
    it(`the fee is subtracted once of a node that charges nothing if the settlement ${title}`, async () => {
      const node = new ScriptedNode();
      const paid = {
        address: `0x${"ee".repeat(20)}`,
        topics: [TRANSFER, `0x${word(VAULT)}`, `0x${word(SETTLER)}`],
        data: `0x${word(5n)}`,
      };
      changeFacts(node, { before: { [FACTS.senderBalance]: before } });
      changeCalls(node, (place, { returnData }) =>
        place === 0
          ? { status, logs: [paid] }
          : place === 1
            ? {
                returnData: `${String(returnData).slice(0, 2 + 64 * FACTS.senderBalance)}${word(after)}${String(returnData).slice(66 + 64 * FACTS.senderBalance)}`,
              }
            : {},
      );
      const { balances, notes } = await simulateOn(node);
      expect(balances[0]?.after).to.equal(after - FEE);
      expect(notes.join()).not.to.contain(`${SETTLER} ends with`);
    });
  }

  for (const [used, needed, limit] of [
    ["0x1000000", "0x1000000", undefined],
    ["0xf42400", "0x1000001", "limit of 16777217 may"],
    // Before refunds, which are a fifth of the gas at most.
    ["0xcccccd", undefined, "limit of 16777217 may"],
  ] as const) {
    it(`a simulation ${limit === undefined ? "has no note" : "notes EIP-7825"} for gasUsed ${used} and maxUsedGas ${String(needed)}`, async () => {
      const node = new ScriptedNode();
      changeSettlement(node, {
        gasUsed: used,
        ...(needed !== undefined && { maxUsedGas: needed }),
      });
      const { notes } = await simulateOn(node, { engine: "simulateV1" });
      const ofCap = notes.filter((note) => note.includes("EIP-7825"));
      expect(ofCap).to.have.length(limit === undefined ? 0 : 1);
      expect(ofCap.join()).to.contain(limit ?? "");
    });
  }
});

describe("transfers of a simulation", () => {
  for (const [change, gained] of [
    [5n, "ends with 5 wei more than"],
    [-7n, "ends with 7 wei less than"],
  ] as const) {
    it(`transfers are those of the logs, with a note that an account ${gained} they give it`, async () => {
      const node = new ScriptedNode();
      changeFacts(node, {
        after: { [FACTS.secondBalance]: BALANCE + change },
      });
      const { transfers, notes } = await simulateOn(node);
      expect(transfers?.map(({ amount }) => amount)).to.deep.equal([5n]);
      const problem = notes.find((note) =>
        note.startsWith("The list of transfers"),
      );
      expect(problem).to.contain(`${FACTORY} ${gained}`);
    });
  }
});

describe("a simulation through a guard", () => {
  /** A vault that settles through a guard, which is there at any block. */
  async function simulateGuarded(
    node: ScriptedNode,
    options: Parameters<typeof simulateSettleAll>[1] = {},
  ): Promise<Simulation> {
    node.on("eth_getCode", async ([address], answer) =>
      address === GUARD ? guardCode() : await answer(),
    );
    const host = node.host();
    host.guard = GUARD;
    return (await simulateSettleAll(host, options)).simulation;
  }

  it("every block but the head is read at the block that the simulation starts from", async () => {
    // Also the sender has code, which is looked at.
    const node = new ScriptedNode({ codeOf: () => "0x60" });
    await simulateGuarded(node, { blockNumber: 2 });
    const asked = node.asked.filter(
      ({ method }) => method !== "eth_getBlockByNumber",
    );
    expect(
      new Set(asked.map((request) => node.blockOf(request))),
    ).to.deep.equal(new Set([2, undefined]));
    for (const method of ["eth_getCode", "eth_call", "eth_simulateV1"]) {
      expect(node.count(method), method).to.be.greaterThan(0);
    }
  });

  it("the first note names the token that the guard keeps, whose balance a second request reads, and a named one is forwarded", async () => {
    const log = {
      address: TOKEN,
      topics: [TRANSFER, `0x${word(VAULT)}`, `0x${word(GUARD)}`],
      data: `0x${word(3n)}`,
    };
    for (const [tokens, isKept] of [
      [[NOBODY], true],
      [[NOBODY, TOKEN], false],
    ] as const) {
      const node = new ScriptedNode();
      // The token answers with the balance; it rises in the second request.
      changeCalls(node, (place, _call, calls) =>
        place === 0
          ? { status: "0x1", error: undefined, logs: [log] }
          : calls.length === 8 && place === 3
            ? { returnData: `0x${word(3n)}` }
            : calls.length === 8 && place === -2
              ? { returnData: `0x${word(0n)}` }
              : {},
      );
      const { reason } = await simulateGuarded(node, { tokens });
      expect(
        /leave tokens in the guard .+: 0x0{38}b1\. Name them, .+\.vault\.tokens to \["0x/iu.test(
          reason ?? "",
        ),
      ).to.equal(isKept);
      expect(node.count("eth_simulateV1")).to.equal(isKept ? 2 : 1);
      const { calls } = askedOf(node);
      const { input } = calls[settlementIn(calls)] ?? {};
      expect(parseGuarded(GUARD, String(input))?.guard.tokens).to.have.length(
        tokens.length,
      );
    }
  });

  it("a fork is to read the balance of the guard if the node refuses the second request", async () => {
    const node = new ScriptedNode();
    changeCalls(node, (place) => {
      if (node.count("eth_simulateV1") > 1) {
        refuse("no")();
      }
      const topics = [TRANSFER, `0x${word(VAULT)}`, `0x${word(GUARD)}`];
      const log = { address: TOKEN, topics, data: `0x${word(3n)}` };
      return place === 0
        ? { status: "0x1", error: undefined, logs: [log] }
        : {};
    });
    // For which no fork is made.
    const data = `0x4e487b71${"f".repeat(64)}`;
    let isCalled = false;
    node.on("eth_call", async ([call], answer) => {
      if (fieldsOf(call)["to"] !== GUARD) {
        return await answer();
      }
      isCalled = true;
      throw Object.assign(new Error("execution reverted"), { code: 3, data });
    });
    const { reason } = await simulateGuarded(node);
    expect(reason).to.contain("leave tokens in the guard");
    expect(isCalled).to.equal(true);
  });

  const refusal = { code: 3, message: "execution reverted", data: NOT_SETTLED };
  const refuses = (error: object) => (node: ScriptedNode) =>
    changeSettlement(node, {
      ...{ status: "0x0", returnData: "0x", logs: [], error },
    });
  const silent = new Interface(["error VaultReverted(bytes)"]);
  for (const [title, code, change] of [
    ["settlement", "VAULT_WOULD_NOT_SETTLE", refuses(refusal)],
    [
      "settlement in the vault's name, not that of the node's message",
      "VAULT_CALL_REVERTED",
      refuses({
        ...{ code: -32_015, message: "by the guard" },
        data: silent.encodeErrorResult("VaultReverted", ["0x"]),
      }),
    ],
  ] as const) {
    it(`the reason is the contract's own if a guard refuses the ${title}`, async () => {
      const simulation = await simulateGuarded(nodeWith(change));
      expect(simulation).to.deep.include({
        ...{ status: "reverted", code, transfers: [] },
      });
      expect(simulation.reason).to.not.contain("by the guard");
    });
  }
});
