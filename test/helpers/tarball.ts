import { mkdir } from "node:fs/promises";
import path from "node:path";

import { repositoryRoot } from "./consumers/consumer-project.js";
import { runCommand } from "./consumers/run-command.js";

/** What `npm pack` made. */
export type Tarball = Awaited<ReturnType<typeof pack>>;

let packed: Promise<Tarball> | undefined;

/**
 * Packs what `npm publish` would, once for all tests. `npm run build` must have
 * run: its own hook, which cleans first, would pull the rug from other tests.
 */
export async function packTarball(): Promise<Tarball> {
  packed ??= pack();
  return await packed;
}

async function pack() {
  const folder = path.join(repositoryRoot, "cache/tarball");
  await mkdir(folder, { recursive: true });
  const stdout = await runCommand(
    "npm",
    ["pack", "--ignore-scripts", "--json", "--pack-destination", folder],
    { cwd: repositoryRoot },
  );
  // npm's documented output
  const [result] = JSON.parse(stdout) as Array<{
    filename: string;
    integrity: string;
    size: number;
    files: Array<{ path: string }>;
  }>;
  if (result === undefined) {
    throw new Error("npm packed nothing");
  }
  const files = result.files.map((file) => file.path);
  if (!files.includes("dist/index.js")) {
    throw new Error("the package is not built: run `npm run build` first");
  }
  return {
    file: path.join(folder, result.filename),
    integrity: result.integrity,
    /** Bytes, compressed. */
    size: result.size,
    /** Paths in the package. */
    files,
  };
}
