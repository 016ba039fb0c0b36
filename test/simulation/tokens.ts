import { AbiCoder, ZeroAddress, encodeBytes32String, id } from "ethers";
import { expect } from "chai";

import {
  describeTokens,
  nativeTransfersOf,
  keptBy,
  transfersIn,
} from "../../src/simulation/tokens.js";
import type { BalanceChange, Transfer } from "../../src/simulation/types.js";
import { fieldsOf } from "../helpers/fields.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const TOKEN = "0x00000000000000000000000000000000000000B1";
const [FROM, TO] = [
  "0x00000000000000000000000000000000000000c1",
  "0x00000000000000000000000000000000000000C2",
].map((address) => address.toLowerCase());

const coder = AbiCoder.defaultAbiCoder();
const word = (value: bigint | number): string =>
  coder.encode(["uint256"], [value]);
const inCapitals = (hex: string): string => `0x${hex.slice(2).toUpperCase()}`;
const text = (value: string): string => coder.encode(["string"], [value]);

describe("symbol and decimals of a token", () => {
  const longest = "A".repeat(32);
  for (const [symbol, decimals, described] of [
    [text("TST"), word(6), { symbol: "TST", decimals: 6 }],
    [text("A\0B\0\0"), word(1), { symbol: "A\0B", decimals: 1 }],
    [encodeBytes32String("OLD"), word(0), { symbol: "OLD", decimals: 0 }],
    [text(`${longest}B`), word(77), { symbol: longest, decimals: 77 }],
    [text(""), word(78), { symbol: null, decimals: null }],
    [undefined, undefined, { symbol: null, decimals: null }],
    ["0x1234", "0x06", { symbol: null, decimals: null }],
  ] as const) {
    it(`describeTokens() returns ${JSON.stringify(described)} if the decimals are ${String(decimals)}`, async () => {
      const node = new ScriptedNode({
        answerOf: ({ data }) => {
          const answer = data === "0x95d89b41" ? symbol : decimals;
          return { reverted: answer === undefined, data: answer ?? "0x" };
        },
      });
      const asked = ["native", TOKEN, TOKEN];
      const tokens = await describeTokens(node.host(), asked);
      expect([...tokens]).to.deep.equal([[TOKEN, described]]);
      expect(
        node.asked.map(({ params }) => fieldsOf(params[0])["from"]),
      ).to.deep.equal([ZeroAddress, ZeroAddress]);
    });
  }

  it("describeTokens() hides a secret that is longer than a symbol, and shows no part of it", async () => {
    const secret = "s3cret-".repeat(8);
    const node = new ScriptedNode({
      answerOf: () => ({ reverted: false, data: text(secret) }),
    });
    const host = node.host();
    host.rpc.redactor.keep(secret);
    const tokens = await describeTokens(host, [TOKEN]);
    expect(tokens.get(TOKEN)?.symbol).to.equal("<hidden>");
  });
});

describe("transfers in logs and traces", () => {
  const topic =
    "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
  const [from, to] = [FROM, TO].map((account = "") =>
    coder.encode(["address"], [account]),
  );
  const log = { address: TOKEN, topics: [topic, from, to], data: word(5) };

  for (const [title, logs, count] of [
    ["is an ERC-20 transfer", [log], 1],
    [
      "has its topic in upper case",
      [{ ...log, topics: [inCapitals(topic), from, to] }],
      1,
    ],
    ["is no ERC-721 transfer", [{ ...log, topics: [topic, from, to, to] }], 0],
    ["has another event", [{ ...log, topics: [from, from, to] }], 0],
    ["has no receiver", [{ ...log, topics: [topic, from] }], 0],
    ["has two words", [{ ...log, data: `${word(5)}${"00".repeat(32)}` }], 0],
    ["has a short address", [{ ...log, address: "0x12" }], undefined],
    ["has a short topic", [{ ...log, topics: ["0x12"] }], undefined],
    ["is no list", {}, undefined],
  ] as const) {
    it(`transfersIn() finds ${String(count)} if the log ${title}`, () => {
      expect(transfersIn(logs)?.length).to.equal(count);
    });
  }

  it("transfersIn() finds a transfer of native currency in a log whose address is in upper case", () => {
    const address = inCapitals(`0x${"ee".repeat(20)}`);
    const [found] = transfersIn([{ ...log, address }]) ?? [];
    expect(found?.token).to.equal("native");
  });

  it("nativeTransfersOf() finds the calls of a trace that move value", () => {
    const call = { type: "CALL", from: FROM, to: TO, value: "0x5" };
    const inner = { ...call, value: "0x1" };
    for (const [frame, amounts] of [
      [{ ...call, calls: [inner] }, [5n, 1n]],
      [{ ...call, value: "0x0", calls: [inner] }, [1n]],
      [{ ...call, type: "DELEGATECALL", calls: [inner] }, [1n]],
      [{ ...call, type: "STATICCALL" }, []],
      [{ ...call, type: "CALLCODE" }, []],
      [{ ...call, from: undefined }, []],
      [{ ...call, value: undefined }, []],
      [{ ...call, to: undefined, calls: [inner] }, [1n]],
      [{ ...call, error: "no", calls: [{ ...call, calls: [inner] }] }, []],
      [{ ...call, error: null }, [5n]],
    ] as const) {
      expect(
        nativeTransfersOf(frame).map(({ amount }) => amount),
      ).to.deep.equal(amounts);
    }
  });
});

describe("tokens that a guard would keep", () => {
  const guard = "0xG";
  for (const [title, transfers, balances, kept] of [
    ["gets one and passes on less", [3n, -2n], [], "a token"],
    ["passes on what it gets", [3n, -3n], [], "nothing"],
    ["pays, and gets less back", [-3n, 2n], [], "nothing"],
    ["gets what its balance does not show", [3n], [[5n, 5n]], "nothing"],
    ["pays, and has more all the same", [-3n], [[5n, 6n]], "a silent token"],
    ["gets without a transfer", [], [[5n, 6n]], "a silent token"],
    ["has less", [], [[5n, 4n]], "nothing"],
  ] as const) {
    it(`keptBy() names ${kept} of a guard that ${title}`, () => {
      const moved = transfers.map((amount): Transfer => ({
        token: "0xT",
        ...(amount > 0n
          ? { from: "0xV", to: guard, amount }
          : { from: guard, to: "0xV", amount: -amount }),
      }));
      const changed: readonly BalanceChange[] = balances.flatMap(
        ([before, after]) => [
          { account: guard, token: "0xT", before, after },
          { account: "0xS", token: "0xU", before: 0n, after: 1n },
        ],
      );
      const run = { transfers: moved, logs: [] };
      const found = keptBy(guard, run, changed);
      expect(found.tokens).to.deep.equal(kept === "a token" ? ["0xT"] : []);
      expect(found.others).to.have.lengthOf(kept === "a silent token" ? 1 : 0);
    });
  }

  it("keptBy() names no native currency, which the guard passes on", () => {
    const one: Transfer = {
      ...{ token: "native", from: "0xV", to: guard, amount: 3n },
    };
    const run = { transfers: [one], logs: [] };
    const gain: BalanceChange = {
      ...{ account: guard, token: "native", before: 0n, after: 3n },
    };
    const kept = keptBy(guard, run, [gain]);
    expect(kept).to.deep.equal({ tokens: [], others: [] });
  });

  it("keptBy() names the contracts of ERC-721 and ERC-1155 that give it something, each once", () => {
    const receiver = `0x${"1".repeat(40)}` as const;
    const other = `0x${"2".repeat(40)}` as const;
    const contract = `0x${"3".repeat(40)}` as const;
    const topicOf = (account: string): string =>
      `0x${account.slice(2).padStart(64, "0")}`;
    const transfer = id("Transfer(address,address,uint256)");
    const single = id(
      "TransferSingle(address,address,address,uint256,uint256)",
    );
    const batch = id(
      "TransferBatch(address,address,address,uint256[],uint256[])",
    );
    const from = topicOf(other);
    const logsTo = (account: string): unknown[] =>
      [
        { topics: [transfer, from, topicOf(account), topicOf("0x5")] },
        { topics: [single, from, from, topicOf(account)] },
        // The case of hex says nothing.
        { topics: [inCapitals(batch), from, from, topicOf(account)] },
      ].map((log) => ({ ...log, address: contract, data: "0x" }));
    const keptFrom = (logs: unknown) =>
      keptBy(receiver, { transfers: [], logs }, []).others;
    const [ofItem, ofItems] = ["ERC-721", "ERC-1155"].map(
      (standard) => `${contract} (${standard})`,
    );
    const logs = logsTo(receiver);
    expect(keptFrom(logs)).to.deep.equal([ofItem, ofItems]);
    expect(logs.map((log) => keptFrom([log]))).to.deep.equal([
      ...[[ofItem], [ofItems], [ofItems]],
    ]);
    expect(keptFrom(logsTo(other))).to.deep.equal([]);
  });
});
