import { startAnvil } from "./anvil.js";
import { startHardhatNode } from "./hardhat-node.js";
import { isFull } from "./sample.js";

/** A node to run a suite on; without a URL it is Hardhat's own process. */
export interface TestNode {
  readonly url: string | undefined;
  stop(): Promise<void>;
}

export const noNode = async (): Promise<TestNode> =>
  await Promise.resolve({ url: undefined, stop: async () => undefined });

const everyNode = [
  { name: "an in-process network", start: noNode },
  { name: "hardhat node", start: startHardhatNode },
  { name: "anvil", start: async () => await startAnvil() },
  // A mutation run starts them for each change.
].slice(0, process.env["STRYKER_MUTATOR_WORKER"] === undefined ? 3 : 1);

/** `hardhat node` is the first's engine behind anvil's requests: with `FULL=1` only. */
export const differentNodes: ReadonlyArray<{
  readonly name: string;
  readonly start: () => Promise<TestNode>;
}> = everyNode.filter(({ name }) => isFull || name !== "hardhat node");
