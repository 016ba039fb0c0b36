import { formatUnits } from "ethers";

import type { Order } from "../../src/client/order-reader.js";
import type { PastRound } from "../../src/client/rounds.js";
import {
  LAST_DATE_SECONDS,
  declaredDecimals,
  describeTime,
  units,
} from "../../src/protocol/index.js";
import { describeCount } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { html } from "./page.js";
import type { Content, Markup } from "./page.js";

// Charts are SVG, so the page needs no script.

const [WIDTH, HEIGHT] = [480, 210];
/** The drawing without the labels of its axes. */
const [LEFT, TOP, RIGHT, BOTTOM] = [20, 28, WIDTH - 20, HEIGHT - 34];

/** The least and the most value of an axis, which label its ends. */
interface Axis {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly describe: (value: number) => string;
}

function axisOf(
  label: string,
  values: readonly number[],
  describe = (value: number): string => value.toLocaleString("en"),
): Axis {
  // More values than a call takes as arguments.
  const from = values.reduce((one, other) => Math.min(one, other));
  const to = values.reduce((one, other) => Math.max(one, other));
  return { label, from, to, describe };
}

/** From values to pixels. */
function scaleOf({ from, to }: Axis, start: number, end: number) {
  const range = Math.max(to - from, Number.MIN_VALUE);
  return (value: number): string =>
    (start + ((value - from) / range) * (end - start)).toFixed(2);
}

/** @param label Names the picture for screen readers. */
function renderChart(
  title: string,
  legend: Content,
  label: string,
  [x, y]: readonly [Axis, Axis],
  shapes: Content,
): Markup {
  return html`<figure>
    <figcaption>${title}<span>${legend}</span></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
      <rect
        class="frame"
        x="${LEFT}"
        y="${TOP}"
        width="${RIGHT - LEFT}"
        height="${BOTTOM - TOP}"
      />
      <text x="${LEFT}" y="${TOP - 8}">↑ ${y.label}: ${y.describe(y.to)}</text>
      <text x="${LEFT}" y="${BOTTOM + 14}">${y.describe(y.from)}</text>
      <text x="${LEFT}" y="${HEIGHT - 4}">${x.describe(x.from)}</text>
      <text x="${RIGHT}" y="${HEIGHT - 4}" text-anchor="end">
        ${x.label}: ${x.describe(x.to)} →
      </text>
      ${shapes}
    </svg>
  </figure> `;
}

const BARS = 24;

/** A histogram of opening prices for each of the four pairs with the most orders. */
export function pricesFigures(
  orders: readonly Order[],
  strikePrice: bigint,
  context: FormatContext,
): readonly Markup[] {
  return [...Map.groupBy(orders, ({ exType }) => exType)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, 4)
    .map(([pair, some]) => pricesFigure(pair, some, strikePrice, context));
}

/**
 * The protocol does not name the pair of the strike price, so it is drawn only if it is
 * near these prices.
 */
function pricesFigure(
  pair: string,
  orders: readonly Order[],
  strikePrice: bigint,
  { raw, displayDecimals }: FormatContext,
): Markup {
  const decimals = raw
    ? undefined
    : declaredDecimals(displayDecimals, {
        unit: "raw",
        key: "order",
        name: "openPrice",
      });
  const prices = orders.map(({ openPrice }) =>
    Number(formatUnits(openPrice, decimals ?? 0)),
  );
  const label = decimals === undefined ? "price, raw" : "price";
  const own = axisOf(label, prices);
  const strike = Number(formatUnits(strikePrice, units.price.decimals));
  const isNear =
    decimals !== undefined && strike >= own.from / 2 && strike <= own.to * 2;
  const x = isNear ? axisOf(label, [...prices, strike]) : own;
  const step = (x.to - x.from) / BARS;
  const bars = Map.groupBy(prices, (price) =>
    step === 0 ? 0 : Math.min(BARS - 1, Math.floor((price - x.from) / step)),
  );
  const y = axisOf("orders", [
    0,
    ...Array.from(bars, ([, { length }]) => length),
  ]);
  const toX = scaleOf(x, LEFT, RIGHT);
  const toY = scaleOf(y, BOTTOM, TOP);
  return renderChart(
    `${pair.slice(0, 40)}: opening price${isNear ? " against strike" : ""}`,
    html`<i class="key"></i
      >orders${isNear && html`<i class="key line"></i>strike`}`,
    `Opening price of ${describeCount(orders.length, "order")}.`,
    [x, y],
    [
      Array.from(
        bars,
        ([bar, { length: count }]) =>
          html`<rect
            class="fill"
            x="${toX(x.from + bar * step)}"
            y="${toY(count)}"
            width="${((RIGHT - LEFT) / BARS - 1).toFixed(2)}"
            height="${BOTTOM - Number(toY(count))}"
            ><title>${describeCount(count, "order")}</title></rect
          > `,
      ),
      isNear &&
        html`<line
          class="strike across"
          x1="${toX(strike)}"
          y1="${BOTTOM}"
          x2="${toX(strike)}"
          y2="${TOP}"
        /> `,
    ],
  );
}

/** Strike and settled prices of rounds over time; none without a round in time. */
export function strikesFigure(
  rounds: readonly PastRound[],
  { raw }: FormatContext,
): readonly Markup[] {
  const decimals = raw ? 0 : units.price.decimals;
  const drawn = rounds
    .filter(
      ({ startTime, endTime }) =>
        startTime < endTime && endTime <= LAST_DATE_SECONDS,
    )
    .map(({ startTime, endTime, strikePrice, settledPrice }) => ({
      start: Number(startTime),
      end: Number(endTime),
      strike: Number(formatUnits(strikePrice, decimals)),
      settled:
        settledPrice === null
          ? []
          : [Number(formatUnits(settledPrice, decimals))],
    }));
  if (drawn.length === 0) {
    return [];
  }
  const times = drawn.flatMap(({ start, end }) => [start, end]);
  const prices = drawn.flatMap(({ strike, settled }) => [strike, ...settled]);
  const x = axisOf("UTC", times, (seconds) => describeTime(BigInt(seconds)));
  const y = axisOf(raw ? "price, raw" : "price", prices);
  const toX = scaleOf(x, LEFT, RIGHT);
  const toY = scaleOf(y, BOTTOM, TOP);
  return [
    renderChart(
      "Strike against settled price",
      html`<i class="key line"></i>strike<i class="key"></i>settled price, at
        the middle of its round`,
      `Strike price of ${describeCount(drawn.length, "round")}, ${prices.length - drawn.length} of them with a settled price.`,
      [x, y],
      drawn.map(
        ({ start, end, strike, settled }) =>
          html`<line
              class="strike"
              x1="${toX(start)}"
              y1="${toY(strike)}"
              x2="${toX(end)}"
              y2="${toY(strike)}"
            />
            ${settled.map((price) => html`<circle class="fill" cx="${toX((start + end) / 2)}" cy="${toY(price)}" r="4" /> `)}`,
      ),
    ),
  ];
}
