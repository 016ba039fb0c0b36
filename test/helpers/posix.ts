import { spawnSync } from "node:child_process";

// Mocha gives each file of a worker its own `it`, and this module is loaded once: it is
// read when a test is registered, or that would be lost.

/** A test that needs signals, modes of files, symbolic links or a POSIX shell. */
export function itOnPosix(title: string, test: Mocha.AsyncFunc): void {
  itIf(process.platform !== "win32", "not on Windows", title, test);
}

/** A test that is listed as skipped, with the reason, if it cannot run. */
function itIf(
  isPossible: boolean,
  reason: string,
  title: string,
  test: Mocha.AsyncFunc,
): void {
  if (isPossible) {
    it(title, test);
  } else {
    // eslint-disable-next-line project/no-skip -- the title has the reason
    it.skip(`${title} (${reason})`, test);
  }
}

const newProcessOne = [
  ...["unshare", "--user", "--map-root-user", "--pid", "--fork"],
  "--kill-child",
];

/** The same for a test of a process with the id 1, as in a container. */
export function itAsProcessOne(
  title: string,
  test: (under: readonly string[]) => Promise<void>,
): void {
  const [command = "", ...options] = newProcessOne;
  const { status } = spawnSync(command, [...options, "true"]);
  const reason = "needs unshare, and the right to use it";
  itIf(status === 0, reason, title, async () => {
    await test(newProcessOne);
  });
}
