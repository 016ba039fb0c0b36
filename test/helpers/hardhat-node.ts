import { createRequire } from "node:module";
import path from "node:path";

import { startServerProcess } from "./child-process.js";
import type { ServerProcess } from "./child-process.js";
import { useFixtureProject } from "./fixture-project.js";

const hardhatPackage = createRequire(import.meta.url).resolve(
  "hardhat/package.json",
);

/** The file that `npx hardhat` runs. */
export const hardhatCli = path.join(
  path.dirname(hardhatPackage),
  "dist/src/cli.js",
);

/** Starts `hardhat node`, in a project without any contracts. */
export async function startHardhatNode(): Promise<ServerProcess> {
  const project = await useFixtureProject("plain");
  return await startServerProcess(
    process.execPath,
    // In a container, Hardhat would listen on every interface.
    [hardhatCli, "node", "--hostname", "127.0.0.1", "--port", "0"],
    /JSON-RPC server at http:\/\/127\.0\.0\.1:(\d+)/u,
    { cwd: project.path },
  );
}
