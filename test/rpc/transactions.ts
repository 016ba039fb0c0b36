import { expect } from "chai";

import {
  framesOf,
  getReceipt,
  getTransaction,
  getTransactions,
  waitForReceipt,
} from "../../src/rpc/transactions.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { HASH, OTHER_HASH, SECOND } from "../helpers/names.js";
import { answering, recording } from "../helpers/recording-node.js";

describe("the frames of a trace", () => {
  it("are undone below one that failed, however deep, and not beside it", () => {
    const failed = { error: "reverted", calls: [{ calls: [{}] }] };
    const frames = framesOf({ calls: [failed, {}] });
    const undone = frames.map(({ isUndone }) => isUndone);
    expect(undone).to.deep.equal([false, true, true, true, false]);
  });
});

describe("the answer to eth_getTransactionByHash", () => {
  const transaction = {
    ...{ hash: HASH, from: SECOND, to: SECOND, input: "0xAB" },
    nonce: "0x7",
  };
  const lower = SECOND.toLowerCase();
  const seen = {
    ...{ hash: HASH, from: lower, to: lower, data: "0xab" },
    nonce: 7,
  };
  const { input: data, ...older } = transaction;

  for (const [title, answer, expected] of [
    ["has lower-case addresses and data", transaction, seen],
    [
      "has no receiver if it makes a contract",
      { ...transaction, to: null },
      { ...seen, to: undefined },
    ],
    ["has the data by an older name", { ...older, data }, seen],
    ["is undefined if there is none", null, undefined],
  ] as const) {
    it(title, async () => {
      const found = await getTransaction(answering(answer), HASH);
      expect(found).to.deep.equal(expected);
    });
  }

  it("is read in a block, too, without a rollup's own transactions", async () => {
    // As a deposit.
    const deposit = { hash: HASH, from: SECOND, sourceHash: HASH };
    for (const transactions of [[transaction], [deposit, transaction]]) {
      const rpc = answering({ transactions });
      expect(await getTransactions(rpc, 5)).to.deep.equal([seen]);
    }
  });
});

describe("the answer to eth_getTransactionReceipt", () => {
  speedUpTime();

  const receipt = {
    transactionHash: HASH.toUpperCase().replace("0X", "0x"),
    ...{ blockNumber: "0x5", blockHash: HASH, gasUsed: "0x6" },
    ...{ status: "0x1", logs: [] },
  };
  const read = {
    ...{ hash: HASH, blockNumber: 5, blockHash: HASH, gasUsed: 6n },
    ...{ cost: undefined, succeeded: true, logs: [] },
    contractAddress: undefined,
  };
  const { transactionHash: _, ...unnamed } = receipt;

  for (const [title, answer, expected] of [
    ["has succeeded with status 0x1", receipt, read],
    ...["0x0", "0x2"].map(
      (status) =>
        [
          `has failed with status ${status}`,
          { ...receipt, status },
          { ...read, succeeded: false },
        ] as const,
    ),
    [
      "has no outcome without a status",
      { ...receipt, status: null },
      { ...read, succeeded: undefined },
    ],
    ["is that of the hash if it does not name it", unnamed, read],
    [
      "has the cost with the fee of the other layer, on chains of the OP stack",
      { ...receipt, effectiveGasPrice: "0x3", l1Fee: "0x5" },
      { ...read, cost: 23n },
    ],
    [
      "has the cost with the operator's fee, on chains of the OP stack",
      {
        ...{ ...receipt, effectiveGasPrice: "0x3", l1Fee: "0x5" },
        // Half a wei for each unit of gas.
        ...{ operatorFeeScalar: "0x7a120", operatorFeeConstant: "0x7" },
      },
      { ...read, cost: 33n },
    ],
    [
      "has the cost with the operator's fee as of Jovian, on chains of the OP stack",
      {
        ...{ ...receipt, effectiveGasPrice: "0x3", l1Fee: "0x5" },
        ...{ operatorFeeScalar: "0x2", operatorFeeConstant: "0x7" },
        daFootprintGasScalar: "0x190",
      },
      { ...read, cost: 18n + 5n + 1_200n + 7n },
    ],
    ["has no cost without a gas price", { ...receipt, l1Fee: "0x5" }, read],
    ["is undefined if there is none", null, undefined],
    [
      "is undefined until it has a block's number",
      { ...receipt, blockNumber: null },
      undefined,
    ],
    ...[null, `0x${"0".repeat(64)}`].map(
      (blockHash) =>
        [
          `is undefined with the block's hash ${blockHash}`,
          { ...receipt, blockHash },
          undefined,
        ] as const,
    ),
  ] as const) {
    it(title, async () => {
      const found = await getReceipt(answering(answer), HASH);
      expect(found).to.deep.equal(expected);
    });
  }

  it("is VAULT_RPC_INVALID_RESPONSE if it is another transaction's", async () => {
    for (const transactionHash of [OTHER_HASH, 5]) {
      const { message } = await expectVaultError(
        getReceipt(answering({ ...receipt, transactionHash }), HASH),
        "VAULT_RPC_INVALID_RESPONSE",
      );
      expect(message).to.contain("another transaction");
    }
  });

  it("is awaited until the transaction is mined, or undefined after the time", async () => {
    const { rpc, asked } = recording((_method, _params, earlier) =>
      earlier < 2 ? null : receipt,
    );
    const found = await waitForReceipt(rpc, HASH, 60_000);
    expect(found).to.include({ blockNumber: 5 });
    expect(asked).to.have.length(3);
    expect(await waitForReceipt(answering(null), HASH, 1)).to.equal(undefined);
    const once = recording(() => null);
    expect(await waitForReceipt(once.rpc, HASH, 0)).to.equal(undefined);
    expect(once.asked).to.have.length(1);
  });

  it("is looked for twice a second, however long it takes", async () => {
    const { rpc } = recording((_method, _params, earlier) =>
      earlier < 12 ? null : receipt,
    );
    const startedAt = performance.now();
    await waitForReceipt(rpc, HASH, 60_000);
    expect(performance.now() - startedAt).to.be.within(3_000, 5_000);
  });

  it("is awaited until the deadline of the client: VAULT_RPC_TIMEOUT", async () => {
    const client = answering(null).withOptions({ timeout: 400 });
    const waiting = waitForReceipt(client, HASH, 60_000);
    await expectVaultError(waiting, "VAULT_RPC_TIMEOUT");
  });

  it("is VAULT_RPC_TIMEOUT if the node never answers, or the reason of the client's signal", async () => {
    const silent = answering(new Promise(() => undefined));
    await expectVaultError(
      waitForReceipt(silent.withOptions({ timeout: 400 }), HASH, 60_000),
      "VAULT_RPC_TIMEOUT",
    );
    const signal = AbortSignal.abort(new Error("stopped"));
    const stopped = answering(null).withOptions({ signal });
    const failure = await waitForReceipt(stopped, HASH, 60_000).catch(String);
    expect(failure).to.equal("Error: stopped");
  });
});
