import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import { zeroAnswer } from "../../../src/mocks/scenarios.js";
import {
  failureNotes,
  failuresOf,
  labelOf,
  readingsBlock,
  readingsOf,
  snapshotBlocks,
} from "../../../tasks/output/readings.js";
import { renderText } from "../../../tasks/output/render-text.js";
import { createStyle } from "../../../tasks/output/style.js";
import { squeezed } from "../../helpers/use-tasks.js";

const context = { tokenDecimals: 1, chainTime: 10, raw: false };
const failed = {
  error: vaultError("VAULT_INTERNAL", { problem: "not\u202e read" }),
};
const snapshot = {
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

const linesOf = (
  ...[operation, readings, settings = context]: [
    Parameters<typeof readingsBlock>[0],
    Parameters<typeof readingsBlock>[1],
    Parameters<typeof readingsBlock>[2]?,
  ]
): readonly string[] =>
  squeezed(
    renderText([readingsBlock(operation, readings, settings)], createStyle({})),
  ).split("\n");

describe("output of readings", () => {
  it("snapshotBlocks shows each reading under its title, and what failed in its place", () => {
    const text = renderText(snapshotBlocks(snapshot, context), createStyle({}));
    const reason = `failed: ${failed.error.shortMessage}`;
    expect(squeezed(text).split("\n").slice(0, -2)).to.deep.equal([
      "Funding fee rate",
      "Call funding fee rate · 0.00000001",
      `Put · ${reason}`,
      "",
      "Latest round",
      `Latest round · ${reason}`,
      "",
      "Liquidity pools",
      "Public deposited · 100 raw",
      "Public available · 75 raw",
      "Public locked · 25 raw",
      "Public used · ██████░░░░░░░░░░░░░░░░░░ 25.0 % · locked of deposited",
      `Private · ${reason}`,
      "",
      "Volume",
      "Volume · 45 raw",
      "",
      "Margin balance",
      "Withdrawable base token margin · 43 raw",
      "Withdrawable X token margin · 44 raw",
      "",
      "Minimum X margin",
      `Minimum X margin · ${reason}`,
    ]);
    expect(readingsOf(snapshot)).to.have.lengthOf(8);
    expect(failuresOf(snapshot)).to.deep.equal(
      Array.from({ length: 4 }, () => failed.error),
    );
  });

  it("readingsBlock adds the part of a round that is filled and of a pool that is locked, unless raw", () => {
    const round = {
      ...zeroAnswer("getLatestRoundInfo"),
      ...{ filledVolume: 1n, maxVolume: 4n },
    };
    const bar = "██████░░░░░░░░░░░░░░░░░░ 25.0 %";
    expect(linesOf("getLatestRoundInfo", [{ value: round }])).to.include(
      `Filled · ${bar}`,
    );
    const raw = { ...context, raw: true };
    expect(
      linesOf("getLatestRoundInfo", [{ value: round }], raw).join("\n"),
    ).to.not.include("Filled ·");
    const pool = { deposit: 4n, availabe: 3n, locked: 1n };
    const shown = { variant: "public", value: pool };
    expect(linesOf("getLPAmountInfo", [shown])).to.include(
      `Public used · ${bar} · locked of deposited`,
    );
    expect(linesOf("getLPAmountInfo", [shown], raw)).to.have.lengthOf(3);
  });

  it("readingsBlock notes an order whose every value is zero, and no other", () => {
    const none = zeroAnswer("getOrderInfo");
    const note = "Note · every value is zero: there may be no such order";
    const read = (order: object): readonly string[] =>
      linesOf("getOrderInfo", [{ value: order }]);
    expect(read(none)).to.include(note);
    expect(read({ ...none, state: 1 })).to.not.include(note);
  });

  it("failureNotes counts the failures, and has the first fix of each code, in their order", () => {
    const of = (hint: string) =>
      vaultError("VAULT_CONTRACT_NOT_CONFIGURED", {
        ...{ operation: "queryVolume", role: "vault", network: "live" },
        ...{ contract: "vault", path: "a.b", hint },
      });
    const errors = [of("First"), failed.error, of("Second")];
    const block = failureNotes(errors);
    const texts =
      block.kind === "notes" ? block.notes.map(({ text }) => text) : [];
    expect(texts[0]).to.equal("3 of the readings failed.");
    expect(texts).to.have.lengthOf(3);
    expect(texts[1]).to.match(/^First .*set a\.b, or pass --at vault=/u);
    expect(texts[2]).to.equal(failed.error.fix);
    expect(failureNotes([])).to.deep.equal({ kind: "notes", notes: [] });
  });

  it("labelOf puts the variant before a label, which keeps the capitals of an abbreviation", () => {
    for (const [label, variant, shown] of [
      ["Settled price", undefined, "Settled price"],
      ["Settled price", "round", "Round settled price"],
      ["APY", "round", "Round APY"],
      ["X margin", "round", "Round x margin"],
      ["Settled APY", "round", "Round settled APY"],
    ] as const) {
      const field = { name: "x", type: "uint256", unit: "raw", label } as const;
      expect(labelOf(field, variant)).to.equal(shown);
    }
  });
});
