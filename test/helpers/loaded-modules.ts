import { spawnSync } from "node:child_process";
import path from "node:path";

import { expect } from "chai";

const root = path.resolve(import.meta.dirname, "../..");

/**
 * Runs a script in a new process and lists the modules that it loads: their
 * URLs, as the module loader resolved them.
 */
export function modulesLoadedBy(script: string): readonly string[] {
  const recorder = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({
      load(url, context, nextLoad) {
        loaded.add(url);
        return nextLoad(url, context);
      },
    });
    process.on("exit", () => console.log([...loaded].join("\\n")));
    ${script}
  `;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", recorder],
    { cwd: root, encoding: "utf8" },
  );
  expect(stderr).to.equal("");
  expect(status).to.equal(0);
  return stdout.trim().split("\n");
}

/** A script that opens a connection with the plugin of that file, and closes it. */
export function openConnection(plugin: string): string {
  return `
    const { createHardhatRuntimeEnvironment } = await import("hardhat/hre");
    const { default: vault } = await import("${plugin}");
    const hre = await createHardhatRuntimeEnvironment({
      plugins: [vault],
      networks: {
        local: {
          type: "http",
          url: "http://127.0.0.1:8545",
          vault: { tokenDecimals: 18 },
        },
      },
    });
    await (await hre.network.create("local")).close();
  `;
}
