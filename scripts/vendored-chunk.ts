/**
 * What `vault report` draws with is part of the package, so that a project that
 * draws nothing installs nothing for it: one chunk of its own, small, without a
 * source map, and with the licences of all that is in it beside it.
 */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";

import { minify } from "rolldown/utils";
import type { Plugin } from "rolldown";

const NAME = "vendored";

/** What of the bundle goes to the chunk. */
export const vendoredGroup = { name: NAME, test: /[\\/]node_modules[\\/]/u };

export const vendoredChunk: Plugin = {
  name: "vendored-chunk",
  // linkedom would load a project's own `canvas`, which is native code, if there
  // is one; it brings what it takes otherwise.
  resolveId: (source, importer) =>
    source === "canvas" && importer !== undefined
      ? path.join(path.dirname(importer), "canvas-shim.cjs")
      : undefined,
  async generateBundle(_options, bundle) {
    for (const [file, chunk] of Object.entries(bundle)) {
      if (chunk.type === "chunk" && chunk.name === NAME) {
        const { code, errors } = await minify(file, chunk.code);
        if (errors.length > 0) {
          throw new Error(errors.map(String).join("\n"));
        }
        chunk.code = code;
        chunk.map = null;
        Reflect.deleteProperty(bundle, `${file}.map`);
        this.emitFile({
          type: "asset",
          fileName: `chunks/${NAME}.licenses.txt`,
          source: licensesOf(chunk.moduleIds),
        });
      }
    }
  },
};

function licensesOf(moduleIds: readonly string[]): string {
  const folders = new Set(
    moduleIds.flatMap((id) =>
      [
        ...id.matchAll(/^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/gu),
      ].map(([folder]) => folder),
    ),
  );
  return [...folders]
    .sort()
    .map((folder) => {
      const name = folder.replace(/^.*[\\/]node_modules[\\/]/u, "");
      const file =
        readdirSync(folder).find((found) => /^licen[cs]e/iu.test(found)) ??
        // It names its licence and its author.
        "package.json";
      return `${name}\n\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`;
    })
    .join("\n---\n\n");
}
