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
import type { Markup } from "./page.js";

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

interface Chart {
  readonly title: string;
  /** The name of each shape, by its class. */
  readonly legend: Readonly<Record<string, string>>;
  /** Names the picture for screen readers. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  /** The path of each shape, by its class, with functions from values to pixels. */
  readonly draw: (
    toX: (value: number) => string,
    toY: (value: number) => string,
  ) => Readonly<Record<string, readonly string[]>>;
}

function renderChart({ title, legend, label, x, y, draw }: Chart): Markup {
  const shapes = draw(scaleOf(x, LEFT, RIGHT), scaleOf(y, BOTTOM, TOP));
  const frame = `M${LEFT} ${TOP}H${RIGHT}V${BOTTOM}H${LEFT}z`;
  const xEnd = `${x.label}: ${x.describe(x.to)} →`;
  return html`<figure>
    <figcaption>
      ${title}
      <span>
        ${Object.entries(legend).map(([name, text]) => html`<i class="key ${name}"></i>${text} `)}
      </span>
    </figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
      <path class="frame" d="${frame}" />
      <text x="${LEFT}" y="${TOP - 8}">↑ ${y.label}: ${y.describe(y.to)}</text>
      <text x="${LEFT}" y="${BOTTOM + 14}">${y.describe(y.from)}</text>
      <text x="${LEFT}" y="${HEIGHT - 4}">${x.describe(x.from)}</text>
      <text x="${RIGHT}" y="${HEIGHT - 4}" text-anchor="end">${xEnd}</text>
      ${Object.entries(shapes).map(([name, path]) => html`<path class="${name}" d="${path.join("")}" /> `)}
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
  context: FormatContext,
): Markup {
  const decimals = decimalsOf(openPrice, context);
  const prices = orders.map((order) =>
    Number(formatUnits(order.openPrice, decimals ?? 0)),
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
  const counts = Array.from(bars, ([, { length }]) => length);
  return renderChart({
    title: `${pair.slice(0, 40)}: opening price${isNear ? " against strike" : ""}`,
    legend: { bar: "orders", ...(isNear && { strike: "strike" }) },
    label: `Opening price of ${describeCount(orders.length, "order")}.`,
    x,
    y: axisOf("orders", [0, ...counts]),
    draw: (toX, toY) => ({
      bar: Array.from(
        bars,
        ([bar, { length }]) =>
          `M${toX(x.from + bar * step)} ${BOTTOM}V${toY(length)}h17V${BOTTOM}z`,
      ),
      strike: isNear ? [`M${toX(strike)} ${BOTTOM}V${TOP}`] : [],
    }),
  });
}

const openPrice = { unit: "raw", key: "order", name: "openPrice" } as const;

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
  const chart = renderChart({
    title: "Strike against settled price",
    legend: {
      strike: "strike",
      dot: "settled price, at the middle of its round",
    },
    label: `Strike price of ${describeCount(drawn.length, "round")}, ${prices.length - drawn.length} of them with a settled price.`,
    x: axisOf("UTC", times, (seconds) => describeTime(BigInt(seconds))),
    y: axisOf(raw ? "price, raw" : "price", prices),
    draw: (toX, toY) => ({
      strike: drawn.map(
        ({ start, end, strike }) => `M${toX(start)} ${toY(strike)}H${toX(end)}`,
      ),
      dot: drawn.flatMap(({ start, end, settled }) =>
        settled.map((at) => `M${toX((start + end) / 2)} ${toY(at)}h0`),
      ),
    }),
  });
  return [chart];
}
