import v8 from "node:v8";
import vm from "node:vm";

import { keysOf } from "../src/protocol/index.js";

/** One row of the table, on one world. */
export interface Figure {
  /** What was measured, with its unit. */
  readonly name: string;
  /** One for each round. Their median counts. */
  readonly values: readonly number[];
  /** Without one, the figure only explains others. */
  readonly goal?: Goal;
}

export interface Goal {
  readonly demand: "at least" | "at most";
  readonly limit: number;
}

export interface Extent {
  /**
   * Runs of each contestant; benchmarks that take little time or differ much
   * multiply it. With 0, the warm-up is measured.
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

/** The ratio of each round. */
export function ratios(
  longer: readonly number[],
  shorter: readonly number[],
): readonly number[] {
  return longer.map((time, turn) => time / (shorter[turn] ?? Number.NaN));
}

/** The difference of each round. */
export function differences(
  longer: readonly number[],
  shorter: readonly number[],
): readonly number[] {
  return longer.map((time, turn) => time - (shorter[turn] ?? Number.NaN));
}

export function isMet({ values, goal }: Figure): boolean {
  return (
    goal === undefined ||
    (goal.demand === "at least"
      ? median(values) >= goal.limit
      : median(values) <= goal.limit)
  );
}
