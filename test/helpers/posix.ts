const isWindows = process.platform === "win32";

/**
 * A test that needs signals, modes of files, symbolic links or a POSIX shell. On
 * Windows it is listed as skipped.
 */
export const itOnPosix: Mocha.PendingTestFunction = isWindows ? it.skip : it;

/** The same for all tests of a subject. */
export const describeOnPosix: Mocha.PendingSuiteFunction = isWindows
  ? describe.skip
  : describe;
