import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import {
  failureNotes,
  failuresOf,
  readingsBlock,
  snapshotBlocks,
} from "../../../tasks/output/readings.js";
import { withOtherReadings } from "../../helpers/readings.js";
import { linesOf } from "../../helpers/screens.js";
import { zeroAnswer } from "../../helpers/zero-answer.js";

const context = { tokenDecimals: 1, chainTime: 10, raw: false };
const raw = { ...context, raw: true };
const error = vaultError("VAULT_INTERNAL", { problem: "not\u202e read" });
const failed = { error };

describe("output of readings", () => {
  it("snapshotBlocks shows each reading under its title, and what failed in its place", () => {
    const known = {
      fundingFeeRate: { call: 1n, put: failed },
      round: failed,
      pools: {
        public: { deposit: 100n, availabe: 75n, locked: 25n },
        private: failed,
      },
      volume: 45n,
      marginBalance: { baseMarginAmount: 43n, xMarginAmount: 44n },
      minXMargin: failed,
    };
    const snapshot = withOtherReadings(known, 7n);
    const reason = `<bad>failed: ${error.shortMessage}</>`;
    expect(linesOf(snapshotBlocks(snapshot, raw))).to.include.ordered.members([
      ...["Funding fee rate", "Call funding fee rate · 1", `Put · ${reason}`],
      ...["", "Latest round", `Latest round · ${reason}`, ""],
      ...["Liquidity pools", "Public deposited · 100"],
      ...["Public available · 75", "Public locked · 25", `Private · ${reason}`],
      ...["", "Volume", "Volume · 45", "", "Margin balance"],
      ...["Withdrawable base token margin · 43"],
      ...["Withdrawable X token margin · 44", ""],
      ...["Minimum X margin", `Minimum X margin · ${reason}`],
    ]);
    expect(failuresOf(snapshot)).to.deep.equal([error, error, error, error]);
  });

  const round = { ...zeroAnswer("getLatestRoundInfo"), maxVolume: 4n };
  const pool = { deposit: 4n, availabe: 3n, locked: 1n };
  const order = zeroAnswer("getOrderInfo");
  const bar = "██████░░░░░░░░░░░░░░░░░░ 25.0 %";
  const note = "Order · <warn>none, it seems: every value is zero</>";
  for (const [operation, value, settings, last] of [
    [
      "getLatestRoundInfo",
      { ...round, filledVolume: 1n },
      context,
      `Filled · ${bar}`,
    ],
    ["getLatestRoundInfo", round, raw, "Settled · no"],
    [
      "getLPAmountInfo",
      pool,
      context,
      `Public used · ${bar} · locked of deposited`,
    ],
    ["getOrderInfo", order, context, note],
    ["getOrderInfo", { ...order, state: 1 }, context, "State · open (1)"],
  ] as const) {
    it(`readingsBlock ends ${operation} with "${last}"${settings.raw ? " with --raw" : ""}`, () => {
      const variant = operation === "getLPAmountInfo" ? "public" : undefined;
      const block = readingsBlock(operation, [{ variant, value }], settings);
      expect(
        linesOf([block])
          .filter((line) => !/^(?:$|Values)/u.test(line))
          .at(-1),
      ).to.include(last);
    });
  }

  it("failureNotes counts the failures, and has the first fix of each code, in their order", () => {
    const of = (hint: string) =>
      vaultError("VAULT_CONTRACT_NOT_CONFIGURED", {
        ...{ operation: "queryVolume", role: "vault", network: "live" },
        ...{ contract: "vault", path: "a.b", hint },
      });
    const lines = linesOf([failureNotes([of("First"), error, of("Second")])]);
    expect(lines[0]).to.equal("<bad>3 of the readings failed.</>");
    expect(lines[1]).to.match(/^First .*set a\.b, or pass --at vault=/u);
    expect(lines.slice(2)).to.deep.equal([error.fix]);
    expect(linesOf([failureNotes([])])).to.deep.equal([""]);
  });
});
