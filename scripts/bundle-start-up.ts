/**
 * Puts the modules that every start of Hardhat loads into one file of the
 * package: each module costs a start about a millisecond under tsx.
 */
import path from "node:path";

import { build } from "esbuild";

const folder = path.resolve(import.meta.dirname, "../dist/src");

// Files of their own: `VaultError` must be one class for every entry point, and
// tsx rewrites, whole, each file with a dynamic import.
const apart = /\/(?:errors|lazy-modules)\.js$/;

const { metafile } = await build({
  entryPoints: [path.join(folder, "index.js")],
  outfile: path.join(folder, "index.js"),
  allowOverwrite: true,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  sourcemap: "linked",
  sourcesContent: false,
  logLevel: "warning",
  metafile: true,
  plugins: [
    {
      name: "files-apart",
      setup(builder) {
        builder.onResolve(
          { filter: apart },
          ({ path: specifier, resolveDir }) => ({
            path: `./${path.relative(folder, path.resolve(resolveDir, specifier))}`,
            external: true,
          }),
        );
      },
    },
  ],
});

// Bundled too, it would bring what it loads into this file, a second time.
for (const { imports } of Object.values(metafile.inputs)) {
  for (const { kind, path: file } of imports) {
    if (kind === "dynamic-import") {
      throw new Error(`import(${file}) belongs into src/lazy-modules.ts`);
    }
  }
}
