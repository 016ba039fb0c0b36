import {
  AbiCoder,
  ZeroAddress,
  encodeBytes32String,
  getAddress,
  id,
} from "ethers";
import { expect } from "chai";

import {
  contractsNaming,
  readTokens,
  nativeTransfersOf,
  transfersIn,
} from "../../src/simulation/tokens.js";
import { checksumAddress } from "../../src/client/inputs.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const TOKEN = "0x00000000000000000000000000000000000000B1";
const [FROM, TO] = [
  "0x00000000000000000000000000000000000000c1",
  "0x00000000000000000000000000000000000000C2",
].map((address) => address.toLowerCase());

const PIN = { number: 5, hash: undefined };

const coder = AbiCoder.defaultAbiCoder();
const word = (value: bigint | number): string =>
  coder.encode(["uint256"], [value]);
const inCapitals = (hex: string): string => `0x${hex.slice(2).toUpperCase()}`;
const text = (value: string): string => coder.encode(["string"], [value]);

describe("symbol and decimals of a token", () => {
  const longest = "A".repeat(32);
  for (const [symbol, decimals, described] of [
    [text("TST"), word(6), { symbol: "TST", decimals: 6 }],
    [encodeBytes32String("OLD"), word(0), { symbol: null, decimals: 0 }],
    [text(`${longest}B`), word(77), { symbol: longest, decimals: 77 }],
    [text(""), word(78), { symbol: null, decimals: null }],
    [undefined, undefined, { symbol: null, decimals: null }],
    ["0x1234", "0x06", { symbol: null, decimals: null }],
  ] as const) {
    it(`readTokens() returns ${JSON.stringify(described)} if the decimals are ${String(decimals)}`, async () => {
      const node = new ScriptedNode({
        answerOf: ({ data }) => {
          const answer = data === "0x95d89b41" ? symbol : decimals;
          return { reverted: answer === undefined, data: answer ?? "0x" };
        },
      });
      const asked = ["native", TOKEN, TOKEN];
      const tokens = await readTokens(node.host(), asked, PIN);
      expect([...tokens]).to.deep.equal([[TOKEN, described]]);
      expect(
        node.asked.map(({ params }) => fieldsOf(params[0])["from"]),
      ).to.deep.equal([ZeroAddress, ZeroAddress]);
    });
  }

  it("readTokens() hides a secret that is longer than a symbol, and shows no part of it", async () => {
    const secret = "s3cret-".repeat(8);
    const node = new ScriptedNode({
      answerOf: () => ({ reverted: false, data: text(secret) }),
    });
    const host = node.host();
    host.rpc.redactor.keep(secret);
    const tokens = await readTokens(host, [TOKEN], PIN);
    expect(tokens.get(TOKEN)?.symbol).to.equal("<hidden>");
  });
});

describe("a token that cannot be asked", () => {
  const failure = (name: string, code?: number) => (): never => {
    throw Object.assign(new Error("no"), { name, code });
  };

  it("readTokens() returns null for both if the node refuses, or answers no hex", async () => {
    for (const answer of [failure("Error", -32_000), () => 5]) {
      const node = new ScriptedNode();
      node.on("eth_call", answer);
      const tokens = await readTokens(node.host(), [TOKEN], PIN);
      expect(tokens.get(TOKEN)).to.deep.equal({ symbol: null, decimals: null });
    }
  });

  it("readTokens() throws VAULT_RPC_TIMEOUT if the node does not answer", async () => {
    const node = new ScriptedNode();
    node.on("eth_call", failure("TimeoutError"));
    await expectVaultError(
      readTokens(node.host(), [TOKEN], PIN),
      "VAULT_RPC_TIMEOUT",
    );
  });

  it("readTokens() throws VAULT_REORGED if the chain replaces the block of a node that takes hashes", async () => {
    const node = new ScriptedNode();
    node.on("eth_call", failure("Error", -32_000));
    const host = node.host();
    host.rpc.node.takesHashes = true;
    const pin = { number: 5, hash: `0x${"ab".repeat(32)}` };
    await expectVaultError(readTokens(host, [TOKEN], pin), "VAULT_REORGED");
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

describe("events that name a guard", () => {
  const guard = checksumAddress(`0x${"1".repeat(40)}`);
  const vault = `0x${"2".repeat(40)}`;
  const token = getAddress(`0x${"3".repeat(40)}`);
  const log = (indexed: number, ...named: readonly string[]) => {
    const words = named.map((value) => value.slice(2).padStart(64, "0"));
    const topics = words.slice(0, indexed).map((one) => `0x${one}`);
    const data = `0x${words.slice(indexed).join("")}`;
    return { address: token, topics: [id("Sent()"), ...topics], data };
  };

  for (const indexed of [0, 1, 2, 3]) {
    it(`contractsNaming() finds an event with ${indexed} indexed arguments, once`, () => {
      const logs = [log(indexed, vault, guard, "0x5"), log(0, guard)];
      expect(contractsNaming(guard, logs)).to.deep.equal([token]);
    });
  }

  it("contractsNaming() finds none of another account, of native currency, or of another form", () => {
    const native = { ...log(2, guard), address: `0x${"E".repeat(40)}` };
    for (const logs of [
      [log(2, vault, vault, "0x5")],
      [native],
      undefined,
      "0x",
      [{}],
      [null],
    ]) {
      expect(contractsNaming(guard, logs)).to.deep.equal([]);
    }
  });
});
