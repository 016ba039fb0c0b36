import { html } from "./html.js";
import type { Content, Markup } from "./html.js";

// Charts are SVG, so the page needs no script.

const WIDTH = 480;
const HEIGHT = 210;
const TOP = 28;
const RIGHT = 20;

/** From a value to a place, in pixels of the drawing. */
export type Scale = (value: number) => number;

interface Tick {
  readonly at: number;
  /** Lines of the label. */
  readonly lines: readonly string[];
}

export interface Axis {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly Tick[];
}

export interface Plot {
  readonly title: string;
  readonly legend: Content;
  /** Names the picture for screen readers. */
  readonly label: string;
  readonly left: number;
  readonly bottom: number;
  readonly x: Axis;
  readonly y: Axis;
  readonly draw: (x: Scale, y: Scale) => Content;
}

export function plot(shown: Plot): Markup {
  const { title, legend, label, left, bottom, x, y, draw } = shown;
  const floor = HEIGHT - bottom;
  const toX = scaleOf(x, left, WIDTH - RIGHT);
  const toY = scaleOf(y, floor, TOP);
  return html`<figure>
    <figcaption>${title}<span>${legend}</span></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
      ${y.ticks.map(({ at, lines }) => [
        line("grid", [left, toY(at)], [WIDTH - RIGHT, toY(at)]),
        tickText("end", [left - 6, toY(at) - 10], lines),
      ])}
      ${x.ticks.map(({ at, lines }) => [
        line("tick", [toX(at), floor], [toX(at), floor + 6]),
        tickText("middle", [toX(at), floor + 6], lines),
      ])}
      <text x="0" y="12">↑ ${y.label}</text>
      <text x="${WIDTH - RIGHT}" y="${HEIGHT - 4}" text-anchor="end">
        ${x.label} →
      </text>
      ${draw(toX, toY)}
    </svg>
  </figure> `;
}

type Point = readonly [x: number, y: number];

/** A place or a length for an attribute, without needless digits. */
export function place(pixels: number): string {
  return pixels.toFixed(2);
}

/** @param name Class of the style sheet. */
export function line(name: string, from: Point, to: Point): Markup {
  const [x1 = "", y1 = "", x2 = "", y2 = ""] = [...from, ...to].map(place);
  return html`<line
    class="${name}"
    x1="${x1}"
    y1="${y1}"
    x2="${x2}"
    y2="${y2}"
  /> `;
}

function tickText(
  anchor: "middle" | "end",
  [x, y]: Point,
  lines: readonly string[],
): Markup {
  const spans = lines.map(
    (text) => html`<tspan x="${place(x)}" dy="1.1em">${text}</tspan>`,
  );
  return html`<text y="${place(y)}" text-anchor="${anchor}">${spans}</text> `;
}

function scaleOf({ from, to }: Axis, start: number, end: number): Scale {
  return (value) => start + ((value - from) / (to - from)) * (end - start);
}

/** 1, 2 or 5 times a power of ten: about `count` of them make the span. */
export function roundStep(span: number, count: number): number {
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const digit = rough / power;
  return power * (digit > 7 ? 10 : digit > 3 ? 5 : digit > 1.4 ? 2 : 1);
}

/** An axis of round numbers around the values. */
export function numberAxis(
  label: string,
  [least, most]: readonly [number, number],
  step = roundStep(most - least, 3),
): Axis {
  const ticks = multiples(
    step,
    Math.floor(least / step),
    Math.ceil(most / step),
  );
  return {
    label,
    from: ticks[0] ?? least,
    to: ticks.at(-1) ?? most,
    ticks: ticks.map((at) => ({ at, lines: [formatNumber(at)] })),
  };
}

const MINUTE = 60;
const DAY = 86_400;

/** An axis of Unix seconds. */
export function timeAxis([from, to]: readonly [number, number]): Axis {
  const steps = [1, 5, 15, 30, 60, 180, 360, 720].map((some) => some * MINUTE);
  const step =
    steps.find((each) => (to - from) / each <= 3) ??
    DAY * Math.max(1, roundStep((to - from) / DAY, 3));
  const ticks = multiples(step, Math.ceil(from / step), Math.floor(to / step));
  return {
    label: "UTC",
    from,
    to,
    // A short time has no whole minute.
    ticks: (ticks.length === 0 ? [from] : ticks).map((at) => ({
      at,
      lines: new Date(at * 1_000)
        .toISOString()
        .replace(/:\d\d\.\d+Z$/u, "")
        .split("T"),
    })),
  };
}

function multiples(
  step: number,
  first: number,
  last: number,
): readonly number[] {
  const length = last - first + 1;
  return Array.from({ length }, (_, index) => (first + index) * step);
}

/**
 * Writes a number that is not negative, with nine digits: they hide what adding binary
 * fractions leaves.
 */
function formatNumber(value: number): string {
  const rounded = Number(value.toPrecision(9));
  return rounded !== 0 && (rounded >= 1e9 || rounded < 1e-6)
    ? rounded.toExponential()
    : rounded.toLocaleString("en", { maximumSignificantDigits: 9 });
}
