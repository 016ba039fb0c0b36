import type { HardhatUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import { startAnvil } from "../test/helpers/anvil.js";
import { httpNetwork } from "../test/helpers/hre.js";
import { createBuiltHre } from "./built-plugin.js";

export interface OnAnvil {
  readonly url: string;
  readonly hre: HardhatRuntimeEnvironment;
  readonly connection: NetworkConnection;
}

/** Measures on a new anvil that is the network `live`. */
export async function onAnvil<ResultT>(
  measure: (anvil: OnAnvil) => Promise<ResultT>,
  { networks, ...config }: HardhatUserConfig = {},
): Promise<ResultT> {
  const anvil = await startAnvil();
  const { url } = anvil;
  try {
    const hre = await createBuiltHre({
      ...config,
      networks: { ...networks, live: httpNetwork(url) },
    });
    const connection = await hre.network.create("live");
    return await measure({ url, hre, connection });
  } finally {
    await anvil.stop();
  }
}
