import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import path from "node:path";

const helpersFolder = import.meta.dirname;
const repositoryRoot = path.resolve(helpersFolder, "../..");
const fixtures = path.resolve(helpersFolder, "../fixture-projects");

// Inside the repository, so that the projects resolve the installed packages
// as any project below a node_modules folder does; `cache/` is git-ignored.
const workFolder = path.join(repositoryRoot, "cache", "test-projects");

/** A copy of a fixture project that a test may write to. */
export interface FixtureProject {
  readonly path: string;
  remove(): Promise<void>;
}

/**
 * Copies `test/fixture-projects/<name>` to a folder of its own.
 *
 * @param start How the folder's name begins.
 */
export async function useFixtureProject(
  name: string,
  start = name,
): Promise<FixtureProject> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(path.join(workFolder, `${start}-`));
  await cp(path.join(fixtures, name), folder, { recursive: true });
  return {
    path: folder,
    remove: async () => {
      await rm(folder, { recursive: true, force: true });
    },
  };
}
