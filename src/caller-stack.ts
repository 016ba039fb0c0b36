/**
 * Runs a function, and adds the frames of the caller to the stack of its error. V8 keeps
 * them only if each function awaits the next one directly: not behind a queue or
 * `Promise.all`, nor for the system's errors.
 */
export async function withCallerStack<Result>(
  run: () => Promise<Result>,
): Promise<Result> {
  const frames = callerFrames();
  try {
    return await run();
  } catch (error) {
    throw addFrames(error, frames);
  }
}

/** The same for what a generator yields; its caller is the one that asks for it. */
export function iterateWithCallerStack<Item>(
  open: () =>
    | AsyncGenerator<Item, void, undefined>
    | Promise<AsyncGenerator<Item, void, undefined>>,
): AsyncGenerator<Item, void, undefined> {
  const frames = callerFrames();
  return (async function* () {
    try {
      yield* await open();
    } catch (error) {
      throw addFrames(error, frames);
    }
  })();
}

/** @returns Lines of the stack: the first is the caller of the function that calls this one. */
export function callerFrames(): readonly string[] {
  const { stack = "" } = new Error();
  return stack.split("\n").slice(3);
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
