import v8 from "node:v8";
import vm from "node:vm";

/** One thing that is measured against others. */
export interface Contestant<T> {
  readonly name: string;
  readonly run: () => Promise<T>;
}

/** A demand that a benchmark has to meet. */
export interface Target {
  readonly name: string;
  readonly measured: number;
  readonly unit: string;
  /** "at least" or "at most" the limit. */
  readonly demand: "at least" | "at most";
  readonly limit: number;
  readonly met: boolean;
}

/** What one benchmark found. */
export interface Section {
  readonly title: string;
  /** A table: every row has the same keys. */
  readonly rows: ReadonlyArray<Readonly<Record<string, string | number>>>;
  readonly targets: readonly Target[];
}

/** How much is measured. */
export interface Extent {
  /** How often each contestant runs. */
  readonly rounds: number;
  /** Orders to read. */
  readonly sizes: readonly number[];
  /** Orders to read while memory is watched. */
  readonly streamed: number;
  /** Rounds of the past to find; a tenth of it on a real node. */
  readonly pastRounds: number;
  /** How often Hardhat is started, with and without the plugin. */
  readonly starts: number;
}

/**
 * Runs every contestant once to warm up, then in turn, so that whatever else
 * the machine does meets all of them.
 *
 * @param rounds 0 takes the warm-up for the measurement.
 * @param onWarm Is given what each contestant found.
 * @param beforeEach Is run before each run, and not measured.
 * @returns Milliseconds of every round, by contestant.
 */
export async function runInTurns<T>(
  contestants: ReadonlyArray<Contestant<T>>,
  rounds: number,
  onWarm: (name: string, found: T) => void = () => undefined,
  beforeEach: () => Promise<void> | void = () => undefined,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const times: Record<string, number[]> = {};
  for (const { name, run } of contestants) {
    const start = performance.now();
    onWarm(name, await run());
    // Without rounds, it only matters that there is a figure.
    times[name] = rounds === 0 ? [performance.now() - start] : [];
  }
  for (let turn = 0; turn < rounds; ++turn) {
    // Nobody always comes after the same one.
    const first = turn % contestants.length;
    for (const { name, run } of [
      ...contestants.slice(first),
      ...contestants.slice(0, first),
    ]) {
      await beforeEach();
      const start = performance.now();
      await run();
      times[name]?.push(performance.now() - start);
    }
  }
  return times;
}

/**
 * For contestants that leave a lot behind: none has to clear away what the one
 * before it left. Not for short runs, since V8 forgets the code that has not
 * run between a few collections.
 */
export function collectGarbage(): void {
  v8.setFlagsFromString("--expose-gc");
  // A new context has the function that the flag adds; this one has not.
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- it is V8's own, and takes nothing
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

/** The median of how much longer one took than the other, round by round. */
export function medianRatio(
  longer: readonly number[],
  shorter: readonly number[],
): number {
  return median(
    longer.map((time, turn) => time / (shorter[turn] ?? Number.NaN)),
  );
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

/** To three digits: more would be noise. */
export function round(value: number): number {
  return Number(value.toPrecision(3));
}
