import { definePlugin } from "hardhat/plugins";
import type { HardhatPlugin } from "hardhat/types/plugins";

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
  hookHandlers: lazyModules.hooks,
  tasks: vaultTasks,
});

export default hardhatVault;
