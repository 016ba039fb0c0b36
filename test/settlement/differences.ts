import { expect } from "chai";

import { failedReading } from "../../src/client/failed-reading.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import { vaultError } from "../../src/errors.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import {
  differencesByMoreThanTime,
  findDifferences,
} from "../../src/settlement/differences.js";
import type { ReadingValue, Simulation } from "../../src/simulation/types.js";
import { fieldsOf } from "../helpers/fields.js";
import { minedReceipt } from "../helpers/keeper.js";
import { transferLog } from "../helpers/scripted-chain.js";
import {
  OPEN_ROUND,
  VAULT,
  valuesAnswer,
} from "../helpers/scripted-contracts.js";
import { withOtherReadings } from "../helpers/readings.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const TOKEN = `0x${"44".repeat(20)}` as const;

const pool = { deposit: 3n, availabe: 2n, locked: 1n };
const before: VaultSnapshot = withOtherReadings(
  {
    ...{ chainId: 1, block: { number: 5, timestamp: 1_700_000_005 } },
    ...{ round: OPEN_ROUND, pools: { public: pool, private: pool } },
    marginBalance: { baseMarginAmount: 1n, xMarginAmount: 2n },
  },
  5n,
);
const priced = { ...OPEN_ROUND, settled: true, settledPrice: 7n };
const after: VaultSnapshot = {
  ...{ ...before, round: priced },
  block: { number: 6, timestamp: 1_700_000_006 },
};
const change = (
  reading: string,
  field: string,
  was: ReadingValue,
  is: ReadingValue,
) => ({ reading, field, before: was, after: is });
const difference = (
  reading: string,
  field: string,
  previewed: ReadingValue,
  happened: ReadingValue,
) => ({ reading, field, previewed, happened });

const preview: Simulation = {
  ...{ status: "settled", code: null, reason: null, engine: "simulateV1" },
  ...{ guard: null, gasUsed: 1n, block: null, balances: [], notes: [] },
  changes: [
    change("round", "settledPrice", 0n, 7n),
    change("round", "settled", false, true),
  ],
  transfers: [],
};
const receipt: Receipt = minedReceipt;

describe("findDifferences()", () => {
  const otherPrice = { ...priced, settledPrice: 8n };
  const price = difference("round", "settledPrice", 7n, 8n);
  const unread = failedReading(vaultError("VAULT_NO_SENDER", { network: "x" }));
  const filled = { ...pool, locked: 5n };

  for (const [title, seenBefore, seenAfter, mined, is] of [
    ["none if all readings are as previewed", before, after, receipt, []],
    [
      "null for a transaction that reverted",
      before,
      after,
      { ...receipt, succeeded: false },
      null,
    ],
    ["null if the block before is not read", undefined, after, receipt, null],
    [
      "null if the round before is not read",
      { ...before, round: unread },
      after,
      receipt,
      null,
    ],
    [
      "a field of two readings twice, also if the receipt has no status",
      before,
      { ...after, pools: { public: filled, private: filled } },
      { ...receipt, succeeded: undefined },
      ["public", "private"].map((name) =>
        difference(`pools.${name}`, "locked", 1n, 5n),
      ),
    ],
    [
      "a value that is not as previewed, and one that was to stay",
      before,
      { ...after, round: otherPrice, volume: 4n },
      receipt,
      [price, difference("volume", "volume", 5n, 4n)],
    ],
    [
      "a value, also if the transfers are not known",
      before,
      { ...after, round: otherPrice },
      { ...receipt, logs: null },
      [price],
    ],
  ] as const) {
    it(`has ${title}`, () => {
      const found = findDifferences(preview, mined, seenBefore, seenAfter);
      expect(found).to.deep.equal(is);
    });
  }

  const moved = { token: TOKEN, from: VAULT, to: VAULT } as const;
  const moves = [2n, 3n].map((amount) => ({ ...moved, amount }));
  const native = { ...moved, token: "native", amount: 3n } as const;
  /** Of 5. */
  const log = transferLog(TOKEN, VAULT);
  const ofToken = (previewed: bigint, happened: bigint) => {
    const field = `${TOKEN} from ${VAULT} to ${VAULT}`;
    return difference("transfers", field, previewed, happened);
  };
  for (const [title, transfers, logs, is] of [
    ["no transfers with the sum that was previewed", moves, [log], []],
    ["a token that did not move", moves, [], [ofToken(5n, 0n)]],
    ["a token that moved twice", moves, [log, log], [ofToken(5n, 10n)]],
    ["null if the node does not list transfers", moves, null, null],
    ["no native currency, which a receipt lacks", [native], [], []],
  ] as const) {
    it(`has ${title}`, () => {
      const simulation = { ...preview, transfers };
      const mined = { ...receipt, logs };
      const found = findDifferences(simulation, mined, before, after);
      expect(found).to.deep.equal(is);
    });
  }
});

describe("differencesByMoreThanTime()", () => {
  const later = { baseMarginAmount: 9n, xMarginAmount: 9n };
  const atEnd: VaultSnapshot = { ...after, volume: 9n, marginBalance: later };
  const all = [
    difference("volume", "volume", 5n, 9n),
    difference("marginBalance", "baseMarginAmount", 1n, 9n),
    difference("marginBalance", "xMarginAmount", 2n, 9n),
  ];
  let chain: ScriptedNode;
  /** The node executes a call at another time with that value, or not at all. */
  const execute = (value: bigint | Error): void => {
    chain = new ScriptedNode();
    chain.on("eth_call", ([call]) => {
      if (value instanceof Error) {
        throw value;
      }
      const values = { baseMarginAmount: value, xMarginAmount: value };
      const { data } = fieldsOf(call);
      return valuesAnswer(String(data), { ...values, volume: value }).data;
    });
  };
  const find = async (
    changes: Partial<Simulation> = {},
    mined: Partial<Receipt> = {},
  ): Promise<unknown> =>
    await differencesByMoreThanTime(
      chain.host(),
      { ...preview, ...changes },
      { ...receipt, ...mined },
      before,
      atEnd,
    );
  const asked = (): readonly unknown[] =>
    chain.asked.map(({ params: [, block, , times] }) => [block, times]);

  it("has none that time explains, by the state before at the time of the block", async () => {
    execute(9n);
    expect(await find()).to.deep.equal([]);
    const time = ["0x5", { number: "0x6", time: "0x6553f106" }];
    expect(asked()).to.deep.equal([time, time]);
  });

  it("is null if time explains all, and the transfers are not known", async () => {
    execute(9n);
    expect(await find({}, { logs: null })).to.equal(null);
    expect(await find({ transfers: null })).to.equal(null);
  });

  for (const [title, answer] of [
    ["time leaves as it was", 5n],
    ["the node cannot execute", new Error("too many arguments")],
  ] as const) {
    it(`has what ${title}`, async () => {
      execute(answer);
      expect(await find()).to.have.deep.members(all);
    });
  }

  it("has what was previewed otherwise, though time alone explains what happened", async () => {
    execute(9n);
    const changes = [
      ...preview.changes,
      change("volume", "volume", 5n, 7n),
      change("marginBalance", "xMarginAmount", 2n, 7n),
    ];
    expect(await find({ changes })).to.have.deep.members([
      { ...all[0], previewed: 7n },
      { ...all[2], previewed: 7n },
    ]);
    // Of the volume, all is previewed.
    expect(asked()).to.have.length(1);
  });
});
