import { formatUnits } from "ethers";

import type { Order } from "../../src/client/orders/types.js";
import { units } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { LAST_DATE_SECONDS, describeTime } from "../../src/protocol/time.js";
import { decimalsOf, describeCount, fieldOf } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { ReportedRound } from "../output/rounds.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";
import { line, numberAxis, place, plot, roundStep, timeAxis } from "./plot.js";

/** Places and label of a field. Positions are rounded. */
function axisOf(
  field: Field,
  context: FormatContext,
): { readonly position: (value: bigint) => number; readonly label: string } {
  const decimals = decimalsOf(field, context);
  return {
    position: (value) => Number(formatUnits(value, decimals ?? 0)),
    label: decimals === undefined ? "price, raw" : "price",
  };
}

/** The range of the positions, with a margin: few digits distinguish its ticks. */
function spread(positions: readonly number[]): [number, number] {
  const [least, most] = extent(positions);
  const room = most === 0 ? 1 : Math.max((most - least) / 20, most / 100);
  return [Math.max(0, least - room), most + room];
}

/** Least and most of many numbers, more than a call takes as arguments. */
function extent(numbers: readonly number[]): [least: number, most: number] {
  return [
    numbers.reduce((one, other) => Math.min(one, other)),
    numbers.reduce((one, other) => Math.max(one, other)),
  ];
}

/** A strike price further from the prices of a pair than this factor is of another one. */
const FURTHEST = 2;

/**
 * The strike price to draw. The protocol does not name the pair that it belongs to: it
 * is near the middle one of the prices, where a single odd price does not count.
 */
function strikeNear(
  prices: readonly number[],
  strikePrice: bigint | undefined,
): readonly number[] {
  const middle = prices.toSorted((one, other) => one - other)[
    Math.floor(prices.length / 2)
  ];
  const strike = Number(formatUnits(strikePrice ?? 0n, units.price.decimals));
  const distance = Math.abs(Math.log((middle ?? 0) / strike));
  return distance <= Math.log(FURTHEST) ? [strike] : [];
}

/** A histogram of a pair's opening prices, with the strike price. */
export function pricesFigure(
  pair: string,
  orders: readonly Order[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): Markup {
  const field = fieldOf("getOrderInfo", "openPrice");
  const { position, label } = axisOf(field, context);
  const prices = orders.map(({ openPrice }) => position(openPrice));
  const isScaled = decimalsOf(field, context) !== undefined;
  const strikes = isScaled ? strikeNear(prices, strikePrice) : [];
  const x = numberAxis(label, spread([...prices, ...strikes]));
  const bins = binsOf(prices, x.to - x.from);
  const most = Math.max(...bins.map(({ count }) => count));
  const y = numberAxis("orders", [0, most], Math.max(1, roundStep(most, 4)));
  return plot({
    title: `${pair.slice(0, 40)}: opening price${strikes.length === 0 ? "" : " against strike"}`,
    legend:
      strikes.length > 0
        ? html`<i class="key"></i>orders<i class="key line"></i>strike`
        : isScaled
          ? "strike not drawn: no strike price is near these prices"
          : "strike not drawn: displayDecimals declares no scale of opening prices",
    label: `${field.label} of ${describeCount(orders.length, "order")}.`,
    left: 44,
    bottom: 42,
    x,
    y,
    draw: (toX, toY) => [
      bins.map(({ from, to, count }) => {
        // With a gap to the next one.
        const width = place(toX(to) - toX(from) - 1);
        const [top, height] = [toY(count), toY(0) - toY(count)].map(place);
        const title = html`<title>${describeCount(count, "order")}</title>`;
        return html`<rect
          class="bar"
          x="${place(toX(from))}"
          y="${top}"
          width="${width}"
          height="${height}"
          >${title}</rect
        > `;
      }),
      strikes.map((strike) =>
        line("mark", [toX(strike), toY(0)], [toX(strike), toY(y.to)]),
      ),
    ],
  });
}

interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** @param span Of the axis, of which a bin is about a 24th. */
function binsOf(prices: readonly number[], span: number): readonly Bin[] {
  const step = roundStep(span, 24);
  return [...Map.groupBy(prices, (price) => Math.floor(price / step))].map(
    ([index, { length: count }]) => ({
      from: index * step,
      to: (index + 1) * step,
      count,
    }),
  );
}

/** Strike and settled prices of rounds over time. */
export function strikesFigure(
  rounds: readonly ReportedRound[],
  context: FormatContext,
): Markup | undefined {
  const { position, label } = axisOf(
    fieldOf("getLatestRoundInfo", "strikePrice"),
    context,
  );
  const drawn = rounds
    .filter(
      ({ startTime, endTime }) =>
        startTime < endTime && endTime <= LAST_DATE_SECONDS,
    )
    .map((round) => ({
      start: Number(round.startTime),
      end: Number(round.endTime),
      strike: position(round.strikePrice),
      price:
        round.settledPrice === null ? undefined : position(round.settledPrice),
      settledTime: round.settledTime,
    }));
  const settled = drawn.flatMap(({ settledTime, price, ...round }) =>
    settledTime === undefined || price === undefined
      ? []
      : { ...round, price, settledTime },
  );
  const unseen =
    drawn.filter(({ settledTime }) => settledTime !== undefined).length -
    settled.length;
  if (drawn.length === 0) {
    return undefined;
  }
  return plot({
    title: "Strike against settled price",
    legend: html`<i class="key line"></i>strike<i class="key dot"></i>settled
      price, at the middle of its
      round${unseen === 0 ? "" : `; not seen: ${unseen}`}`,
    label: `Strike and settled price of ${describeCount(drawn.length, "round")}; ${settled.length + unseen} settled${unseen === 0 ? "" : `, the price of ${unseen} not seen`}.`,
    left: 64,
    bottom: 54,
    x: timeAxis(
      extent([
        ...drawn.map(({ start }) => start),
        ...drawn.map(({ end }) => end),
      ]),
    ),
    y: numberAxis(
      label,
      spread([
        ...drawn.map(({ strike }) => strike),
        ...settled.map(({ price }) => price),
      ]),
    ),
    draw: (toX, toY) => [
      settled.map(({ start, end, strike, price, settledTime }) => {
        // Within its own line: at its end, the line of the next round begins.
        const [x, y] = [toX((start + end) / 2), toY(price)];
        const time = `settled ${describeTime(BigInt(settledTime))}`;
        return [
          line("settled", [x, toY(strike)], [x, y]),
          html`<circle class="settled" cx="${place(x)}" cy="${place(y)}" r="4"
            ><title>${time}</title></circle
          > `,
        ];
      }),
      // Above the dots: they would hide a short round.
      drawn.map(({ start, end, strike }) =>
        line("strike", [toX(start), toY(strike)], [toX(end), toY(strike)]),
      ),
    ],
  });
}
