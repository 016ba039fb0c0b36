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

/** The same for all tests of a subject. */
export function describeOnPosix(title: string, tests: () => void): void {
  (isWindows ? describe.skip : describe)(title, tests);
}
