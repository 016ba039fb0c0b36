import { defineConfig } from "tsdown";

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
  outputOptions: {
    chunkFileNames: "chunks/[name].js",
    codeSplitting: {
      groups: [
        // Every start of Hardhat loads them all. Apart, each takes about a millisecond.
        { name: "tasks", test: /[\\/]tasks[\\/]definitions[\\/]/u },
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
