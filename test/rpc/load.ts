import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { expect } from "chai";

import { collectGarbage } from "../../bench/measure.js";
import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider, VaultSnapshot } from "../../src/client/index.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { flatten } from "../helpers/flatten.js";
import { connectTo } from "../helpers/hre.js";
import { isFull } from "../helpers/sample.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import {
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import { handlerOf } from "../helpers/scripted-node.js";

const SNAPSHOTS = isFull ? 1_000 : 100;
const LATENCY_MS = 50;
/** Of so many requests, one fails. */
const FAULT_EVERY = 50;
const MOST_SOCKETS = 32;
/** Of memory above rest, for a thousand snapshots at a time. */
const MOST_MIB = 150;

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
    figures.length === 21 &&
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

describe("snapshots under load", () => {
  it(`are all whole, ${SNAPSHOTS} at a time with ${LATENCY_MS} ms of latency and a fault in ${FAULT_EVERY} requests`, async () => {
    const answer = handlerOf(tellingNode(HEAD, true));
    const sockets = new Set<Socket | null>();
    let [requests, faults, mostSockets] = [0, 0, 0];
    const server = await startRpcServer({
      handler: async (exchange) => {
        const { socket } = exchange.response;
        if (!sockets.has(socket)) {
          sockets.add(socket);
          socket?.once("close", () => sockets.delete(socket));
        }
        mostSockets = Math.max(mostSockets, sockets.size);
        requests += 1;
        const isFault = requests % FAULT_EVERY === 0;
        faults += isFault ? 1 : 0;
        const kind = faults % 3;
        await sleep(LATENCY_MS);
        if (!isFault) {
          return await answer(exchange);
        }
        if (kind === 0) {
          exchange.response.destroy();
        } else {
          exchange.response.writeHead(kind === 1 ? 503 : 200).end("<html>");
        }
        return "handled";
      },
    });
    const connection = await connectTo(server.url, {
      vault: { contracts: documentedContracts },
    });
    await connection.vault.snapshot();
    collectGarbage();
    const rest = process.memoryUsage.rss();
    const begin = performance.now();

    const taken = await Promise.all(
      Array.from({ length: SNAPSHOTS }, () => connection.vault.snapshot()),
    );
    const seconds = (performance.now() - begin) / 1_000;
    const mib = (process.memoryUsage.rss() - rest) / 2 ** 20;
    await connection.close();
    await server.stop();
    const whole = taken.filter(isWhole);
    process.stdout.write(
      `    ${SNAPSHOTS} snapshots: ${whole.length} whole, ${faults} faults, ${mostSockets} sockets, ${mib.toFixed(0)} MiB above rest, ${seconds.toFixed(1)} s\n`,
    );
    expect(whole.length).to.equal(SNAPSHOTS);
    expect(faults).to.be.above(0);
    expect(mostSockets).to.be.at.most(MOST_SOCKETS);
    expect(mib).to.be.below(MOST_MIB);
  });
});
