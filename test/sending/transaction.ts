import { expect } from "chai";
import { Transaction, Wallet, keccak256 } from "ethers";
import { HardhatPluginError } from "hardhat/plugins";

import { VaultError } from "../../src/client/index.js";
import { KnownNode } from "../../src/rpc/known-node.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import type { FeeLimits } from "../../src/sending/fees.js";
import {
  isSignedAs,
  requireReplaceable,
  send,
  sign,
  signReplacement,
  toRpcTransaction,
} from "../../src/sending/transaction.js";
import type {
  SentTransaction,
  SignedReplacement,
} from "../../src/sending/transaction.js";
import type { SettleAllOptions } from "../../src/settlement/options.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { NetworkChanges } from "../helpers/keeper.js";
import { codedError } from "../helpers/foreign-errors.js";
import {
  OTHER_KEY,
  remote,
  sent,
  unsigned,
  useKeeper,
} from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import { answering, recording } from "../helpers/recording-node.js";
import { KEY, SETTLER } from "../helpers/scripted-contracts.js";

const { to, data, chainId, nonce, gas: gasLimit } = unsigned;
const eip1559 = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
});
const offered = eip1559(9n, 1n);
const ours = { ...unsigned, fees: offered };

const signedBy = async (key: string, fees: object, type = 2): Promise<string> =>
  await new Wallet(key).signTransaction({
    ...{ type, to, data, chainId, nonce, gasLimit, value: 0n, ...fees },
  });

describe("a transaction of a settlement", () => {
  let raw: string;
  let foreign: string;
  let otherNonce: string;
  before(async () => {
    raw = await signedBy(KEY, offered);
    foreign = await signedBy(OTHER_KEY, offered);
    otherNonce = await signedBy(KEY, { ...offered, nonce: 1 });
  });
  const ofNode = { address: SETTLER, kind: "remote" } as const;
  const byNode = async (answer: unknown): Promise<unknown> =>
    await sign(answering(answer), ofNode, ours);

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
    ["EIP-1559 fees", 2, offered],
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
      expect(await sign(node.rpc, ofNode, ours)).to.deep.equal(signed);
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
    it(`is rejected by "${message}"`, async () => {
      const answer = await send(refusing(message, more), sent);
      expect(answer).to.include({ kind: "rejected" });
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

  const ofPlugin = { raw: undefined, hash: undefined };
  for (const [what, error, changes, kind] of [
    ["may have left if nobody", new Error("odd"), {}, "unanswered"],
    [
      "has not left if a plugin",
      new HardhatPluginError("x", "no"),
      {},
      "failed",
    ],
    ["was not signed if nobody", new Error("odd"), ofPlugin, "failed"],
  ] as const) {
    it(`${what} says of an error of this process that it is its own`, async () => {
      const request = async (): Promise<never> => await Promise.reject(error);
      const node = new KnownNode(undefined, true);
      const rpc = new RpcClient({ request }, "live", node);
      const answer = await send(rpc, { ...sent, ...changes });
      expect(answer).to.include({ kind });
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

// The scripted node asks for a base fee of 7, a tip of 1, and a gas price of 1 gwei.
describe("signReplacement()", () => {
  const keeper = useKeeper();
  const old: SentTransaction = { ...sent, fees: eip1559(100n, 2n) };
  const ofAccount = { to: SETTLER, data: "0x" };
  const limitOf = (wei: bigint): FeeLimits => ({
    maxFeePerGas: { wei, setting: "the limit" },
  });

  const replace = async (
    kind: "bump" | "cancel",
    newest = old,
    limits: FeeLimits = limitOf(10n ** 15n),
    confirm?: SettleAllOptions["confirmReplacement"],
    network: NetworkChanges = {},
  ): Promise<SignedReplacement> => {
    const host = keeper.host(network);
    return await signReplacement(host, newest, kind, {
      signer: await requireReplaceable(host, newest),
      limits,
      confirmReplacement: confirm,
    });
  };

  for (const [title, kind, newest, is] of [
    [
      "signs the same call with the same gas at a higher fee",
      "bump",
      old,
      {
        ...{ kind: "settlement", to: old.to, data: old.data, gas: old.gas },
        fees: eip1559(113n, 3n),
      },
    ],
    [
      "raises the fee of a cancellation, which stays one",
      "bump",
      { ...old, ...ofAccount, kind: "cancellation" },
      { ...ofAccount, kind: "cancellation" },
    ],
    [
      "signs a transfer of 0 to the account itself as a cancellation",
      "cancel",
      old,
      { ...ofAccount, kind: "cancellation", gas: 21_000n },
    ],
  ] as const) {
    it(title, async () => {
      const before = Date.now();
      const transaction = await replace(kind, newest);
      expect(transaction).to.deep.include(is);
      // The next one waits as long.
      expect(transaction.preparedAt).to.be.within(before, Date.now());
      const signed = Transaction.from(transaction.raw ?? "");
      expect(signed).to.include({ gasLimit: transaction.gas, nonce: 7 });
    });
  }

  for (const [title, estimate, gas] of [
    ["is a rollup, and estimates more", () => "0xffff", 65_535n],
    ["estimates less", () => "0x5207", 21_000n],
    [
      "refuses to estimate",
      () => {
        throw Object.assign(new Error("nope"), { code: -32_000 });
      },
      21_000n,
    ],
  ] as const) {
    it(`gives a cancellation ${gas} gas if the node ${title}`, async () => {
      keeper.chain.on("eth_estimateGas", estimate);
      const made = await replace("cancel");
      expect(made).to.have.property("gas", gas);
    });
  }

  for (const [method, what] of [
    ["eth_estimateGas", "its gas is estimated"],
    ["eth_maxPriorityFeePerGas", "its price is asked for"],
  ] as const) {
    it(`signs no cancellation if the network fails while ${what}`, async () => {
      keeper.chain.on(method, () => {
        throw codedError("ECONNREFUSED");
      });
      await expectVaultError(replace("cancel"), "VAULT_NETWORK_UNREACHABLE");
    });
  }

  it("lowers the reserve for later base fees to the limit", async () => {
    // An eighth more than 10 is 12, and the reserve would make it 15.
    const newest = { ...old, fees: eip1559(10n, 1n) };
    const made = await replace("bump", newest, limitOf(12n));
    expect(made).to.have.property("fees").that.deep.equals(eip1559(12n, 2n));
  });

  for (const [fees, says, limit] of [
    [eip1559(11n, 1n), "a price of 13 wei", "12 wei (the limit)"],
    [eip1559(8n, 4n), "a priority fee of 5 wei", "4 wei (the tip's)"],
    [{ gasPrice: 11n }, "a price of 1 gwei", "12 wei (the limit)"],
  ] as const) {
    it(`signs nothing above a limit, and names it: ${says}`, async () => {
      const limits = {
        ...limitOf(12n),
        maxPriorityFeePerGas: { wei: 4n, setting: "the tip's" },
      };
      const { message } = await expectVaultError(
        replace("bump", { ...old, fees }, limits),
        "VAULT_FEE_ABOVE_LIMIT",
      );
      expect(message).to.include(says).and.include(limit);
    });
  }

  it("signs nothing if nobody is asked, and no limit bounds it: VAULT_FEE_LIMIT_NEEDED", async () => {
    const { message } = await expectVaultError(
      replace("bump", old, {}),
      "VAULT_FEE_LIMIT_NEEDED",
    );
    expect(message).to.include("maxFeePerGasLimit: 100n");
    const bounded = await replace("bump", old, limitOf(10n ** 9n));
    expect(bounded).to.include({ kind: "settlement" });
  });

  it("signs nothing if JavaScript answers nothing: VAULT_NOT_CONFIRMED", async () => {
    const nothing: unknown = undefined;
    const replacing = replace(
      "bump",
      old,
      {},
      // a function of JavaScript that forgets to return
      async () => await Promise.resolve(nothing as true),
    );
    await expectVaultError(replacing, "VAULT_NOT_CONFIRMED");
  });

  const noTerminal = new VaultError("VAULT_NO_TERMINAL", {});
  for (const [answer, is] of [
    [true, "settlement"],
    ["too much", "Error: too much"],
    [noTerminal, String(noTerminal)],
  ] as const) {
    it(`shows the old and the new cost to a person, who answers ${answer instanceof VaultError ? answer.code : answer}`, async () => {
      keeper.chain.on("eth_maxPriorityFeePerGas", () => "0xffff");
      const shown: unknown[] = [];
      const made = await replace("bump", old, {}, async (one) => {
        shown.push(one);
        return await Promise.resolve(answer);
      }).then(({ kind }) => kind, String);
      expect(made).to.equal(is);
      expect(shown).to.deep.equal([
        {
          ...{ chainId: 31_337, from: SETTLER, nonce: 7, hash: old.hash },
          earlierMaxCost: old.gas * 100n,
          cost: old.gas * (7n + 0xffffn),
          maxCost: old.gas * (14n + 0xffffn),
        },
      ]);
    });
  }

  it("shows the cost of a cancellation by its own gas, at no more than the whole fee", async () => {
    const newest = { ...old, fees: eip1559(15n, 9n) };
    const shown: unknown[] = [];
    await replace("cancel", newest, {}, async (one) => {
      shown.push(one);
      return await Promise.resolve("no");
    }).catch(String);
    expect(shown).to.have.length(1);
    // An eighth more: 17 in all, and a tip of 11 above the base fee of 7.
    expect(shown[0]).to.deep.include({
      ...{ earlierMaxCost: old.gas * 15n, cost: 21_000n * 17n },
      maxCost: 21_000n * 17n,
    });
  });

  for (const [title, newest, network] of [
    ["has no signed bytes", { ...old, raw: undefined }, {}],
    ["is of a node that does not sign", old, remote],
  ] as const) {
    it(`throws VAULT_CANNOT_REPLACE if the transaction ${title}`, async () => {
      await expectVaultError(
        replace("bump", newest, undefined, undefined, network),
        "VAULT_CANNOT_REPLACE",
      );
    });
  }
});
