/**
 * Runs a function, and adds the frames of the caller to the stack of its error. V8 keeps
 * them only if each function awaits the next one directly: not behind a queue or
 * `Promise.all`, nor for the system's errors.
 */
export async function withCallerStack<Result>(
  run: () => Promise<Result>,
): Promise<Result> {
  const { stack = "" } = new Error();
  try {
    return await run();
  } catch (error) {
    // The first lines are the message and this function.
    throw addFrames(error, stack.split("\n").slice(2));
  }
}

/** @param frames Lines of a stack, without its message. */
export function addFrames(error: unknown, frames: readonly string[]): unknown {
  if (error instanceof Error) {
    const { stack = "" } = error;
    const missing = frames.filter((frame) => !stack.includes(frame));
    error.stack = [stack, ...missing].join("\n");
  }
  return error;
}
