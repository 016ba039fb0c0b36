import { expect } from "chai";
import { toQuantity } from "ethers";

import type { Outcome } from "../../src/settlement/result.js";
import { TimeLimit } from "../../src/settlement/time-limit.js";
import { OTHER_HASH as OTHER } from "../helpers/settlement-stage.js";
import {
  mined,
  minedIn6,
  pooled,
  rival,
  usedBy,
  useWays,
} from "../helpers/ways.js";

describe("the blocks of a settlement's transaction", () => {
  const ways = useWays();
  const { run, told } = ways;
  /** Each look asks for the newest block, and then for the receipt. */
  type Looks = ReadonlyArray<readonly [head: string, receipt: unknown]>;
  const follow = async (looks: Looks): Promise<Outcome> =>
    await run({
      title: "",
      start: "find",
      answers: {
        eth_blockNumber: (occurrence) => looks[occurrence]?.[0],
        eth_getTransactionReceipt: (occurrence) => looks[occurrence]?.[1],
        eth_getTransactionByHash: () => pooled,
      },
      plan: { confirmations: 3 },
      is: {},
    });

  it("settle emits each confirmation once, and again after a re-org, of which it warns", async () => {
    const minedIn = (block: string): unknown => ({
      ...minedIn6,
      blockNumber: block,
      blockHash: `0x${block.slice(2).repeat(64)}`,
    });
    const end = await follow([
      ["0x6", minedIn("0x6")],
      ["0x6", minedIn("0x6")],
      // A look that fails, which changes nothing.
      ["0x6", "no receipt"],
      ["0x7", minedIn("0x6")],
      ["0x7", null],
      ["0x8", minedIn("0x8")],
      ["0x9", minedIn("0x8")],
      ["0xb", minedIn("0x8")],
    ]);
    expect(end).to.include(mined);
    const [block, one, failure, ...others] = told();
    expect(failure).to.include("eth_getTransactionReceipt");
    expect([block, one, ...others]).to.deep.equal([
      "in 6",
      "1 of 3",
      "2 of 3",
      "a re-org took the transaction out of block 6",
      "in 8",
      "1 of 3",
      "2 of 3",
      "3 of 3",
    ]);
  });

  it("settle counts the confirmations of before if the last look has no answer", async () => {
    const outcome = await run({
      title: "",
      start: "find",
      plan: { confirmations: 3 },
      answers: {
        eth_blockNumber: async (occurrence) =>
          occurrence === 0 ? "0x7" : await new Promise<never>(() => undefined),
        eth_getTransactionReceipt: () => minedIn6,
      },
      changes: () => ({ limit: new TimeLimit(200) }),
      is: {},
    });
    expect(outcome).to.have.property("reason").that.includes("2 of 3");
  });

  it("settle warns of a re-org that moves it to another block of the same height, and counts again", async () => {
    const inBlock = (digit: string): unknown => ({
      ...minedIn6,
      blockHash: `0x${digit.repeat(64)}`,
    });
    const end = await follow([
      ["0x7", inBlock("a")],
      ["0x7", inBlock("b")],
      ["0x8", inBlock("b")],
    ]);
    expect(end).to.include(mined);
    expect(told()).to.deep.equal([
      "in 6",
      "2 of 3",
      "a re-org took the transaction out of block 6",
      "in 6",
      "2 of 3",
      "3 of 3",
    ]);
  });

  it("settle warns of a re-org after which the node has lost the transaction", async () => {
    await run({
      title: "",
      start: "find",
      plan: { confirmations: 3 },
      answers: {
        eth_getTransactionReceipt: (occurrence) =>
          occurrence === 0
            ? minedIn6
            : occurrence > 1
              ? { ...minedIn6, blockNumber: "0x7", blockHash: OTHER }
              : null,
        eth_blockNumber: (occurrence) => (occurrence < 2 ? "0x6" : "0x9"),
      },
      is: {},
    });
    expect(told().slice(2, 4)).to.deep.equal([
      "a re-org took the transaction out of block 6",
      "the node dropped the transaction",
    ]);
  });

  it("resume searches the blocks on from where it was after a look that failed", async () => {
    const searched: number[] = [];
    const end = await run({
      title: "",
      start: "find",
      answers: {
        ...usedBy(),
        eth_blockNumber: () => toQuantity(100),
        eth_getTransactionReceipt: (occurrence) => {
          if (occurrence === 1) {
            throw new Error("cut");
          }
          return null;
        },
        eth_getBlockByNumber: (_, [tag]) => {
          searched.push(Number(tag));
          const transactions = Number(tag) === 100 ? [rival] : [];
          return { transactions };
        },
      },
      is: {},
    });
    expect(end).to.include({ kind: "dropped", status: "unconfirmed" });
    expect(searched).to.deep.equal(
      Array.from({ length: 95 }, (_, index) => index + 6),
    );
  });
});
