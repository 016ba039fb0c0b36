import path from "node:path";
import { pathToFileURL } from "node:url";

import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import type { HardhatUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { HardhatPlugin } from "hardhat/types/plugins";

export const root = path.dirname(import.meta.dirname);

export const builtPlugin = path.join(root, "dist/index.js");

/** A runtime environment with the plugin as users have it: what tsx makes of sources is slower. */
export async function createBuiltHre(
  userConfig: HardhatUserConfig = {},
): Promise<HardhatRuntimeEnvironment> {
  // the default export of `src/index.ts`, from which it is built
  const { default: plugin } = (await import(
    pathToFileURL(builtPlugin).href
  )) as { readonly default: HardhatPlugin };
  return await createHardhatRuntimeEnvironment(
    { ...userConfig, plugins: [plugin] },
    {},
    path.join(root, "test/fixture-projects/empty"),
  );
}
