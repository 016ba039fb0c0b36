import { isHexString } from "ethers";

export const BLOCK_METHOD = "eth_getBlockByNumber";

/** A usable node is not further behind, and few keep older state. */
const MOST_BLOCKS_BEHIND = 128;

/** The blocks that some node behind a URL has. Other nodes may be behind. */
export class KnownBlocks {
  #newest = -1;

  public get newest(): number {
    return this.#newest;
  }

  public note(number: number): void {
    this.#newest = Math.max(this.#newest, number);
  }

  /** True if a request is for a recent block that some node has. */
  public includeBlockOf(method: string, params: readonly unknown[]): boolean {
    const block = params[method === BLOCK_METHOD ? 0 : 1];
    return (
      isHexString(block) &&
      Number(block) <= this.#newest &&
      Number(block) > this.#newest - MOST_BLOCKS_BEHIND
    );
  }
}
