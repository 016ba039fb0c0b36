import * as Plot from "@observablehq/plot";
import { DOMParser } from "linkedom";

import type { Order, PastRound } from "../../src/client/index.js";
import type { BlockInfo } from "../../src/rpc/node.js";
import { units, groupDigits } from "../../src/protocol/index.js";
import type { PoolAmounts, VaultRound } from "../../src/protocol/index.js";
import { describeTime } from "../../src/protocol/time.js";
import { escapeUntrusted } from "../../src/untrusted-text.js";
import {
  decimalsOf,
  describeCount,
  describeShare,
  fieldOf,
  formatValue,
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

/** How many orders were opened at which prices, and the strike among them. */
export function pricesChart(
  orders: readonly Order[],
  context: FormatContext,
  strike?: bigint,
): Markup {
  const field = fieldOf("getOrderInfo", "openPrice");
  const prices = orders.map(({ openPrice }) => openPrice);
  const strikes = strike === undefined ? [] : [strike];
  const axis = axisOf(field, [...prices, ...strikes], context);
  const positions = prices.map(axis.position);
  const marks = strikes.map(axis.position);
  const domain = spread([...positions, ...marks]);
  const [least, most] = domain;
  const width = (most - least) / BINS;
  const counts = new Map<number, number>();
  for (const position of positions) {
    // The largest is in the last one.
    const bin = Math.min(Math.floor((position - least) / width), BINS - 1);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
  }
  const range = (low: number, high: number): string =>
    `${readable(low)} to ${readable(high)}${axis.label === null ? "" : ` (${axis.label})`}`;
  const bars = [...counts].map(([bin, count]) => {
    const from = least + bin * width;
    const to = from + width;
    const title = `${range(from, to)}: ${describeCount(count, "order")}`;
    return { from, to, count, title };
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
      marks: [
        Plot.rectY(bars, {
          x1: "from",
          x2: "to",
          y: "count",
          fill: "var(--fill)",
          insetLeft: 0.5,
          insetRight: 0.5,
          title: "title",
        }),
        Plot.ruleY([0], { stroke: "var(--line)" }),
        ...marker(marks, "strike", { strokeDasharray: "4 3" }),
      ],
    },
  );
}

/** From the least to the most, and some room around where they are the same. */
function spread(positions: readonly number[]): [number, number] {
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

/** A past round, and when it was settled, Unix seconds, if a block shows it. */
export interface ReportedRound extends PastRound {
  readonly settledTime: number | undefined;
}

/** A round with its place on a time axis. */
interface DatedRound<Round extends VaultRound> {
  readonly round: Round;
  readonly start: Date;
  readonly end: Date;
}

/** The rounds that have such a place. */
export function datedRounds<Round extends VaultRound>(
  rounds: readonly Round[],
): ReadonlyArray<DatedRound<Round>> {
  return rounds.flatMap((round) => {
    const start = toDate(round.startTime);
    const end = toDate(round.endTime);
    return start === undefined || end === undefined || start >= end
      ? []
      : [{ round, start, end }];
  });
}

/** Strike prices over the rounds, and what each was settled at, and when. */
export function strikesChart(
  dated: ReadonlyArray<DatedRound<ReportedRound>>,
  context: FormatContext,
): Markup {
  const field = fieldOf("getLatestRoundInfo", "strikePrice");
  const axis = axisOf(
    field,
    dated.flatMap(({ round }) => [round.strikePrice, round.settledPrice]),
    context,
  );
  const show = (value: bigint): string =>
    `${formatValue(field, value, context).text} (${value})`;
  const rounds = dated.map(({ round, start, end }) => ({
    start,
    end,
    strike: axis.position(round.strikePrice),
    title: `strike ${show(round.strikePrice)}`,
  }));
  const settled = dated.flatMap(({ round }) =>
    round.settledTime === undefined
      ? []
      : {
          at: new Date(round.settledTime * 1000),
          strike: axis.position(round.strikePrice),
          price: axis.position(round.settledPrice),
          title: `strike ${show(round.strikePrice)}, settled at ${show(round.settledPrice)}, ${describeTime(BigInt(round.settledTime))}`,
        },
  );
  const first = rounds[0]?.start.toISOString() ?? "";
  const last = rounds.at(-1)?.end.toISOString() ?? "";
  return draw(
    `Strike and settled price of ${describeCount(rounds.length, "round")}; ${settled.length} settled. From ${first} to ${last}.`,
    {
      height: 210,
      marginLeft: 64,
      marginTop: 22,
      x: { type: "utc", label: null, ticks: 5 },
      y: {
        label: axis.label,
        labelArrow: "none",
        grid: true,
        ticks: 5,
        tickSize: 0,
        nice: true,
        domain: spread([
          ...rounds.map(({ strike }) => strike),
          ...settled.map(({ price }) => price),
        ]),
      },
      marks: [
        Plot.link(rounds, {
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
}
