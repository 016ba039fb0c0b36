import * as Plot from "@observablehq/plot";
import { formatUnits } from "ethers";
import { DOMParser } from "linkedom";

import type { Order } from "../../src/client/index.js";
import { units, groupDigits } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { LAST_DATE_SECONDS, describeTime } from "../../src/protocol/time.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  decimalsOf,
  describeCount,
  fieldOf,
  formatValue,
} from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import type { ReportedRound } from "../output/rounds.js";
import { Markup, html } from "./html.js";
import type { Content } from "./html.js";

// Charts are drawn here, as SVG, and not in the browser: the page shows them
// without a script. The serializer escapes their texts.

/** The part of a DOM that Plot draws into; its own types want a browser's. */
interface Drawing {
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  querySelectorAll(
    selector: string,
  ): Iterable<{ remove(): void; removeAttribute(name: string): void }>;
}

const document = new DOMParser().parseFromString("<html></html>", "text/html");

function draw(label: string, options: Plot.PlotOptions): Markup {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- its type is of a browser's DOM, which Node has no types of
  const drawing: Drawing = Plot.plot({
    document,
    width: 480,
    height: 210,
    marginTop: 28,
    ...options,
  });
  // The page has one style sheet, and allows no other.
  for (const style of drawing.querySelectorAll("style")) {
    style.remove();
  }
  // The whole chart is one image with one label.
  for (const group of drawing.querySelectorAll("g")) {
    group.removeAttribute("aria-label");
  }
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", escapeUntrusted(label));
  return new Markup(drawing.outerHTML);
}

function figure(title: string, note: Content, chart: Markup): Markup {
  return html`<figure>
    <figcaption>${title}<span>${note}</span></figcaption>
    ${chart}
  </figure> `;
}

/** An axis for values of a field. A position, unlike a figure, may be rounded. */
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
      label: decimals === undefined ? "raw" : null,
      labelArrow: "none",
      nice: true,
      ticks: 5,
      tickFormat: "~s",
    },
  };
}

/** From the least to the most, with some room on both sides. */
function spread(positions: readonly number[]): [number, number] {
  const least = positions.reduce((one, other) => Math.min(one, other));
  const most = positions.reduce((one, other) => Math.max(one, other));
  const room = most === 0 ? 1 : Math.max((most - least) / 20, most / 1e6);
  return [Math.max(0, least - room), most + room];
}

/** How many orders were opened at which prices, and the strike among them. */
export function pricesFigure(
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
  const readable = (price: number): string =>
    price.toLocaleString("en", { maximumSignificantDigits: 6 });
  const chart = draw(
    `${field.label} of ${describeCount(orders.length, "order")}.`,
    {
      marginLeft: 44,
      marginBottom: 42,
      x: { ...scale, domain },
      y: {
        label: null,
        grid: true,
        ticks: 4,
        tickSize: 0,
        tickFormat: (count: number) =>
          Number.isInteger(count) ? groupDigits(String(count)) : "",
      },
      marks: [
        Plot.rectY(
          prices,
          Plot.binX<Plot.RectYOptions>(
            {
              y: "count",
              title: (
                bin: readonly number[],
                { x1, x2 }: Readonly<Record<"x1" | "x2", number>>,
              ) =>
                `${readable(x1)} to ${readable(x2)}: ${describeCount(bin.length, "order")}`,
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
        Plot.text(strikes, {
          x: Plot.identity,
          frameAnchor: "top",
          dy: -14,
          text: () => "strike",
        }),
      ],
    },
  );
  return strikes.length === 0
    ? figure(
        "Opening price",
        "strike not drawn: displayDecimals declares no scale of opening prices",
        chart,
      )
    : figure(
        "Opening price against strike",
        html`<i class="key"></i>orders<i class="key line"></i>strike`,
        chart,
      );
}

/** Strike prices over the rounds, and what each was settled at, and when. */
export function strikesFigure(
  rounds: readonly ReportedRound[],
  context: FormatContext,
): Markup | undefined {
  const field = fieldOf("getLatestRoundInfo", "strikePrice");
  const { position, scale } = axisOf(field, context);
  const show = (value: bigint): string =>
    formatValue(field, value, context).text;
  const drawn = rounds
    .filter(
      ({ startTime, endTime }) =>
        startTime < endTime && endTime <= LAST_DATE_SECONDS,
    )
    .map((round) => ({
      start: new Date(Number(round.startTime) * 1000),
      end: new Date(Number(round.endTime) * 1000),
      strike: position(round.strikePrice),
      title: `strike ${show(round.strikePrice)}`,
      round,
    }));
  const settled = drawn.flatMap(({ round, strike, title }) =>
    round.settledTime === undefined
      ? []
      : {
          at: new Date(round.settledTime * 1000),
          strike,
          price: position(round.settledPrice),
          title: `${title}, settled at ${show(round.settledPrice)}, ${describeTime(BigInt(round.settledTime))}`,
        },
  );
  if (drawn.length === 0) {
    return undefined;
  }
  const chart = draw(
    `Strike and settled price of ${describeCount(drawn.length, "round")}; ${settled.length} settled.`,
    {
      marginLeft: 64,
      x: { type: "utc", label: "UTC", labelArrow: "none", ticks: 5 },
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
        Plot.link(drawn, {
          x1: "start",
          x2: "end",
          y1: "strike",
          y2: "strike",
          stroke: "var(--mark)",
          strokeWidth: 2,
          title: "title",
        }),
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
      ],
    },
  );
  return figure(
    "Strike against settled price",
    html`<i class="key line"></i>strike<i class="key"></i>settled at`,
    chart,
  );
}
