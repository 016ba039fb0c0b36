import { writeFile } from "node:fs/promises";
import path from "node:path";

import { startDatedAnvil } from "../../test/helpers/anvil.js";
import { useFixtureProject } from "../../test/helpers/fixture-project.js";

const configuration = `
import vault from "../../../src/index.js";

export default {
  plugins: [vault],
  networks: {
    localhost: {
      type: "http",
      url: process.env["NODE_URL"],
      vault: { tokenDecimals: 18 },
    },
  },
};
`;

/** 21 November 2026, so that the documents do not change with every day. */
const GENESIS_SECONDS = 1_795_250_890;

/** A project in `folder` whose network `localhost` is an anvil at `url`. */
export interface DocumentedNode {
  readonly url: string;
  readonly folder: string;
}

/** Starts the node and the project that the documents speak of. */
export async function onDocumentedNode<T>(
  work: (node: DocumentedNode) => Promise<T>,
): Promise<T> {
  const anvil = await startDatedAnvil(GENESIS_SECONDS);
  const project = await useFixtureProject("plain");
  try {
    await writeFile(
      path.join(project.path, "hardhat.config.ts"),
      configuration,
    );
    return await work({ url: anvil.url, folder: project.path });
  } finally {
    await anvil.stop();
    await project.remove();
  }
}
