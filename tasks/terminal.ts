import type { Buffer } from "node:buffer";
import { constants } from "node:os";
import { clearLine, createInterface, cursorTo } from "node:readline";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";

import type {
  HookContext,
  HookManager,
  UserInterruptionHooks,
} from "hardhat/types/hooks";

import { fallbackTo, vaultError } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { groupDigits } from "../src/protocol/index.js";
import { messageOf } from "../src/rpc/thrown.js";
import { quoteForeignText } from "../src/redact.js";
import { cutToWidth } from "./output/render-text.js";
import { createStyle } from "./output/style.js";
import type { Output } from "./output/style.js";

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

/**
 * Reserves stdout for the task: other output goes to stderr, for example Solidity's
 * `console.log` and the prompts of Hardhat.
 */
export async function withTerminal<T>(
  hooks: HookManager,
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
  const line = createLine();
  const ignoreSignals = endOnSignals();
  const hideFor = async <Answer>(
    context: HookContext,
    from: string,
    text: string,
    next: (context: HookContext, from: string, text: string) => Promise<Answer>,
  ): Promise<Answer> =>
    await line.aside(async () => await next(context, from, text));
  // Hardhat's own questions, for example for the password of a keystore.
  const questions: Partial<UserInterruptionHooks> = {
    displayMessage: hideFor,
    requestInput: hideFor,
    requestSecretInput: hideFor,
  };
  hooks.registerHandlers("userInterruptions", questions);
  const restoreStdout = reserveStdout(line.hide);
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
          ? async (question) =>
              await line.aside(async () => await confirm(question))
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
    ignoreSignals();
    hooks.unregisterHandlers("userInterruptions", questions);
    line.end();
  }
}

/**
 * Makes process 1, as in a container, end on a signal as any other process does: the
 * system ignores a signal for it unless there is a handler.
 *
 * @returns Removes the handlers.
 */
function endOnSignals(): () => void {
  const removals = (["SIGINT", "SIGTERM"] as const)
    .filter(
      (signal) => process.pid === 1 && process.listenerCount(signal) === 0,
    )
    .map((signal) => {
      const end = (): void => {
        process.exit(128 + constants.signals[signal]);
      };
      process.on(signal, end);
      return () => process.off(signal, end);
    });
  return () => {
    for (const remove of removals) {
      remove();
    }
  };
}

/** The line that shows what a task waits for, and for how long. */
interface ProgressLine {
  /** Shows a text, and how long it has been shown, until {@link end}. */
  readonly show: (text: string) => void;
  /** Erases the line; it comes back within a second. */
  readonly hide: () => void;
  /** Erases the line while somebody else uses the terminal. */
  readonly aside: <T>(work: () => Promise<T>) => Promise<T>;
  readonly end: () => void;
}

const TICK_MS = 1_000;

function createLine(): ProgressLine {
  const { stderr } = process;
  if (!stderr.isTTY || process.env["TERM"] === "dumb") {
    const aside: ProgressLine["aside"] = async (work) => await work();
    return { show: ignore, hide: ignore, aside, end: ignore };
  }
  let doing = "";
  let since = 0;
  let isShown = false;
  let timer: NodeJS.Timeout | undefined;
  const hide = (): void => {
    if (isShown) {
      cursorTo(stderr, 0);
      clearLine(stderr, 0);
      isShown = false;
    }
  };
  const draw = (): void => {
    const seconds = Math.round((performance.now() - since) / 1_000);
    const waited = seconds === 0 ? "" : ` ${seconds} s`;
    const style = createStyle(stderr);
    // A full line would move the cursor to the next one.
    const width = Math.max(style.width - waited.length - 1, 0);
    hide();
    stderr.write(`${cutToWidth(doing, { ...style, width })}${waited}`);
    isShown = true;
  };
  const start = (): void => {
    timer ??= setInterval(draw, TICK_MS).unref();
  };
  const end = (): void => {
    hide();
    clearInterval(timer);
    timer = undefined;
  };
  return {
    show: (text) => {
      if (text !== doing) {
        doing = text;
        since = performance.now();
      }
      draw();
      start();
    },
    hide,
    aside: async (work) => {
      const isActive = timer !== undefined;
      end();
      try {
        return await work();
      } finally {
        if (isActive) {
          start();
        }
      }
    },
    end,
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
function reserveStdout(beforeOthers: () => void): () => void {
  const { stdout, stderr } = process;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
  const original = (undiverted ??= stdout.write);
  reservations += 1;
  stdout.write = (...args: unknown[]): boolean => {
    // Else the progress line would erase what others write below it.
    beforeOthers();
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
    const hasRoom: unknown = Reflect.apply(stderr.write, stderr, args);
    return hasRoom !== false;
  };
  return () => {
    reservations -= 1;
    if (reservations === 0) {
      stdout.write = original;
      undiverted = undefined;
    }
  };
}

/** Time for the terminal to deliver what was typed before a question, in milliseconds. */
const DRAIN_MS = 50;

/** Ctrl-C and Ctrl-D, as a terminal in raw mode delivers them. */
const ENDS = ["\u0003", "\u0004"];

/** Asks on stderr. Only `y` and `yes` are a yes: anything else is a no. */
async function confirm(question: string): Promise<boolean> {
  const { stdin, stderr } = process;
  if (await drain()) {
    stdin.setRawMode(false);
    return false;
  }
  const style = createStyle(stderr);
  const reader = createInterface({ input: stdin, output: stderr });
  const answer = await new Promise<string>((resolve) => {
    // Ctrl-C, Ctrl-D and a closed input count as no.
    reader.once("SIGINT", () => {
      reader.close();
    });
    reader.once("close", () => {
      resolve("");
    });
    reader.question(`${style.title(question)} ${style.dim("(y/N)")} `, resolve);
  });
  reader.close();
  if (answer === "") {
    // The cursor stands behind the question after Ctrl-C.
    stderr.write("\n");
  }
  return ["y", "yes"].includes(answer.trim().toLowerCase());
}

/**
 * Discards what was typed before the question is shown. Leaves the terminal in raw mode.
 *
 * @returns True if it was Ctrl-C or Ctrl-D.
 */
async function drain(): Promise<boolean> {
  const { stdin } = process;
  let isEnded = false;
  const discard = (typed: Buffer | string): void => {
    const text = String(typed);
    isEnded ||= ENDS.some((key) => text.includes(key));
  };
  stdin.on("data", discard);
  // Else the terminal keeps back a line that is not complete.
  stdin.setRawMode(true);
  stdin.resume();
  await sleep(DRAIN_MS);
  stdin.pause();
  stdin.off("data", discard);
  return isEnded;
}

function ignore(): void {
  // Deliberately empty.
}
