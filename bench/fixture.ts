import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { getAddress, toBeHex } from "ethers";

import { toJsonValue } from "../src/json.js";
import { capture } from "../src/mocks/capture.js";
import { generatedOrder } from "../src/mocks/state.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { toSafeJson } from "../src/escape.js";
import { createBuiltHre } from "./built-plugin.js";
import { runInTurns } from "./measure.js";
import type { Extent, Figure } from "./measure.js";

/** Writes a file as `vault capture` does, with as many holders as orders. */
async function writeFixture(
  file: string,
  vault: HardhatVault,
  count: number,
): Promise<void> {
  await vault.deployMocks();
  const { fixture } = await capture(vault, { orders: [1n] });
  const orders = Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      String(index + 1),
      {
        ...generatedOrder(BigInt(index + 1)),
        holder: getAddress(toBeHex(2n ** 159n + BigInt(index), 20)),
      },
    ]),
  );
  await writeFile(file, toSafeJson(toJsonValue({ ...fixture, orders }), 2));
}

/** Deploys mocks in process from a fixture with many orders. */
export async function benchFixture({
  rounds,
  orders,
}: Extent): Promise<readonly Figure[]> {
  const hre = await createBuiltHre();
  const { vault } = await hre.network.create();
  const folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-bench-"));
  const fixture = path.join(folder, "fixture.json");
  const name = `deployMocks({ fixture }) of ${orders.toLocaleString("en")} orders`;
  try {
    await writeFixture(fixture, vault, orders);
    const times = await runInTurns(
      { [name]: async () => await vault.deployMocks({ fixture }) },
      rounds,
    );
    return [
      {
        name: `${name}: ms`,
        values: times[name] ?? [],
        goal: { demand: "at most", limit: 1_000 },
      },
    ];
  } finally {
    await rm(folder, { recursive: true });
  }
}
