import { expect } from "chai";
import { Interface } from "ethers";

import type {
  SettleAllOptions,
  Settlement,
  SettlementEvent,
  SettlementPreflight,
} from "../../src/types.js";

/** A vault with an open round on any node, its default account, and all others. */
export interface AnyKeeper {
  settle(options?: SettleAllOptions): Promise<Settlement>;
  settleByOther(): Promise<void>;
  openNextRound(): Promise<void>;
  /** The contract reverts with this data from now on. */
  refuseWith(data: string): Promise<void>;
  /** No block is made, and the time is over at the second look for a receipt. */
  stopMining(): Promise<void>;
  /** Awaited before the transaction arrives. */
  beforeSending(act: () => Promise<void>): void;
  /** Number of settlements that the tested account made. */
  settlementCount(): Promise<number>;
}

export const NOT_YET = new Interface(["error Error(string)"]).encodeErrorResult(
  "Error",
  ["not yet"],
);

interface SharedCase {
  readonly title: string;
  readonly given?: (chain: AnyKeeper) => Promise<void>;
  readonly options?: (chain: AnyKeeper) => SettleAllOptions;
  readonly is: Partial<Settlement>;
  readonly says?: RegExp;
  readonly events: string;
  readonly then?: (settlement: Settlement) => void;
}

export const SENT = "preflight sending";
export const notSent = {
  hash: null,
  blockNumber: null,
  gasUsed: null,
  after: null,
};
const whileAsked =
  (act: (chain: AnyKeeper) => Promise<void>) =>
  (chain: AnyKeeper): SettleAllOptions => ({
    confirm: async () => {
      await act(chain);
      return true;
    },
  });

/** The same on every node, over HTTP and in process. */
const sharedCases: readonly SharedCase[] = [
  {
    title: "settles the round as previewed, with its first account",
    is: { status: "settled", code: null, reason: null },
    events: `${SENT} mined`,
    then: ({ before, after, preview, gasUsed, hash }) => {
      expect(before).to.include({ settled: false, settledPrice: 0n });
      expect(after).to.deep.include({ startTime: before?.startTime });
      expect(after).to.include({ settled: true });
      expect(Number(gasUsed)).to.be.above(21_000);
      expect(hash).to.match(/^0x[0-9a-f]{64}$/u);
      expect(preview?.status ?? "settled").to.equal("settled");
      expect(preview?.differences ?? []).to.deep.equal([]);
    },
  },
  {
    title: "has nothing to do with a settled round",
    given: async (chain) => {
      await chain.settleByOther();
    },
    is: {
      status: "nothing-to-do",
      code: null,
      reason: "The round is settled already.",
      preview: null,
      ...notSent,
    },
    events: "",
  },
  {
    title: "refuses with VAULT_SETTLEMENT_NEEDED if it only asserts",
    options: () => ({ assertOnly: true }),
    is: { status: "refused", code: "VAULT_SETTLEMENT_NEEDED", ...notSent },
    events: "",
  },
  {
    title:
      "is reverted with VAULT_CALL_REVERTED before it asks, with the reason",
    given: async (chain) => {
      await chain.refuseWith(NOT_YET);
    },
    options: () => ({
      confirm: async () => await Promise.reject(new Error("asked")),
    }),
    is: { status: "reverted", code: "VAULT_CALL_REVERTED", ...notSent },
    says: /not yet/u,
    events: "preflight",
  },
  {
    title: "is reverted if the contract gives no reason, and names the address",
    given: async (chain) => {
      await chain.refuseWith("0x");
    },
    is: { status: "reverted", code: "VAULT_CALL_REVERTED", ...notSent },
    says: /^no reason given\. .*check the address/u,
    events: "preflight",
  },
  {
    title: "has nothing to do if another account settles while it asks",
    options: whileAsked(async (chain) => {
      await chain.settleByOther();
    }),
    is: {
      status: "nothing-to-do",
      reason: "The round was settled by somebody else meanwhile.",
      ...notSent,
    },
    events: "preflight",
  },
  {
    title:
      "refuses with VAULT_ROUND_CHANGED if the next round opens while it asks",
    options: whileAsked(async (chain) => {
      await chain.openNextRound();
    }),
    is: { status: "refused", code: "VAULT_ROUND_CHANGED", ...notSent },
    says: /^The round changed\. Expected: the round from /u,
    events: "preflight",
  },
  {
    title: "is reverted in a block if another account settles just before",
    given: async (chain) => {
      chain.beforeSending(async () => {
        await chain.settleByOther();
      });
      await Promise.resolve();
    },
    is: { status: "reverted", code: "VAULT_CALL_REVERTED" },
    events: `${SENT} mined`,
    then: ({ blockNumber, hash, gasUsed, after }) => {
      expect(blockNumber).to.be.a("number");
      expect(hash).to.match(/^0x[0-9a-f]{64}$/u);
      expect(Number(gasUsed)).to.be.above(21_000);
      expect(after).to.include({ settled: true });
    },
  },
  {
    title: "is unconfirmed, with its hash, if nobody mines in time",
    given: async (chain) => {
      await chain.stopMining();
    },
    is: { status: "unconfirmed", code: null, blockNumber: null, after: null },
    says: /^The time is over for transaction 0x[0-9a-f]{64} of 0x\S+ with nonce \d+: it waits in the node's pool\./u,
    events: SENT,
  },
];

/** One test for each behaviour that all nodes share. */
export function itSettlesAsEverywhere(chainOf: () => AnyKeeper): void {
  for (const { title, given, options, is, says, events, then } of sharedCases) {
    it(`settleAll ${title}`, async () => {
      const chain = chainOf();
      const seen: SettlementEvent[] = [];
      let shown: SettlementPreflight | undefined;
      await given?.(chain);
      const settlement = await chain.settle({
        pollingInterval: 10,
        ...options?.(chain),
        onEvent: (event) => {
          seen.push(event);
          if (event.type === "preflight") {
            shown = event.preflight;
          }
        },
      });
      expect(settlement, settlement.reason ?? "").to.deep.include(is);
      if (says !== undefined) {
        expect(settlement.reason).to.match(says);
      }
      // A node that signs gives the hash when it answers; Hardhat's answers a
      // transaction that reverts with an error.
      const types = seen
        .map(({ type }) => type)
        .filter((type) => type !== "hash" && type !== "trouble");
      expect(types.join(" ")).to.equal(events);
      if (shown !== undefined) {
        const reverts = settlement.hash === null && is.status === "reverted";
        expect(shown.outcome).to.equal(reverts ? "reverts" : "succeeds");
        expect(shown.reason).to.equal(reverts ? settlement.reason : null);
        expect(shown.gas === null).to.equal(reverts);
        expect(shown.round).to.deep.equal(settlement.before);
      }
      expect(await chain.settlementCount()).to.equal(
        is.status === "settled" ? 1 : 0,
      );
      then?.(settlement);
    });
  }
}
