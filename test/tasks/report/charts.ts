import { expect } from "chai";

import type { Order, PastRound } from "../../../src/client/index.js";
import { someOrder } from "../../../src/mocks/scenarios.js";
import { pricesFigures, strikesFigure } from "../../../tasks/report/charts.js";
import type { Markup } from "../../../tasks/report/page.js";

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

const figureOf = (prices: readonly number[], settings = context): string =>
  plain(pricesFigures(ordersAt(...prices), settings));

/** Without what only lays out the markup. */
const plain = (figures: readonly Markup[]): string =>
  figures
    .map(({ text }) => text)
    .join("")
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1");

/** Class and path of each shape but the frame, in the order of drawing. */
const shapesOf = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/<path class="(?!frame)(\w+)" d="([^"]+)"/gu),
    ([, name, path]) => `${name} ${path}`,
  );

/** The texts at the ends of the axes. */
const labelsOf = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/<text [^>]*> ?(.*?) ?<\/text>/gu),
    ([, label = ""]) => label,
  );

describe("the histogram of opening prices", () => {
  it("pricesFigures draws a bar as high as its number of orders, at its prices", () => {
    const text = figureOf([60_000, 61_200, 61_250, 62_400]);
    expect(shapesOf(text)).to.deep.equal([
      "bar M20.00 176V102.00h17V176zM240.00 176V28.00h17V176zM441.67 176V102.00h17V176z",
    ]);
    expect(labelsOf(text)).to.deep.equal([
      ...["↑ orders: 2", "0", "60,000", "price: 62,400 →"],
    ]);
    expect(text)
      .to.include('aria-label="Opening price of 4 orders."')
      .and.include("BTC-USDT: orders by opening price<");
  });

  const raw = { ...context, raw: true };
  for (const [prices, least, most, label, settings = context] of [
    [[64], "64", "64", "price"],
    [[6], `6${",000".repeat(6)}`, `6${",000".repeat(6)}`, "price, raw", raw],
  ] as const) {
    it(`pricesFigures labels the ends of its axis ${least} and ${label}: ${most}`, () => {
      expect(labelsOf(figureOf(prices, settings)).slice(2)).to.deep.equal([
        least,
        `${label}: ${most} →`,
      ]);
    });
  }

  it("pricesFigures draws the four pairs with the most orders, each by itself, cut after 40 characters and escaped", () => {
    const hostile = `<b>\u202e${"x".repeat(50)}`;
    const pairs = ["A", "B", "B", "C", "C", "C", "D", "D", "D", "D"].concat(
      Array<string>(5).fill(hostile),
    );
    const orders = pairs.map((exType) => ({
      ...someOrder,
      orderID: 1n,
      exType,
    }));
    const charts = plain(pricesFigures(orders, context)).matchAll(
      /<figcaption>(.*?): .*?price of ([\d,]+) /gu,
    );
    expect(
      Array.from(charts, ([, pair, count]) => `${pair} ${count}`),
    ).to.deep.equal([
      `&lt;b&gt;\\u{202e}${"x".repeat(36)} 5`,
      ...["D 4", "C 3", "B 2"],
    ]);
  });
});

const DAY = 86_400;
/** 15 January 2027, 8:00. */
const START = 1_800_000_000;

const roundAt = (
  day: number,
  strikePrice: bigint,
  settledPrice: bigint | null,
): PastRound => ({
  strikePrice,
  APY: 1n,
  maxVolume: 1n,
  filledVolume: 0n,
  minDeposit: 1n,
  startTime: BigInt(START + day * DAY),
  endTime: BigInt(START + (day + 1) * DAY),
  settled: settledPrice !== null,
  settledPrice,
  settledAmount: settledPrice,
  firstBlock: 1,
  settledBlock: settledPrice === null ? null : 5,
  lastBlock: 9,
});

describe("the chart of strikes and settled prices", () => {
  const settled = roundAt(0, 100n * ONE, 130n * ONE);
  const open = roundAt(1, 120n * ONE, null);

  it("strikesFigure draws each strike over its round's time, a settled price at the middle of its round, and no round without a time", () => {
    const never = { ...open, endTime: open.startTime };
    const endless = { ...open, endTime: 2n ** 60n };
    const text = plain(strikesFigure([settled, open, never, endless], context));
    expect(shapesOf(text)).to.deep.equal([
      "strike M20.00 176.00H240.00M240.00 77.33H460.00",
      "dot M130.00 28.00h0",
    ]);
    expect(labelsOf(text)).to.deep.equal([
      ...["↑ price: 130", "100", "2027-01-15T08:00:00Z"],
      "UTC: 2027-01-17T08:00:00Z →",
    ]);
    expect(text).to.include(
      "Strike price of 2 rounds, 1 of them with a settled price.",
    );
    expect(strikesFigure([never], context)).to.deep.equal([]);
  });
});
