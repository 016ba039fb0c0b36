import path from "node:path";

import { defineConfig } from "tsdown";

import { writeCommonJsTypes } from "./scripts/commonjs-types.ts";

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
      // A file costs each start of Hardhat up to a millisecond. tsx, which loads a
      // configuration in TypeScript, parses each that has the word `import`, and rewrites
      // one with `import()`, in time that grows with it. So what a start needs is one file
      // that imports nothing, and the entry, which has little else than imports. Entries
      // without Hardhat load that file, too. Most of what a connection adds is two files, one
      // of which the client's entry has too; and what every task adds is one.
      groups: [
        chunk(
          "start",
          "src/{caller-stack,errors,escape,json}.ts",
          "src/protocol/!(amounts|time|round).ts",
          "src/simulation/fork-network.ts",
          "src/plugin/{config,lazy-hardhat-vault}.ts",
          "tasks/definitions/*.ts",
        ),
        chunk(
          "on-demand",
          "src/plugin/on-demand.ts",
          "tasks/load-log-update.ts",
        ),
        chunk("factories", "src/bindings/factories/!(Mock*|index).ts"),
        chunk(
          "client",
          "src/client/!(index|types).ts",
          "src/client/lens/!(facts).ts",
          "src/client/orders/*.ts",
          "src/rpc/!(http-transport|traces|development-node).ts",
          "src/redact.ts",
          "src/protocol/{amounts,time,round}.ts",
          "src/guard/errors.ts",
          "src/mocks/scenarios.ts",
        ),
        chunk(
          "task",
          "tasks/{run-task,open-vault,terminal,parsers,parse-options,error-texts}.ts",
          "tasks/output/{blocks,render-text,style,format-value,readings}.ts",
        ),
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
  onSuccess: async ({ outDir }) => {
    await writeCommonJsTypes(outDir);
  },
  logLevel: "warn",
  failOnWarn: true,
  checks: { bundlerTimings: false },
});
