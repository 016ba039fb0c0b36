import type { ContractRole } from "../src/protocol/index.js";
import type { HardhatVault } from "../src/types.js";
import { deployInstance } from "../test/helpers/deployment/deploy.js";
import { deployGeneratedOrders } from "../test/helpers/trading.js";
import { round } from "./measure.js";
import type { Section } from "./measure.js";

export type Contracts = Readonly<Record<ContractRole, `0x${string}`>>;

/** Contracts to measure on. */
export interface World {
  readonly name: string;
  /** @param orders Orders with the ids from 1 on. */
  readonly deploy: (vault: HardhatVault, orders: number) => Promise<Contracts>;
}

/** The package's mocks, which answer zeros for unknown ids and cost little gas. */
export const mocks: World = {
  name: "mocks",
  deploy: async (vault, orders) => {
    const { addresses } = await vault.deployMocks({ scenario: "many-orders" });
    const trading = await deployGeneratedOrders(
      vault.provider,
      1n,
      BigInt(orders),
    );
    // ethers' addresses begin with 0x
    return { ...addresses, trading: trading as `0x${string}` };
  },
};

/** Contracts that behave as the protocol's public versions do. */
export const deployment: World = {
  name: "deployment",
  deploy: async ({ provider }, orders) => {
    // Its ids begin with 0.
    const options = { orders: orders + 1 };
    return (await deployInstance(provider, options)).contracts;
  },
};

/**
 * Measures on both, and puts the figures of both into one table: a column each, and a
 * target each.
 */
export async function onBothWorlds(
  measure: (world: World) => Promise<Section>,
): Promise<Section> {
  const worlds = [mocks, deployment];
  const sections: Section[] = [];
  for (const world of worlds) {
    sections.push(await measure(world));
  }
  const [first, second] = sections;
  if (first === undefined || second === undefined) {
    throw new Error("two sections are needed");
  }
  const rowOf = ({ rows }: Section, label: unknown): Section["rows"][number] =>
    rows.find((row) => Object.values(row)[0] === label) ?? {};
  return {
    title: first.title,
    rows: first.rows.map((row) => {
      const [label = "", ...figures] = Object.keys(row);
      const name = row[label] ?? "";
      return {
        [label]: name,
        ...Object.fromEntries(
          figures.flatMap((heading) =>
            sections.map((section, index) => [
              `${heading}, ${worlds[index]?.name ?? ""}`,
              rowOf(section, name)[heading] ?? "",
            ]),
          ),
        ),
      };
    }),
    targets: first.targets.flatMap(({ name }) =>
      sections.flatMap((section, index) =>
        section.targets
          .filter((one) => one.name === name)
          .map((one) => ({
            ...one,
            name: `${name}, ${worlds[index]?.name ?? ""}`,
            measured: round(one.measured),
          })),
      ),
    ),
  };
}
