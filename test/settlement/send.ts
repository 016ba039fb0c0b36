import { expect } from "chai";
import { Wallet, keccak256 } from "ethers";
import type { Transaction } from "ethers";

import { RpcClient } from "../../src/rpc/rpc-client.js";
import { send } from "../../src/settlement/send.js";
import {
  isSignedAs,
  sign,
  toRpcTransaction,
} from "../../src/settlement/transaction.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { KEY, SETTLER } from "../helpers/scripted-contracts.js";
import {
  HASH,
  OTHER_HASH as OTHER,
  sent,
  unsigned,
} from "../helpers/keeper.js";

const { kind: _, preparedAt: __, ...transaction } = sent;
const { from, to, data, chainId, nonce, gas: gasLimit } = unsigned;
const onTheWire = {
  ...{ from, to, data, value: "0x0", chainId: "0x7a69", nonce: "0x7" },
  ...{ gas: "0x186a0", gasPrice: "0x1" },
};

describe("the transaction of a settlement", () => {
  let asked: unknown[];
  beforeEach(() => {
    asked = [];
  });
  /** A node with the same answer to everything. */
  const nodeOf = (answer: unknown): RpcClient =>
    new RpcClient(
      {
        request: async ({ method, params }) => {
          asked.push([method, params]);
          return await (answer instanceof Error
            ? Promise.reject(answer)
            : Promise.resolve(answer));
        },
      },
      "test",
    );
  const refusing = (message: string, more: object = {}): RpcClient =>
    nodeOf(Object.assign(new Error(message), { code: -32_000, ...more }));
  const accepted = { kind: "accepted", hash: HASH };

  for (const [node, message, kind] of [
    ["geth and reth", "already known", "accepted"],
    ["erigon", "ALREADY_EXISTS: already known", "accepted"],
    ["besu", "Known transaction", "accepted"],
    ["nethermind", "AlreadyKnown", "accepted"],
    ["anvil", "transaction already imported", "accepted"],
    ["hardhat", "Known transaction: 0xabab", "accepted"],
    // None of them proves that the transaction did not arrive.
    ["geth", "nonce too low: next nonce 8, tx nonce 7", "refused"],
    ["a wallet", "User rejected the request.", "refused"],
    ["a gateway", "upstream timed out", "refused"],
    ["a node without words", "", "refused"],
  ] as const) {
    it(`is taken for ${kind === "accepted" ? kind : "one that may have arrived"} if the error of ${node} is "${message}"`, async () => {
      const answer = await send(refusing(message), transaction);
      if (kind === "accepted") {
        expect(answer).to.deep.equal(accepted);
      } else {
        expect(answer.kind).to.equal("refused");
        expect(answer).to.have.property("problem").that.includes(message);
      }
    });
  }

  for (const answer of [
    ...[null, 7, "0xab", `0x${"zz".repeat(32)}`],
    codedError("ECONNREFUSED"),
  ]) {
    it(`is taken for one whose answer was lost if the node gives ${answer instanceof Error ? "no answer" : String(answer).slice(0, 6)} in place of a hash`, async () => {
      const { kind } = await send(nodeOf(answer), transaction);
      expect(kind).to.equal("unanswered");
    });
  }

  it("is taken for one that may have arrived if the node answers that it reverted", async () => {
    const rpc = refusing("execution reverted", { code: 3, data: "0x" });
    expect(await send(rpc, transaction)).to.deep.equal({
      kind: "refused",
      problem: "no reason given",
      isTransient: false,
    });
  });

  for (const [code, isTransient] of [
    [-32_005, true],
    [-32_429, true],
    [-32_000, false],
  ] as const) {
    it(`${isTransient ? "may be accepted later" : "is refused"} if the code of the error is ${code}, whatever its words`, async () => {
      const answer = await send(refusing("no", { code }), transaction);
      expect(answer).to.deep.equal({
        ...{ kind: "refused", problem: "no", isTransient },
      });
    });
  }

  for (const [what, changes, hash, method, params] of [
    ["signed bytes with their hash", {}, HASH, "Raw", "0x02"],
    ["signed bytes without a hash", { hash: undefined }, OTHER, "Raw", "0x02"],
    ["a transaction to sign", { raw: undefined }, OTHER, "", onTheWire],
  ] as const) {
    it(`is sent as ${what}`, async () => {
      expect(
        await send(nodeOf(OTHER), { ...transaction, ...changes }),
      ).to.deep.equal({ kind: "accepted", hash });
      expect(asked).to.deep.equal([[`eth_send${method}Transaction`, [params]]]);
    });
  }

  for (const [name, fees] of [
    ["no fees", undefined],
    ["a gas price", { gasPrice: 3n }],
    ["EIP-1559 fees", { maxFeePerGas: 9n, maxPriorityFeePerGas: 1n }],
  ] as const) {
    it(`is signed with ${name}, and the bytes of another one are not taken for it`, async () => {
      const ours = { ...unsigned, fees };
      const type = name === "EIP-1559 fees" ? 2 : 0;
      const terms = { to, data, chainId, nonce, gasLimit, value: 0n };
      const bytes = { type, ...terms, ...fees };
      const signedBy = async (key: string): Promise<string> =>
        await new Wallet(key).signTransaction(bytes);
      const raw = await signedBy(KEY);
      const hash = `0x${keccak256(raw).slice(2)}` as const;
      const known = { ...ours, hash };
      const foreign = await signedBy(`0x${"22".repeat(32)}`);

      expect(isSignedAs(raw, ours)).to.equal(true);
      expect(isSignedAs(raw, known)).to.equal(true);
      expect(isSignedAs(raw, { ...known, hash: HASH })).to.equal(false);
      expect(isSignedAs(raw, { ...known, nonce: 1 })).to.equal(false);
      expect(isSignedAs("0x02ffff", known)).to.equal(false);
      expect(isSignedAs(foreign, ours)).to.equal(false);

      const wallet = new Wallet(KEY);
      const local = {
        address: SETTLER,
        kind: "local",
        sign: async (one: Transaction) => await wallet.signTransaction(one),
      } as const;
      expect(await sign(nodeOf(null), local, ours)).to.deep.equal({
        ...known,
        raw,
      });
      const byNode = async (answer: unknown): Promise<unknown> =>
        await sign(nodeOf(answer), { address: SETTLER, kind: "remote" }, ours);
      expect(await byNode(raw)).to.deep.equal({ ...known, raw });
      expect(await byNode({ raw })).to.deep.equal({ ...known, raw });
      expect(asked.at(-1)).to.deep.equal([
        "eth_signTransaction",
        [toRpcTransaction(ours)],
      ]);
      for (const answer of [
        null,
        7,
        "0x02",
        { raw: 7 },
        { raw: foreign },
        new Error("nope"),
      ]) {
        expect(await byNode(answer)).to.deep.equal(ours);
      }
      await expectVaultError(
        byNode(codedError("ECONNREFUSED")),
        "VAULT_NETWORK_UNREACHABLE",
      );
      asked = [];
      const inProcess = { address: SETTLER, kind: "in-process" } as const;
      expect(await sign(nodeOf(raw), inProcess, ours)).to.deep.equal(ours);
      expect(asked).to.deep.equal([]);
    });
  }
});
