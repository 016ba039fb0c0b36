// @ts-check
/** What the set-up tells the user, and the failures it tells of. */

/** A failure that the user can do something about. */
export class SetupError extends Error {
  /**
   * @param {string} message what failed
   * @param {string} fix what to do
   * @param {string[]} [details] lines that explain it further
   */
  constructor(message, fix, details = []) {
    super(message);
    this.fix = fix;
    this.details = details;
  }
}

export const freeSpace =
  "Free about 1 GB (the project and npm's cache both need room), then run the command again.";

/** @param {string} message */
export function progress(message) {
  process.stderr.write(`set-up: ${message}\n`);
}

/**
 * The telling lines of what npm or Node printed: the error's code and message
 * come first, the place of npm's log last.
 * @param {string} text
 */
export function excerpt(text) {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.replace(/^npm error ?/, ""))
    .filter((line) => !/^(\s*|\s+at .*|npm warn .*)$/.test(line));
  return lines.length > 8 ? [...lines.slice(0, 7), ...lines.slice(-1)] : lines;
}

/**
 * @param {unknown} error
 * @param {string[]} codes
 */
export function hasCode(error, ...codes) {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    codes.includes(error.code)
  );
}
