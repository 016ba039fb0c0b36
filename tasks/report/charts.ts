import * as Plot from "@observablehq/plot";
import { DOMParser } from "linkedom";

import type { Order, PastRound } from "../../src/client/index.js";
import type { BlockInfo } from "../../src/rpc/node.js";
import {
  describeEnumValue,
  enumNames,
  operations,
  units,
} from "../../src/protocol/index.js";
import type {
  Field,
  PoolAmounts,
  VaultRound,
} from "../../src/protocol/index.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import { describeShare } from "../output/bar.js";
import {
  describeCount,
  formatValue,
  groupDigits,
  shortenAddress,
} from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { Markup, html } from "./html.js";
import { axisOf, decimalsOf, toDate } from "./scales.js";

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
  note: Parameters<typeof html>[1],
  chart: Markup | string,
): Markup {
  return html`<figure>
    <figcaption>${title}<span>${note}</span></figcaption>
    ${typeof chart === "string" ? html`<p class="quiet">${chart}</p>` : chart}
  </figure> `;
}

const directions = ["call", "put", "other"] as const;
type Direction = (typeof directions)[number];

const directionColour = {
  domain: directions,
  range: directions.map((name) => `var(--${name})`),
};

function directionOf({ contractType }: Order): Direction {
  const names: Readonly<Record<number, Direction>> = enumNames.contractType;
  return names[contractType] ?? "other";
}

/** Which colour is which direction, of those that there are. */
export function directionKeys(orders: readonly Order[]): Markup {
  const used = new Set(orders.map(directionOf));
  return html`${directions
    .filter((name) => used.has(name))
    .map((name) => html`<i class="key ${name}"></i>${name}`)}`;
}

const UNDATED = "Its times are not such that a line could be drawn of them.";

/** The round from its start to its end, how far it has come, and its fill. */
export function timelineChart(
  round: VaultRound,
  block: BlockInfo,
): Markup | string {
  const now = new Date(block.timestamp * 1000);
  const start = toDate(round.startTime);
  const end = toDate(round.endTime);
  if (start === undefined || end === undefined || start >= end) {
    return UNDATED;
  }
  const length = end.getTime() - start.getTime();
  const passed = Math.min(Math.max(now.getTime() - start.getTime(), 0), length);
  const { filledVolume, maxVolume } = round;
  const fill = maxVolume === 0n ? 0 : Number(filledVolume) / Number(maxVolume);
  const bars = [
    {
      name: `Time ${describeShare(BigInt(passed), BigInt(length))}`,
      part: passed / length,
    },
    {
      name: `Filled ${describeShare(filledVolume, maxVolume)}`,
      part: Math.min(fill, 1),
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
      y: {
        domain: bars.map(({ name }) => name),
        label: null,
        tickSize: 0,
        padding: 0.3,
      },
      marks: [
        Plot.barX(bars, { x1: start, x2: end, y: "name", fill: "var(--rest)" }),
        Plot.barX(bars, {
          x1: start,
          x2: ({ part }: { part: number }) =>
            new Date(start.getTime() + part * length),
          y: "name",
          fill: "var(--fill)",
        }),
        Plot.ruleX([now], { stroke: "var(--mark)", strokeWidth: 1.5 }),
        Plot.text([now], {
          x: (date: Date) => date,
          frameAnchor: "top",
          dy: -14,
          text: () => `block ${block.number}`,
        }),
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
    x: { label: null, tickFormat: (share: number) => `${share} %`, ticks: 5 },
    y: { domain: names, label: null, tickSize: 0, padding: 0.3 },
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
  const counts = new Map<
    string,
    { state: string; direction: Direction; count: number }
  >();
  for (const order of orders) {
    const state = describeEnumValue("orderState", order.state);
    const direction = directionOf(order);
    const key = `${state} ${direction}`;
    const entry = counts.get(key) ?? { state, direction, count: 0 };
    entry.count += 1;
    counts.set(key, entry);
  }
  const bars = [...counts.values()].map((bar) => ({
    ...bar,
    title: `${bar.state}, ${bar.direction}: ${describeCount(bar.count, "order")}`,
  }));
  const states = [...new Set(bars.map(({ state }) => state))].sort(byKnown);
  const totals = states.map((state) => ({
    state,
    total: bars
      .filter((bar) => bar.state === state)
      .reduce((sum, { count }) => sum + count, 0),
  }));
  return draw(bars.map(({ title }) => title).join("; "), {
    height: states.length * ROW + 30,
    marginLeft: 90,
    marginRight: 56,
    x: { axis: null },
    y: { domain: states, label: null, tickSize: 0, padding: 0.3 },
    color: directionColour,
    marks: [
      Plot.barX(bars, {
        x: "count",
        y: "state",
        fill: "direction",
        order: [...directions],
        title: "title",
      }),
      Plot.text(totals, {
        x: "total",
        y: "state",
        text: ({ total }: { total: number }) => groupDigits(String(total)),
        textAnchor: "start",
        dx: 6,
      }),
    ],
  });
}

/** What the protocol lists comes first. */
function byKnown(one: string, other: string): number {
  const known: readonly string[] = Object.values(enumNames.orderState);
  const rank = (state: string): number =>
    known.includes(state) ? known.indexOf(state) : known.length;
  return rank(one) === rank(other)
    ? one.localeCompare(other)
    : rank(one) - rank(other);
}

const BINS = 24;
const STRIKE_DECIMALS = BigInt(units.price.decimals);

/** How often which values of a field occur, and one value to compare them with. */
export function distributionChart(
  orders: readonly Order[],
  name: "number" | "openPrice",
  context: FormatContext,
  strikePrice?: bigint,
): Markup {
  const field = orderField(name);
  const values = orders.map((order) => order[name]);
  // On the scale of opening prices: without one, there is none to compare with.
  const decimals = decimalsOf(field, context);
  const strike =
    strikePrice === undefined || decimals === undefined
      ? []
      : [(strikePrice * 10n ** BigInt(decimals)) / 10n ** STRIKE_DECIMALS];
  const axis = axisOf(field, [...values, ...strike], context);
  const marks = strike.map(axis.position);
  const domain = spread([...values.map(axis.position), ...marks]);
  const [least, most] = domain;
  const width = (most - least) / BINS;
  const range = (low: number, high: number): string =>
    `${readable(low)} to ${readable(high)}${axis.unit === "" ? "" : ` (${axis.unit})`}`;
  const counts = new Map<string, number>();
  for (const order of orders) {
    const distance = axis.position(order[name]) - least;
    // What is largest is in the last one.
    const bin = Math.min(Math.floor(distance / width), BINS - 1);
    const key = `${bin} ${directionOf(order)}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const bars = [...counts].map(([key, count]) => {
    const [bin, direction] = key.split(" ");
    const from = least + Number(bin) * width;
    const to = from + width;
    return {
      direction,
      count,
      from,
      to,
      title: `${range(from, to)}: ${describeCount(count, "order")}`,
    };
  });
  return draw(
    `${field.label} of ${describeCount(orders.length, "order")}: ${range(least, most)}.`,
    {
      height: 210,
      marginLeft: 44,
      marginBottom: 42,
      marginTop: strike.length === 0 ? 12 : 28,
      x: {
        label: axis.unit === "" ? null : axis.unit,
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
          fill: "direction",
          order: [...directions],
          insetLeft: 0.5,
          insetRight: 0.5,
          title: "title",
        }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        Plot.ruleX(marks, {
          stroke: "var(--mark)",
          strokeWidth: 1.5,
          strokeDasharray: "4 3",
        }),
        Plot.text(marks, {
          x: (mark: number) => mark,
          frameAnchor: "top",
          dy: -14,
          text: () => "strike",
        }),
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

/** True where opening prices and the strike price are on one known scale. */
export function canCompareWithStrike(context: FormatContext): boolean {
  return decimalsOf(orderField("openPrice"), context) !== undefined;
}

function orderField(name: keyof Order): Field {
  return fieldOf(operations.getOrderInfo.outputs, name);
}

function fieldOf(fields: readonly Field[], name: string): Field {
  const found = fields.find((field) => field.name === name);
  if (found === undefined) {
    throw new Error(`no field ${name}`);
  }
  return found;
}

const roundFields = operations.getLatestRoundInfo.outputs;
const strikeField = fieldOf(roundFields, "strikePrice");

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
  const field = orderField("number");
  const axis = axisOf(
    field,
    holdings.map(({ total }) => total),
    context,
  );
  const bars = holdings.map(({ holder, label, orders, total }) => ({
    holder,
    name: shorten(label ?? shortenAddress(holder)),
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
      x: {
        label: axis.unit === "" ? null : axis.unit,
        labelArrow: "none",
        ticks: 4,
        grid: true,
      },
      y: {
        domain: bars.map(({ holder }) => holder),
        label: null,
        tickSize: 0,
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

function shorten(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

/** Rounds that have a place on a time axis. */
interface DatedRound {
  readonly round: PastRound;
  readonly start: Date;
  readonly end: Date;
}

export function datedRounds(
  rounds: readonly PastRound[],
): readonly DatedRound[] {
  return rounds.flatMap((round) => {
    const start = toDate(round.startTime);
    const end = toDate(round.endTime);
    return start === undefined || end === undefined || start >= end
      ? []
      : [{ round, start, end }];
  });
}

const timeAxis = { type: "utc", label: null, ticks: 5 } as const;

/** Strike prices over the rounds, and what each of them was settled at. */
export function strikesChart(
  dated: readonly DatedRound[],
  context: FormatContext,
): Markup {
  const settled = dated.filter(({ round }) => round.settled);
  const axis = axisOf(
    strikeField,
    dated.flatMap(({ round }) => [round.strikePrice, round.settledPrice]),
    context,
  );
  const strike = ({ round }: DatedRound): number =>
    axis.position(round.strikePrice);
  const price = ({ round }: DatedRound): number =>
    axis.position(round.settledPrice);
  const describe = ({ round }: DatedRound): string =>
    [
      `strike ${formatValue(strikeField, round.strikePrice, context).text} (${round.strikePrice})`,
      round.settled
        ? `settled at ${formatValue(strikeField, round.settledPrice, context).text} (${round.settledPrice})`
        : "not settled",
    ].join(", ");
  return overTime(
    dated,
    `Strike and settled price of ${describeCount(dated.length, "round")}; ${settled.length} settled.`,
    {
      y: {
        label: axis.unit === "" ? null : axis.unit,
        labelArrow: "none",
        grid: true,
        ticks: 5,
        tickSize: 0,
        nice: true,
        domain: spread([...dated.map(strike), ...settled.map(price)]),
      },
      marks: [
        Plot.link(dated, {
          x1: "start",
          x2: "end",
          y1: strike,
          y2: strike,
          stroke: "var(--mark)",
          strokeWidth: 2,
          title: describe,
        }),
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
          title: describe,
        }),
      ],
    },
  );
}

/** How much of its maximum volume each round had. */
export function fillChart(dated: readonly DatedRound[]): Markup {
  const share = ({ round: { filledVolume, maxVolume } }: DatedRound): number =>
    maxVolume === 0n ? 0 : (100 * Number(filledVolume)) / Number(maxVolume);
  return overTime(dated, `Fill of ${describeCount(dated.length, "round")}.`, {
    y: {
      label: null,
      grid: true,
      ticks: 5,
      tickSize: 0,
      domain: [0, Math.max(100, ...dated.map(share))],
      tickFormat: (value: number) => `${value} %`,
    },
    marks: [
      Plot.rectY(dated, {
        x1: "start",
        x2: "end",
        y: share,
        fill: "var(--fill)",
        insetLeft: 0.5,
        insetRight: 0.5,
        title: ({ round }: DatedRound) =>
          `${describeShare(round.filledVolume, round.maxVolume)}: ${round.filledVolume} of ${round.maxVolume}`,
      }),
    ],
  });
}

/** The APY of each round. */
export function yieldsChart(
  dated: readonly DatedRound[],
  context: FormatContext,
): Markup {
  const field = fieldOf(roundFields, "APY");
  const axis = axisOf(
    field,
    dated.map(({ round }) => round.APY),
    context,
  );
  const apy = ({ round }: DatedRound): number => axis.position(round.APY);
  return overTime(dated, `APY of ${describeCount(dated.length, "round")}.`, {
    y: {
      label: axis.unit === "%" || axis.unit === "" ? null : axis.unit,
      labelArrow: "none",
      grid: true,
      ticks: 5,
      tickSize: 0,
      zero: true,
      ...(axis.unit === "%"
        ? { tickFormat: (value: number) => `${value} %` }
        : {}),
    },
    marks: [
      Plot.link(dated, {
        x1: "start",
        x2: "end",
        y1: apy,
        y2: apy,
        stroke: "var(--fill)",
        strokeWidth: 3,
        title: ({ round }: DatedRound) =>
          `${formatValue(field, round.APY, context).text} (${round.APY})`,
      }),
    ],
  });
}

function overTime(
  dated: readonly DatedRound[],
  label: string,
  options: Plot.PlotOptions,
): Markup {
  const first = dated[0]?.start.toISOString() ?? "";
  const last = dated.at(-1)?.end.toISOString() ?? "";
  return draw(`${label} From ${first} to ${last}.`, {
    height: 210,
    marginLeft: 64,
    marginTop: 22,
    x: timeAxis,
    ...options,
  });
}
