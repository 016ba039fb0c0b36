import { startAnvil } from "../test/helpers/anvil.js";
import { createTestHre, httpNetwork } from "../test/helpers/hre.js";
import { runVaultTask } from "../test/helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../test/helpers/trading.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const forms = { "a table": undefined, NDJSON: "ndjson" } as const;

/** Lists orders with `vault orders`, for a person and for a program. */
export async function benchOrdersTask({
  rounds,
  sizes,
}: Extent): Promise<Section> {
  const anvil = await startAnvil();
  try {
    const hre = await createTestHre(
      { networks: { anvil: httpNetwork(anvil.url) } },
      { network: "anvil" },
    );
    const { provider } = await hre.network.create("anvil");
    const trading = await deployGeneratedOrders(provider, 1n, 1_000_000n);
    const rows: Array<Section["rows"][number]> = [];
    const targets: Array<Section["targets"][number]> = [];
    for (const size of sizes) {
      const times = await runInTurns(
        Object.entries(forms).map(([name, format]) => ({
          name,
          run: async () => {
            const { stdout, exitCode } = await runVaultTask(hre, "orders", {
              firstId: "1",
              lastId: String(size),
              at: `trading=${trading}`,
              format,
            });
            if (exitCode !== 0 || stdout.split("\n").length <= size) {
              throw new Error(`not ${size} orders: ${stdout.slice(0, 200)}`);
            }
          },
        })),
        rounds,
      );
      for (const [form, ms] of Object.entries(times)) {
        rows.push({ orders: size, form, ms: round(median(ms)) });
      }
      targets.push(
        target(
          `a table, times NDJSON (${size} orders)`,
          medianRatio(times["a table"] ?? [], times["NDJSON"] ?? []),
          "at most",
          3,
          "x",
        ),
      );
    }
    return { title: "`vault orders`, as a task", rows, targets };
  } finally {
    await anvil.stop();
  }
}
