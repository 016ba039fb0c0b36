import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { getAddress, toBeHex } from "ethers";

import { toJsonValue } from "../src/json.js";
import { capture } from "../src/mocks/capture.js";
import { generatedOrder } from "../src/mocks/state.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { toSafeJson } from "../src/untrusted-text.js";
import { createTestHre } from "../test/helpers/hre.js";
import { median, medianRatio, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

const OURS = "deployMocks()";
const MANY = 'deployMocks({ scenario: "many-orders" })';
const TEN_THOUSAND = "deployMocks() with 10,000 generated orders";
const FIXTURE = "deployMocks({ fixture }) of 10,000 orders";
const ETHERS = "six times ethers.deployContract()";

const mocks = [
  "MockUnderlyingAsset",
  "MockLiquidityPool",
  "MockLiquidityPool",
  "MockTrading",
  "MockVaultFactory",
  "MockVault",
] as const;

/** A capture as it would be of a contract with so many orders and holders. */
async function writeFixture(file: string, vault: HardhatVault): Promise<void> {
  await vault.deployMocks();
  const { fixture } = await capture(vault, { orders: [1n] });
  const orders = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, index) => [
      String(index + 1),
      {
        ...generatedOrder(BigInt(index + 1)),
        holder: getAddress(toBeHex(2n ** 159n + BigInt(index), 20)),
      },
    ]),
  );
  // In lines, as `vault capture` writes it.
  await writeFile(file, toSafeJson(toJsonValue({ ...fixture, orders }), 2));
}

/** It takes a few hundredths of a second: single rounds say little. */
const ROUNDS_EACH = 4;

/**
 * Six mocks, scripted with a scenario, and the same six contracts deployed by
 * hand, which then still answer nothing but zeros.
 */
export async function benchDeployMocks({ rounds }: Extent): Promise<Section> {
  // The artifacts of this repository, as a project with its own contracts.
  const hre = await createTestHre(
    {},
    { projectRoot: path.dirname(import.meta.dirname) },
  );
  const connection = await hre.network.create();
  const folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-bench-"));
  const fixture = path.join(folder, "fixture.json");
  try {
    await writeFixture(fixture, connection.vault);
    const times = await runInTurns(
      [
        {
          name: OURS,
          run: async () => {
            await connection.vault.deployMocks();
          },
        },
        {
          name: MANY,
          run: async () => {
            await connection.vault.deployMocks({ scenario: "many-orders" });
          },
        },
        {
          name: TEN_THOUSAND,
          run: async () => {
            await connection.vault.deployMocks({
              overrides: { generatedOrders: { firstId: 1n, lastId: 10_000n } },
            });
          },
        },
        {
          name: ETHERS,
          run: async () => {
            for (const name of mocks) {
              await connection.ethers.deployContract(name);
            }
          },
        },
      ],
      rounds * ROUNDS_EACH,
    );
    // By itself: it leaves much behind that others would have to clear away.
    const fixtureTimes = await runInTurns(
      [
        {
          name: FIXTURE,
          run: async () => {
            await connection.vault.deployMocks({ fixture });
          },
        },
      ],
      rounds,
    );
    Object.assign(times, fixtureTimes);
    const ours = times[OURS] ?? [];
    const many = times[MANY] ?? [];
    return {
      title: "Mocks in process",
      rows: [OURS, MANY, TEN_THOUSAND, FIXTURE, ETHERS].map((contestant) => ({
        contestant,
        "median ms": round(median(times[contestant] ?? [])),
      })),
      targets: [
        target(
          "deployMocks() against six ethers.deployContract()",
          medianRatio(ours, times[ETHERS] ?? []),
          "at most",
          0.3,
          "times",
        ),
        target(
          "a captured fixture of 10,000 orders",
          median(times[FIXTURE] ?? []),
          "at most",
          1_000,
          "ms",
        ),
        target(
          "many-orders with 1,000 orders",
          median(many),
          "at most",
          2_000,
          "ms",
        ),
        target(
          "a scenario with 10,000 orders",
          median(times[TEN_THOUSAND] ?? []),
          "at most",
          100,
          "ms",
        ),
      ],
    };
  } finally {
    await connection.close();
    await rm(folder, { recursive: true });
  }
}
