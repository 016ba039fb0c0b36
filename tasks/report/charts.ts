import * as Plot from "@observablehq/plot";
import { DOMParser } from "linkedom";

import type { Order, PastRound } from "../../src/client/index.js";
import type { BlockInfo } from "../../src/rpc/node.js";
import {
  describeEnumValue,
  enumWord,
  enumWords,
  units,
  groupDigits,
} from "../../src/protocol/index.js";
import type { PoolAmounts, VaultRound } from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  cutText,
  decimalsOf,
  describeCount,
  describeShare,
  fieldOf,
  formatValue,
  shortenAddress,
} from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { Markup, html } from "./html.js";
import type { Content } from "./html.js";
import { axisOf, toDate } from "./scales.js";

// Charts are drawn here, as SVG, and not in the browser: the page shows them
// without a script. What they show as a text is escaped by the serializer.

const WIDTH = 480;
const ROW = 34;

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
    width: WIDTH,
    marginTop: 8,
    ...options,
  });
  // The page has one style sheet, and allows no other.
  for (const style of drawing.querySelectorAll("style")) {
    style.remove();
  }
  // It is one image, and says what is on it.
  for (const group of drawing.querySelectorAll("g")) {
    group.removeAttribute("aria-label");
  }
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", escapeUntrusted(label));
  return new Markup(drawing.outerHTML);
}

/** A chart with what it shows above it; without one, why there is none. */
export function figure(
  title: string,
  note: Content,
  chart: Markup | string,
): Markup {
  return html`<figure>
    <figcaption>${title}<span>${note}</span></figcaption>
    ${typeof chart === "string" ? html`<p class="quiet">${chart}</p>` : chart}
  </figure> `;
}

/** A row for each of these. */
function rowsOf(domain: readonly string[]): Plot.ScaleOptions {
  return { domain, label: null, tickSize: 0, padding: 0.3 };
}

/** Lines from the top to the bottom, and above them what they are. */
function marker(
  at: readonly number[] | readonly Date[],
  text: string,
  options: Plot.RuleXOptions = {},
): Plot.Markish[] {
  return [
    Plot.ruleX(at, { stroke: "var(--mark)", strokeWidth: 1.5, ...options }),
    Plot.text(at, {
      x: Plot.identity,
      frameAnchor: "top",
      dy: -14,
      text: () => text,
    }),
  ];
}

function percent(share: number): string {
  return `${share} %`;
}

const directions = ["call", "put", "other"] as const;
type Direction = (typeof directions)[number];

const directionColour = {
  domain: directions,
  range: directions.map((name) => `var(--${name})`),
};

/** How the orders of one place stand beside each other. */
const stacked = {
  fill: "direction",
  order: [...directions],
  title: "title",
};

function directionOf({ contractType }: Order): Direction {
  return enumWord("contractType", contractType) ?? "other";
}

/** How many orders of each direction are in each place. */
function countBy<Place extends string | number>(
  orders: readonly Order[],
  placeOf: (order: Order) => Place,
): ReadonlyArray<{ place: Place; direction: Direction; count: number }> {
  const counts = new Map<
    string,
    { place: Place; direction: Direction; count: number }
  >();
  for (const order of orders) {
    const place = placeOf(order);
    const direction = directionOf(order);
    const key = `${place} ${direction}`;
    const entry = counts.get(key) ?? { place, direction, count: 0 };
    entry.count += 1;
    counts.set(key, entry);
  }
  return [...counts.values()];
}

/** Which colour is which direction, of those that there are. */
export function directionKeys(orders: readonly Order[]): Markup {
  const used = new Set(orders.map(directionOf));
  return html`${directions
    .filter((name) => used.has(name))
    .map((name) => html`<i class="key ${name}"></i>${name}`)}`;
}

/** The round from its start to its end, how far it has come, and its fill. */
export function timelineChart(
  round: VaultRound,
  block: BlockInfo,
): Markup | string {
  const now = new Date(block.timestamp * 1000);
  const [dated] = datedRounds([round]);
  if (dated === undefined) {
    return "Its times are not such that a line could be drawn of them.";
  }
  const { start, end } = dated;
  const length = end.getTime() - start.getTime();
  const passed = Math.min(Math.max(now.getTime() - start.getTime(), 0), length);
  const { filledVolume, maxVolume } = round;
  const fill = maxVolume === 0n ? 0 : Number(filledVolume) / Number(maxVolume);
  const bars = [
    {
      name: `Time ${describeShare(BigInt(passed), BigInt(length))}`,
      until: new Date(start.getTime() + passed),
    },
    {
      name: `Filled ${describeShare(filledVolume, maxVolume)}`,
      until: new Date(start.getTime() + Math.min(fill, 1) * length),
    },
  ];
  return draw(
    `The round from ${start.toISOString()} to ${end.toISOString()}. ${bars.map(({ name }) => name).join(". ")}.`,
    {
      height: 2 * ROW + 58,
      marginTop: 24,
      marginLeft: 116,
      marginRight: 24,
      x: {
        type: "utc",
        domain: [start < now ? start : now, end > now ? end : now],
        label: null,
        ticks: 4,
      },
      y: rowsOf(bars.map(({ name }) => name)),
      marks: [
        Plot.barX(bars, { x1: start, x2: end, y: "name", fill: "var(--rest)" }),
        Plot.barX(bars, {
          x1: start,
          x2: "until",
          y: "name",
          fill: "var(--fill)",
        }),
        ...marker([now], `block ${block.number}`),
      ],
    },
  );
}

/** How much of what was deposited is locked, and how much is available. */
export function poolsChart(
  pools: ReadonlyArray<readonly [name: string, amounts: PoolAmounts]>,
): Markup | string {
  const filled = pools.filter(([, { deposit }]) => deposit > 0n);
  if (filled.length === 0) {
    return "No pool has a deposit.";
  }
  const shares = filled.flatMap(([name, { deposit, locked, availabe }]) =>
    (
      [
        ["locked", locked, "var(--fill)"],
        ["available", availabe, "var(--rest)"],
      ] as const
    ).map(([part, amount, colour]) => ({
      name: `${name} ${describeShare(locked, deposit)}`,
      share: (100 * Number(amount)) / Number(deposit),
      colour,
      title: `${name}, ${part}: ${describeShare(amount, deposit)} (${amount})`,
    })),
  );
  const names = [...new Set(shares.map(({ name }) => name))];
  return draw(`Locked of what is deposited: ${names.join(", ")}.`, {
    height: names.length * ROW + 42,
    marginLeft: 116,
    marginRight: 24,
    x: { label: null, tickFormat: percent, ticks: 5 },
    y: rowsOf(names),
    marks: [
      Plot.barX(shares, {
        x: "share",
        y: "name",
        fill: "colour",
        title: "title",
        order: null,
      }),
    ],
  });
}

/** How many orders there are of each state and direction. */
export function statesChart(orders: readonly Order[]): Markup {
  const stateOf = ({ state }: Order): string =>
    describeEnumValue("orderState", state);
  const bars = countBy(orders, stateOf).map((bar) => ({
    ...bar,
    title: `${bar.place}, ${bar.direction}: ${describeCount(bar.count, "order")}`,
  }));
  const found = bars.map(({ place }) => place).toSorted();
  // What the protocol lists comes first.
  const states = [...new Set([...enumWords.orderState, ...found])].filter(
    (state) => found.includes(state),
  );
  const totals = states.map(
    (state) => orders.filter((order) => stateOf(order) === state).length,
  );
  return draw(bars.map(({ title }) => title).join("; "), {
    height: states.length * ROW + 30,
    marginLeft: 90,
    marginRight: 56,
    x: { axis: null },
    y: rowsOf(states),
    color: directionColour,
    marks: [
      Plot.barX(bars, { x: "count", y: "place", ...stacked }),
      Plot.text(states, {
        x: totals,
        y: states,
        text: totals.map((total) => groupDigits(String(total))),
        textAnchor: "start",
        dx: 6,
      }),
    ],
  });
}

const BINS = 24;

/**
 * The strike price on the scale of opening prices; undefined where that is not
 * known, and there is nothing to compare it with.
 */
export function strikeAmongPrices(
  strikePrice: bigint | undefined,
  context: FormatContext,
): bigint | undefined {
  const decimals = decimalsOf(fieldOf("getOrderInfo", "openPrice"), context);
  return strikePrice === undefined || decimals === undefined
    ? undefined
    : (strikePrice * 10n ** BigInt(decimals)) /
        10n ** BigInt(units.price.decimals);
}

/** How often which values of a field occur, and one value to compare them with. */
export function distributionChart(
  orders: readonly Order[],
  name: "number" | "openPrice",
  context: FormatContext,
  strike?: bigint,
): Markup {
  const field = fieldOf("getOrderInfo", name);
  const values = orders.map((order) => order[name]);
  const strikes = strike === undefined ? [] : [strike];
  const axis = axisOf(field, [...values, ...strikes], context);
  const marks = strikes.map(axis.position);
  const domain = spread([...values.map(axis.position), ...marks]);
  const [least, most] = domain;
  const width = (most - least) / BINS;
  const range = (low: number, high: number): string =>
    `${readable(low)} to ${readable(high)}${axis.label === null ? "" : ` (${axis.label})`}`;
  const bars = countBy(orders, (order) =>
    // What is largest is in the last one.
    Math.min(
      Math.floor((axis.position(order[name]) - least) / width),
      BINS - 1,
    ),
  ).map(({ place, ...bar }) => {
    const from = least + place * width;
    const to = from + width;
    return {
      ...bar,
      from,
      to,
      title: `${range(from, to)}: ${describeCount(bar.count, "order")}`,
    };
  });
  return draw(
    `${field.label} of ${describeCount(orders.length, "order")}: ${range(least, most)}.`,
    {
      height: 210,
      marginLeft: 44,
      marginBottom: 42,
      marginTop: strike === undefined ? 12 : 28,
      x: {
        label: axis.label,
        labelArrow: "none",
        nice: true,
        domain,
        ticks: 5,
      },
      y: {
        label: null,
        grid: true,
        ticks: 4,
        tickSize: 0,
        tickFormat: wholeOnly,
      },
      color: directionColour,
      marks: [
        Plot.rectY(bars, {
          x1: "from",
          x2: "to",
          y: "count",
          ...stacked,
          insetLeft: 0.5,
          insetRight: 0.5,
        }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        ...marker(marks, "strike", { strokeDasharray: "4 3" }),
      ],
    },
  );
}

/** From the least to the most, and some room around where they are the same. */
function spread(positions: readonly number[]): readonly [number, number] {
  const least = positions.reduce((one, other) => Math.min(one, other));
  const most = positions.reduce((one, other) => Math.max(one, other));
  return least < most
    ? [least, most]
    : [least * 0.95, most === 0 ? 1 : most * 1.05];
}

function wholeOnly(count: number): string {
  return Number.isInteger(count) ? groupDigits(String(count)) : "";
}

function readable(position: number): string {
  return position.toLocaleString("en", { maximumSignificantDigits: 6 });
}

/** What one holder has open. */
export interface Holding {
  readonly holder: string;
  readonly label: string | undefined;
  readonly orders: number;
  /** Sum of the open positions, unscaled. */
  readonly total: bigint;
}

/** The holders with the largest open positions. */
export function holdersChart(
  holdings: readonly Holding[],
  context: FormatContext,
): Markup {
  const field = fieldOf("getOrderInfo", "number");
  const axis = axisOf(
    field,
    holdings.map(({ total }) => total),
    context,
  );
  const bars = holdings.map(({ holder, label, orders, total }) => ({
    holder,
    name: cutText(label ?? shortenAddress(holder), LONGEST_NAME),
    total: axis.position(total),
    title: `${holder}: ${formatValue(field, total, context).text} in ${describeCount(orders, "order")} (${total})`,
  }));
  const nameOf = new Map(bars.map(({ holder, name }) => [holder, name]));
  return draw(
    `Open positions of the largest holders: ${bars.map(({ title }) => title).join("; ")}`,
    {
      height: bars.length * 24 + 52,
      marginLeft: 130,
      marginRight: 24,
      marginBottom: 42,
      x: { label: axis.label, labelArrow: "none", ticks: 4, grid: true },
      y: {
        ...rowsOf(bars.map(({ holder }) => holder)),
        padding: 0.25,
        tickFormat: (holder: string) => nameOf.get(holder) ?? "",
      },
      marks: [
        Plot.barX(bars, {
          x: "total",
          y: "holder",
          fill: "var(--fill)",
          title: "title",
        }),
      ],
    },
  );
}

const LONGEST_NAME = 18;

/** Dates give a round its place on a time axis. */
type Dated<Round> = Round & { readonly start: Date; readonly end: Date };
type DatedRound = Dated<PastRound>;

/** The rounds that have such a place. */
export function datedRounds<Round extends VaultRound>(
  rounds: readonly Round[],
): ReadonlyArray<Dated<Round>> {
  return rounds.flatMap((round) => {
    const start = toDate(round.startTime);
    const end = toDate(round.endTime);
    return start === undefined || end === undefined || start >= end
      ? []
      : [{ ...round, start, end }];
  });
}

/** Strike prices over the rounds, and what each of them was settled at. */
export function strikesChart(
  dated: readonly DatedRound[],
  context: FormatContext,
): Markup {
  const field = fieldOf("getLatestRoundInfo", "strikePrice");
  const settled = dated.filter((round) => round.settled);
  const axis = axisOf(
    field,
    dated.flatMap(({ strikePrice, settledPrice }) => [
      strikePrice,
      settledPrice,
    ]),
    context,
  );
  const strike = (round: DatedRound): number =>
    axis.position(round.strikePrice);
  const price = (round: DatedRound): number =>
    axis.position(round.settledPrice);
  const show = (value: bigint): string =>
    `${formatValue(field, value, context).text} (${value})`;
  const title = (round: DatedRound): string =>
    `strike ${show(round.strikePrice)}, ${round.settled ? `settled at ${show(round.settledPrice)}` : "not settled"}`;
  return overTime(
    dated,
    `Strike and settled price of ${describeCount(dated.length, "round")}; ${settled.length} settled.`,
    {
      label: axis.label,
      nice: true,
      domain: spread([...dated.map(strike), ...settled.map(price)]),
    },
    [
      levels(dated, strike, { stroke: "var(--mark)", strokeWidth: 2, title }),
      Plot.ruleX(settled, {
        x: "end",
        y1: strike,
        y2: price,
        stroke: "var(--fill)",
      }),
      Plot.dot(settled, {
        x: "end",
        y: price,
        fill: "var(--fill)",
        r: 4,
        title,
      }),
    ],
  );
}

/** How much of its maximum volume each round had. */
export function fillChart(dated: readonly DatedRound[]): Markup {
  const share = ({ filledVolume, maxVolume }: DatedRound): number =>
    maxVolume === 0n ? 0 : (100 * Number(filledVolume)) / Number(maxVolume);
  return overTime(
    dated,
    `Fill of ${describeCount(dated.length, "round")}.`,
    {
      label: null,
      domain: [0, Math.max(100, ...dated.map(share))],
      tickFormat: percent,
    },
    [
      Plot.rectY(dated, {
        x1: "start",
        x2: "end",
        y: share,
        fill: "var(--fill)",
        insetLeft: 0.5,
        insetRight: 0.5,
        title: ({ filledVolume, maxVolume }: DatedRound) =>
          `${describeShare(filledVolume, maxVolume)}: ${filledVolume} of ${maxVolume}`,
      }),
    ],
  );
}

/** The APY of each round. */
export function yieldsChart(
  dated: readonly DatedRound[],
  context: FormatContext,
): Markup {
  const field = fieldOf("getLatestRoundInfo", "APY");
  const axis = axisOf(
    field,
    dated.map(({ APY }) => APY),
    context,
  );
  return overTime(
    dated,
    `APY of ${describeCount(dated.length, "round")}.`,
    {
      zero: true,
      ...(axis.label === "%"
        ? { label: null, tickFormat: percent }
        : { label: axis.label }),
    },
    [
      levels(dated, ({ APY }) => axis.position(APY), {
        stroke: "var(--fill)",
        strokeWidth: 3,
        title: ({ APY }: DatedRound) =>
          `${formatValue(field, APY, context).text} (${APY})`,
      }),
    ],
  );
}

/** A line for each round, from its start to its end. */
function levels(
  dated: readonly DatedRound[],
  level: (round: DatedRound) => number,
  options: Plot.LinkOptions,
): Plot.Link {
  return Plot.link(dated, {
    x1: "start",
    x2: "end",
    y1: level,
    y2: level,
    ...options,
  });
}

function overTime(
  dated: readonly DatedRound[],
  label: string,
  y: Plot.ScaleOptions,
  marks: Plot.Markish[],
): Markup {
  const first = dated[0]?.start.toISOString() ?? "";
  const last = dated.at(-1)?.end.toISOString() ?? "";
  return draw(`${label} From ${first} to ${last}.`, {
    height: 210,
    marginLeft: 64,
    marginTop: 22,
    x: { type: "utc", label: null, ticks: 5 },
    y: { labelArrow: "none", grid: true, ticks: 5, tickSize: 0, ...y },
    marks,
  });
}
