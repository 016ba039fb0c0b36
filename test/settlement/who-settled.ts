import { expect } from "chai";

import { getReceipt } from "../../src/rpc/transactions.js";
import {
  describeWhoSettled,
  othersTouchVault,
  settledBeforeNext,
} from "../../src/settlement/who-settled.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { GUARD, entry, unsigned } from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import type { Waiting } from "../helpers/scripted-chain.js";
import {
  OPEN_ROUND,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const THEIRS = `0x${"5".repeat(40)}`;
const ours: Waiting = { ...unsigned, hash: HASH };
/** Settles the round in the scripted chain, as ours does. */
const theirs: Waiting = { ...ours, from: THEIRS, hash: OTHER_HASH };
const elsewhere: Waiting = {
  ...theirs,
  hash: GUARD.padEnd(66, "0"),
  to: THEIRS,
};

describe("who settled a round", () => {
  speedUpTime();
  let chain: ScriptedNode;
  beforeEach(() => {
    chain = new ScriptedNode();
    chain.mines = false;
  });
  const mine = (...all: readonly Waiting[]): void => {
    chain.pool.push(...all);
    chain.mine();
  };
  const receiptOf = async () => {
    const receipt = await getReceipt(chain.host().rpc, HASH);
    if (receipt === undefined) {
      throw new Error("it is not mined");
    }
    return receipt;
  };

  for (const [title, hashes, other, touches] of [
    ["no other went there", [HASH], elsewhere, false],
    ["another went there and wrote no log", [], theirs, true],
    ["it wrote a log in another", [HASH, OTHER_HASH], elsewhere, true],
  ] as const) {
    it(`othersTouchVault() is ${touches} if ${title}`, async () => {
      chain.on("eth_getLogs", ([filter]) => {
        const { address, blockHash } = fieldsOf(filter);
        expect([address, typeof blockHash]).to.deep.equal([VAULT, "string"]);
        return hashes.map((transactionHash) => ({ transactionHash }));
      });
      mine(other, ours);
      const found = await othersTouchVault(chain.host(), await receiptOf());
      expect(found).to.equal(touches);
    });
  }

  it("othersTouchVault() is undefined if the node shows another block", async () => {
    mine(ours);
    const receipt = await receiptOf();
    const other = { ...receipt, hash: OTHER_HASH } as const;
    expect(await othersTouchVault(chain.host(), other)).to.equal(undefined);
  });

  const late: Waiting = { ...ours, to: GUARD, data: "0x12" };
  const ofGuard: Waiting = { ...theirs, to: GUARD, data: "0x12" };
  const named = `${THEIRS} had settled the round in block 6 with transaction ${OTHER_HASH}.`;
  const inBlock = "somebody else had settled the round in block 6.";
  const describeLate = async (): Promise<string> => {
    const [transaction] = entry.transactions;
    return await describeWhoSettled(chain.host(), entry, {
      ...{ kind: "mined", hash: HASH, receipt: await receiptOf() },
      transaction: { ...transaction, to: GUARD },
    });
  };
  for (const [title, inBlock6, says, effect = settledRound] of [
    ["the account of a call of the guard", [elsewhere, ofGuard], named],
    [
      "the account that opened the next round, too",
      [ofGuard],
      named,
      nextRound,
    ],
    ["nobody, if no transaction can have done it", [elsewhere], inBlock],
    [
      "nobody, if two can have done it",
      [
        { ...theirs, data: "0x12" },
        { ...ofGuard, hash: elsewhere.hash },
      ],
      inBlock,
    ],
  ] as const) {
    it(`describeWhoSettled() names ${title}`, async () => {
      chain.pool.push(...inBlock6);
      chain.mine(effect);
      mine(late);
      expect(await describeLate()).to.equal(says);
    });
  }

  it("describeWhoSettled() names nobody if the node does not list transactions", async () => {
    mine(theirs);
    mine(late);
    chain.on("eth_getBlockByNumber", async ([, whole], answer) =>
      whole === true ? null : await answer(),
    );
    expect(await describeLate()).to.equal(
      "somebody else had settled the round.",
    );
  });

  for (const [title, data, block] of [
    [
      "the block whose transaction settled it and opened the next",
      theirs.data,
      7,
    ],
    ["nothing, if no transaction of that block settles", "0x12", undefined],
    ["nothing, if the node does not list them", undefined, undefined],
  ] as const) {
    it(`settledBeforeNext() finds ${title}`, async () => {
      chain.mine();
      chain.effect = nextRound;
      chain.pool.push({ ...theirs, ...(data !== undefined && { data }) });
      chain.mine((round) => (block === 7 ? round : nextRound(round)));
      chain.on("eth_getBlockByNumber", async ([, whole], answer) =>
        whole === true && data === undefined ? null : await answer(),
      );
      const found = await settledBeforeNext(chain.host(), OPEN_ROUND, 5, 7);
      expect(found).to.equal(block);
    });
  }
});
