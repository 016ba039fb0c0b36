import { definePlugin } from "hardhat/plugins";
import type { HardhatPlugin } from "hardhat/types/plugins";

import configHooks from "./plugin/config.js";
import hreHooks from "./plugin/hre-hooks.js";
import { lazyModules } from "./lazy-modules.js";
import { vaultTasks } from "../tasks/index.js";

export type * from "./type-extensions.js";
export type * from "./types.js";
export { VaultError } from "./errors.js";
export { ContractType, OrderState } from "./protocol/enums.js";

const hardhatVault: HardhatPlugin = definePlugin({
  id: "hardhat-vault",
  npmPackage: "hardhat-vault",
  dependencies: () => [lazyModules.hardhatEthers()],
  hookHandlers: {
    // Every start of Hardhat runs these two, so they come with this file.
    config: async () => await Promise.resolve({ default: configHooks }),
    hre: async () => await Promise.resolve({ default: hreHooks }),
    network: async () => await (await lazyModules.onDemand()).networkHooks(),
  },
  tasks: vaultTasks,
});

export default hardhatVault;
