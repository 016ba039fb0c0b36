import { AbiCoder, ZeroAddress, encodeBytes32String } from "ethers";
import { expect } from "chai";

import {
  describeTokens,
  nativeTransfersOf,
  tokensKept,
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
const text = (value: string): string => coder.encode(["string"], [value]);

describe("symbol and decimals of a token", () => {
  const longest = "A".repeat(32);
  for (const [symbol, decimals, described] of [
    [text("TST"), word(6), { symbol: "TST", decimals: 6 }],
    [text("A\0B\0\0"), word(1), { symbol: "A\0B", decimals: 1 }],
    [encodeBytes32String("OLD"), word(0), { symbol: "OLD", decimals: 0 }],
    [text(`${longest}B`), word(77), { symbol: longest, decimals: 77 }],
    [text(""), word(78), { symbol: null, decimals: null }],
    ["0x1234", "0x06", { symbol: null, decimals: null }],
    ["0x", "0x", { symbol: null, decimals: null }],
    [undefined, undefined, { symbol: null, decimals: null }],
  ] as const) {
    it(`describeTokens() returns ${JSON.stringify(described)} if the decimals are ${String(decimals)}`, async () => {
      const node = new ScriptedNode({
        answerOf: ({ data }) => {
          const answer = data === "0x95d89b41" ? symbol : decimals;
          return { reverted: answer === undefined, data: answer ?? "0x" };
        },
      });
      const networkConfig = { type: "http" };
      const host = node.host({ networkConfig, projectRoot: "" });
      const tokens = await describeTokens(host, ["native", TOKEN, TOKEN]);
      expect([...tokens]).to.deep.equal([[TOKEN, described]]);
      expect(
        node.asked.map(({ params }) => fieldsOf(params[0])["from"]),
      ).to.deep.equal([ZeroAddress, ZeroAddress]);
    });
  }
});

describe("a token's symbol that repeats a secret", () => {
  it("describeTokens() hides a secret that is longer than a symbol, and shows no part of it", async () => {
    const secret = "s3cret-".repeat(8);
    const node = new ScriptedNode({
      answerOf: () => ({ reverted: false, data: text(secret) }),
    });
    const host = node.host({
      networkConfig: { type: "http" },
      projectRoot: "",
    });
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
    ["is no ERC-721 transfer", [{ ...log, topics: [topic, from, to, to] }], 0],
    ["has another event", [{ ...log, topics: [from, from, to] }], 0],
    ["has no receiver", [{ ...log, topics: [topic, from] }], 0],
    ["has no sender", [{ ...log, topics: [topic] }], 0],
    ["has no topics", [{ ...log, topics: [] }], 0],
    ["has two words", [{ ...log, data: `${word(5)}${"00".repeat(32)}` }], 0],
    ["has a short address", [{ ...log, address: "0x12" }], undefined],
    ["has a short topic", [{ ...log, topics: ["0x12"] }], undefined],
    ["has topics of another type", [{ ...log, topics: "0x" }], undefined],
    ["has no data", [{ ...log, data: undefined }], undefined],
    ["is no list", {}, undefined],
  ] as const) {
    it(`transfersIn() finds ${String(count)} if the log ${title}`, () => {
      expect(transfersIn(logs)?.length).to.equal(count);
    });
  }

  it("transfersIn() takes a log of native currency in upper case for one", () => {
    const logs = [{ ...log, address: `0x${"E".repeat(40)}` }];
    expect(transfersIn(logs)?.map(({ token }) => token)).to.deep.equal([
      "native",
    ]);
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
      [{ ...call, value: undefined }, []],
      [{ ...call, value: "0x" }, []],
      [{ ...call, value: "five", calls: [inner] }, [1n]],
      [{ ...call, to: undefined, calls: [inner] }, [1n]],
      [{ ...call, from: undefined }, []],
      [{ ...call, error: "reverted", calls: [inner] }, []],
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
    [
      "gets one and passes on less",
      [
        ["0xV", "0xG", 3n],
        ["0xG", "0xS", 2n],
      ],
      [],
      true,
    ],
    [
      "passes on what it gets",
      [
        ["0xV", "0xG", 3n],
        ["0xG", "0xS", 3n],
      ],
      [],
      false,
    ],
    [
      "pays, and gets less back",
      [
        ["0xG", "0xV", 3n],
        ["0xV", "0xG", 2n],
      ],
      [],
      false,
    ],
    ["gets nothing", [["0xV", "0xS", 3n]], [], false],
    [
      "gets what its balance does not show",
      [["0xV", "0xG", 3n]],
      [[5n, 5n]],
      false,
    ],
    ["gets without a transfer", [], [[5n, 6n]], true],
    ["has less", [], [[5n, 4n]], false],
  ] as const) {
    it(`tokensKept() names ${kept ? "the token" : "no token"} if the guard ${title}`, () => {
      const moved: readonly Transfer[] = transfers.map(
        ([from, to, amount]) => ({
          ...{ token: "0xT", from, to, amount },
        }),
      );
      const changed: readonly BalanceChange[] = balances.flatMap(
        ([before, after]) => [
          { account: "0xG", token: "0xT", before, after },
          { account: "0xS", token: "0xU", before: 0n, after: 1n },
        ],
      );
      expect(tokensKept(moved, changed, guard)).to.deep.equal(
        kept ? ["0xT"] : [],
      );
    });
  }

  it("tokensKept() names no native currency, which the guard passes on", () => {
    const one = {
      token: "native",
      from: "0xV",
      to: guard,
      amount: 3n,
    } as const;
    expect(tokensKept([one], [], guard)).to.deep.equal([]);
  });
});
