import { expect } from "chai";

import { operations } from "../../../src/client/index.js";
import { isEnumName } from "../../../src/protocol/index.js";
import {
  describeAnswer,
  describeCount,
  fieldOf,
  formatCountdown,
  formatDuration,
  formatValue,
  utilisationBar,
} from "../../../tasks/output/format-value.js";
import { describeScales } from "../../../tasks/output/orders.js";

const MAX = 2n ** 256n - 1n;
const GROUPED_MAX = MAX.toLocaleString("en");
const context = { tokenDecimals: 6, chainTime: 1_700_000_000, raw: false };

describe("values for a person", () => {
  const values = [
    ["rate", 1n, "0.00000001"],
    ["price", 1n, "0.000000000000000001"],
    ["percent", 10n ** 18n, "100 %"],
    ["percent", 1n, "0.0000000000000001 %"],
    ["token", 1_500_000n, "1.5 tokens"],
    ["price", 1_234_567n * 10n ** 15n, "1,234.567"],
    ["token", 1_234_567_000_000n, "1,234,567 tokens"],
    ["raw", 1_000n, "1,000 raw"],
    ["raw", MAX, `${GROUPED_MAX} raw`],
    ["timestamp", 1_700_000_000n, "2023-11-14T22:13:20Z", "now"],
    ["timestamp", MAX, `${MAX} (Unix seconds)`],
    ["none", 5n, "5"],
    ["contractType", 1, "call (1)"],
    ["contractType", 0, "unknown (0)"],
    ["orderState", 2, "closed (2)"],
    ["orderState", 7, "unknown (7)"],
  ] as const;
  for (const [unit, value, text, note] of values) {
    it(`formatValue shows ${value} of unit ${unit} as ${text}`, () => {
      const type = isEnumName(unit) ? "uint8" : "uint256";
      const shown = formatValue({ type, unit }, value, context);
      expect(shown.text).to.equal(text);
      if (note !== undefined) {
        expect(shown.note).to.equal(note);
      }
      const raw = { ...context, raw: true };
      expect(formatValue({ type, unit }, value, raw)).to.deep.equal({
        text: value.toString(),
      });
    });
  }

  it("formatValue shows tokens as raw, with a footnote, if tokenDecimals is not set", () => {
    const token = { type: "uint256", unit: "token" } as const;
    const unknown = { ...context, tokenDecimals: undefined };
    expect(formatValue(token, 1_500_000n, unknown)).to.deep.equal({
      text: "1,500,000 raw",
      footnote:
        "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
    });
    expect(
      formatValue(token, 1_500n, { ...context, tokenDecimals: 0 }).text,
    ).to.equal("1,500 tokens");
  });

  it("formatValue shows an answer as yes or no, and escapes a text", () => {
    const shown = (type: "bool" | "string" | "address", value: unknown) =>
      formatValue({ type, unit: "none" }, value, context);
    expect(shown("bool", true)).to.deep.equal({ text: "yes" });
    expect(shown("bool", false)).to.deep.equal({ text: "no" });
    for (const type of ["string", "address"] as const) {
      expect(shown(type, "a\u202eb")).to.deep.equal({ text: "a\\u{202e}b" });
    }
    const small = { type: "uint8", unit: "none" } as const;
    expect(formatValue(small, 7, context)).to.deep.equal({ text: "7" });
    expect(describeAnswer(null)).to.equal("unknown");
  });

  it("describeCount groups digits, and has one noun for one only", () => {
    for (const [count, text] of [
      [0, "0 orders"],
      [1, "1 order"],
      [2n, "2 orders"],
      [20_001, "20,001 orders"],
    ] as const) {
      expect(describeCount(count, "order")).to.equal(text);
    }
  });

  it("formatDuration shows the two largest units", () => {
    for (const [seconds, text] of [
      [0n, "0s"],
      [59n, "59s"],
      [61n, "1m 1s"],
      [3_600n, "1h"],
      [90_000n, "1d 1h"],
      [86_460n, "1d"],
    ] as const) {
      expect(formatDuration(seconds)).to.equal(text);
    }
  });

  it("formatCountdown counts from the chain's clock", () => {
    expect(formatCountdown(160n, 100)).to.equal("in 1m");
    expect(formatCountdown(40n, 100)).to.equal("1m ago");
    expect(formatCountdown(100n, 100)).to.equal("now");
  });

  const bars = [
    [0n, 100n, 0, "0.0 %"],
    [1n, 3n, 7, "33.3 %"],
    [999_999n, 1_000_000n, 23, "99.9 %"],
    [1n, 1n, 24, "100.0 %"],
    [3n, 2n, 24, "150.0 %"],
    [0n, 0n, 0, "(nothing to fill)"],
    [5n, 0n, 24, "(more than all of 0)"],
    [MAX, MAX, 24, "100.0 %"],
  ] as const;
  for (const [part, whole, filled, text] of bars) {
    it(`utilisationBar draws ${part} of ${whole} as ${text}`, () => {
      expect(utilisationBar(part, whole)).to.equal(
        `${"█".repeat(filled)}${"░".repeat(24 - filled)} ${text}`,
      );
    });
  }

  it("formatValue notes the date of a number that is likely a time", () => {
    const opened = {
      type: "uint256",
      unit: "raw",
      isLikelyTime: true,
    } as const;
    expect(formatValue(opened, 1_699_900_000n, context)).to.include({
      text: "1699900000 raw",
      note: "2023-11-13T18:26:40Z assuming Unix seconds",
    });
    for (const value of [1_000_000_000n, 9_999_999_999n]) {
      expect(formatValue(opened, value, context).note).to.include("assuming");
    }
    const amount = { type: "uint256", unit: "raw" } as const;
    expect(formatValue(amount, 1_699_900_000n, context)).to.deep.equal({
      text: "1,699,900,000 raw",
      footnote:
        "Values marked raw are unscaled integers: their scale is not documented.",
    });
    for (const value of [0n, 999_999_999n, 10_000_000_000n]) {
      expect(formatValue(opened, value, context)).to.not.have.property("note");
    }
    expect(
      formatValue(opened, 1_699_900_000n, { ...context, raw: true }),
    ).to.deep.equal({ text: "1699900000" });
  });

  it("formatValue scales by displayDecimals, and says so", () => {
    const displayDecimals = { pools: 6, "order.openPrice": 18 };
    const configured = { ...context, displayDecimals };
    const [deposit] = operations.getLPAmountInfo.outputs;
    const openPrice = fieldOf("getOrderInfo", "openPrice");
    const number = fieldOf("getOrderInfo", "number");
    expect(formatValue(deposit, 1_234_500_000n, configured)).to.deep.equal({
      text: "1,234.5",
      unscaled: 1_234_500_000n,
      footnote:
        "displayDecimals scales values whose scale is not documented, as configured.",
    });
    expect(formatValue(openPrice, 5n * 10n ** 17n, configured).text).to.equal(
      "0.5",
    );
    expect(formatValue(number, 5n, configured).text).to.equal("5 raw");
    expect(
      formatValue(deposit, 5n, { ...configured, raw: true }).text,
    ).to.equal("5");
    expect(describeScales(configured)).to.equal(
      "Scaled as configured: opening price. Other integers are unscaled: their scale is not documented.",
    );
    expect(describeScales(context)).to.match(/^Integers are unscaled:/u);
    expect(describeScales({ ...configured, raw: true })).to.equal(
      "Integers are unscaled.",
    );
  });
});
