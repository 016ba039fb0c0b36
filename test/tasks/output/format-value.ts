import { expect } from "chai";

import { operations } from "../../../src/client/index.js";
import {
  describeAnswer,
  describeCount,
  formatCountdown,
  formatDuration,
  formatValue,
  utilisationBar,
} from "../../../tasks/output/format-value.js";

const MAX = 2n ** 256n - 1n;
const context = { tokenDecimals: 6, chainTime: 1_700_000_000, raw: false };
const UNSCALED =
  "Values marked raw are unscaled integers: their scale is not documented.";

describe("values for a person", () => {
  for (const [unit, value, text, more = {}] of [
    ["rate", 1n, "0.00000001"],
    ["price", 1n, "0.000000000000000001"],
    ["percent", 10n ** 18n, "100 %"],
    ["token", 1_500_000n, "1.5 tokens"],
    ["price", 1_234_567n * 10n ** 15n, "1,234.567"],
    ["raw", MAX, `${MAX.toLocaleString("en")} raw`],
    ["timestamp", 1_700_000_000n, "2023-11-14T22:13:20Z", { note: "now" }],
    ["timestamp", MAX, `${MAX} (Unix seconds)`],
    ["contractType", 0, "unknown (0)"],
    ["orderState", 2, "closed (2)"],
  ] as const) {
    it(`formatValue shows ${value} of unit ${unit} as ${text}, and as it is with --raw`, () => {
      const shown = formatValue({ unit }, value, context);
      expect(shown).to.include({ text, ...more });
      const raw = { ...context, raw: true };
      expect(formatValue({ unit }, value, raw)).to.deep.equal({
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
      footnote:
        "The round's volumes and minimum deposit are raw: tokenDecimals is not set.",
    });
    const whole = { ...context, tokenDecimals: 0 };
    expect(formatValue(token, 1_500n, whole).text).to.equal("1,500 tokens");
  });

  for (const [value, isNoted] of [
    [999_999_999n, false],
    [1_000_000_000n, true],
    [10_000_000_000n, false],
  ] as const) {
    it(`formatValue ${isNoted ? "notes the date" : "notes no date"} of ${value}, if it is likely a time`, () => {
      const opened = { unit: "raw", isLikelyTime: true } as const;
      const cell = formatValue(opened, value, context);
      expect(cell.footnote).to.equal(UNSCALED);
      expect(cell.note).to.equal(
        isNoted
          ? `${new Date(Number(value) * 1_000).toISOString().replace(".000", "")} assuming Unix seconds`
          : undefined,
      );
      expect(cell.text).to.equal(
        `${isNoted ? value : value.toLocaleString("en")} raw`,
      );
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

  const bar = (filled: number): string =>
    `${"█".repeat(filled)}${"░".repeat(24 - filled)} `;
  for (const [call, shown, text] of [
    ["describeCount(1)", describeCount(1, "order"), "1 order"],
    ["formatDuration(59)", formatDuration(59n), "59s"],
    ["formatDuration(61)", formatDuration(61n), "1m 1s"],
    ["formatDuration(86,460)", formatDuration(86_460n), "1d"],
    ["formatCountdown(160) at 100", formatCountdown(160n, 100), "in 1m"],
    ["formatCountdown(40) at 100", formatCountdown(40n, 100), "1m ago"],
    ["utilisationBar(0, 100)", utilisationBar(0n, 100n), `${bar(0)}0.0 %`],
    ["utilisationBar(1, 3)", utilisationBar(1n, 3n), `${bar(7)}33.3 %`],
    [
      "utilisationBar(999, 1,000)",
      utilisationBar(999n, 1_000n),
      `${bar(23)}99.9 %`,
    ],
    ["utilisationBar(3, 2)", utilisationBar(3n, 2n), `${bar(24)}150.0 %`],
    ["utilisationBar(1, 0)", utilisationBar(1n, 0n), "nothing to fill"],
    ["describeAnswer(null)", describeAnswer(null), "unknown"],
  ] as const) {
    it(`${call} is ${text}`, () => {
      expect(shown).to.equal(text);
    });
  }
});
