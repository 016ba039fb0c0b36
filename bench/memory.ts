import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";

import { round, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";
import { onAnvil } from "./on-anvil.js";
import { onBothWorlds } from "./worlds.js";
import type { World } from "./worlds.js";

const { resolve } = createRequire(import.meta.url);

/** Streams orders in a process of its own, and watches its memory. */
export async function benchMemory(extent: Extent): Promise<Section> {
  return await onBothWorlds(async (world) => await watchMemory(extent, world));
}

async function watchMemory(
  { orders }: Extent,
  { deploy }: World,
): Promise<Section> {
  const count = 20 * orders;
  const [rest, peak, seconds] = await onAnvil(async ({ url, connection }) => {
    const { trading } = await deploy(connection.vault, count);
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--import",
      resolve("tsx"),
      path.join(import.meta.dirname, "memory-child.ts"),
      ...[url, trading, String(count)],
    ]);
    return stdout.trim().split(" ").map(Number);
  });
  if (rest === undefined || peak === undefined || seconds === undefined) {
    throw new Error("three figures are needed");
  }
  return {
    title: `Memory of a process that streams ${count.toLocaleString("en")} orders over HTTP`,
    rows: [
      {
        process: "vault.orders(), each order read and dropped",
        "at rest, MiB": round(rest),
        "peak, MiB": round(peak),
        seconds: round(seconds),
      },
    ],
    targets: [
      target(
        `peak memory above the process at rest (${count} orders)`,
        peak - rest,
        "at most",
        120,
        "MiB",
      ),
    ],
  };
}
