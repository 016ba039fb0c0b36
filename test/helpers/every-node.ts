import { startAnvil } from "./anvil.js";
import { startHardhatNode } from "./hardhat-node.js";
import { isFull } from "./sample.js";

/** A node to run a suite on; without a URL it is Hardhat's own process. */
export interface TestNode {
  readonly url: string | undefined;
  stop(): Promise<void>;
}

export async function noNode(): Promise<TestNode> {
  return await Promise.resolve({
    url: undefined,
    stop: async () => {
      await Promise.resolve();
    },
  });
}

/** The nodes that everything has to work on. */
export const everyNode: ReadonlyArray<{
  readonly name: string;
  readonly start: () => Promise<TestNode>;
}> = [
  { name: "an in-process network", start: noNode },
  { name: "hardhat node", start: startHardhatNode },
  { name: "anvil", start: async () => await startAnvil() },
  // A mutation run starts them for each change.
].slice(0, process.env["STRYKER_MUTATOR_WORKER"] === undefined ? 3 : 1);

/**
 * The nodes that differ most: `hardhat node` is the first's engine behind the requests
 * of anvil, and takes longest to start. With `FULL=1`, every node.
 */
export const differentNodes = everyNode.filter(
  ({ name }) => isFull || name !== "hardhat node",
);
