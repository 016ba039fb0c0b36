import path from "node:path";

import { defineConfig } from "tsdown";

/** Puts these sources, but not their declarations, into one file. */
function chunk(
  name: string,
  ...globs: readonly string[]
): { name: string; test: (id: string) => boolean } {
  return {
    name,
    test: (id) =>
      !id.endsWith(".d.ts") &&
      globs.some((glob) =>
        path.matchesGlob(path.relative(import.meta.dirname, id), glob),
      ),
  };
}

export default defineConfig({
  entry: {
    index: "src/index.ts",
    types: "src/types.ts",
    client: "src/client/index.ts",
    abi: "src/abi/index.ts",
    bindings: "src/bindings/index.ts",
    mocks: "src/mocks/index.ts",
    chai: "src/chai/index.ts",
    assert: "src/assert/index.ts",
  },
  // The groups below need it.
  inputOptions: { preserveEntrySignatures: "allow-extension" },
  outputOptions: {
    chunkFileNames: "chunks/[name].js",
    codeSplitting: {
      includeDependenciesRecursively: false,
      // A file costs each start of Hardhat about a millisecond. So what a start loads is
      // one file, and most of what a connection adds. What tasks load stays as the bundler
      // cuts it: in one file, it made `vault round` 9 % slower. Files with `import()` stay
      // apart and small: tsx, which loads a configuration in TypeScript, rewrites them.
      groups: [
        chunk(
          "start",
          "src/{caller-stack,errors,escape,json}.ts",
          "src/protocol/!(amounts|time|round).ts",
          "src/simulation/fork-network.ts",
          "tasks/definitions/*.ts",
        ),
        chunk("factories", "src/bindings/factories/!(Mock*|index).ts"),
        chunk(
          "connection",
          "src/plugin/{addresses,hardhat-vault,network-hooks,network-secrets,project-abis}.ts",
        ),
      ],
    },
    // The declarations have them, and src/.
    comments: false,
    // The package has them.
    sourcemapExcludeSources: true,
  },
  tsconfig: "tsconfig.build.json",
  platform: "node",
  fixedExtension: false,
  sourcemap: true,
  dts: { sourcemap: true },
  logLevel: "warn",
  failOnWarn: true,
  checks: { bundlerTimings: false },
});
