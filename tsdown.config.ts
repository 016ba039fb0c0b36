import { defineConfig } from "tsdown";

import { vendoredChunk, vendoredGroup } from "./scripts/vendored-chunk.ts";

// A file of the package for each of its entries, and chunks that they share: a
// project in TypeScript loads every file by way of tsx, at about a millisecond
// each, and src/ has a hundred and more.
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
    viem: "src/mocks/viem.ts",
  },
  outputOptions: {
    chunkFileNames: "chunks/[name].js",
    codeSplitting: { groups: [vendoredGroup] },
    // The package has them.
    sourcemapExcludeSources: true,
  },
  plugins: [vendoredChunk],
  tsconfig: "tsconfig.build.json",
  platform: "node",
  fixedExtension: false,
  sourcemap: true,
  dts: { sourcemap: true },
  logLevel: "warn",
  failOnWarn: true,
  checks: { bundlerTimings: false },
});
