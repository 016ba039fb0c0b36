/** Streams orders and prints, in MiB, memory at rest and at its peak. */
import { isFailedOrder } from "../src/client/index.js";
import { httpNetwork } from "../test/helpers/hre.js";
import { createBuiltHre } from "./built-plugin.js";

const [url = "", trading = "", count = "0"] = process.argv.slice(2);

const MIB = 2 ** 20;
const hre = await createBuiltHre({ networks: { anvil: httpNetwork(url) } });
const { vault } = await hre.network.create("anvil");
const bound = vault.at({ trading });
// Everything is loaded now, and nothing read.
await bound.getOrderInfo(1);

const restMiB = process.memoryUsage.rss() / MIB;
const peakAtRest = process.resourceUsage().maxRSS;
let peakMiB = restMiB;
let read = 0;
const start = performance.now();
for await (const order of bound.orders({ firstId: 1, lastId: BigInt(count) })) {
  if (isFailedOrder(order)) {
    throw order.error;
  }
  if (++read % 100 === 0) {
    peakMiB = Math.max(peakMiB, process.memoryUsage.rss() / MIB);
  }
}
// What the samples missed, unless the process was larger while it loaded.
const peak = process.resourceUsage().maxRSS;
if (peak > peakAtRest) {
  peakMiB = Math.max(peakMiB, peak / 1_024);
}
const seconds = (performance.now() - start) / 1_000;
if (read !== Number(count)) {
  throw new Error(`${read} of ${count} orders`);
}
process.stdout.write(`${restMiB} ${peakMiB} ${seconds}\n`);
process.exit(0);
