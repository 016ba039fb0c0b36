import { expect } from "chai";

import { operations } from "../../../src/client/index.js";
import { vaultError } from "../../../src/errors.js";
import {
  describeAnswer,
  describeCount,
  failureNotes,
  failuresOf,
  formatCountdown,
  formatValue,
  readingsPart,
  snapshotParts,
} from "../../../tasks/output/values.js";
import { withOtherReadings } from "../../helpers/readings.js";
import { linesOf } from "../../helpers/screens.js";
import { zeroAnswer } from "../../helpers/zero-answer.js";

const MAX = 2n ** 256n - 1n;
const context = { tokenDecimals: 6, chainTime: 1_700_000_000, raw: false };
const withRaw = { ...context, raw: true };
const UNSCALED =
  "Values marked raw are unscaled integers: see tokenDecimals and displayDecimals.";

describe("values for a person", () => {
  for (const [unit, value, text, more = {}] of [
    ["rate", 1n, "0.00000001"],
    ["price", 1n, "0.000000000000000001"],
    ["percent", 10n ** 18n, "100 %"],
    ["token", 1_500_000n, "1.5 tokens"],
    ["price", 1_234_567n * 10n ** 15n, "1,234.567"],
    ["raw", MAX, `${MAX.toLocaleString("en")} raw`, { footnote: UNSCALED }],
    ["timestamp", 1_700_000_000n, "2023-11-14T22:13:20Z", { note: "now" }],
    ["timestamp", MAX, `${MAX} (Unix seconds)`],
    ["contractType", 0, "unknown (0)"],
    ["orderState", 2, "closed (2)"],
  ] as const) {
    it(`formatValue shows ${value} of unit ${unit} as ${text}, and as it is with --raw`, () => {
      const shown = formatValue({ unit }, value, context);
      expect(shown).to.include({ text, ...more });
      expect(formatValue({ unit }, value, withRaw)).to.deep.equal({
        text: value.toString(),
      });
    });
  }

  for (const [value, text] of [
    [true, "yes"],
    ["a\u202eb", "a\\u{202e}b"],
    [7, "7"],
  ] as const) {
    it(`formatValue shows ${JSON.stringify(value)} without a unit as ${text}`, () => {
      expect(formatValue({ unit: "none" }, value, context)).to.deep.equal({
        text,
      });
    });
  }

  it("formatValue shows tokens as raw, with a footnote, if tokenDecimals is not set, and scales by 0 decimals", () => {
    const token = { unit: "token" } as const;
    const unknown = { ...context, tokenDecimals: undefined };
    expect(formatValue(token, 1_500n, unknown)).to.deep.equal({
      text: "1,500 raw",
      footnote: UNSCALED,
    });
    const whole = { ...context, tokenDecimals: 0 };
    expect(formatValue(token, 1_500n, whole).text).to.equal("1,500 tokens");
  });

  for (const [value, text, footnote] of [
    [999_999_999n, "999,999,999 raw", UNSCALED],
    [
      1_000_000_000n,
      "2001-09-09T01:46:40Z",
      "Times of orders assume Unix seconds.",
    ],
    [10_000_000_000n, "10,000,000,000 raw", UNSCALED],
  ] as const) {
    it(`formatValue shows ${value} as ${text}, if it is likely a time`, () => {
      const opened = { unit: "raw", isLikelyTime: true } as const;
      const cell = formatValue(opened, value, context);
      expect(cell).to.deep.equal({ text, footnote });
    });
  }

  it("formatValue scales by displayDecimals, of a reading and of a value, and says so", () => {
    const displayDecimals = { pools: 6, "order.openPrice": 18 };
    const configured = { ...context, displayDecimals };
    const [deposit] = operations.getLPAmountInfo.outputs;
    expect(formatValue(deposit, 1_234_500_000n, configured)).to.deep.equal({
      text: "1,234.5",
      footnote:
        "Scales that are not documented: from displayDecimals, or the mocks' own.",
    });
    const price = { unit: "raw", key: "order", name: "openPrice" } as const;
    const half = 5n * 10n ** 17n;
    expect(formatValue(price, half, configured).text).to.equal("0.5");
    const other = { ...price, name: "number" };
    expect(formatValue(other, 5n, configured).text).to.equal("5 raw");
    const raw = { ...configured, raw: true };
    expect(formatValue(deposit, 5n, raw).text).to.equal("5");
  });

  for (const [call, shown, text] of [
    ["describeCount(1)", describeCount(1, "order"), "1 order"],
    ["formatCountdown(59) at 0", formatCountdown(59n, 0), "in 59s"],
    ["formatCountdown(61) at 0", formatCountdown(61n, 0), "in 1m 1s"],
    ["formatCountdown(86,460) at 0", formatCountdown(86_460n, 0), "in 1d"],
    ["formatCountdown(160) at 100", formatCountdown(160n, 100), "in 1m"],
    ["formatCountdown(40) at 100", formatCountdown(40n, 100), "1m ago"],
    ["describeAnswer(null)", describeAnswer(null), "unknown"],
  ] as const) {
    it(`${call} is ${text}`, () => {
      expect(shown).to.equal(text);
    });
  }
});

const error = vaultError("VAULT_INTERNAL", { problem: "not\u202e read" });
const failed = { error };

describe("readings for a person", () => {
  it("snapshotParts shows each reading under its title, and what failed in its place", () => {
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
    const lines = linesOf(snapshotParts(snapshot, withRaw));
    expect(lines).to.include.ordered.members([
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

  const filled = (filledVolume: bigint, maxVolume: bigint) => ({
    ...zeroAnswer("getLatestRoundInfo"),
    filledVolume,
    maxVolume,
  });
  const bar = (blocks: number): string =>
    `${"█".repeat(blocks)}${"░".repeat(10 - blocks)} `;
  const pool = { deposit: 4n, availabe: 3n, locked: 1n };
  const order = zeroAnswer("getOrderInfo");
  for (const [operation, value, settings, last] of [
    ["getLatestRoundInfo", filled(1n, 4n), context, `Filled · ${bar(2)}25.0 %`],
    ["getLatestRoundInfo", filled(0n, 9n), context, `${bar(0)}0.0 %`],
    ["getLatestRoundInfo", filled(999n, 1_000n), context, `${bar(9)}99.9 %`],
    ["getLatestRoundInfo", filled(9_999n, 10_000n), context, `${bar(9)}99.9 %`],
    ["getLatestRoundInfo", filled(3n, 2n), context, `${bar(10)}150.0 %`],
    ["getLatestRoundInfo", filled(1n, 0n), context, "nothing to fill"],
    ["getLatestRoundInfo", filled(1n, 4n), withRaw, "Settled · no"],
    ["getLPAmountInfo", pool, context, `Public used · ${bar(2)}25.0 %`],
    [
      "getOrderInfo",
      order,
      context,
      "Order · <warn>none, it seems: every value is zero</>",
    ],
    ["getOrderInfo", { ...order, state: 1 }, context, "State · open (1)"],
  ] as const) {
    it(`readingsPart ends ${operation} with "${last}"${settings.raw ? " with --raw" : ""}`, () => {
      const variant = operation === "getLPAmountInfo" ? "public" : undefined;
      const block = readingsPart(operation, [{ variant, value }], settings);
      expect(
        linesOf([block])
          .filter((line) => !/^(?:$|Values)/u.test(line))
          .at(-1),
      ).to.include(last);
    });
  }

  it("failureNotes counts the failures, and has each fix once, in their order", () => {
    const lines = linesOf([
      failureNotes([
        error,
        vaultError("VAULT_NO_SENDER", { network: "live" }),
        error,
      ]),
    ]);
    expect(lines[0]).to.equal("<bad>3 of the readings failed.</>");
    expect(lines).to.have.lengthOf(3);
    expect(lines[1]).to.equal(error.fix);
    expect(linesOf([failureNotes([])])).to.deep.equal([""]);
  });
});
