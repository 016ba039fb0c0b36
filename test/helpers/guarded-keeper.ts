import { Wallet } from "ethers";

import { deployTestGuard } from "./guard.js";
import { startKeeper } from "./keeper-on-node.js";
import type { KeeperWithNode } from "./keeper-on-node.js";
import { devKey } from "./world.js";

/** A keeper with a guard for its account, on a chain that is before each test as at first. */
export function useGuardedKeeper(): {
  readonly keeper: KeeperWithNode;
  readonly guard: string;
} {
  let used: { readonly keeper: KeeperWithNode; readonly guard: string };
  let back: () => Promise<void>;
  before(async () => {
    const keeper = await startKeeper();
    const { chain, settler } = keeper;
    const deployer = new Wallet(devKey(3), chain.provider);
    used = { keeper, guard: await deployTestGuard(deployer, settler) };
    back = await chain.checkpoint();
  });
  after(async () => {
    await used.keeper.close();
  });
  beforeEach(async () => {
    await back();
    used.keeper.server.reset();
    await used.keeper.removeJournals();
  });
  return {
    get keeper() {
      return used.keeper;
    },
    get guard() {
      return used.guard;
    },
  };
}
