import * as Plot from "@observablehq/plot";
import { formatUnits } from "ethers";
import { DOMParser } from "linkedom";

import type { Order } from "../../src/client/index.js";
import { units } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { LAST_DATE_SECONDS, describeTime } from "../../src/protocol/time.js";
import { escapeUntrusted } from "../../src/escape.js";
import { decimalsOf, describeCount, fieldOf } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { ReportedRound } from "../output/rounds.js";
import { Markup, html } from "./html.js";
import type { Content } from "./html.js";

// Charts are SVG, so the page needs no script. The serializer escapes their texts.

/** The used part of a drawing; Plot's own types need those of a browser. */
interface Drawing {
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  querySelectorAll(
    selector: string,
  ): Iterable<{ remove(): void; removeAttribute(name: string): void }>;
}

const document = new DOMParser().parseFromString("<html></html>", "text/html");

function draw(
  title: string,
  legend: Content,
  label: string,
  options: Plot.PlotOptions,
): Markup {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- its type is of a browser's DOM, which Node has no types of
  const drawing: Drawing = Plot.plot({
    document,
    width: 480,
    height: 210,
    marginTop: 28,
    ...options,
  });
  // The page's policy allows only its own style sheet.
  for (const style of drawing.querySelectorAll("style")) {
    style.remove();
  }
  // The whole chart is one image with one label.
  for (const group of drawing.querySelectorAll("g")) {
    group.removeAttribute("aria-label");
  }
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", escapeUntrusted(label));
  return html`<figure>
    <figcaption>${title}<span>${legend}</span></figcaption>
    ${new Markup(drawing.outerHTML)}
  </figure> `;
}

/** An axis for values of a field. Positions are rounded. */
function axisOf(
  field: Field,
  context: FormatContext,
): {
  readonly position: (value: bigint) => number;
  readonly scale: Plot.ScaleOptions;
} {
  const decimals = decimalsOf(field, context);
  return {
    position: (value) => Number(formatUnits(value, decimals ?? 0)),
    scale: {
      label: decimals === undefined ? "price, raw" : "price",
      nice: true,
      ticks: 3,
      tickFormat: ",.9~g",
    },
  };
}

/** The range of the positions, with a margin: few digits distinguish its ticks. */
function spread(positions: readonly number[]): [number, number] {
  const least = positions.reduce((one, other) => Math.min(one, other));
  const most = positions.reduce((one, other) => Math.max(one, other));
  const room = most === 0 ? 1 : Math.max((most - least) / 20, most / 100);
  return [Math.max(0, least - room), most + room];
}

/** Prices of one pair are not further from its strike than this factor. */
const FURTHEST = 2;

/**
 * Finds the pair that a round's strike price belongs to, which the protocol does not
 * name: the one with the nearest prices, if they are near enough.
 */
export function pairOfStrike(
  pairs: ReadonlyArray<readonly [pair: string, orders: readonly Order[]]>,
  strikePrice: bigint | undefined,
  context: FormatContext,
): string | undefined {
  const { position } = axisOf(fieldOf("getOrderInfo", "openPrice"), context);
  const strike =
    strikePrice === undefined
      ? NaN
      : Number(formatUnits(strikePrice, units.price.decimals));
  const [nearest] = pairs
    .map(([pair, orders]) => {
      const distances = orders.map(({ openPrice }) =>
        Math.abs(Math.log(position(openPrice) / strike)),
      );
      // The middle one: a single odd price does not count.
      const middle = distances.toSorted((one, other) => one - other)[
        Math.floor(distances.length / 2)
      ];
      return { pair, distance: middle ?? Infinity };
    })
    .filter(({ distance }) => distance <= Math.log(FURTHEST))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest?.pair;
}

/** A histogram of a pair's opening prices, with the strike price. */
export function pricesFigure(
  pair: string,
  orders: readonly Order[],
  strikePrice: bigint | undefined,
  context: FormatContext,
): Markup {
  const field = fieldOf("getOrderInfo", "openPrice");
  const { position, scale } = axisOf(field, context);
  const prices = orders.map(({ openPrice }) => position(openPrice));
  const strikes =
    strikePrice === undefined || decimalsOf(field, context) === undefined
      ? []
      : [Number(formatUnits(strikePrice, units.price.decimals))];
  const domain = spread([...prices, ...strikes]);
  return draw(
    `${pair.slice(0, 40)}: opening price${strikes.length === 0 ? "" : " against strike"}`,
    strikes.length === 0
      ? decimalsOf(field, context) === undefined
        ? "strike not drawn: displayDecimals declares no scale of opening prices"
        : "strike not drawn: no strike price is near these prices"
      : html`<i class="key"></i>orders<i class="key line"></i>strike`,
    `${field.label} of ${describeCount(orders.length, "order")}.`,
    {
      marginLeft: 44,
      marginBottom: 42,
      x: { ...scale, domain },
      y: {
        label: "orders",
        grid: true,
        ticks: Math.min(4, orders.length),
        tickSize: 0,
        tickFormat: (count: number) => (count % 1 === 0 ? count : ""),
      },
      marks: [
        Plot.rectY(
          prices,
          Plot.binX<Plot.RectYOptions>(
            {
              y: "count",
              title: (bin: readonly number[]) =>
                describeCount(bin.length, "order"),
            },
            { x: Plot.identity, domain, thresholds: 24, fill: "var(--fill)" },
          ),
        ),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.ruleX(strikes, {
          stroke: "var(--mark)",
          strokeWidth: 1.5,
          strokeDasharray: "4 3",
        }),
      ],
    },
  );
}

/** Strike and settled prices of rounds over time. */
export function strikesFigure(
  rounds: readonly ReportedRound[],
  context: FormatContext,
): Markup | undefined {
  const { position, scale } = axisOf(
    fieldOf("getLatestRoundInfo", "strikePrice"),
    context,
  );
  const drawn = rounds
    .filter(
      ({ startTime, endTime }) =>
        startTime < endTime && endTime <= LAST_DATE_SECONDS,
    )
    .map((round) => ({
      start: dateOf(round.startTime),
      end: dateOf(round.endTime),
      strike: position(round.strikePrice),
      price:
        round.settledPrice === null ? undefined : position(round.settledPrice),
      settledTime: round.settledTime,
    }));
  const settled = drawn.flatMap(({ settledTime, price, ...round }) =>
    settledTime === undefined || price === undefined
      ? []
      : {
          ...round,
          price,
          // Within its own line: at its end, the line of the next round begins.
          at: new Date((round.start.getTime() + round.end.getTime()) / 2),
          title: `settled ${describeTime(BigInt(settledTime))}`,
        },
  );
  const unseen =
    drawn.filter(({ settledTime }) => settledTime !== undefined).length -
    settled.length;
  return drawn.length === 0
    ? undefined
    : draw(
        "Strike against settled price",
        html`<i class="key line"></i>strike<i class="key dot"></i>settled price,
          at the middle of its
          round${unseen === 0 ? "" : `; not seen: ${unseen}`}`,
        `Strike and settled price of ${describeCount(drawn.length, "round")}; ${settled.length + unseen} settled${unseen === 0 ? "" : `, the price of ${unseen} not seen`}.`,
        {
          marginLeft: 64,
          marginBottom: 54,
          x: { label: "UTC", ticks: 3, tickFormat: "%Y-%m-%d\n%H:%M" },
          y: {
            ...scale,
            grid: true,
            tickSize: 0,
            domain: spread([
              ...drawn.map(({ strike }) => strike),
              ...settled.map(({ price }) => price),
            ]),
          },
          marks: [
            Plot.ruleX(settled, {
              x: "at",
              y1: "strike",
              y2: "price",
              stroke: "var(--fill)",
            }),
            Plot.dot(settled, {
              x: "at",
              y: "price",
              fill: "var(--fill)",
              r: 4,
              title: "title",
            }),
            // Above the dots: they would hide a short round.
            Plot.ruleY(drawn, {
              x1: "start",
              x2: "end",
              y: "strike",
              stroke: "var(--mark)",
              strokeWidth: 2,
              strokeLinecap: "square",
            }),
          ],
        },
      );
}

function dateOf(seconds: bigint | number): Date {
  return new Date(Number(seconds) * 1_000);
}
