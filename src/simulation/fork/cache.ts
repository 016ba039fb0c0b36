import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import path from "node:path";

const CACHE_FOLDER = "vault-forks";
const TEMPORARY_PREFIX = "fork-";

/**
 * A folder for what Hardhat's simulator remembers of the forked chain; the
 * simulator creates it.
 *
 * The simulator's own cache tells chains apart by host, port and chain id, so a
 * local node that was restarted would be answered with the state of the old
 * one. Only a block that somebody chose is worth keeping, and that goes by its
 * hash; everything else is forgotten when the fork is closed.
 */
export function chooseForkCache(
  cachePath: string,
  chosenBlockHash: string | undefined,
): string {
  return path.join(
    cachePath,
    CACHE_FOLDER,
    chosenBlockHash ?? `${TEMPORARY_PREFIX}${randomUUID()}`,
  );
}

/** Removes a fork's folder, if it is one that only that fork uses. */
export async function removeForkCache(cacheDir = ""): Promise<void> {
  if (
    path.basename(cacheDir).startsWith(TEMPORARY_PREFIX) &&
    path.basename(path.dirname(cacheDir)) === CACHE_FOLDER
  ) {
    await rm(cacheDir, { recursive: true, force: true, maxRetries: 2 });
  }
}
