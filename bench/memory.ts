import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";

import type { Extent, Figure } from "./measure.js";
import { onAnvil } from "./on-anvil.js";
import type { World } from "./worlds.js";

const { resolve } = createRequire(import.meta.url);

/** The worst of twenty counts, too. */
const RUNS_EACH = 4;

/** Streams orders in processes of their own, and watches their memory. */
export async function benchMemory(
  { rounds, orders }: Extent,
  { deploy }: World,
): Promise<readonly Figure[]> {
  const count = 20 * orders;
  const added: number[] = [];
  const times: number[] = [];
  await onAnvil(async ({ url, connection }) => {
    const { trading } = await deploy(connection.vault, count);
    while (added.length < Math.max(1, rounds * RUNS_EACH)) {
      const { stdout } = await promisify(execFile)(process.execPath, [
        "--import",
        resolve("tsx"),
        path.join(import.meta.dirname, "memory-child.ts"),
        ...[url, trading, String(count)],
      ]);
      const [rest = NaN, peak = NaN, seconds = NaN] = stdout
        .trim()
        .split(" ")
        .map(Number);
      added.push(peak - rest);
      times.push(seconds);
    }
  });
  const stream = `a stream of ${count.toLocaleString("en")} orders`;
  return [
    {
      name: `${stream}: MiB above rest, at the peak`,
      values: added,
      goal: { demand: "at most", limit: 90 },
    },
    { name: `${stream}: seconds`, values: times },
  ];
}
