import { expect } from "chai";

import { vaultError } from "../../src/errors.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import type { VaultHost } from "../../src/host.js";
import type { Simulation, Transfer } from "../../src/rehearsal/types.js";
import type { Receipt } from "../../src/rpc/node.js";
import {
  accountsToCompare,
  comparePreview,
} from "../../src/settlement/compare-preview.js";
import type { PreviewDifference } from "../../src/settlement/types.js";

const accountOf = (byte: string): string => `0x${byte.repeat(20)}`;
const SENDER = accountOf("11");
const VAULT = accountOf("22");
const PAID = accountOf("33");
const TOKEN = accountOf("44");

const margins = { baseMarginAmount: 1n, xMarginAmount: 2n };
const pool = { deposit: 3n, availabe: 2n, locked: 1n };
const before: VaultSnapshot = {
  chainId: 1,
  block: { number: 99, timestamp: 1 },
  fundingFeeRate: { call: 1n, put: 1n },
  round: {
    strikePrice: 1n,
    APY: 1n,
    maxVolume: 1n,
    filledVolume: 1n,
    minDeposit: 1n,
    startTime: 1n,
    endTime: 2n,
    settledPrice: 0n,
    settledAmount: 0n,
    settled: false,
  },
  pools: { public: pool, private: pool },
  volume: 5n,
  marginBalance: margins,
  minXMargin: 6n,
};
const settled = { ...before.round, settled: true, settledPrice: 7n };
const after: VaultSnapshot = { ...before, round: settled };

const receipt: Receipt = {
  hash: `0x${"ab".repeat(32)}`,
  blockNumber: 100,
  blockHash: `0x${"cd".repeat(32)}`,
  gasUsed: 1n,
  succeeded: true,
  place: undefined,
  fee: 10n,
  logs: [],
  contractAddress: null,
};

const transfer = (changes: Partial<Transfer> = {}): Transfer => ({
  token: "native",
  from: VAULT,
  to: PAID,
  amount: 3n,
  ...changes,
});

/** Of the engine whose readings are not asked for again. */
const preview = (changes: Partial<Simulation> = {}): Simulation => ({
  status: "settled",
  code: null,
  reason: null,
  engine: "call",
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

describe("what came otherwise than previewed", () => {
  const compare = async (
    previewed: Simulation | null,
    {
      seenAfter = after,
      seenBefore = before,
      balances = {},
      mined = receipt,
      hasSeen = true,
      hasBalances = true,
      read = async () => await Promise.reject(new Error("it was read again")),
    }: {
      seenAfter?: VaultSnapshot;
      seenBefore?: VaultSnapshot;
      balances?: Readonly<Record<string, readonly [bigint, bigint?]>>;
      mined?: Receipt | undefined;
      hasSeen?: boolean;
      hasBalances?: boolean;
      /** What the vault answers to a plain reading. */
      read?: (
        operation: string,
        args: readonly unknown[],
        options: { blockTag: number },
      ) => Promise<unknown>;
    } = {},
  ): Promise<readonly PreviewDifference[] | null | undefined> => {
    const balancesAt = (index: 0 | 1): Map<string, bigint> | undefined =>
      hasBalances
        ? new Map(
            Object.entries(balances).flatMap(([account, amounts]) => {
              const amount = amounts[index];
              return amount === undefined ? [] : [[account, amount]];
            }),
          )
        : undefined;
    const asked: number[] = [];
    const result = await comparePreview(
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- it is asked for nothing else
      { read } as unknown as VaultHost,
      previewed,
      SENDER,
      {
        receipt: mined,
        seen: hasSeen
          ? { snapshot: seenAfter, balances: balancesAt(1) }
          : undefined,
      },
      async (_vault, blockNumber) => {
        asked.push(blockNumber);
        return await Promise.resolve({
          snapshot: seenBefore,
          balances: balancesAt(0),
        });
      },
    );
    expect(asked.filter((block) => block !== 99)).to.deep.equal([]);
    return result?.differences;
  };

  it("should be nothing where all came as it was", async () => {
    expect(await compare(preview())).to.deep.equal([]);
  });

  it("should not be known without a preview, a receipt, or a look at the block", async () => {
    expect(await compare(null)).to.equal(undefined);
    expect(
      await compare(preview(), { mined: { ...receipt, succeeded: false } }),
    ).to.equal(null);
    expect(await compare(preview(), { hasSeen: false })).to.equal(null);
    const round = { error: vaultError("VAULT_INTERNAL", { problem: "x" }) };
    expect(
      await compare(preview(), { seenBefore: { ...before, round } }),
    ).to.equal(null);
  });

  it("should be a reading that was to be another, or to stay", async () => {
    expect(
      await compare(preview(), {
        seenAfter: {
          ...after,
          round: { ...settled, settledPrice: 8n },
          volume: 4n,
        },
      }),
    ).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 8n },
      { reading: "volume", field: "volume", previewed: 5n, happened: 4n },
    ]);
    expect(await compare(preview(), { seenAfter: before })).to.deep.equal([
      { reading: "round", field: "settledPrice", previewed: 7n, happened: 0n },
      { reading: "round", field: "settled", previewed: true, happened: false },
    ]);
  });

  it("should be tokens that did not move, or moved without a preview", async () => {
    const token = "0x4444444444444444444444444444444444444444";
    const field = `${token} from ${VAULT} to ${PAID}`;
    const moves = preview({
      transfers: [
        transfer({ token, amount: 1n }),
        transfer({ token, amount: 2n }),
      ],
    });
    expect(
      await compare(moves, {
        mined: { ...receipt, logs: [logOf(VAULT, PAID, 3n)] },
      }),
    ).to.deep.equal([]);
    expect(await compare(moves)).to.deep.equal([
      { reading: "transfers", field, previewed: 3n, happened: 0n },
    ]);
    expect(
      await compare(preview(), {
        mined: { ...receipt, logs: [logOf(VAULT, PAID, 4n)] },
      }),
    ).to.deep.equal([
      { reading: "transfers", field, previewed: 0n, happened: 4n },
    ]);
    // Not seen by the engine, or not told by the node.
    for (const [transfers, logs] of [
      [null, [logOf(VAULT, PAID, 4n)]],
      [moves.transfers, null],
    ] as const) {
      expect(
        await compare(preview({ transfers }), { mined: { ...receipt, logs } }),
      ).to.deep.equal([]);
    }
  });

  it("should be asked for again plainly, where the block was seen by code", async () => {
    const odd = { ...after, volume: 4n, minXMargin: 7n };
    const read: string[] = [];
    expect(
      await compare(preview({ engine: "simulateV1" }), {
        seenAfter: odd,
        read: async (operation, _args, { blockTag }) => {
          read.push(`${operation} ${blockTag}`);
          return await Promise.resolve(
            operation === "queryVolume" ? 5n : BigInt(blockTag),
          );
        },
      }),
    ).to.deep.equal([
      {
        reading: "minXMargin",
        field: "minXMargin",
        previewed: 99n,
        happened: 100n,
      },
    ]);
    expect(read.sort()).to.deep.equal([
      "minXMargin 100",
      "minXMargin 99",
      "queryVolume 100",
      "queryVolume 99",
    ]);
  });

  it("should be asked for no more where nothing seems to differ, and not be known where the node fails", async () => {
    const engine = "simulateV1";
    expect(await compare(preview({ engine }))).to.deep.equal([]);
    const lost = vaultError("VAULT_NETWORK_UNREACHABLE", {
      network: "test",
      problem: "socket hang up",
    });
    expect(
      await compare(preview({ engine }), {
        seenAfter: { ...after, volume: 4n },
        read: async () => await Promise.reject(lost),
      }),
    ).to.equal(null);
  });

  describe("in native currency", () => {
    const paying = preview({ transfers: [transfer()] });

    it("should be nothing where each account has what moved, the sender less the fee", async () => {
      expect(
        await compare(paying, {
          balances: {
            [SENDER]: [50n, 40n],
            [VAULT]: [9n, 6n],
            [PAID]: [0n, 3n],
          },
        }),
      ).to.deep.equal([]);
    });

    it("should be what an account has otherwise", async () => {
      expect(
        await compare(paying, {
          balances: {
            [SENDER]: [50n, 39n],
            [VAULT]: [9n, 6n],
            [PAID]: [0n, 2n],
          },
        }),
      ).to.deep.equal([
        { reading: "balances", field: SENDER, previewed: 40n, happened: 39n },
        { reading: "balances", field: PAID, previewed: 3n, happened: 2n },
      ]);
    });

    it("should not be as previewed where no balances came along", async () => {
      const hasBalances = false;
      expect(await compare(paying, { hasBalances })).to.equal(null);
      expect(await compare(preview(), { hasBalances })).to.equal(null);
      expect(
        await compare(preview({ transfers: null }), { hasBalances }),
      ).to.deep.equal([]);
      expect(
        await compare(paying, {
          hasBalances,
          seenAfter: { ...after, volume: 4n },
        }),
      ).to.deep.equal([
        { reading: "volume", field: "volume", previewed: 5n, happened: 4n },
      ]);
    });

    it("should leave out what is not known", async () => {
      expect(
        await compare(paying, {
          mined: { ...receipt, fee: undefined },
          balances: { [SENDER]: [50n, 1n], [VAULT]: [9n], [PAID]: [0n, 3n] },
        }),
      ).to.deep.equal([]);
      expect(
        await compare(preview({ transfers: null }), {
          balances: { [PAID]: [0n, 3n] },
        }),
      ).to.deep.equal([]);
    });

    it("should be looked for at the sender, the vault and whoever was paid", () => {
      const call = { from: SENDER, to: VAULT };
      expect(
        accountsToCompare(
          preview({
            transfers: [
              transfer(),
              transfer({ token: TOKEN, to: accountOf("55") }),
            ],
          }),
          call,
        ),
      ).to.deep.equal([SENDER, VAULT, PAID]);
      expect(
        accountsToCompare(preview({ transfers: null }), call),
      ).to.deep.equal([]);
    });
  });
});
