/** `FULL=1` runs every case of the long tests; without it, each runs a few. */
export const isFull = process.env["FULL"] === "1";

/** `SEED=<number>` chooses other cases, and `SEED=random` new ones, which are printed. */
export const seed = Number(process.env["SEED"] ?? 1);

/**
 * One case out of each of so many groups of neighbours; all with `FULL=1`.
 *
 * @param turn Another number chooses others.
 */
export function sample<Case>(
  cases: readonly Case[],
  groups: number,
  turn = 0,
): readonly Case[] {
  if (isFull || groups >= cases.length) {
    return cases;
  }
  const random = randomNumbers(turn);
  const size = cases.length / groups;
  return Array.from({ length: groups }, (_, group) =>
    Math.floor((group + random()) * size),
  ).flatMap((index) => cases.slice(index, index + 1));
}

/** Numbers from 0 to 1 by the seed of the run (Lehmer's generator). */
export function randomNumbers(turn = 0): () => number {
  const modulus = 2 ** 31 - 1;
  let state = ((seed + turn * 1_000_003) % (modulus - 1)) + 1;
  return () => {
    state = (state * 48_271) % modulus;
    return state / modulus;
  };
}
