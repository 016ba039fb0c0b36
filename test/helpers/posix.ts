import { spawnSync } from "node:child_process";

const isWindows = process.platform === "win32";

// Mocha gives each file of a worker its own `it` and `describe`, and this module is
// loaded once: they are read when a test is registered, or it would be lost.

/**
 * A test that needs signals, modes of files, symbolic links or a POSIX shell. On
 * Windows it is listed as skipped.
 */
export function itOnPosix(title: string, test: Mocha.AsyncFunc): void {
  (isWindows ? it.skip : it)(title, test);
}

const newProcessOne = [
  "unshare",
  "--user",
  "--map-root-user",
  "--pid",
  "--fork",
  "--kill-child",
];

/** The same for a test of a process with the id 1, as in a container. */
export function itAsProcessOne(
  title: string,
  test: (under: readonly string[]) => Promise<void>,
): void {
  const [command = "", ...options] = newProcessOne;
  const { status } = spawnSync(command, [...options, "true"]);
  (status === 0 ? it : it.skip)(
    status === 0 ? title : `${title} (needs unshare, and the right to use it)`,
    async () => {
      await test(newProcessOne);
    },
  );
}

/** The same for all tests of a subject. */
export function describeOnPosix(title: string, tests: () => void): void {
  (isWindows ? describe.skip : describe)(title, tests);
}
