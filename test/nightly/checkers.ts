import path from "node:path";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { runCommand } from "../helpers/consumers/run-command.js";
import { packTarball } from "../helpers/tarball.js";

describe("checkers of the package", () => {
  it("Are the Types Wrong finds nothing for ES modules", async () => {
    const { file } = await packTarball();
    await runCommand(
      process.execPath,
      [tool("@arethetypeswrong/cli/dist/index.js"), file]
        // Hardhat 3 and its plugins are ES modules only.
        .concat("--profile", "esm-only", "--format", "ascii"),
      { cwd: repositoryRoot },
    );
  });

  it("knip finds nothing unused or undeclared", async () => {
    await runCommand(process.execPath, [tool("knip/bin/knip.js")], {
      cwd: repositoryRoot,
    });
  });
});

function tool(file: string): string {
  return path.join(repositoryRoot, "node_modules", file);
}
