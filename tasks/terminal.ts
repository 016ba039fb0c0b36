import { setImmediate } from "node:timers/promises";
import type { Key } from "node:readline";

import type {
  HookContext,
  HookManager,
  UserInterruptionHooks,
} from "hardhat/types/hooks";

import { fallbackTo, vaultError } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { groupDigits } from "../src/protocol/units.js";
import { messageOf } from "../src/rpc/errors.js";
import { quoteForeignText } from "../src/redact.js";
import { createStyle } from "./output/style.js";
import type { Style } from "./output/style.js";

/** The only place where a task writes and asks. */
export interface Terminal {
  readonly out: Output & { readonly isTTY: boolean };
  readonly err: Output;
  /** Undefined without a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Shows a line on stderr, if it is a terminal, until the next output. */
  readonly progress: (
    doing: string,
    far?: { readonly done: number; readonly total: number },
  ) => void;
}

export interface Output {
  readonly style: Style;
  /**
   * Waits while the buffer of the stream is full.
   *
   * @returns False if the reader has closed the pipe (`| head`).
   * @throws VaultError VAULT_OUTPUT_NOT_WRITTEN, for example for a full disk
   */
  readonly write: (text: string) => Promise<boolean>;
}

/**
 * @param isReserved Diverts all other output on stdout to stderr, for example
 * Solidity's `console.log` and prompts.
 */
export async function withTerminal<T>(
  hooks: HookManager,
  isReserved: boolean,
  work: (terminal: Terminal) => Promise<T>,
  instance?: unknown,
): Promise<T> {
  const { stdin, stdout, stderr } = process;
  // A closed pipe also emits an event. Without a listener it would end the
  // process, even in the middle of a settlement.
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
  // Hardhat's own questions, for example for the password of a keystore.
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
        style: createStyle(stdout, instance),
        write: async (text) => {
          line.hide();
          return await writeTo(writeToStdout, text);
        },
      },
      err: {
        style: createStyle(stderr, instance),
        write: async (text) => {
          line.hide();
          // A failure cannot be reported anywhere.
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

async function createLine(): Promise<{
  readonly show: (text: string) => void;
  readonly hide: () => void;
}> {
  const { stderr } = process;
  if (!stderr.isTTY || process.env["TERM"] === "dumb") {
    return { show: ignore, hide: ignore };
  }
  // Loaded only for a terminal.
  const { createLogUpdate } = await import("log-update");
  // After Ctrl-C a hidden cursor would stay hidden.
  const show = createLogUpdate(stderr, { showCursor: true });
  return {
    show,
    hide: () => {
      show.clear();
    },
  };
}

type WriteText = (
  text: string,
  done: (error?: Error | null) => void,
) => unknown;

async function writeTo(write: WriteText, text: string): Promise<boolean> {
  const failure = await new Promise<unknown>((resolve) => {
    try {
      if (write(text, resolve) !== false) {
        // A file is written at once. A replacement of stdout may never call the
        // callback, so this does not wait for it.
        void setImmediate().then(resolve);
      }
    } catch (error) {
      resolve(error);
    }
  });
  if (failure === undefined || failure === null) {
    return true;
  }
  // After an EPIPE, later writes fail with the second code.
  const { code } = asRecord(failure);
  if (code === "EPIPE" || code === "ERR_STREAM_DESTROYED") {
    return false;
  }
  const problem = quoteForeignText(messageOf(failure));
  throw vaultError("VAULT_OUTPUT_NOT_WRITTEN", { problem }, failure);
}

/** The original `write` of stdout while stdout is reserved. */
let undiverted: typeof process.stdout.write | undefined;
let reservations = 0;

const writeToStdout: WriteText = (text, done) =>
  undiverted === undefined
    ? process.stdout.write(text, done)
    : Reflect.apply(undiverted, process.stdout, [text, done]);

/** @returns Ends the reservation; with several tasks, the last call does. */
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
  // After Ctrl-D the prompt never settles, and Node would exit silently.
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
    // Ctrl-C and a closed input count as no.
    return false;
  } finally {
    stdin.off("keypress", onKeypress);
  }
}

function ignore(): void {
  // Deliberately empty.
}
