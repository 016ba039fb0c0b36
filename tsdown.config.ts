import { defineConfig } from "tsdown";

import { writeCommonJsTypes } from "./scripts/commonjs-types.ts";

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
