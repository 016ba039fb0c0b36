/**
 * Runs a function, and adds the frames of the caller to the stack of its error. V8 keeps
 * them only if each function awaits the next one directly: not behind a queue or
 * `Promise.all`, nor for the system's errors.
 */
export async function withCallerStack<Result>(
  run: () => Promise<Result>,
): Promise<Result> {
  const { stack: here = "" } = new Error();
  try {
    return await run();
  } catch (error) {
    if (error instanceof Error) {
      const { stack = "" } = error;
      // The first line is the message, the second this function.
      const missing = here
        .split("\n")
        .slice(2)
        .filter((frame) => !stack.includes(frame));
      error.stack = [stack, ...missing].join("\n");
    }
    throw error;
  }
}
