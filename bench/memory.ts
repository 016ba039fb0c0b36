import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";

import { deployGeneratedOrders } from "../test/helpers/trading.js";
import { round, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";
import { onAnvil } from "./on-anvil.js";

const { resolve } = createRequire(import.meta.url);

/** Streams orders in a process of its own, and watches its memory. */
export async function benchMemory({ orders }: Extent): Promise<Section> {
  const count = 20 * orders;
  const [rest, peak, seconds] = await onAnvil(async ({ url, connection }) => {
    const trading = await deployGeneratedOrders(
      connection.provider,
      1n,
      1_000_000n,
    );
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
