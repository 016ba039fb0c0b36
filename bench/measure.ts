import v8 from "node:v8";
import vm from "node:vm";

import { keysOf } from "../src/protocol/keys-of.js";

/** A demand that a benchmark has to meet. */
export interface Target {
  readonly name: string;
  readonly measured: number;
  readonly unit: string;
  readonly demand: "at least" | "at most";
  readonly limit: number;
  readonly met: boolean;
}

/** The result of one benchmark. */
export interface Section {
  readonly title: string;
  /** A table: every row has the same keys. */
  readonly rows: ReadonlyArray<Readonly<Record<string, string | number>>>;
  readonly targets: readonly Target[];
}

export interface Extent {
  /**
   * Runs of each contestant; benchmarks that take little time multiply it. With
   * 0, the warm-up is measured.
   */
  readonly rounds: number;
  /** Orders to read; `memory` streams twenty times as many. */
  readonly orders: number;
}

/** Milliseconds of every round, by contestant. */
export type Times<NameT extends string> = Readonly<
  Record<NameT, readonly number[]>
>;

type Run = () => Promise<unknown>;

/**
 * Runs every contestant once to warm up, then in turn, so that whatever else
 * the machine does meets all of them.
 */
export async function runInTurns<NameT extends string>(
  contestants: Readonly<Record<NameT, Run>>,
  rounds: number,
  measure: (run: Run) => Promise<number> = timeOf,
): Promise<Times<NameT>> {
  const names = keysOf(contestants);
  // it has an entry for each name
  const times = Object.fromEntries(
    names.map((name): [string, number[]] => [name, []]),
  ) as Record<NameT, number[]>;
  for (const name of names) {
    const time = await measure(contestants[name]);
    if (rounds === 0) {
      times[name].push(time);
    }
  }
  for (let turn = 0; turn < rounds; ++turn) {
    // Nobody always comes after the same one.
    const first = turn % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      times[name].push(await measure(contestants[name]));
    }
  }
  return times;
}

export async function timeOf(run: Run): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/**
 * For contestants that leave a lot behind: none has to clear away what the one
 * before it left. Not for short runs, since V8 forgets the code that has not
 * run between a few collections.
 */
export function collectGarbage(): void {
  v8.setFlagsFromString("--expose-gc");
  // A new context has the function that the flag adds; this one has not.
  // it is V8's own, and takes nothing
  const collect = vm.runInNewContext("gc") as () => void;
  collect();
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The median of the ratios of each round. */
export function medianRatio(
  longer: readonly number[],
  shorter: readonly number[],
): number {
  return median(
    longer.map((time, turn) => time / (shorter[turn] ?? Number.NaN)),
  );
}

/** The median of the differences of each round. */
export function medianDifference(
  longer: readonly number[],
  shorter: readonly number[],
): number {
  return median(
    longer.map((time, turn) => time - (shorter[turn] ?? Number.NaN)),
  );
}

/**
 * A row for each contestant, with its median time.
 *
 * @param columns Further ones: figures of all times of a contestant.
 */
export function rowsOf(
  times: Times<string>,
  columns: Readonly<Record<string, (times: readonly number[]) => number>> = {},
): Section["rows"] {
  return Object.entries(times).map(([contestant, milliseconds]) => ({
    contestant,
    "median ms": round(median(milliseconds)),
    ...Object.fromEntries(
      Object.entries(columns).map(([heading, figure]) => [
        heading,
        round(figure(milliseconds)),
      ]),
    ),
  }));
}

export function target(
  name: string,
  measured: number,
  demand: Target["demand"],
  limit: number,
  unit: string,
): Target {
  return {
    name,
    measured: round(measured),
    unit,
    demand,
    limit,
    met: demand === "at least" ? measured >= limit : measured <= limit,
  };
}

/** The medians of what several runs of one benchmark measured. */
export function mergeSections(sections: readonly Section[]): Section {
  const [{ title, rows, targets } = { title: "", rows: [], targets: [] }] =
    sections;
  return {
    title,
    rows: rows.map((row, index) =>
      Object.fromEntries(
        Object.entries(row).map(([heading, cell]) => [
          heading,
          typeof cell === "string"
            ? cell
            : round(
                median(
                  sections.map(({ rows: all }) =>
                    Number(all[index]?.[heading]),
                  ),
                ),
              ),
        ]),
      ),
    ),
    targets: targets.map(({ name, demand, limit, unit }, index) =>
      target(
        name,
        median(
          sections.map(({ targets: all }) => Number(all[index]?.measured)),
        ),
        demand,
        limit,
        unit,
      ),
    ),
  };
}

/** To three digits: more would be noise. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}
