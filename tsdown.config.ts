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
      // A file costs each process that loads it about a millisecond. So what is loaded
      // together is one file. Those with `import()` stay apart and small: tsx, which
      // loads a configuration in TypeScript, rewrites them.
      groups: [
        chunk(
          "start",
          "src/{caller-stack,errors,escape,json}.ts",
          "src/protocol/!(amounts|time|round).ts",
          "src/simulation/fork-network.ts",
          "tasks/definitions/*.ts",
        ),
        chunk(
          "reads",
          "src/redact.ts",
          "src/client/!(index).ts",
          "src/client/{lens,orders}/*.ts",
          "src/files/project-folder.ts",
          "src/guard/errors.ts",
          "src/protocol/*.ts",
          "src/rpc/!(http-transport).ts",
        ),
        chunk("factories", "src/bindings/factories/!(Mock*|index).ts"),
        chunk(
          "connection",
          "src/plugin/{addresses,hardhat-vault,network-hooks,network-secrets,project-abis}.ts",
        ),
        chunk(
          "tasks",
          "tasks/{error-texts,open-vault,parse-options,parsers,run-task}.ts",
          "tasks/output/{blocks,format-value,readings,render-text,style}.ts",
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
