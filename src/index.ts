/**
 * The plugin for Hardhat 3, the public types and the errors.
 *
 * @module hardhat-vault
 */
// As a namespace: an older Hardhat lacks a name, which would be an error of the loader.
import * as hardhatPlugins from "hardhat/plugins";
import type { HardhatPlugin } from "hardhat/types/plugins";

import { vaultTasks } from "../tasks/index.js";

export type * from "./type-extensions.js";
export type * from "./types.js";
export { VaultError } from "./errors.js";
export { toJsonValue } from "./json.js";
export { ContractType, OrderState } from "./protocol/index.js";

if (!("definePlugin" in hardhatPlugins)) {
  throw new Error(
    "hardhat-vault needs Hardhat 3.13 or newer, and @nomicfoundation/hardhat-ethers 4.0.15 or newer.",
  );
}

const hardhatVault: HardhatPlugin = hardhatPlugins.definePlugin({
  id: "hardhat-vault",
  npmPackage: "hardhat-vault",
  dependencies: () => [import("@nomicfoundation/hardhat-ethers")],
  hookHandlers: {
    config: () => import("./plugin/config.js"),
    hre: () => import("./plugin/lazy-hardhat-vault.js"),
    network: () => import("./plugin/network-hooks.js"),
  },
  tasks: vaultTasks,
});

export default hardhatVault;
