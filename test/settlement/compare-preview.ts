import { expect } from "chai";

import { vaultError } from "../../src/errors.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import type { VaultHost } from "../../src/host.js";
import type { Simulation } from "../../src/simulation/types.js";
import type { Receipt } from "../../src/rpc/rpc-client.js";
import { findDifferences } from "../../src/settlement/report.js";
import type { PreviewDifference } from "../../src/settlement/types.js";
import { OPEN_ROUND, VAULT } from "../helpers/scripted-node.js";

const PAID = `0x${"33".repeat(20)}`;
const TOKEN = `0x${"44".repeat(20)}`;

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
const settled = { ...OPEN_ROUND, settled: true, settledPrice: 7n };
const after: VaultSnapshot = { ...before, round: settled };

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
  address: TOKEN,
  topics: [
    "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    ...[from, to].map((account) => `0x${account.slice(2).padStart(64, "0")}`),
  ],
  data: `0x${amount.toString(16).padStart(64, "0")}`,
});

describe("the comparison of a settlement with its preview", () => {
  const compare = async (
    previewed = preview(),
    seenAfter = after,
    seenBefore: VaultSnapshot | Error = before,
    mined = receipt,
  ): Promise<readonly PreviewDifference[] | null> => {
    const snapshot = async (of: {
      blockTag: number;
    }): Promise<VaultSnapshot> => {
      expect(of).to.deep.equal({ blockTag: 99 });
      return await (seenBefore instanceof Error
        ? Promise.reject(seenBefore)
        : Promise.resolve(seenBefore));
    };
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- it is asked for nothing else
    const host = { snapshot } as unknown as VaultHost;
    return await findDifferences(host, previewed, mined, seenAfter);
  };

  it("finds nothing if all readings are as previewed", async () => {
    expect(await compare()).to.deep.equal([]);
  });

  it("is unknown with a revert, or with a block before that cannot be read", async () => {
    const error = vaultError("VAULT_INTERNAL", { problem: "x" });
    for (const [seenBefore, mined] of [
      [before, { ...receipt, succeeded: false }],
      [{ ...before, round: { error } }, receipt],
      [error, receipt],
    ] as const) {
      expect(await compare(preview(), after, seenBefore, mined)).to.equal(null);
    }
  });

  it("names each reading that is not as previewed, or was to stay", async () => {
    const round = { ...settled, settledPrice: 8n };
    expect(
      await compare(preview(), { ...after, round, volume: 4n }),
    ).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 8n },
      { reading: "volume", field: "volume", previewed: 5n, happened: 4n },
    ]);
    expect(await compare(preview(), before)).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 0n },
      { reading: "round", field: "settled", previewed: true, happened: false },
    ]);
  });

  const token = TOKEN;
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
    ["compares no transfers that the engine did not see", null, three, []],
    ["compares no transfers that the node does not tell", moves, null, []],
    ["leaves native currency out, which a receipt lacks", [native], [], []],
  ] as const) {
    it(title, async () => {
      const mined = { ...receipt, logs };
      expect(
        await compare(preview({ transfers }), after, before, mined),
      ).to.deep.equal(expected);
    });
  }
});
