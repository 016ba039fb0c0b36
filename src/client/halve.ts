/**
 * Searches by halves for the block at which something changes for good.
 *
 * @param before A block before the change.
 * @param after A later block, after it.
 * @returns The first block after the change.
 */
export async function halve(
  before: number,
  after: number,
  hasChanged: (block: number) => Promise<boolean>,
): Promise<number> {
  let [low, high] = [before, after];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = (await hasChanged(middle)) ? [low, middle] : [middle, high];
  }
  return high;
}
