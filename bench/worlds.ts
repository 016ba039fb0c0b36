import type { ContractRole } from "../src/protocol/index.js";
import type { HardhatVault } from "../src/types.js";
import { deployInstance } from "../test/helpers/deployment/deploy.js";

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
    const scripted = await vault.deployMocks({ scenario: "many-orders" });
    await scripted.set({ generatedOrders: { firstId: 1n, lastId: orders } });
    return scripted.addresses;
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
