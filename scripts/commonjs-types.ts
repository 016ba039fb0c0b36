import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

/** The entries that a CommonJS project can require. */
const entries = ["abi", "assert", "bindings", "client", "mocks"];

/**
 * Writes the declarations once more for CommonJS, as `.d.cts`: ethers has a build for each of
 * the two module systems, and a signer of one is not a signer of the other for TypeScript.
 */
export async function writeCommonJsTypes(dist: string): Promise<void> {
  const files = new Set(entries.map((entry) => `${entry}.d.ts`));
  // A set also walks through what is added meanwhile.
  for (const file of files) {
    const text = await readFile(path.join(dist, file), "utf8");
    const converted = text
      .replaceAll(
        /(from |import\()"(\.[^"]*)\.js"/gu,
        (_, before: string, target: string) => {
          const folder = path.posix.dirname(file);
          files.add(`${path.posix.join(folder, target)}.d.ts`);
          return `${before}"${target}.cjs"`;
        },
      )
      .replace(/^\/\/# sourceMappingURL=.*$/mu, "");
    const name = file.replace(/\.d\.ts$/u, ".d.cts");
    await writeFile(path.join(dist, name), converted);
  }
}
