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
  Array.from(text.matchAll(/<title> ?([^<]*?) ?</gu), ([, title]) => title);

/** The texts at the ends of the axes. */
const labelsOf = (text: string): readonly string[] =>
  Array.from(
    text.matchAll(/<text [^>]*> ?(.*?) ?<\/text>/gu),
    ([, label = ""]) => label,
  );

describe("the histogram of opening prices", () => {
  it("pricesFigure draws a bar as high as its number of orders, at its prices, and the strike across", () => {
    const text = figureOf([60_000, 61_200, 61_250], 62_400n * ONE);
    expect(shapesOf(text, "bar", "mark")).to.deep.equal([
      "rect bar 20 102 17.33 74",
      "rect bar 240 28 17.33 148",
      "line mark 460 176 460 28",
    ]);
    expect(titlesOf(text)).to.deep.equal(["1 order", "2 orders"]);
    expect(labelsOf(text)).to.deep.equal([
      ...["↑ orders: 2", "0", "60,000", "price: 62,400 →"],
    ]);
    expect(text)
      .to.include('aria-label="Opening price of 3 orders."')
      .and.include("BTC-USDT: opening price against strike<");
  });

  const raw = { ...context, raw: true };
  const unscaled = "displayDecimals declares no scale of opening prices";
  const far = "no strike price is near these prices";
  for (const [prices, strike, least, most, drawn, settings = context] of [
    // Twice the middle price, and a little more.
    [[10, 9, 100], 20n, "9", "100", "73.19"],
    [[10, 9, 100], 21n, "9", "100", far],
    [[1, 99], 50n, "1", "99", "240"],
    [[10, 11], 20n, "10", "20", "460"],
    [[64], 64n, "64", "64", "20"],
    [[6], 6n, `6${",000".repeat(6)}`, `6${",000".repeat(6)}`, unscaled, raw],
    [[0, 0, 0, 0, 0], 0n, "0", "0", far],
  ] as const) {
    it(`pricesFigure draws prices ${prices.join()} and strike ${strike} from ${least} to ${most}, and the strike at ${drawn}`, () => {
      const text = figureOf(prices, strike * ONE, settings);
      const [mark] = shapesOf(text, "mark");
      const [, why] = /<span>strike not drawn: ([^<]*)/u.exec(text) ?? [];
      expect(mark?.split(" ")[2] ?? why).to.equal(drawn);
      expect(labelsOf(text).slice(2)).to.deep.equal([
        least,
        `price${settings.raw ? ", raw" : ""}: ${most} →`,
      ]);
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

  it("strikesFigure draws each strike over its round's time, and a settled price at the middle of its round", () => {
    const text = strikesOf(settled, open);
    expect(shapesOf(text, "settled", "strike")).to.deep.equal([
      "line strike 20 176 240 176",
      "circle settled 130 28 4",
      "line strike 240 77.33 460 77.33",
    ]);
    expect(titlesOf(text)).to.deep.equal(["settled 2027-01-16T08:01:00Z"]);
    expect(labelsOf(text)).to.deep.equal([
      ...["↑ price: 130", "100", "2027-01-15T08:00:00Z"],
      "UTC: 2027-01-17T08:00:00Z →",
    ]);
    expect(text).to.include('price of 2 rounds; 1 settled."');
  });

  it("strikesFigure leaves out rounds without a time, and counts settled prices that were not seen", () => {
    const unseen = roundAt(1, 120n * ONE, settledAt(null, START + 2 * DAY));
    const never = { ...open, endTime: open.startTime };
    const text = strikesOf(settled, unseen, never, {
      ...open,
      endTime: 2n ** 60n,
    });
    expect(shapesOf(text, "settled", "strike")).to.have.lengthOf(3);
    expect(text)
      .to.include("middle of its round; not seen: 1</span>")
      .and.include("price of 2 rounds; 2 settled, the price of 1 not seen.");
    expect(strikesOf(never)).to.equal("no figure");
  });
});
