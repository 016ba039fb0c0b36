import type {
  HookContext,
  HookManager,
  UserInterruptionHooks,
} from "hardhat/types/hooks";

import { groupDigits } from "../../src/protocol/units.js";
import type { OutputStream, WriteText } from "./destination.js";

/** The line on a terminal that tells what a task is doing. */
export interface Waiting {
  /** Shows a text in the place of the one before, until something is written. */
  readonly say: (text: string) => void;
  readonly hide: () => void;
  /** Writes to stderr in place of that line. */
  readonly stderr: OutputStream;
  /** Writes to another stream of the same terminal in place of it. */
  readonly inPlace: (write: WriteText) => WriteText;
}

/** What is needed of Hardhat: to hear of its own questions. */
type Hooks = Pick<HookManager, "registerHandlers" | "unregisterHandlers">;

/**
 * Gives work a line on stderr, which is gone once the work ends; one that is
 * never shown if stderr is no terminal, or a dumb one.
 */
export async function whileWaiting<T>(
  hooks: Hooks,
  stderr: NodeJS.WritableStream & OutputStream,
  work: (waiting: Waiting) => Promise<T>,
): Promise<T> {
  if (stderr.isTTY !== true || process.env["TERM"] === "dumb") {
    const nothing = (): void => undefined;
    return await work({
      say: nothing,
      hide: nothing,
      stderr,
      inPlace: (write) => write,
    });
  }
  // Most runs have no terminal, and need not load it.
  const { createLogUpdate } = await import("log-update");
  // The cursor stays: Ctrl-C would leave the terminal without one.
  const line = createLogUpdate(stderr, { showCursor: true });
  const hide = (): void => {
    line.clear();
  };
  const hideFor = async <Answer>(
    context: HookContext,
    from: string,
    text: string,
    next: (context: HookContext, from: string, text: string) => Promise<Answer>,
  ): Promise<Answer> => {
    hide();
    return await next(context, from, text);
  };
  // Hardhat asks for what it cannot find, as the password of a keystore.
  const questions: Partial<UserInterruptionHooks> = {
    displayMessage: hideFor,
    requestInput: hideFor,
    requestSecretInput: hideFor,
  };
  const inPlace: Waiting["inPlace"] = (write) => (text, done) => {
    hide();
    return write(text, done);
  };
  hooks.registerHandlers("userInterruptions", questions);
  try {
    return await work({
      say: line,
      hide,
      stderr: {
        isTTY: true,
        columns: stderr.columns,
        write: (text) => {
          hide();
          return stderr.write(text);
        },
      },
      inPlace,
    });
  } finally {
    hooks.unregisterHandlers("userInterruptions", questions);
    hide();
  }
}

/** As in `Reading orders: 1,200 of 20,000`. */
export function describeProgress(
  doing: string,
  { done, total }: { readonly done: number; readonly total: number },
): string {
  return `${doing}: ${groupDigits(String(done))} of ${groupDigits(String(total))}`;
}
