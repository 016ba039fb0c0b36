import { expect } from "chai";

import type { VaultSnapshot } from "../../src/client/snapshot.js";
import { vaultError } from "../../src/errors.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { getReceipt } from "../../src/rpc/transactions.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import { findDifferences } from "../../src/settlement/differences.js";
import { describeEnd } from "../../src/settlement/report.js";
import type { PreviewDifference } from "../../src/settlement/types.js";
import type { ReadingValue, Simulation } from "../../src/simulation/types.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  OPEN_ROUND,
  VAULT,
  valuesAnswer,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { HASH, entry, unsigned } from "../helpers/keeper.js";

describe("the comparison of a settlement with its preview", () => {
  const PAID = `0x${"33".repeat(20)}` as const;
  const token = `0x${"44".repeat(20)}` as const;

  const margins = { baseMarginAmount: 1n, xMarginAmount: 2n };
  const pool = { deposit: 3n, availabe: 2n, locked: 1n };
  const before: VaultSnapshot = {
    chainId: 1,
    block: { number: 99, timestamp: 1 },
    fundingFeeRate: { call: 1n, put: 1n },
    round: OPEN_ROUND,
    pools: { public: pool, private: pool },
    volume: 5n,
    marginBalance: margins,
    minXMargin: 6n,
  };
  const priced = { ...OPEN_ROUND, settled: true, settledPrice: 7n };
  const after: VaultSnapshot = { ...before, round: priced };

  const receipt: Receipt = {
    hash: `0x${"ab".repeat(32)}`,
    blockNumber: 100,
    blockHash: `0x${"cd".repeat(32)}`,
    gasUsed: 1n,
    cost: undefined,
    succeeded: true,
    logs: [],
    contractAddress: null,
  };

  const preview = (changes: Partial<Simulation> = {}): Simulation => ({
    status: "settled",
    code: null,
    reason: null,
    engine: "simulateV1",
    guard: null,
    gasUsed: 1n,
    block: null,
    changes: [
      { reading: "round", field: "settledPrice", before: 0n, after: 7n },
      { reading: "round", field: "settled", before: false, after: true },
    ],
    balances: [],
    transfers: [],
    notes: [],
    ...changes,
  });

  /** The log of an ERC-20 token's `Transfer`. */
  const logOf = (from: string, to: string, amount: bigint): object => ({
    address: token,
    topics: [
      "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
      ...[from, to].map((account) => `0x${account.slice(2).padStart(64, "0")}`),
    ],
    data: `0x${amount.toString(16).padStart(64, "0")}`,
  });

  const compare = (
    previewed = preview(),
    seenAfter = after,
    seenBefore: VaultSnapshot | undefined = before,
    mined = receipt,
  ): readonly PreviewDifference[] | null =>
    findDifferences(previewed, mined, seenBefore, seenAfter);

  it("finds nothing if all readings are as previewed", () => {
    expect(compare()).to.deep.equal([]);
  });

  it("is null for a reverted transaction, and if the block before it cannot be read", () => {
    const error = vaultError("VAULT_INTERNAL", { problem: "x" });
    for (const [seenBefore, mined] of [
      [before, { ...receipt, succeeded: false }],
      [{ ...before, round: { error } }, receipt],
    ] as const) {
      expect(compare(preview(), after, seenBefore, mined)).to.equal(null);
    }
    expect(findDifferences(preview(), receipt, undefined, after)).to.equal(
      null,
    );
  });

  it("names each reading that is not as previewed, or was to stay", () => {
    const round = { ...priced, settledPrice: 8n };
    expect(compare(preview(), { ...after, round, volume: 4n })).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 8n },
      { reading: "volume", field: "volume", previewed: 5n, happened: 4n },
    ]);
    expect(compare(preview(), before)).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 0n },
      { reading: "round", field: "settled", previewed: true, happened: false },
    ]);
  });

  it("has previewed and happened in their places if the transfers are not known", () => {
    const round = { ...priced, settledPrice: 8n };
    const mined = { ...receipt, logs: null };
    const seen = { ...after, round };
    const differences = compare(preview(), seen, before, mined);
    expect(differences).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 8n },
    ]);
  });

  const moved = { token, from: VAULT, to: PAID } as const;
  const moves = [1n, 2n].map((amount) => ({ ...moved, amount }));
  const change = (previewed: bigint, happened: bigint): PreviewDifference => ({
    reading: "transfers",
    field: `${token} from ${VAULT} to ${PAID}`,
    previewed,
    happened,
  });
  const three = [logOf(VAULT, PAID, 3n)];
  const native = { ...moved, token: "native", amount: 3n } as const;

  for (const [title, transfers, logs, expected] of [
    [
      "finds nothing in transfers with the sum that was previewed",
      moves,
      three,
      [],
    ],
    ["names a token that did not move", moves, [], [change(3n, 0n)]],
    ["names a token that moved without a preview", [], three, [change(0n, 3n)]],
    ["is null if the node does not tell the transfers", moves, null, null],
    ["leaves native currency out, which a receipt lacks", [native], [], []],
  ] as const) {
    it(title, () => {
      const mined = { ...receipt, logs };
      expect(
        compare(preview({ transfers }), after, before, mined),
      ).to.deep.equal(expected);
    });
  }
});

describe("the differences of a settlement that time does not explain", () => {
  let chain: ScriptedNode;
  /** What two readings have in block 6, by its settlement or by its time; 1 before. */
  const LATER = 2n;
  const [transaction] = entry.transactions;
  const changes = readingChanges(
    ["settled", false, true],
    ["settledPrice", 0n, OPEN_ROUND.strikePrice + 1n],
    ["settledAmount", 0n, OPEN_ROUND.filledVolume],
  );
  const preview: Simulation = {
    status: "settled",
    ...{ code: null, reason: null, engine: "simulateV1", guard: null },
    ...{ gasUsed: 60_000n, block: null, balances: [], notes: [] },
    changes,
    transfers: [{ token: VAULT, from: VAULT, to: VAULT, amount: 5n }],
  };

  beforeEach(() => {
    chain = new ScriptedNode({
      answerOf: ({ data, block }) =>
        valuesAnswer(data, {
          ...(chain.rounds[block] ?? OPEN_ROUND),
          ...both(block < 6 ? 1n : LATER),
        }),
    });
    chain.mines = false;
    chain.pool.push({ ...unsigned, hash: HASH });
    chain.mine();
  });

  /** Answers a call at another time with that value, or not at all. */
  const execute = (value: bigint | Error): void => {
    chain.on("eth_call", async ([call, , ...more], answer) => {
      if (more.length < 2) {
        return await answer();
      }
      if (value instanceof Error) {
        throw value;
      }
      return valuesAnswer(String(fieldsOf(call)["data"]), both(value)).data;
    });
  };
  const differences = async (
    previewed: Partial<Simulation> = {},
    mined: Partial<Receipt> = {},
  ): Promise<unknown> => {
    const rpc = new RpcClient(chain.provider, "scripted");
    const receipt = await getReceipt(rpc, HASH);
    if (receipt === undefined) {
      throw new Error("it is not mined");
    }
    const { settlement } = await describeEnd(
      chain.host({ networkConfig: { type: "http" }, projectRoot: "" }),
      entry,
      {
        kind: "mined",
        hash: HASH,
        receipt: { ...receipt, ...mined },
        transaction,
      },
      { ...preview, ...previewed },
    );
    return settlement.differences;
  };
  const readings = [
    ["volume", "volume"],
    ["marginBalance", "baseMarginAmount"],
    ["marginBalance", "xMarginAmount"],
  ].map(([reading, field]) => ({
    ...{ reading, field },
    previewed: 1n,
    happened: LATER,
  }));

  /** Blocks and times of the calls at another time. */
  const askedLater = (): readonly unknown[] =>
    chain.asked.flatMap(({ params: [, block, , times] }) =>
      times === undefined ? [] : [[block, times]],
    );

  it("are null if time moved all of them, and the transfers are not known", async () => {
    execute(LATER);
    expect(await differences({}, { logs: null })).to.equal(null);
    // Both readings, and nothing else, on the state before the block.
    const time = ["0x5", { number: "0x6", time: "0x6553f106" }];
    expect(askedLater()).to.eql([time, time]);
  });

  it("are none if time moved all of them, and the transfers are as previewed", async () => {
    execute(LATER);
    expect(await differences()).to.eql([]);
  });

  for (const [title, answer] of [
    ["time alone leaves as it was", 1n],
    ["the node cannot read at another time", new Error("too many arguments")],
  ] as const) {
    it(`have what ${title}`, async () => {
      execute(answer);
      expect(await differences()).to.have.deep.members(readings);
    });
  }

  it("have a value that was previewed to change otherwise, though time alone gives what happened", async () => {
    execute(LATER);
    const previewed = ["volume", "marginBalance"].map((reading) => ({
      reading,
      field: reading === "volume" ? reading : "xMarginAmount",
      before: 1n,
      after: 3n,
    }));
    const found = await differences({ changes: [...changes, ...previewed] });
    expect(found).to.have.deep.members(
      [readings[0], readings[2]].map((one) => ({ ...one, previewed: 3n })),
    );
    // Of the other reading all is previewed.
    expect(askedLater()).to.have.length(1);
  });

  it("have what a preview that did not settle the round lacks", async () => {
    execute(LATER);
    const found = await differences({ status: "not-settled", changes: [] });
    expect(found).to.deep.include({
      reading: "round",
      field: "settled",
      previewed: false,
      happened: true,
    });
  });
});

function both(value: bigint) {
  return { volume: value, baseMarginAmount: value, xMarginAmount: value };
}

function readingChanges(
  ...values: ReadonlyArray<
    readonly [field: string, before: ReadingValue, after: ReadingValue]
  >
): Simulation["changes"] {
  return values.map(([field, before, after]) => ({
    reading: "round",
    field,
    before,
    after,
  }));
}
