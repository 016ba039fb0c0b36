import { expect } from "chai";
import { Interface } from "ethers";

import type { VaultErrorCode } from "../../src/errors.js";
import type {
  SettleAllOptions,
  Settlement,
  SettlementPreflight,
  SettlementStatus,
} from "../../src/settlement/options.js";

/** A vault with an open round on any node, its default account, and all others. */
export interface AnyKeeper {
  settle(options?: SettleAllOptions): Promise<Settlement>;
  settleByOther(): unknown;
  /** The contract reverts with this data from now on. */
  refuseWith(data: string): unknown;
  /** No block is made, and the time is over at the second look for a receipt. */
  stopMining(): unknown;
  /** Awaited before the transaction arrives. */
  beforeSending(act: () => Promise<void>): unknown;
  /** Number of settlements that the tested account made. */
  settlementCount(): Promise<number> | number;
}

export const NOT_YET = new Interface(["error Error(string)"]).encodeErrorResult(
  "Error",
  ["not yet"],
);

/** A status, with the code of its error if it has one. */
export type StatusAndCode =
  | SettlementStatus
  | `${"refused" | "reverted"} ${VaultErrorCode}`;

export function fieldsIn(
  is: StatusAndCode,
): Pick<Settlement, "status" | "code"> {
  // a code of the type, if there is a blank
  const [status, code = null] = is.split(" ") as [
    SettlementStatus,
    VaultErrorCode?,
  ];
  return { status, code };
}

export const notSent = {
  hash: null,
  blockNumber: null,
  gasUsed: null,
  after: null,
};
const never = { confirm: async () => await Promise.reject(new Error("asked")) };

/** The same on every node, over HTTP and in process. */
const sharedCases: ReadonlyArray<
  readonly [
    title: string,
    is: StatusAndCode,
    events: string,
    more: {
      readonly given?: (keeper: AnyKeeper) => unknown;
      readonly options?: (keeper: AnyKeeper) => SettleAllOptions;
      readonly says?: RegExp;
      readonly isSent?: boolean;
    },
  ]
> = [
  [
    "is settled as previewed, with its first account",
    "settled",
    "preflight sending mined",
    { isSent: true },
  ],
  [
    "has nothing to do with a settled round",
    "nothing-to-do",
    "",
    {
      given: async (keeper) => await keeper.settleByOther(),
      says: /^The round is settled already\.$/u,
    },
  ],
  [
    "is reverted with the contract's reason, and does not ask",
    "reverted VAULT_CALL_REVERTED",
    "preflight",
    {
      given: async (keeper) => await keeper.refuseWith(NOT_YET),
      options: () => never,
      says: /not yet/u,
    },
  ],
  [
    "is reverted without a reason, with what to do about it",
    "reverted VAULT_CALL_REVERTED",
    "preflight",
    {
      given: async (keeper) => await keeper.refuseWith("0x"),
      says: /^no reason given\. (?:.*check the address|The contract is a mock)/u,
    },
  ],
  [
    "has nothing to do if another account settles while it asks",
    "nothing-to-do",
    "preflight",
    {
      options: (keeper) => ({
        confirm: async () => {
          await keeper.settleByOther();
          return true;
        },
      }),
      says: /^The round is settled already\.$/u,
    },
  ],
  [
    "is reverted in a block if another account settles just before",
    "reverted VAULT_CALL_REVERTED",
    "preflight sending mined",
    {
      given: (keeper) =>
        keeper.beforeSending(async () => {
          await keeper.settleByOther();
        }),
      isSent: true,
    },
  ],
  [
    "is unconfirmed, with its hash, if nobody mines in time",
    "unconfirmed",
    "preflight sending",
    {
      given: async (keeper) => await keeper.stopMining(),
      says: /^The time is over for transaction 0x[0-9a-f]{64} of 0x\S+ with nonce \d+: it waits in the node's pool\./u,
    },
  ],
];

/** One test for each behaviour that all nodes share. */
export function itSettlesAsEverywhere(keeperOf: () => AnyKeeper): void {
  for (const [title, is, expected, more] of sharedCases) {
    const { given, options, says = /(?:)/u, isSent = false } = more;
    it(`settleAll ${title}: ${is}`, async () => {
      const keeper = keeperOf();
      const events: string[] = [];
      let shown: SettlementPreflight | undefined;
      await given?.(keeper);
      const settlement = await keeper.settle({
        pollingInterval: 10,
        ...options?.(keeper),
        onEvent: (event) => {
          events.push(event.type);
          shown = event.type === "preflight" ? event.preflight : shown;
        },
      });
      const { before, after, reason, preview } = settlement;
      expect(settlement, reason ?? "").to.deep.include(fieldsIn(is));
      expect(reason ?? "").to.match(says);
      // A node that signs gives the hash when it answers; Hardhat's answers a
      // transaction that reverts with an error.
      const common = events.filter(
        (type) => type !== "hash" && type !== "trouble",
      );
      expect(common.join(" ")).to.equal(expected);
      if (isSent) {
        expect(settlement.hash).to.match(/^0x[0-9a-f]{64}$/u);
        expect(settlement.blockNumber).to.be.a("number");
        expect(Number(settlement.gasUsed)).to.be.above(21_000);
        expect(before).to.include({ settled: false, settledPrice: 0n });
        expect(after).to.include({ settled: true });
      } else if (is !== "unconfirmed") {
        expect(settlement).to.include(notSent);
      }
      if (is === "settled") {
        expect(preview?.status ?? "settled").to.equal("settled");
        expect(settlement.differences ?? []).to.deep.equal([]);
      }
      if (shown !== undefined) {
        const reverts = settlement.hash === null && is.startsWith("reverted");
        expect(shown.outcome).to.equal(reverts ? "reverts" : "succeeds");
        expect(shown.reason).to.equal(reverts ? reason : null);
        expect(shown.gas === null).to.equal(reverts);
        expect(shown.round).to.deep.equal(before);
      }
      expect(await keeper.settlementCount()).to.equal(is === "settled" ? 1 : 0);
    });
  }
}
