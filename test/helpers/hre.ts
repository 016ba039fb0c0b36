import path from "node:path";

import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import type {
  HardhatUserConfig,
  HttpNetworkUserConfig,
} from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import vault from "../../src/index.js";

/** No artifacts: Hardhat reads all of a project's for its first connection. */
const emptyProject = path.resolve(
  import.meta.dirname,
  "../fixture-projects/empty",
);

/** As `hardhat.config.ts` makes it, in a project that is empty unless one is given. */
export async function createTestHre(
  userConfig: HardhatUserConfig = {},
  options: { network?: string; projectRoot?: string } = {},
): Promise<HardhatRuntimeEnvironment> {
  return await createHardhatRuntimeEnvironment(
    { ...userConfig, plugins: [vault, ...(userConfig.plugins ?? [])] },
    options.network === undefined ? {} : { network: options.network },
    options.projectRoot ?? emptyProject,
  );
}

/** What a network over HTTP may have beside its URL. */
export type NetworkSettings = Partial<
  Omit<HttpNetworkUserConfig, "type" | "url">
>;

export function httpNetwork(
  url: string,
  settings: NetworkSettings = {},
): HttpNetworkUserConfig {
  return { type: "http", url, ...settings };
}

/** A runtime environment with the network live at this URL, which is selected. */
export async function hreOnLive(
  url: string,
  settings: NetworkSettings = {},
  projectRoot?: string,
): Promise<HardhatRuntimeEnvironment> {
  return await createTestHre(
    { networks: { live: httpNetwork(url, settings) } },
    { network: "live", ...(projectRoot === undefined ? {} : { projectRoot }) },
  );
}

/** A connection to network live at this URL; in process where there is none. */
export async function connectTo(
  url: string | undefined,
  settings: NetworkSettings = {},
): Promise<NetworkConnection> {
  const hre = await createTestHre(
    url === undefined ? {} : { networks: { live: httpNetwork(url, settings) } },
  );
  return await hre.network.create(url === undefined ? "default" : "live");
}
