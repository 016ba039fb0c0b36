import { formatUnits } from "ethers";

import type { Order } from "../../src/client/order-reader.js";
import type { PastRound } from "../../src/client/rounds.js";
import {
  LAST_DATE_SECONDS,
  describeTime,
  units,
} from "../../src/protocol/index.js";
import { decimalsOf, describeCount } from "../output/format-value.js";
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

const toX = (axis: Axis) => scaleOf(axis, LEFT, RIGHT);
const toY = (axis: Axis) => scaleOf(axis, BOTTOM, TOP);

/**
 * @param label Names the picture for screen readers.
 * @param shapes The path of each shape, by its class.
 */
function renderChart(
  caption: Content,
  label: string,
  x: Axis,
  y: Axis,
  shapes: Readonly<Record<string, string>>,
): Markup {
  const frame = `M${LEFT} ${TOP}H${RIGHT}V${BOTTOM}H${LEFT}z`;
  const xEnd = `${x.label}: ${x.describe(x.to)} →`;
  return html`<figure>
    <figcaption>${caption}</figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
      <path class="frame" d="${frame}" />
      <text x="${LEFT}" y="${TOP - 8}">↑ ${y.label}: ${y.describe(y.to)}</text>
      <text x="${LEFT}" y="${BOTTOM + 14}">${y.describe(y.from)}</text>
      <text x="${LEFT}" y="${HEIGHT - 4}">${x.describe(x.from)}</text>
      <text x="${RIGHT}" y="${HEIGHT - 4}" text-anchor="end">${xEnd}</text>
      ${Object.entries(shapes).map(([name, path]) => html`<path class="${name}" d="${path}" /> `)}
    </svg>
  </figure> `;
}

const BARS = 24;

/** A histogram of opening prices for each of the four pairs with the most orders. */
export function pricesFigures(
  orders: readonly Order[],
  context: FormatContext,
): readonly Markup[] {
  const decimals = decimalsOf(
    { unit: "raw", key: "order", name: "openPrice" },
    context,
  );
  return [...Map.groupBy(orders, ({ exType }) => exType)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .slice(0, 4)
    .map(([pair, some]) => {
      const prices = some.map(({ openPrice }) =>
        Number(formatUnits(openPrice, decimals ?? 0)),
      );
      const x = axisOf(decimals === undefined ? "price, raw" : "price", prices);
      const step = (x.to - x.from) / BARS;
      const bars = Map.groupBy(prices, (price) =>
        step === 0
          ? 0
          : Math.min(BARS - 1, Math.floor((price - x.from) / step)),
      );
      const counts = Array.from(bars, ([, { length }]) => length);
      const y = axisOf("orders", [0, ...counts]);
      const drawn = Array.from(
        bars,
        ([bar, { length }]) =>
          `M${toX(x)(x.from + bar * step)} ${BOTTOM}V${toY(y)(length)}h17V${BOTTOM}z`,
      );
      return renderChart(
        `${pair.slice(0, 40)}: orders by opening price`,
        `Opening price of ${describeCount(some.length, "order")}.`,
        x,
        y,
        { bar: drawn.join("") },
      );
    });
}

/** Strike and settled prices of rounds over time; none without a round in time. */
export function strikesFigure(
  rounds: readonly PastRound[],
  { raw }: FormatContext,
): readonly Markup[] {
  const price = (value: bigint): number =>
    Number(formatUnits(value, raw ? 0 : units.price.decimals));
  const drawn = rounds
    .filter(({ startTime, endTime }) => startTime < endTime)
    .filter(({ endTime }) => endTime <= LAST_DATE_SECONDS)
    .map(({ startTime, endTime, strikePrice, settledPrice }) => ({
      start: Number(startTime),
      end: Number(endTime),
      strike: price(strikePrice),
      settled: settledPrice === null ? [] : [price(settledPrice)],
    }));
  if (drawn.length === 0) {
    return [];
  }
  const times = drawn.flatMap(({ start, end }) => [start, end]);
  const prices = drawn.flatMap(({ strike, settled }) => [strike, ...settled]);
  const x = axisOf("UTC", times, (seconds) => describeTime(BigInt(seconds)));
  const y = axisOf(raw ? "price, raw" : "price", prices);
  const strikes = drawn.map(
    ({ start, end, strike }) =>
      `M${toX(x)(start)} ${toY(y)(strike)}H${toX(x)(end)}`,
  );
  const dots = drawn.flatMap(({ start, end, settled }) =>
    settled.map((at) => `M${toX(x)((start + end) / 2)} ${toY(y)(at)}h0`),
  );
  const chart = renderChart(
    html`Strike against settled price
      <span
        ><i class="key strike"></i>strike <i class="key dot"></i>settled price,
        at the middle of its round</span
      >`,
    `Strike price of ${describeCount(drawn.length, "round")}, ${dots.length} of them with a settled price.`,
    x,
    y,
    { strike: strikes.join(""), dot: dots.join("") },
  );
  return [chart];
}
