import { expect } from "chai";

import type { Address } from "../../src/protocol/index.js";
import type { Simulation } from "../../src/types.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import {
  FACTORY,
  SETTLER,
  VAULT,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import {
  FACTS,
  changeFacts,
  changeSettlement,
  hostOn,
  simulateOn,
  settlementIn,
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
const NATIVE_LOGS = `0x${"e".repeat(40)}`;

const word = (value: bigint | string): string =>
  BigInt(value).toString(16).padStart(64, "0");

/** A log of a transfer. */
const moved = (
  from: string,
  to: string,
  amount: bigint,
  address = NATIVE_LOGS,
) => ({
  address,
  topics: [TRANSFER, `0x${word(from)}`, `0x${word(to)}`],
  data: `0x${word(amount)}`,
});

/** A vault that settles through a guard, which is there at any block. */
async function simulateGuarded(
  node: ScriptedNode,
  options: Parameters<typeof simulateSettleAll>[1] = {},
): Promise<Simulation> {
  node.on("eth_getCode", async ([address], answer) =>
    address === GUARD ? guardCode() : await answer(),
  );
  const host = hostOn(node);
  host.guard = GUARD;
  return (await simulateSettleAll(host, options)).simulation;
}

const problemIn = ({ notes }: Simulation): string | undefined =>
  notes.find((note) => note.startsWith("The list of transfers is not right"));

describe("effects of a simulation", () => {
  describe("the sender's balance", () => {
    for (const [title, balances, isTooPoor, after] of [
      [
        "has the fee to the wei",
        { before: { [FACTS.senderBalance]: FEE }, after: {} },
        false,
        BALANCE - FEE,
      ],
      [
        "has a wei less than the fee, and is paid by the settlement",
        { before: { [FACTS.senderBalance]: FEE - 1n }, after: {} },
        true,
        BALANCE,
      ],
      [
        "spends what it needs for the fee",
        { before: {}, after: { [FACTS.senderBalance]: FEE - 1n } },
        true,
        FEE - 1n,
      ],
      [
        "keeps the fee to the wei",
        { before: {}, after: { [FACTS.senderBalance]: FEE } },
        false,
        0n,
      ],
    ] as const) {
      it(`a simulation ${isTooPoor ? "subtracts no fee" : "subtracts the fee"} if the sender ${title}`, async () => {
        const node = new ScriptedNode();
        changeFacts(node, balances);
        const simulation = await simulateOn(node);
        expect(simulation.balances[0]).to.include({ account: SETTLER, after });
        expect(
          simulation.notes.filter((note) => note.includes("cannot pay")),
        ).to.deep.equal(
          isTooPoor
            ? [
                `The sender cannot pay for gas: it has ${FEE - 1n} wei, and the fee is ${FEE} wei. The fee is not subtracted.`,
              ]
            : [],
        );
      });
    }
  });

  describe("transfers that do not explain the balances", () => {
    const trace = (value: string) => ({
      ...{ type: "CALL", from: VAULT, to: FACTORY, value },
    });
    /** The factory, which comes after the sender, gains 5 wei. */
    const paying = (): ScriptedNode => {
      const node = new ScriptedNode();
      changeFacts(node, { after: { [FACTS.secondBalance]: BALANCE + 5n } });
      return node;
    };

    it("a simulation lists the native transfers of a trace before those of tokens if they explain the balances", async () => {
      const node = new ScriptedNode();
      changeFacts(node, {
        after: {
          [FACTS.secondBalance]: BALANCE + 5n,
          [FACTS.secondBalance + 2]: BALANCE - 5n,
        },
      });
      node.on("debug_traceCall", () => trace("0x5"));
      const simulation = await simulateOn(node);
      expect(
        simulation.transfers?.map(({ token, amount }) => [token, amount]),
      ).to.deep.equal([
        ["native", 5n],
        [VAULT, 5n],
      ]);
      expect(problemIn(simulation)).to.equal(undefined);
    });

    for (const [title, change, gained] of [
      ["more", 5n, "ends with 5 wei more than"],
      ["less", -7n, "ends with 7 wei less than"],
    ] as const) {
      it(`a simulation keeps the transfers of the logs, and notes that an account has ${title}, if no trace explains it`, async () => {
        const node = new ScriptedNode();
        const after = { [FACTS.secondBalance]: BALANCE + change };
        changeFacts(node, { after });
        node.on("debug_traceCall", () => trace("0x1"));
        const simulation = await simulateOn(node);
        expect(simulation.transfers).to.have.length(1);
        expect(problemIn(simulation)).to.contain(`${FACTORY} ${gained}`);
      });
    }

    it("a simulation asks for the trace of the very call, on the block that it starts from, in the block of the settlement", async () => {
      const node = paying();
      await simulateOn(node, { blockNumber: 2, atTime: "+1h" });
      const { params = [] } =
        node.asked.find(({ method }) => method === "debug_traceCall") ?? {};
      expect(params).to.deep.equal([
        { from: SETTLER, to: VAULT, data: "0xa015aefe" },
        "0x2",
        {
          tracer: "callTracer",
          blockOverrides: {
            number: "0x3",
            time: `0x${(1_700_003_602).toString(16)}`,
            baseFeePerGas: "0x7",
          },
        },
      ]);
    });

    it("a simulation asks for no trace of a settlement that reverts, or whose transfers explain the balances", async () => {
      const reverting = paying();
      reverting.revertsWith = "0x12345678";
      for (const node of [reverting, new ScriptedNode()]) {
        await simulateOn(node);
        expect(node.count("debug_traceCall")).to.equal(0);
      }
    });
  });

  describe("through a guard", () => {
    it("a simulation reads every block but the head at the block that it starts from", async () => {
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

    it("a simulation lists the balances of the guard after those of sender and contracts, and notes the tokens that it keeps", async () => {
      const node = new ScriptedNode();
      changeSettlement(node, { logs: [moved(VAULT, GUARD, 3n, TOKEN)] });
      const { notes, guard } = await simulateGuarded(node);
      expect(guard).to.equal(GUARD);
      expect(notes[0]).to.match(
        /^What the vault pays stays in the guard: 0x0{38}b1\.$/iu,
      );
      const facts = new ScriptedNode();
      changeFacts(facts, {
        after: { [FACTS.senderBalance + 6]: BALANCE + 1n },
      });
      const { balances } = await simulateGuarded(facts);
      expect(balances.map(({ account }) => account)).to.deep.equal([
        SETTLER,
        GUARD,
      ]);
    });

    it("a simulation gives the guard's own reason, and names the guard also if there is nothing to do", async () => {
      const node = new ScriptedNode();
      changeSettlement(node, {
        ...{ status: "0x0", returnData: "0x", logs: [] },
        error: { code: 3, message: "execution reverted", data: NOT_SETTLED },
      });
      expect(await simulateGuarded(node)).to.include({
        status: "reverted",
        code: "VAULT_WOULD_NOT_SETTLE",
      });
      const settled = new ScriptedNode();
      settled.rounds = settled.rounds.map(settledRound);
      expect(await simulateGuarded(settled)).to.include({
        status: "nothing-to-do",
        guard: GUARD,
      });
    });
  });

  it("a simulation lists VAULT_NO_CODE of a reading whose contract is gone after the settlement", async () => {
    const node = new ScriptedNode({
      codeOf: () => "0x60",
      answerOf: ({ phase }) => ({
        reverted: false,
        data: phase === "after" ? "0x" : `0x${word(1n).repeat(9)}${word(0n)}`,
      }),
    });
    const rounds: boolean[] = [];
    for (const code of [0n, 1n]) {
      changeFacts(node, { after: { [FACTS.secondCode]: code } });
      const { changes } = await simulateOn(node);
      const found = changes.find(({ reading }) => reading === "round");
      expect(found).to.include({ field: "error", before: null });
      rounds.push(found?.after === "VAULT_NO_CODE");
    }
    expect(rounds).to.deep.equal([true, false]);
  });

  it("a simulation throws VAULT_NO_CODE with the block that it starts from", async () => {
    const node = new ScriptedNode({ codeOf: () => "0x" });
    const { message } = await expectVaultError(
      simulateOn(node, { blockNumber: 2 }),
      "VAULT_NO_CODE",
    );
    expect(message).to.contain("at block 2");
  });

  it("simulateV1 simulates with number, time and base fee of the block, on the state of the one before, and reads as the sender of reads", async () => {
    for (const baseFeePerGas of ["0x9", undefined]) {
      const node = new ScriptedNode();
      node.on("eth_getBlockByNumber", async (_, answer) => ({
        ...fieldsOf(await answer()),
        baseFeePerGas,
      }));
      await simulateOn(node, { blockNumber: 2, gas: 100_000 });
      const [payload, base] =
        node.asked.find(({ method }) => method === "eth_simulateV1")?.params ??
        [];
      expect(base).to.equal("0x2");
      const [block] = listOf(fieldsOf(payload)["blockStateCalls"]);
      const { gasLimit: _, ...overrides } = fieldsOf(
        fieldsOf(block)["blockOverrides"],
      );
      expect(overrides).to.deep.equal({
        number: "0x3",
        time: `0x${(1_700_000_003).toString(16)}`,
        ...(baseFeePerGas !== undefined && { baseFeePerGas }),
      });
      const senders = listOf(fieldsOf(block)["calls"]).map(
        (call) => fieldsOf(call)["from"],
      );
      const nobody = `0x${"0".repeat(40)}`;
      const reads = Array<string>(settlementIn(senders)).fill(nobody);
      expect(senders).to.deep.equal([...reads, SETTLER, ...reads, nobody]);
    }
  });

  it("simulateV1 notes a base fee below the node's own", async () => {
    const node = new ScriptedNode();
    node.on("eth_getBlockByNumber", async (_, answer) => ({
      ...fieldsOf(await answer()),
      baseFeePerGas: "0x5",
    }));
    const { notes } = await simulateOn(node);
    expect(notes.join()).to.contain("a base fee of 7 wei instead of 5");
  });
});
