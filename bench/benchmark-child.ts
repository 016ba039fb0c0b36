/** Runs the benchmark of a name, and sends its rows to the parent process. */
import { benchmarks } from "./benchmarks.js";
import type { Row } from "./render.js";

async function send(row: Row): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (process.send === undefined) {
      throw new Error("bench/run.ts runs this file");
    }
    process.send(row, (error: Error | null) => {
      if (error === null) {
        resolve();
      } else {
        reject(error);
      }
    });
  });
}

const [name = "", rounds, orders] = process.argv.slice(2);
const extent = { rounds: Number(rounds), orders: Number(orders) };
const benchmark = benchmarks[name];
let failures = 0;
for (const world of benchmark?.worlds ?? []) {
  try {
    for (const figure of (await benchmark?.run(extent, world)) ?? []) {
      await send([world.name, figure]);
    }
  } catch (error) {
    failures += 1;
    const text = error instanceof Error ? (error.stack ?? "") : String(error);
    // viem's errors repeat the whole request.
    process.stderr.write(`${text.slice(0, 2_000)}\n`);
  }
}
// Connections of contestants may still be open.
process.exit(failures === 0 ? 0 : 1);
