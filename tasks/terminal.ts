import { setImmediate } from "node:timers/promises";
import type { Key } from "node:readline";

import type {
  HookContext,
  HookManager,
  UserInterruptionHooks,
} from "hardhat/types/hooks";

import { fallbackTo, vaultError } from "../src/errors.js";
import { groupDigits } from "../src/protocol/units.js";
import { messageOf } from "../src/rpc/errors.js";
import { quoteForeignText } from "../src/untrusted-text.js";
import { createStyle } from "./output/style.js";
import type { Style } from "./output/style.js";

/** All that a task writes and asks; nothing else writes. */
export interface Terminal {
  readonly out: Output & { readonly isTTY: boolean };
  readonly err: Output;
  /** Undefined where there is nobody to ask. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /**
   * Shows what is being done in one line of stderr, until something else is
   * written; nothing where there is no terminal.
   */
  readonly progress: (
    doing: string,
    far?: { readonly done: number; readonly total: number },
  ) => void;
}

export interface Output {
  readonly style: Style;
  /**
   * Writes as fast as it is taken, no faster.
   *
   * @returns False if the reader went away (`| head`), which is no failure.
   * @throws VaultError VAULT_OUTPUT_NOT_WRITTEN, as for a full disk
   */
  readonly write: (text: string) => Promise<boolean>;
}

/**
 * Opens the terminal of this process for a task.
 *
 * @param isReserved Whatever else is printed to stdout meanwhile (Solidity's
 * `console.log` in an in-process network, prompts) goes to stderr.
 */
export async function withTerminal<T>(
  hooks: HookManager,
  isReserved: boolean,
  work: (terminal: Terminal) => Promise<T>,
): Promise<T> {
  const { stdin, stdout, stderr } = process;
  // A closed pipe is also told to the stream itself, where it would be an
  // uncaught exception, in the middle of a settlement too.
  for (const stream of [stdout, stderr]) {
    if (!stream.listeners("error").includes(ignore)) {
      stream.on("error", ignore);
    }
  }
  const line = await createLine();
  const hideFor = async <Answer>(
    context: HookContext,
    from: string,
    text: string,
    next: (context: HookContext, from: string, text: string) => Promise<Answer>,
  ): Promise<Answer> => {
    line.hide();
    return await next(context, from, text);
  };
  // Hardhat's own questions, as for the password of a keystore.
  const questions: Partial<UserInterruptionHooks> = {
    displayMessage: hideFor,
    requestInput: hideFor,
    requestSecretInput: hideFor,
  };
  hooks.registerHandlers("userInterruptions", questions);
  const restoreStdout = isReserved ? reserveStdout() : ignore;
  try {
    return await work({
      out: {
        isTTY: stdout.isTTY,
        style: createStyle(stdout),
        write: async (text) => {
          line.hide();
          return await writeTo(writeToStdout, text);
        },
      },
      err: {
        style: createStyle(stderr),
        write: async (text) => {
          line.hide();
          // There is nowhere left to say that this failed.
          return await writeTo(stderr.write.bind(stderr), text).catch(
            fallbackTo(false),
          );
        },
      },
      ask:
        stdin.isTTY && stderr.isTTY
          ? async (question) => {
              line.hide();
              return await confirm(question);
            }
          : undefined,
      progress: (doing, far) => {
        line.show(
          far === undefined
            ? `${doing}…`
            : `${doing}: ${groupDigits(String(far.done))} of ${groupDigits(String(far.total))}`,
        );
      },
    });
  } finally {
    restoreStdout();
    hooks.unregisterHandlers("userInterruptions", questions);
    line.hide();
  }
}

/** The line in which progress is shown. */
async function createLine(): Promise<{
  readonly show: (text: string) => void;
  readonly hide: () => void;
}> {
  const { stderr } = process;
  if (!stderr.isTTY || process.env["TERM"] === "dumb") {
    return { show: ignore, hide: ignore };
  }
  // Most runs have no terminal, and need not load it.
  const { createLogUpdate } = await import("log-update");
  // The cursor stays: Ctrl-C would leave the terminal without one.
  const show = createLogUpdate(stderr, { showCursor: true });
  return {
    show,
    hide: () => {
      show.clear();
    },
  };
}

/** Writes one piece of text and says when it is written, or why not. */
type WriteText = (
  text: string,
  done: (error?: Error | null) => void,
) => unknown;

async function writeTo(write: WriteText, text: string): Promise<boolean> {
  const failure = await new Promise<unknown>((resolve) => {
    try {
      if (write(text, resolve) !== false) {
        // A file is written at once. The callback itself is not waited for: what
        // somebody puts in the place of stdout may never call it.
        void setImmediate().then(resolve);
      }
    } catch (error) {
      resolve(error);
    }
  });
  if (failure === undefined || failure === null) {
    return true;
  }
  // The second once an earlier piece met the first.
  if (hasCode(failure, "EPIPE") || hasCode(failure, "ERR_STREAM_DESTROYED")) {
    return false;
  }
  const problem = quoteForeignText(messageOf(failure));
  throw vaultError("VAULT_OUTPUT_NOT_WRITTEN", { problem }, failure);
}

/** The `write` of stdout while that is reserved for documents. */
let undiverted: typeof process.stdout.write | undefined;
let reservations = 0;

const writeToStdout: WriteText = (text, done) =>
  undiverted === undefined
    ? process.stdout.write(text, done)
    : Reflect.apply(undiverted, process.stdout, [text, done]);

/** @returns Ends it; of tasks that run at once, the last one does. */
function reserveStdout(): () => void {
  const { stdout, stderr } = process;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
  const original = (undiverted ??= stdout.write);
  reservations += 1;
  stdout.write = stderr.write.bind(stderr);
  return () => {
    reservations -= 1;
    if (reservations === 0) {
      stdout.write = original;
      undiverted = undefined;
    }
  };
}

async function confirm(message: string): Promise<boolean> {
  const { default: askToConfirm } = await import("@inquirer/confirm");
  const { stdin, stderr } = process;
  const closed = new AbortController();
  // The prompt would wait for ever after Ctrl-D, and with nothing else to wait
  // for Node would end without a word.
  const onKeypress = (_: unknown, key?: Key): void => {
    if (key?.ctrl === true && key.name === "d") {
      closed.abort();
    }
  };
  stdin.on("keypress", onKeypress);
  try {
    return await askToConfirm(
      { message, default: false },
      { output: stderr, signal: closed.signal },
    );
  } catch {
    // Ctrl-C and a closed input are no Yes.
    return false;
  } finally {
    stdin.off("keypress", onKeypress);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function ignore(): void {
  // Nothing is to be done.
}
