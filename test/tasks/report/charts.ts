import { expect } from "chai";
import { MaxUint256 } from "ethers";

import type { Order } from "../../../src/client/index.js";
import { someOrder } from "../../../src/mocks/scenarios.js";
import { LAST_DATE_SECONDS } from "../../../src/protocol/time.js";
import type { ReportedRound } from "../../../tasks/output/rounds.js";
import { pricesFigure, strikesFigure } from "../../../tasks/report/charts.js";
import type { Markup } from "../../../tasks/report/html.js";
import { numberAxis, roundStep, timeAxis } from "../../../tasks/report/plot.js";

const ONE = 10n ** 18n;
const context = {
  chainTime: 0,
  raw: false,
  displayDecimals: { "order.openPrice": 18 },
};

/** Orders of one pair with these opening prices. */
const ordersAt = (...prices: readonly number[]): readonly Order[] =>
  prices.map((price, index) => ({
    ...someOrder,
    orderID: BigInt(index),
    openPrice: BigInt(price) * ONE,
  }));

const figureOf = (
  prices: readonly number[],
  strike?: bigint,
  settings = context,
): string =>
  plain(pricesFigure("BTC-USDT", ordersAt(...prices), strike, settings));

/** Without what only lays out the markup. */
const plain = (figure: Markup | undefined): string =>
  (figure?.text ?? "no figure").replaceAll(/\s+/gu, " ");

/** Tag, class and numbers of each shape with that class, in the order of drawing. */
const shapesOf = (text: string, ...classes: readonly string[]) =>
  Array.from(
    text.matchAll(/<(line|rect|circle) class="(\w+)" ([^>]*)>/gu),
    ([, tag, name = "", attributes = ""]) => ({
      name,
      shape: [
        tag,
        ...Array.from(attributes.matchAll(/="([^"]*)"/gu), ([, value]) =>
          Number(value),
        ),
      ],
    }),
  )
    .filter(({ name }) => classes.includes(name))
    .map(
      ({ name, shape: [tag, ...numbers] }) =>
        `${tag} ${name} ${numbers.join(" ")}`,
    );

const titlesOf = (text: string): readonly unknown[] =>
  Array.from(text.matchAll(/<title>([^<]*)</gu), ([, title]) => title);

/** Place and text of each label of an axis. */
const labelsOf = (text: string, anchor: string): readonly string[] =>
  Array.from(
    text.matchAll(
      new RegExp(
        `<text y="([^"]*)" text-anchor="${anchor}">(.*?)</text>`,
        "gu",
      ),
    ),
    ([, y, spans = ""]) => {
      const lines = [...spans.matchAll(/x="([^"]*)"[^>]*>([^<]*)</gu)];
      return `${Number(lines[0]?.[1])} ${Number(y)} ${lines.map(([, , line]) => line).join(" ")}`;
    },
  );

describe("the histogram of opening prices", () => {
  it("pricesFigure draws a bar as high as its number of orders, at its prices, and the strike across", () => {
    const text = figureOf([60_000, 61_000, 61_000], 62_000n * ONE);
    expect(shapesOf(text, "bar", "mark")).to.deep.equal([
      "rect bar 148 98 19.8 70",
      "rect bar 252 28 19.8 140",
      "line mark 356 168 356 28",
    ]);
    expect(titlesOf(text)).to.deep.equal(["1 order", "2 orders"]);
    expect(labelsOf(text, "middle")).to.deep.equal([
      "44 174 59,000",
      "148 174 60,000",
      "252 174 61,000",
      "356 174 62,000",
      "460 174 63,000",
    ]);
    expect(shapesOf(text, "tick").at(1)).to.equal("line tick 148 168 148 174");
    expect(labelsOf(text, "end")).to.deep.equal([
      "38 158 0",
      "38 88 1",
      "38 18 2",
    ]);
    expect(shapesOf(text, "grid").at(1)).to.equal("line grid 44 98 460 98");
    expect(text)
      .to.include('viewBox="0 0 480 210"')
      .and.include('aria-label="Opening price of 3 orders."')
      .and.include('<text x="0" y="12">↑ orders</text>')
      .and.include('<text x="460" y="206" text-anchor="end"> price → </text>');
  });

  it("pricesFigure counts an order at the edge of two bars in the upper one", () => {
    const text = figureOf([1_000, 1_100, 1_199, 1_200, 3_000]);
    expect(titlesOf(text)).to.deep.equal(["3 orders", "1 order", "1 order"]);
  });

  it("pricesFigure draws the strike up to twice and down to half of the middle price, the upper one of two", () => {
    for (const [prices, strike, isDrawn] of [
      [[20_000, 40_000], 80_000n * ONE, true],
      [[20_000, 40_000], 80_001n * ONE, false],
      [[20_000, 40_000], 20_000n * ONE, true],
      [[20_000, 40_000], 19_999n * ONE, false],
      [[40_000, 20_000, 100_000], 80_000n * ONE, true],
      [[9, 10, 100], 20n * ONE, true],
      [[0], undefined, false],
      [[0], 0n, false],
      [[5], undefined, false],
    ] as const) {
      const text = figureOf(prices, strike);
      expect(
        shapesOf(text, "mark"),
        `${String(strike)} of ${String(prices)}`,
      ).to.have.lengthOf(isDrawn ? 1 : 0);
    }
  });

  it("pricesFigure explains in its title and legend whether the strike is drawn, and why not", () => {
    const strike = 61_000n * ONE;
    const near = figureOf([60_000], strike);
    expect(near).to.include(
      '<figcaption>BTC-USDT: opening price against strike<span><i class="key"></i>orders<i class="key line"></i>strike</span>',
    );
    const far = figureOf([1_000], strike);
    expect(far).to.include(
      "<figcaption>BTC-USDT: opening price<span>strike not drawn: no strike price is near these prices</span>",
    );
    const unscaled = figureOf([60_000], strike, {
      ...context,
      displayDecimals: { "order.openPrice": 18 },
      raw: true,
    });
    expect(unscaled)
      .to.include(
        "<figcaption>BTC-USDT: opening price<span>strike not drawn: displayDecimals declares no scale of opening prices</span>",
      )
      .and.include(" price, raw → ")
      .and.include(">6e+22<");
  });

  it("pricesFigure cuts a pair after 40 characters, and escapes it", () => {
    const [order] = ordersAt(5);
    const pair = `<b>\u202e${"x".repeat(50)}`;
    const orders = order === undefined ? [] : [{ ...order, exType: pair }];
    expect(plain(pricesFigure(pair, orders, undefined, context))).to.include(
      `<figcaption>&lt;b&gt;\\u{202e}${"x".repeat(36)}: opening price<`,
    );
  });

  it("pricesFigure leaves room beside the prices: a twentieth of their range or a hundredth of the highest, never below zero", () => {
    for (const [prices, first, last] of [
      // 1,000 − 48.5 and 1,970 + 48.5
      [[1_000, 1_970], "500", "2,500"],
      // 990 − 10 and 1,000 + 10
      [[995, 1_000], "980", "1,010"],
      [[1, 1_001], "0", "1,500"],
      [[0], "0", "1"],
      [[0, 0], "0", "1"],
    ] as const) {
      const labels = labelsOf(figureOf(prices), "middle").map((label) =>
        label.split(" ").at(-1),
      );
      expect([labels[0], labels.at(-1)]).to.deep.equal([first, last]);
    }
  });

  it("pricesFigure draws every order once, also if all have one price", () => {
    const unscaled = { chainTime: 0, raw: false };
    const shape =
      /<rect\s[^>]*width="([0-9.]+)"[^>]*>\s*<title>([0-9,]+) orders?</gu;
    for (const prices of [
      [0n],
      [MaxUint256],
      [7n, 7n, 7n],
      Array.from({ length: 500 }, (_, index) => BigInt(index) ** 9n),
    ]) {
      const orders = prices.map((openPrice) => ({
        ...someOrder,
        orderID: 1n,
        exType: "BTC-USDT",
        openPrice,
      }));
      const { text } = pricesFigure("BTC-USDT", orders, undefined, unscaled);
      const drawn = [...text.matchAll(shape)];
      expect(drawn.every(([, width]) => Number(width) > 1)).to.equal(true);
      expect(
        drawn.reduce((sum, [, , count = ""]) => sum + Number(count), 0),
      ).to.equal(prices.length);
    }
  });
});

const DAY = 86_400;
/** 15 January 2027, 8:00. */
const START = 1_800_000_000;

function roundAt(
  day: number,
  strikePrice: bigint,
  more: Partial<ReportedRound> = {},
): ReportedRound {
  return {
    ...{
      strikePrice,
      APY: 1n,
      maxVolume: 1n,
      filledVolume: 0n,
      minDeposit: 1n,
    },
    startTime: BigInt(START + day * DAY),
    endTime: BigInt(START + (day + 1) * DAY),
    ...{ settled: false, settledPrice: null, settledAmount: null },
    ...{ firstBlock: 1, settledBlock: null, lastBlock: 9 },
    ...more,
  };
}

const settledAt = (
  settledPrice: bigint | null,
  settledTime: number,
): Partial<ReportedRound> => ({
  ...{ settled: true, settledBlock: 5, settledAmount: 1n },
  ...{ settledPrice, settledTime },
});

const strikesOf = (...rounds: readonly ReportedRound[]): string =>
  plain(strikesFigure(rounds, { chainTime: 0, raw: false }));

describe("the chart of strikes and settled prices", () => {
  const settled = roundAt(
    0,
    100n * ONE,
    settledAt(110n * ONE, START + DAY + 60),
  );
  const open = roundAt(1, 120n * ONE);

  it("strikesFigure draws each strike over its round's time, and a settled price from the strike of its round", () => {
    const text = strikesOf(settled, open);
    expect(shapesOf(text, "settled", "strike")).to.deep.equal([
      "line settled 163 124 163 92",
      "circle settled 163 92 4",
      "line strike 64 124 262 124",
      "line strike 262 60 460 60",
    ]);
    expect(titlesOf(text)).to.deep.equal(["settled 2027-01-16T08:01:00Z"]);
    expect(labelsOf(text, "end")).to.deep.equal([
      "58 146 90",
      "58 114 100",
      "58 82 110",
      "58 50 120",
      "58 18 130",
    ]);
    expect(labelsOf(text, "middle")).to.deep.equal([
      "196 162 2027-01-16 00:00",
      "394 162 2027-01-17 00:00",
    ]);
    expect(text).to.include("↑ price<").and.include(" UTC → ");
  });

  it("strikesFigure counts the rounds, those that were settled, and the prices that were not seen", () => {
    const unseen = roundAt(2, 90n * ONE, settledAt(null, START));
    expect(strikesOf(settled, open))
      .to.include(
        'aria-label="Strike and settled price of 2 rounds; 1 settled."',
      )
      .and.include("settled price, at the middle of its round</span>");
    const text = strikesOf(settled, open, unseen);
    expect(text)
      .to.include(
        'aria-label="Strike and settled price of 3 rounds; 2 settled, the price of 1 not seen."',
      )
      .and.include("at the middle of its round; not seen: 1</span>");
    expect(shapesOf(text, "settled", "strike")).to.have.lengthOf(2 + 3);
  });

  it("strikesFigure leaves out a round without a length or beyond the last date, and draws nothing of none", () => {
    const last = LAST_DATE_SECONDS;
    const [same, late, never] = [
      { startTime: 5n, endTime: 5n },
      { endTime: last + 1n },
      { startTime: 6n, endTime: 5n },
    ].map((times) => roundAt(0, 1n, times));
    for (const left of [same, late, never]) {
      expect(left === undefined ? "" : strikesOf(left)).to.equal("no figure");
    }
    expect(strikesOf()).to.equal("no figure");
    const drawn = strikesOf(roundAt(0, ONE, { endTime: last }));
    expect(drawn).to.include("of 1 round;");
  });

  it("strikesFigure with raw shows unscaled prices, and says so", () => {
    const text = plain(
      strikesFigure([roundAt(0, 100n * ONE)], { chainTime: 0, raw: true }),
    );
    expect(text).to.include("↑ price, raw<").and.include(">1e+20<");
  });
});

describe("the axes of a chart", () => {
  it("roundStep takes 1, 2, 5 or 10 times a power of ten", () => {
    for (const [span, count, step] of [
      [14, 10, 1],
      [15, 10, 2],
      [30, 10, 2],
      [31, 10, 5],
      [70, 10, 5],
      [71, 10, 10],
      [7_100, 10, 1_000],
      [0.5, 10, 0.05],
    ] as const) {
      // Not closeTo(): Hardhat's matchers, which other tests load, replace it.
      const off = Math.abs(roundStep(span, count) - step);
      expect(off, `${span}`).to.be.below(1e-12);
    }
  });

  it("numberAxis reaches from the multiple of its step below the values to the one above", () => {
    const { from, to, ticks } = numberAxis("price", [101, 399]);
    expect([from, to]).to.deep.equal([100, 400]);
    expect(ticks.map(({ at }) => at)).to.deep.equal([100, 200, 300, 400]);
    const fixed = numberAxis("orders", [0, 5], 2);
    expect([fixed.from, fixed.to]).to.deep.equal([0, 6]);
  });

  it("numberAxis writes grouped digits, powers of ten below a millionth and from a billion, and no rest of binary fractions", () => {
    for (const [at, text] of [
      [0, "0"],
      [0.3, "0.3"],
      [0.1 + 0.2, "0.3"],
      [0.000001, "0.000001"],
      [0.0000009, "9e-7"],
      [999_999_999, "999,999,999"],
      [1_000_000_000, "1e+9"],
    ] as const) {
      const { ticks } = numberAxis("price", [at, at], at === 0 ? 1 : at);
      expect(ticks[0]?.lines).to.deep.equal([text]);
    }
  });

  it("timeAxis has at most three steps, of minutes, hours or days", () => {
    const MINUTE = 60;
    for (const [span, step] of [
      [3 * MINUTE, MINUTE],
      [6 * MINUTE, 5 * MINUTE],
      [15 * MINUTE, 5 * MINUTE],
      [45 * MINUTE, 15 * MINUTE],
      [90 * MINUTE, 30 * MINUTE],
      [180 * MINUTE, 60 * MINUTE],
      [540 * MINUTE, 180 * MINUTE],
      [1_080 * MINUTE, 360 * MINUTE],
      [2_160 * MINUTE, 720 * MINUTE],
      [2_161 * MINUTE, DAY],
      [4 * DAY, DAY],
      [5 * DAY, 2 * DAY],
      [12 * DAY, 5 * DAY],
    ] as const) {
      // A multiple of each step, since 1970.
      const start = 18_000 * DAY;
      const { ticks, from, to, label } = timeAxis([start, start + span]);
      expect({ from, to, label }).to.deep.equal({
        ...{ from: start, to: start + span },
        label: "UTC",
      });
      expect(ticks[0]?.at).to.equal(start);
      expect((ticks[1]?.at ?? 0) - start, `${span}`).to.equal(step);
      expect(ticks.at(-1)?.at).to.be.within(start + span - step + 1, to);
    }
  });

  it("timeAxis labels a tick with its date above its hour and minute", () => {
    const { ticks } = timeAxis([START, START + 180]);
    expect(ticks.map(({ lines }) => lines)).to.deep.equal([
      ["2027-01-15", "08:00"],
      ["2027-01-15", "08:01"],
      ["2027-01-15", "08:02"],
      ["2027-01-15", "08:03"],
    ]);
  });

  it("timeAxis ticks the start of a time without a whole minute", () => {
    const { ticks } = timeAxis([START + 10, START + 20]);
    expect(ticks).to.deep.equal([
      { at: START + 10, lines: ["2027-01-15", "08:00"] },
    ]);
  });
});
