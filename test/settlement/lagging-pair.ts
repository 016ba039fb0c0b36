import { expect } from "chai";

import type { SettleAllOptions } from "../../src/settlement/options.js";
import { laggingPair } from "../helpers/lagging-pair.js";
import { isFull, randomNumbers } from "../helpers/sample.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";

/** Every fourth one is by an account with a transaction that is not mined yet. */
const SETTLEMENTS = isFull ? 100 : 4;

const BLOCKS_APART = 3;

/**
 * How often in a row a balancer asks the node that is behind for the same, at most: a
 * read of a block that some node has is sent six times. Of a numbered block it counts all
 * of them, since two reads of it at the same time would hide each other's.
 */
const MOST_MISSES = isFull ? 5 : 4;
const OPTIONS: SettleAllOptions = isFull ? {} : { pollingInterval: 200 };

describe(`settlements behind a pair of nodes that are ${BLOCKS_APART} blocks apart`, () => {
  let pair: RpcServer;
  let keeper: KeeperWithNode;

  before(async () => {
    keeper = await startKeeper();
    pair = await startRpcServer({ upstream: keeper.node.url });
  });
  after(async () => {
    await keeper.close();
    await pair.stop();
  });

  it("settleAll settles each round once, also if the account has a transaction that is not mined", async () => {
    const { chain, settler } = keeper;
    const vault = await keeper.connect({ url: pair.url });
    const failures: string[] = [];
    const random = randomNumbers();
    for (let number = 0; number < SETTLEMENTS; ++number) {
      if (number > 0) {
        await chain.openNextRound();
      }
      for (let block = 0; block < BLOCKS_APART; ++block) {
        await chain.mine();
      }
      const isBusy = number % 4 === 3;
      if (isBusy) {
        // What one of the nodes has not seen of the account either.
        await chain.provider.send("eth_sendTransaction", [
          { from: settler, to: settler, gas: "0x5208" },
        ]);
      }
      let nonceMisses = 0;
      const misses = new Map<string, number>();
      // A batch goes to one node.
      const batches = new WeakMap<object, boolean>();
      pair.handler = laggingPair(BLOCKS_APART, ({ method, params }, batch) => {
        const key = JSON.stringify([method, params]);
        const missed = misses.get(key) ?? 0;
        const isBehind =
          batches.get(batch) ?? (missed < MOST_MISSES && random() < 0.5);
        batches.set(batch, isBehind);
        const isNumbered = !/"(?:latest|pending)"|TransactionBy|Receipt/u.test(
          key,
        );
        misses.set(key, isBehind ? missed + 1 : isNumbered ? missed : 0);
        nonceMisses += isBehind && method === "eth_getTransactionCount" ? 1 : 0;
        return isBehind;
      });
      const { status, reason, after } = await vault.settleAll(OPTIONS);
      const settlers = await chain.settlers(number);
      const isSettled = status === "settled" && after?.settled === true;
      if (isSettled && settlers.join() === settler) {
        continue;
      }
      // Where the node that is behind was asked for it, the used nonce may not be
      // seen; then the node refuses it, and nothing is settled.
      if (
        isBusy &&
        nonceMisses > 0 &&
        settlers.length === 0 &&
        (reason ?? "").includes("nonce")
      ) {
        await chain.settleByOther();
      } else {
        failures.push(`${number}: ${status}, ${settlers.join()}: ${reason}`);
      }
    }
    expect(failures.join("\n")).to.equal("");
  });
});
