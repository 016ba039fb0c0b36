import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import path from "node:path";

const helpersFolder = import.meta.dirname;
const repositoryRoot = path.resolve(helpersFolder, "../..");
const fixtures = path.resolve(helpersFolder, "../fixture-projects");

// Inside the repository, so that the projects resolve the installed packages
// as any project below a node_modules folder does; `cache/` is git-ignored.
const workFolder = path.join(repositoryRoot, "cache", "test-projects");

export interface FixtureProject {
  readonly path: string;
  remove(): Promise<void>;
}

const LEFT_BY_RUNS = ["artifacts", "cache", "vault-deployments"];

/** Copies a project of `test/fixture-projects/` to a folder whose name has this start. */
export async function useFixtureProject(
  name: string,
  start = name,
): Promise<FixtureProject> {
  await mkdir(workFolder, { recursive: true });
  const folder = await mkdtemp(path.join(workFolder, `${start}-`));
  const source = path.join(fixtures, name);
  await cp(source, folder, {
    recursive: true,
    // Other tests run in the fixture itself, and write there meanwhile.
    filter: (from) =>
      !LEFT_BY_RUNS.some((left) => from === path.join(source, left)),
  });
  return {
    path: folder,
    remove: async () => {
      await rm(folder, { recursive: true, force: true });
    },
  };
}
