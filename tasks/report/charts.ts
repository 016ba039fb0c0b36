import { formatUnits } from "ethers";

import type { Order } from "../../src/client/orders/types.js";
import {
  LAST_DATE_SECONDS,
  describeTime,
  operations,
  units,
} from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { decimalsOf, describeCount } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { ReportedRound } from "../output/rounds.js";
import { html } from "./html.js";
import type { Content, Markup } from "./html.js";

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

interface Chart {
  readonly title: string;
  readonly legend: Content;
  /** Names the picture for screen readers. */
  readonly label: string;
  readonly x: Axis;
  readonly y: Axis;
  /** Draws with functions from values to pixels. */
  readonly draw: (
    toX: (value: number) => number,
    toY: (value: number) => number,
  ) => Content;
}

function renderChart({ title, legend, label, x, y, draw }: Chart): Markup {
  const scale =
    ({ from, to }: Axis, start: number, end: number) =>
    (value: number): number =>
      Number(
        (
          start +
          ((value - from) / Math.max(to - from, Number.MIN_VALUE)) *
            (end - start)
        ).toFixed(2),
      );
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
      ${draw(scale(x, LEFT, RIGHT), scale(y, BOTTOM, TOP))}
    </svg>
  </figure> `;
}

/** Positions and label of a price. Positions are rounded. */
function priceAxis(field: Field, context: FormatContext) {
  const decimals = decimalsOf(field, context);
  return {
    isScaled: decimals !== undefined,
    position: (value: bigint) => Number(formatUnits(value, decimals ?? 0)),
    axis: (positions: readonly number[]): Axis => ({
      label: decimals === undefined ? "price, raw" : "price",
      ...extent(positions),
      describe: (value) => value.toLocaleString("en"),
    }),
  };
}

/** Least and most of many numbers, more than a call takes as arguments. */
function extent(numbers: readonly number[]): { from: number; to: number } {
  return {
    from: numbers.reduce((one, other) => Math.min(one, other)),
    to: numbers.reduce((one, other) => Math.max(one, other)),
  };
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
  const sorted = prices.toSorted((one, other) => one - other);
  const middle = sorted[Math.floor(prices.length / 2)] ?? 0;
  const strike = Number(formatUnits(strikePrice ?? 0n, units.price.decimals));
  return Math.abs(Math.log(middle / strike)) <= Math.log(FURTHEST)
    ? [strike]
    : [];
}

const BARS = 24;

/** A histogram of a pair's opening prices, with the strike price. */
export function pricesFigure(
  pair: string,
  orders: readonly Order[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): Markup {
  const field = operations.getOrderInfo.outputs[6];
  const { isScaled, position, axis } = priceAxis(field, context);
  const prices = orders.map(({ openPrice }) => position(openPrice));
  const strikes = isScaled ? strikeNear(prices, strikePrice) : [];
  const x = axis([...prices, ...strikes]);
  const step = (x.to - x.from) / BARS;
  const barOf = (price: number): number =>
    step === 0 ? 0 : Math.min(BARS - 1, Math.floor((price - x.from) / step));
  const bars = [...Map.groupBy(prices, barOf)];
  const most = Math.max(...bars.map(([, { length }]) => length));
  return renderChart({
    title: `${pair.slice(0, 40)}: opening price${strikes.length === 0 ? "" : " against strike"}`,
    legend:
      strikes.length > 0
        ? html`<i class="key"></i>orders<i class="key line"></i>strike`
        : isScaled
          ? "strike not drawn: no strike price is near these prices"
          : "strike not drawn: displayDecimals declares no scale of opening prices",
    label: `${field.label} of ${describeCount(orders.length, "order")}.`,
    x,
    y: { label: "orders", from: 0, to: most, describe: String },
    draw: (toX, toY) => [
      bars.map(([index, { length: count }]) => {
        const start = step === 0 ? LEFT : toX(x.from + index * step);
        // With a gap to the next one.
        const width = (RIGHT - LEFT) / BARS - 1;
        return html`<rect
          class="bar"
          x="${start}"
          y="${toY(count)}"
          width="${width.toFixed(2)}"
          height="${(BOTTOM - toY(count)).toFixed(2)}"
          ><title>${describeCount(count, "order")}</title></rect
        > `;
      }),
      strikes.map((strike) => {
        const at = toX(strike);
        return html`<line
          class="mark"
          x1="${at}"
          y1="${BOTTOM}"
          x2="${at}"
          y2="${TOP}"
        /> `;
      }),
    ],
  });
}

/** Strike and settled prices of rounds over time. */
export function strikesFigure(
  rounds: readonly ReportedRound[],
  context: FormatContext,
): Markup | undefined {
  const field = operations.getLatestRoundInfo.outputs[0];
  const { position, axis } = priceAxis(field, context);
  const drawn = rounds
    .filter(
      ({ startTime, endTime }) =>
        startTime < endTime && endTime <= LAST_DATE_SECONDS,
    )
    .map(({ startTime, endTime, strikePrice, settledPrice, settledTime }) => ({
      start: Number(startTime),
      end: Number(endTime),
      strike: position(strikePrice),
      settledTime,
      price:
        settledTime === undefined || settledPrice === null
          ? undefined
          : position(settledPrice),
    }));
  if (drawn.length === 0) {
    return undefined;
  }
  const settled = drawn.filter(({ settledTime }) => settledTime !== undefined);
  const prices = settled.flatMap(({ price }) => price ?? []);
  const unseen = settled.length - prices.length;
  return renderChart({
    title: "Strike against settled price",
    legend: html`<i class="key line"></i>strike<i class="key dot"></i>settled
      price, at the middle of its
      round${unseen === 0 ? "" : `; not seen: ${unseen}`}`,
    label: `Strike and settled price of ${describeCount(drawn.length, "round")}; ${settled.length} settled${unseen === 0 ? "" : `, the price of ${unseen} not seen`}.`,
    x: {
      label: "UTC",
      ...extent(drawn.flatMap(({ start, end }) => [start, end])),
      describe: (seconds) => describeTime(BigInt(seconds)),
    },
    y: axis([...drawn.map(({ strike }) => strike), ...prices]),
    draw: (toX, toY) =>
      drawn.map(({ start, end, strike, price, settledTime }) => {
        const y = toY(strike);
        const middle = toX((start + end) / 2);
        return html`<line
            class="strike"
            x1="${toX(start)}"
            y1="${y}"
            x2="${toX(end)}"
            y2="${y}"
          />
          ${
            price !== undefined &&
            settledTime !== undefined &&
            html`<circle class="settled" cx="${middle}" cy="${toY(price)}" r="4"
              ><title>
                settled ${describeTime(BigInt(settledTime))}
              </title></circle
            > `
          } `;
      }),
  });
}
