import { expect } from "chai";

import { failedReading } from "../../src/client/read-at-block.js";
import type { VaultSnapshot } from "../../src/client/read-at-block.js";
import { vaultError } from "../../src/errors.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import { findDifferences } from "../../src/settlement/differences.js";
import type { ReadingValue } from "../../src/simulation/types.js";
import { minedReceipt } from "../helpers/keeper.js";
import { withOtherReadings } from "../helpers/readings.js";
import { transferLog } from "../helpers/scripted-chain.js";
import { OPEN_ROUND, VAULT } from "../helpers/scripted-contracts.js";

const TOKEN = `0x${"44".repeat(20)}` as const;

const pool = { deposit: 3n, availabe: 2n, locked: 1n };
const readings: VaultSnapshot = withOtherReadings(
  {
    chainId: 1,
    block: { number: 6, timestamp: 1_700_000_006 },
    round: { ...OPEN_ROUND, settled: true, settledPrice: 7n },
    pools: { public: pool, private: pool },
    marginBalance: { baseMarginAmount: 1n, xMarginAmount: 2n },
  },
  5n,
);
const previewed = (reading: string, field: string, value: ReadingValue) => ({
  reading,
  field,
  before: null,
  after: value,
});
const preview = {
  changes: [
    previewed("round", "settledPrice", 7n),
    previewed("volume", "volume", 5n),
    previewed("pools.private", "locked", 1n),
  ],
  transfers: [],
};

describe("findDifferences()", () => {
  const failed = failedReading(vaultError("VAULT_NO_SENDER", { network: "x" }));
  const round = { ...OPEN_ROUND, settledPrice: 8n };
  const price = {
    reading: "round",
    field: "settledPrice",
    previewed: 7n,
    happened: 8n,
  };
  const volume = { ...price, reading: "volume", field: "volume" };

  for (const [title, changes, receipt, is] of [
    ["none if all changes came", {}, {}, []],
    ["null for a transaction that reverted", {}, { succeeded: false }, null],
    [
      "a change that came otherwise",
      { round },
      { succeeded: undefined },
      [price],
    ],
    [
      "a change of a reading that fails now, with its code",
      { volume: failed },
      {},
      [{ ...volume, previewed: 5n, happened: "VAULT_NO_SENDER" }],
    ],
    [
      "no change that was not previewed, as of a value that time moves",
      { marginBalance: { baseMarginAmount: 9n, xMarginAmount: 2n } },
      {},
      [],
    ],
    [
      "null if all came and the transfers are not known",
      {},
      { logs: null },
      null,
    ],
    [
      "a change, also if the transfers are not known",
      { round },
      { logs: null },
      [price],
    ],
  ] as const) {
    it(`has ${title}`, () => {
      const mined: Receipt = { ...minedReceipt, ...receipt };
      const found = findDifferences(preview, mined, {
        ...readings,
        ...changes,
      });
      expect(found).to.deep.equal(is);
    });
  }

  const moved = { token: TOKEN, from: VAULT, to: VAULT } as const;
  const moves = [2n, 3n].map((amount) => ({ ...moved, amount }));
  const native = { ...moved, token: "native", amount: 3n } as const;
  /** Of 5. */
  const log = transferLog(TOKEN, VAULT);
  const ofToken = (expected: bigint, happened: bigint) => ({
    reading: "transfers",
    field: `${TOKEN} from ${VAULT} to ${VAULT}`,
    previewed: expected,
    happened,
  });
  for (const [title, transfers, logs, is] of [
    ["no transfers with the sum that was previewed", moves, [log], []],
    ["a token that did not move", moves, [], [ofToken(5n, 0n)]],
    ["a token that moved twice", moves, [log, log], [ofToken(5n, 10n)]],
    ["null if the node does not list transfers", moves, null, null],
    ["null if the simulation did not", null, [log], null],
    ["no native currency, which a receipt lacks", [native], [], []],
  ] as const) {
    it(`has ${title}`, () => {
      const mined = { ...minedReceipt, logs };
      const found = findDifferences({ ...preview, transfers }, mined, readings);
      expect(found).to.deep.equal(is);
    });
  }
});
