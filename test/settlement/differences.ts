import { expect } from "chai";

import type { VaultSnapshot } from "../../src/client/snapshot.js";
import { vaultError } from "../../src/errors.js";
import type { Receipt } from "../../src/rpc/transactions.js";
import { findDifferences } from "../../src/settlement/differences.js";
import type { PreviewDifference } from "../../src/settlement/types.js";
import type { Simulation } from "../../src/simulation/types.js";
import { OPEN_ROUND, VAULT } from "../helpers/scripted-contracts.js";

describe("the comparison of a settlement with its preview", () => {
  const PAID = `0x${"33".repeat(20)}`;
  const token = `0x${"44".repeat(20)}`;

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
    const differences = compare(preview({ transfers: null }), {
      ...after,
      round,
    });
    expect(differences).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 8n },
    ]);
  });

  const moved = { token, from: VAULT, to: PAID };
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
    ["is null if the engine did not see transfers", null, three, null],
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
