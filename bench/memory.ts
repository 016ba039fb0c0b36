import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import path from "node:path";

import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { deployGeneratedOrders } from "../test/helpers/trading.js";
import { round, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const { resolve } = createRequire(import.meta.url);

/** Streams orders in a process of its own, and watches its memory. */
export async function benchMemory({ streamed }: Extent): Promise<Section> {
  const anvil = await startAnvil();
  try {
    const hre = await createTestHre({
      networks: { anvil: httpNetwork(anvil.url) },
    });
    const { provider } = await hre.network.create("anvil");
    const trading = await deployGeneratedOrders(provider, 1n, 1_000_000n);
    const { restMiB, peakMiB, seconds } = await runChild([
      anvil.url,
      trading,
      String(streamed),
    ]);
    return {
      title: `Memory of a process that streams ${streamed.toLocaleString("en")} orders over HTTP`,
      rows: [
        {
          process: "vault.orders(), each order read and dropped",
          "at rest, MiB": round(restMiB),
          "peak, MiB": round(peakMiB),
          seconds: round(seconds),
        },
      ],
      targets: [
        target(
          `peak memory above the process at rest (${streamed} orders)`,
          peakMiB - restMiB,
          "at most",
          120,
          "MiB",
        ),
      ],
    };
  } finally {
    await anvil.stop();
  }
}

async function runChild(
  args: readonly string[],
): Promise<Record<"restMiB" | "peakMiB" | "seconds", number>> {
  const child = spawn(
    process.execPath,
    [
      "--import",
      resolve("tsx"),
      path.join(import.meta.dirname, "memory-child.ts"),
      ...args,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(child, "close");
  const [restMiB = Number.NaN, peakMiB = Number.NaN, seconds = Number.NaN] =
    output.trim().split(" ").map(Number);
  return { restMiB, peakMiB, seconds };
}
