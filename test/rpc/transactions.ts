import { expect } from "chai";

import {
  getReceipt,
  getTransaction,
  getTransactions,
  waitForReceipt,
} from "../../src/rpc/transactions.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  ADDRESS,
  HASH,
  answering,
  recording,
} from "../helpers/recording-node.js";

describe("the answer about a transaction", () => {
  it("to eth_getTransactionByHash has lower-case addresses, and leaves out what the node omits", async () => {
    const transaction = {
      hash: HASH,
      from: ADDRESS,
      to: ADDRESS,
      input: "0xAB",
      nonce: "0x7",
      gasPrice: "0x9",
    };
    const lower = ADDRESS.toLowerCase();
    const seen = {
      hash: HASH,
      from: lower,
      to: lower,
      data: "0xab",
      nonce: 7,
      gasPrice: 9n,
    };
    expect(await getTransaction(answering(transaction), HASH)).to.deep.equal(
      seen,
    );
    expect(
      await getTransaction(answering({ ...transaction, to: null }), HASH),
    ).to.deep.equal({ ...seen, to: undefined });
    const { input: data, gasPrice: _, ...older } = transaction;
    expect(
      await getTransaction(answering({ ...older, data }), HASH),
    ).to.deep.equal({ ...seen, gasPrice: undefined });
    expect(await getTransaction(answering(null), HASH)).to.equal(undefined);
    expect(
      await getTransactions(answering({ transactions: [transaction] }), 5),
    ).to.deep.equal([seen]);
    // A rollup's own, as a deposit.
    const deposit = { hash: HASH, from: ADDRESS, sourceHash: HASH };
    expect(
      await getTransactions(
        answering({ transactions: [deposit, transaction] }),
        5,
      ),
    ).to.deep.equal([seen]);
  });

  it("to eth_getTransactionReceipt is undefined until the transaction is in a block, and VAULT_RPC_INVALID_RESPONSE for another transaction", async () => {
    const receipt = {
      transactionHash: HASH.toUpperCase().replace("0X", "0x"),
      blockNumber: "0x5",
      blockHash: HASH,
      gasUsed: "0x6",
      status: "0x1",
      logs: [],
    };
    const read = {
      hash: HASH,
      blockNumber: 5,
      blockHash: HASH,
      gasUsed: 6n,
      cost: undefined,
      succeeded: true,
      logs: [],
      contractAddress: undefined,
    };
    for (const [status, succeeded] of [
      ["0x1", true],
      ["0x0", false],
      [1, true],
      [undefined, undefined],
      [null, undefined],
    ] as const) {
      expect(
        await getReceipt(answering({ ...receipt, status }), HASH),
      ).to.deep.equal({ ...read, succeeded });
    }
    const { transactionHash: _, ...unnamed } = receipt;
    expect(await getReceipt(answering(unnamed), HASH)).to.deep.equal({
      ...read,
      succeeded: true,
    });
    for (const [fees, cost] of [
      [{ effectiveGasPrice: "0x3" }, 18n],
      // On chains of the OP stack.
      [{ effectiveGasPrice: "0x3", l1Fee: "0x5" }, 23n],
      [{ l1Fee: "0x5" }, undefined],
    ] as const) {
      expect(
        await getReceipt(answering({ ...receipt, ...fees }), HASH),
      ).to.include({ cost });
    }
    for (const transactionHash of [`0x${"cd".repeat(32)}`, 5]) {
      const { message } = await expectVaultError(
        getReceipt(answering({ ...receipt, transactionHash }), HASH),
        "VAULT_RPC_INVALID_RESPONSE",
      );
      expect(message).to.contain("another transaction");
    }
    for (const none of [
      null,
      { ...receipt, blockNumber: null },
      { ...receipt, blockHash: null },
      { ...receipt, blockHash: `0x${"0".repeat(64)}` },
    ]) {
      expect(await getReceipt(answering(none), HASH)).to.equal(undefined);
    }
  });

  it("to eth_getTransactionReceipt is awaited: until the transaction is mined, or undefined after the time", async () => {
    const mined = { blockNumber: "0x5", blockHash: HASH, gasUsed: "0x6" };
    let looks = 0;
    const { rpc } = recording(() => {
      looks += 1;
      return looks < 3 ? null : mined;
    });
    const receipt = await waitForReceipt(rpc, HASH, 60_000);
    expect(receipt).to.include({ blockNumber: 5 });
    expect(looks).to.equal(3);
    expect(await waitForReceipt(answering(null), HASH, 1)).to.equal(undefined);
  });

  it("to eth_getTransactionReceipt is awaited until the deadline of the client, whose listener hears of each wait, or until its signal", async () => {
    const heard: unknown[] = [];
    const client = answering(null).withOptions({
      timeout: 40,
      onRetry: ({ reason, problem, attempt }) => {
        heard.push([reason, problem, attempt]);
      },
    });
    expect(await waitForReceipt(client, HASH)).to.equal(undefined);
    expect(heard[1]).to.deep.equal([
      ...["pending", `transaction ${HASH} is not mined yet`, 2],
    ]);
    // Its deadline comes while it looks once more.
    let looks = 0;
    const { rpc: slow } = recording(() => {
      looks += 1;
      return looks === 1 ? null : new Promise(() => undefined);
    });
    const late = slow.withOptions({ timeout: 40 });
    expect(await waitForReceipt(late, HASH)).to.equal(undefined);
    const silent = recording(() => new Promise(() => undefined)).rpc;
    await expectVaultError(
      waitForReceipt(silent.withOptions({ timeout: 40 }), HASH),
      "VAULT_RPC_TIMEOUT",
    );
    const stopped = answering(null).withOptions({
      signal: AbortSignal.abort(new Error("stopped")),
    });
    const failure = await waitForReceipt(stopped, HASH).catch(String);
    expect(failure).to.equal("Error: stopped");
  });
});
