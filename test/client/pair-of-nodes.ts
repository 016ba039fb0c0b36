import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider, VaultSnapshot } from "../../src/client/index.js";
import { placesOf, standaloneQueries } from "../../src/protocol/index.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { flatten } from "../helpers/flatten.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";

/** How often in a row a balancer asks the node that is behind, at most. */
const MOST_MISSES = 5;

const HEAD = 1_000;
const BLOCKS_APART = 3;

/** A node all of whose figures are the number of the block that they are of. */
function tellingNode(head: number, overrides: boolean): Eip1193Provider {
  const word = (value: number): string => value.toString(16).padStart(64, "0");
  return documentedNode({
    head,
    overrides,
    // A round's last field is a truth value; for other reads, it is too much.
    answerOf: ({ block }) => ({
      reverted: false,
      data: `0x${word(block).repeat(9)}${word(1)}`,
    }),
  });
}

/** Whether all of a snapshot is of its block. */
function isWhole({ block, ...readings }: VaultSnapshot): boolean {
  const figures = [...flatten(readings).values()].filter(
    (value) => typeof value === "bigint",
  );
  return (
    // All but whether the round is settled.
    figures.length === standaloneQueries.flatMap(placesOf).length - 1 &&
    figures.every((figure) => figure === BigInt(block.number))
  );
}

describe("snapshots and blocks of a pair of nodes", () => {
  speedUpTime();

  for (const overrides of [true, false]) {
    it(`are each of one block if the nodes are ${BLOCKS_APART} blocks apart, state overrides ${overrides}`, async () => {
      const ahead = tellingNode(HEAD, overrides);
      const behind = tellingNode(HEAD - BLOCKS_APART, overrides);
      const seen = new Set<number>();
      const failures: string[] = [];
      await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const asked = new Map<string, number>();
          const client = new VaultClient(
            {
              request: async (args) => {
                // What was asked of the one before is asked of the other one
                // so many times, and each client begins with another.
                const key = JSON.stringify(args);
                const times = asked.get(key) ?? 0;
                asked.set(key, times + 1);
                const isAhead = (index + asked.size) % 2 === 0;
                return await (
                  isAhead || times >= index % MOST_MISSES ? ahead : behind
                ).request(args);
              },
            },
            documentedContracts,
          );
          const taken = await client.snapshot();
          seen.add(taken.block.number);
          if (!isWhole(taken)) {
            failures.push(`${index}: snapshot of ${taken.block.number}`);
          }
          const { number } = await client.block();
          if (
            (await client.queryVolume({ blockTag: number })) !== BigInt(number)
          ) {
            failures.push(`${index}: volume at ${number}`);
          }
        }),
      );
      expect(failures).to.deep.equal([]);
      expect([...seen].sort(), "both nodes were asked").to.deep.equal(
        [HEAD, HEAD - BLOCKS_APART].sort(),
      );
    });
  }
});
