/** Runs the benchmark of a name, and sends its rows to the parent process. */
import { benchmarks } from "./benchmarks.js";
import type { Row } from "./render.js";

async function send(row: Row): Promise<void> {
  await new Promise((resolve) => process.send?.(row, resolve));
}

const [name = "", rounds, orders] = process.argv.slice(2);

try {
  const benchmark = benchmarks[name];
  if (benchmark === undefined) {
    throw new Error(`there is no benchmark ${name}`);
  }
  const extent = { rounds: Number(rounds), orders: Number(orders) };
  for (const world of benchmark.worlds) {
    for (const figure of await benchmark.run(extent, world)) {
      await send([world.name, figure]);
    }
  }
  // Connections of contestants may still be open.
  process.exit();
} catch (error) {
  const text = error instanceof Error ? (error.stack ?? "") : String(error);
  // viem's errors repeat the whole request.
  process.stderr.write(`${text.slice(0, 2_000)}\n`);
  process.exit(1);
}
