import { expect } from "chai";

import type { Order } from "../../../src/client/index.js";
import { someOrder } from "../../../src/mocks/scenarios.js";
import type { ReportedRound } from "../../../tasks/output/rounds.js";
import { pricesFigure, strikesFigure } from "../../../tasks/report/charts.js";
import type { Markup } from "../../../tasks/report/html.js";

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
    const text = figureOf([60_000, 61_000, 61_180], 62_000n * ONE);
    expect(shapesOf(text, "bar", "mark")).to.deep.equal([
      "rect bar 148 98 19.8 70",
      "rect bar 252 28 19.8 140",
      "line mark 356 168 356 28",
    ]);
    expect(titlesOf(text)).to.deep.equal(["1 order", "2 orders"]);
    expect(labelsOf(text, "middle")).to.include("148 174 60,000");
    expect(labelsOf(text, "end")).to.include("38 88 1");
    expect(text)
      .to.include('aria-label="Opening price of 3 orders."')
      .and.include("BTC-USDT: opening price against strike<");
  });

  const raw = { ...context, raw: true };
  const huge = "5.9e+18 5.95e+18 6e+18 6.05e+18 6.1e+18";
  const unscaled = "displayDecimals declares no scale of opening prices";
  const far = "no strike price is near these prices";
  for (const [prices, strike, drawn, settings = context] of [
    // Twice the middle price, and a little more.
    [[10, 9, 100], 20n, "0 50 100 150 | 0 1 | 99.47"],
    [[10, 9, 100], 21n, `0 50 100 150 | 0 1 | ${far}`],
    [[1, 99], 50n, "0 50 100 150 | 0 1 | 182.67"],
    [[10, 11], 20n, "5 10 15 20 25 | 0 1 | 356"],
    [[64], 64n, "63 63.5 64 64.5 65 | 0 1 | 252"],
    [[6], 6n * ONE, `${huge} | 0 1 | ${unscaled}`, raw],
    [[0, 0, 0, 0, 0], 0n, `0 0.5 1 | 0 1 2 3 4 5 | ${far}`],
  ] as const) {
    it(`pricesFigure draws prices ${prices.join()} and strike ${strike} as ${drawn}`, () => {
      const text = figureOf(prices, strike * ONE, settings);
      const [mark] = shapesOf(text, "mark");
      const [, why] = /<span>strike not drawn: ([^<]*)/u.exec(text) ?? [];
      const labels = ["middle", "end"].map((anchor) =>
        labelsOf(text, anchor)
          .map((label) => label.split(" ")[2])
          .join(" "),
      );
      expect([...labels, mark?.split(" ")[2] ?? why].join(" | ")).to.equal(
        drawn,
      );
      expect(text.includes("price, raw")).to.equal(settings.raw);
      expect(text.includes(" against strike<")).to.equal(mark !== undefined);
    });
  }

  it("pricesFigure cuts a pair after 40 characters, and escapes it", () => {
    const [order] = ordersAt(5);
    const pair = `<b>\u202e${"x".repeat(50)}`;
    const orders = order === undefined ? [] : [{ ...order, exType: pair }];
    expect(plain(pricesFigure(pair, orders, undefined, context))).to.include(
      `<figcaption>&lt;b&gt;\\u{202e}${"x".repeat(36)}: opening price<`,
    );
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
    ...{ strikePrice, APY: 1n, maxVolume: 1n, filledVolume: 0n },
    minDeposit: 1n,
    startTime: BigInt(START + day * DAY),
    endTime: BigInt(START + (day + 1) * DAY),
    ...{ settled: false, settledPrice: null, settledAmount: null },
    ...{ firstBlock: 1, settledBlock: null, lastBlock: 9 },
    ...more,
  };
}

const settledAt = (settledPrice: bigint | null, settledTime: number) => ({
  ...{ settled: true, settledBlock: 5, settledAmount: 1n },
  ...{ settledPrice, settledTime },
});

const strikesOf = (...rounds: readonly ReportedRound[]): string =>
  plain(strikesFigure(rounds, { chainTime: 0, raw: false }));

describe("the chart of strikes and settled prices", () => {
  const settled = roundAt(
    0,
    100n * ONE,
    settledAt(130n * ONE, START + DAY + 60),
  );
  const open = roundAt(1, 120n * ONE);

  it("strikesFigure draws each strike over its round's time, and a settled price from the strike of its round", () => {
    const text = strikesOf(settled, open);
    expect(shapesOf(text, "settled", "strike")).to.deep.equal([
      "line settled 163 130.4 163 53.6",
      "circle settled 163 53.6 4",
      "line strike 64 130.4 262 130.4",
      "line strike 262 79.2 460 79.2",
    ]);
    expect(titlesOf(text)).to.deep.equal(["settled 2027-01-16T08:01:00Z"]);
    expect(labelsOf(text, "end")).to.include("58 120.4 100");
    expect(labelsOf(text, "middle")).to.include("196 162 2027-01-16 00:00");
    expect(text)
      .to.include("↑ price<")
      .and.include(" UTC → ")
      .and.include('price of 2 rounds; 1 settled."');
  });

  it("strikesFigure leaves out rounds without a time, and counts settled prices that were not seen", () => {
    const unseen = roundAt(1, 120n * ONE, settledAt(null, START + 2 * DAY));
    const never = { ...open, endTime: open.startTime };
    const text = strikesOf(settled, unseen, never, {
      ...open,
      endTime: 2n ** 60n,
    });
    expect(shapesOf(text, "settled", "strike")).to.have.lengthOf(4);
    expect(text)
      .to.include("middle of its round; not seen: 1</span>")
      .and.include("price of 2 rounds; 2 settled, the price of 1 not seen.");
    expect(strikesOf(never)).to.equal("no figure");
  });
});
