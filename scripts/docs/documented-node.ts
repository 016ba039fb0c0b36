import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { startDatedAnvil } from "../../test/helpers/anvil.js";
import { useFixtureProject } from "../../test/helpers/fixture-project.js";
import { createTestHre } from "../../test/helpers/hre.js";

/** 21 November 2026, so that the documents do not change with every day. */
const GENESIS_SECONDS = 1_795_250_890;

/** The project in `folder`, whose network `localhost` is an anvil at `url`. */
export interface DocumentedNode {
  readonly url: string;
  readonly folder: string;
  readonly hre: HardhatRuntimeEnvironment;
}

/** Starts the node and the project that the documents speak of. */
export async function onDocumentedNode<T>(
  work: (node: DocumentedNode) => Promise<T>,
): Promise<T> {
  const anvil = await startDatedAnvil(GENESIS_SECONDS);
  const { url } = anvil;
  const project = await useFixtureProject("plain");
  const before = process.cwd();
  // Files that a command writes are found from here.
  process.chdir(project.path);
  try {
    const hre = await createTestHre(
      {
        networks: {
          localhost: { type: "http", url, vault: { tokenDecimals: 18 } },
        },
      },
      { network: "localhost", projectRoot: project.path },
    );
    return await work({ url, folder: project.path, hre });
  } finally {
    process.chdir(before);
    await anvil.stop();
    await project.remove();
  }
}
