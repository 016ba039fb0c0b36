import type {
  HardhatRuntimeEnvironmentHooks,
  HookContext,
} from "hardhat/types/hooks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { createLazyHardhatVault } from "./lazy-hardhat-vault.js";

export default async (): Promise<Partial<HardhatRuntimeEnvironmentHooks>> => ({
  created,
});

async function created(
  _context: HookContext,
  hre: HardhatRuntimeEnvironment,
): Promise<void> {
  hre.vault = createLazyHardhatVault(hre.network);
}
