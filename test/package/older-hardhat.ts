import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { expect } from "chai";

/** What `hardhat/plugins` exports before Hardhat 3.13. */
const OLDER = "data:text/javascript,export class HardhatPluginError {}";
const plugin = pathToFileURL("src/index.ts").href;

const script = `
  import { registerHooks } from "node:module";
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === "hardhat/plugins"
        ? { url: ${JSON.stringify(OLDER)}, shortCircuit: true }
        : next(specifier, context),
  });
  await import(${JSON.stringify(plugin)}).catch((error) => {
    console.log(error.message);
  });
`;

describe("the plugin under an older Hardhat", () => {
  it("loading the plugin before Hardhat 3.13 fails with the versions that it needs", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...["--import", "tsx", "--input-type=module", "--eval", script],
    ]);
    expect(stdout).to.equal(
      "hardhat-vault needs Hardhat 3.13 or newer, and @nomicfoundation/hardhat-ethers 4.0.15 or newer.\n",
    );
  });
});
