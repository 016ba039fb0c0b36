import { expect } from "chai";
import { Wallet, keccak256 } from "ethers";
import type { Transaction } from "ethers";

import type { RpcClient } from "../../src/rpc/rpc-client.js";
import {
  isSignedAs,
  send,
  sign,
  toRpcTransaction,
} from "../../src/sending/transaction.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { OTHER_KEY, sent, unsigned } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import { answering, recording } from "../helpers/recording-node.js";
import { KEY, SETTLER } from "../helpers/scripted-contracts.js";

const { to, data, chainId, nonce, gas: gasLimit } = unsigned;
const eip1559 = { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n };
const ours = { ...unsigned, fees: eip1559 };

const signedBy = async (key: string, fees: object, type = 2): Promise<string> =>
  await new Wallet(key).signTransaction({
    ...{ type, to, data, chainId, nonce, gasLimit, value: 0n, ...fees },
  });

describe("a transaction of a settlement", () => {
  let raw: string;
  let foreign: string;
  let otherNonce: string;
  before(async () => {
    raw = await signedBy(KEY, eip1559);
    foreign = await signedBy(OTHER_KEY, eip1559);
    otherNonce = await signedBy(KEY, { ...eip1559, nonce: 1 });
  });
  const remote = { address: SETTLER, kind: "remote" } as const;
  const byNode = async (answer: unknown): Promise<unknown> =>
    await sign(answering(answer), remote, ours);

  for (const [title, is, bytes, changes] of [
    ["its own", true, () => raw, {}],
    ["of another hash", false, () => raw, { hash: HASH }],
    ["of another nonce", false, () => otherNonce, {}],
    ["of another account", false, () => foreign, {}],
    ["none at all", false, () => "0x02ffff", {}],
  ] as const) {
    it(`has signed bytes that are ${title}: ${is}`, () => {
      expect(isSignedAs(bytes(), { ...ours, ...changes })).to.equal(is);
    });
  }

  for (const [title, type, fees] of [
    ["no fees", 0, undefined],
    ["a gas price", 0, { gasPrice: 3n }],
    ["EIP-1559 fees", 2, eip1559],
  ] as const) {
    it(`is signed by a key, with ${title}`, async () => {
      const wallet = new Wallet(KEY);
      const local = {
        ...({ address: SETTLER, kind: "local" } as const),
        sign: async (one: Transaction) => await wallet.signTransaction(one),
      };
      const call = { ...unsigned, fees };
      const bytes = await signedBy(KEY, fees ?? {}, type);
      expect(await sign(answering(null), local, call)).to.deep.equal({
        ...{ ...call, raw: bytes, hash: keccak256(bytes) },
      });
    });
  }

  for (const [title, answerOf] of [
    ["bytes", () => raw],
    ["an object with bytes", () => ({ raw })],
  ] as const) {
    it(`is signed by a node that returns ${title}`, async () => {
      const signed = { ...ours, raw, hash: keccak256(raw) };
      const node = recording(answerOf);
      expect(await sign(node.rpc, remote, ours)).to.deep.equal(signed);
      expect(node.asked).to.deep.equal([
        { method: "eth_signTransaction", params: [toRpcTransaction(ours)] },
      ]);
      expect(toRpcTransaction(ours)).to.deep.equal({
        ...{ from: SETTLER, to, data, value: "0x0", chainId: "0x7a69" },
        ...{ nonce: "0x7", gas: "0x186a0", maxFeePerGas: "0x9" },
        maxPriorityFeePerGas: "0x1",
      });
    });
  }

  for (const [title, answerOf] of [
    ["null", () => null],
    ["an object with a number", () => ({ raw: 7 })],
    ["the bytes of another account", () => ({ raw: foreign })],
    ["the bytes of another nonce", () => otherNonce],
    ["an error", () => new Error("nope")],
  ] as const) {
    it(`stays unsigned if the node returns ${title}`, async () => {
      expect(await byNode(answerOf())).to.deep.equal(ours);
    });
  }

  it("is not sent if it is not known whether the node can sign: VAULT_NETWORK_UNREACHABLE", async () => {
    await expectVaultError(
      byNode(codedError("ECONNREFUSED")),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });

  it("is left to Hardhat in process", async () => {
    const inProcess = { address: SETTLER, kind: "in-process" } as const;
    const node = recording(() => raw);
    expect(await sign(node.rpc, inProcess, ours)).to.deep.equal(ours);
    expect(node.asked).to.deep.equal([]);
  });
});

const asJson = {
  ...{
    from: unsigned.from,
    to,
    data,
    value: "0x0",
    chainId: "0x7a69",
    nonce: "0x7",
  },
  ...{ gas: "0x186a0", gasPrice: "0x1" },
};

describe("send()", () => {
  const refusing = (message: string, more: object = {}): RpcClient =>
    answering(Object.assign(new Error(message), { code: -32_000, ...more }));

  for (const [node, message] of [
    ["geth and reth", "already known"],
    ["nethermind", "AlreadyKnown"],
    ["anvil", "transaction already imported"],
    ["hardhat", "Known transaction: 0xabab"],
  ] as const) {
    it(`is accepted by ${node}, which has it: "${message}"`, async () => {
      const answer = await send(refusing(message), sent);
      expect(answer).to.deep.equal({ kind: "accepted", hash: HASH });
    });
  }

  // None of them proves that the transaction did not arrive.
  for (const [message, more] of [
    ["nonce too low: next nonce 8, tx nonce 7", {}],
    ["txpool is full", { code: -32_005 }],
    ["execution reverted", { code: 3, data: "0x" }],
  ] as const) {
    it(`is refused by "${message}"`, async () => {
      const answer = await send(refusing(message, more), sent);
      expect(answer).to.include({ kind: "refused" });
      expect(answer)
        .to.have.property("problem")
        .that.includes("data" in more ? "no reason given" : message);
    });
  }

  for (const answer of [null, "0xab", codedError("ECONNREFUSED")]) {
    it(`has no answer if the node returns ${String(answer).slice(0, 20)}`, async () => {
      const { kind } = await send(answering(answer), sent);
      expect(kind).to.equal("unanswered");
    });
  }

  for (const [what, changes, hash, method, params] of [
    ["signed bytes with their hash", {}, HASH, "Raw", "0x02"],
    [
      "signed bytes without one",
      { hash: undefined },
      OTHER_HASH,
      "Raw",
      "0x02",
    ],
    [
      "a transaction to sign",
      { raw: undefined, hash: undefined },
      OTHER_HASH,
      "",
      asJson,
    ],
  ] as const) {
    it(`sends ${what}`, async () => {
      const node = recording(() => OTHER_HASH);
      expect(await send(node.rpc, { ...sent, ...changes })).to.deep.equal({
        ...{ kind: "accepted", hash },
      });
      // As it is written for the node.
      expect(JSON.parse(JSON.stringify(node.asked))).to.deep.equal([
        { method: `eth_send${method}Transaction`, params: [params] },
      ]);
    });
  }
});
