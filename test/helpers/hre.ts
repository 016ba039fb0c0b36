import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import type {
  HardhatUserConfig,
  HttpNetworkUserConfig,
} from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import vault from "../../src/index.js";

/** A runtime environment with this plugin, as `hardhat.config.ts` makes it. */
export async function createTestHre(
  userConfig: HardhatUserConfig = {},
  options: { network?: string; projectRoot?: string } = {},
): Promise<HardhatRuntimeEnvironment> {
  return await createHardhatRuntimeEnvironment(
    { ...userConfig, plugins: [vault, ...(userConfig.plugins ?? [])] },
    options.network === undefined ? {} : { network: options.network },
    options.projectRoot,
  );
}

/** The configuration of a network over HTTP. */
export function httpNetwork(
  url: string,
  settings: Partial<Omit<HttpNetworkUserConfig, "type" | "url">> = {},
): HttpNetworkUserConfig {
  return { type: "http", url, ...settings };
}
