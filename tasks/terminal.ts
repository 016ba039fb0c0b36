import { once } from "node:events";
import { constants } from "node:os";
import { clearLine, cursorTo } from "node:readline";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";

import type { UserInterruptionHooks } from "hardhat/types/hooks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { fallbackTo, vaultError } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import { groupDigits } from "../src/protocol/index.js";
import { messageOf } from "../src/rpc/errors.js";
import { quoteForeignText } from "../src/foreign-text.js";
import { createStyle } from "./output/screen.js";
import type { Output } from "./output/screen.js";

/** The only place where a task writes and asks. */
export interface Terminal {
  readonly out: Output & { readonly isTTY: boolean };
  readonly err: Output;
  /** Only `y` and `yes` are a yes: anything else is a no. Undefined without a terminal. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
  /** Shows a line on stderr, if it is a terminal, until the next output. */
  readonly progress: (
    doing: string,
    far?: { readonly done: number; readonly total: number },
  ) => void;
}

/** Names the plugin in its questions. */
const PLUGIN = "hardhat-vault";

const ignore = (): void => undefined;

/**
 * Reserves stdout for the task: other output goes to stderr, for example Solidity's
 * `console.log` and the questions of Hardhat.
 */
export async function withTerminal<T>(
  {
    hooks,
    interruptions,
  }: Pick<HardhatRuntimeEnvironment, "hooks" | "interruptions">,
  work: (terminal: Terminal) => Promise<T>,
  instance?: unknown,
): Promise<T> {
  const { stdin, stdout, stderr } = process;
  // A closed pipe also emits an event. Without a listener it would end the
  // process, even in the middle of a settlement.
  for (const stream of [stdout, stderr]) {
    stream.off("error", ignore).on("error", ignore);
  }
  // Process 1, as in a container, ends on a signal only if there is a handler.
  if (process.pid === 1 && process.listenerCount("SIGTERM") === 0) {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => process.exit(128 + constants.signals[signal]));
    }
  }
  const canAsk = stdin.isTTY && stderr.isTTY;
  /** Also those of others, for example for the password of a keystore. */
  const answer: NonNullable<UserInterruptionHooks["requestInput"]> = async (
    context,
    from,
    text,
    next,
  ) => {
    if (!canAsk) {
      const problem = `${quoteForeignText(from)} asks "${quoteForeignText(text)}", and there is no terminal to ask on.`;
      throw vaultError("VAULT_HARDHAT_ERROR", { source: "A plugin", problem });
    }
    const ask = async (): Promise<string> => await next(context, from, text);
    return from === PLUGIN ? await askNow(ask) : await ask();
  };
  const questions = { requestInput: answer, requestSecretInput: answer };
  hooks.registerHandlers("userInterruptions", questions);
  const restoreStdout = reserveStdout();
  const writeError = stderr.write.bind(stderr);
  try {
    return await work({
      out: {
        isTTY: stdout.isTTY,
        style: createStyle(stdout, instance),
        write: async (text) => await writeTo(writeToStdout, text),
      },
      err: {
        style: createStyle(stderr, instance),
        // A failure cannot be reported anywhere.
        write: async (text) =>
          await writeTo(writeError, text).catch(fallbackTo(false)),
      },
      ask: canAsk
        ? async (question) =>
            /^\s*y(?:es)?\s*$/iu.test(
              await interruptions.requestInput(PLUGIN, `${question} (y/N)`),
            )
        : undefined,
      progress: (doing, far) => {
        const text =
          far === undefined
            ? "…"
            : `: ${groupDigits(`${far.done}`)} of ${groupDigits(`${far.total}`)}`;
        showProgress(doing + text);
      },
    });
  } finally {
    restoreStdout();
    hooks.unregisterHandlers("userInterruptions", questions);
    hideProgress();
  }
}

/** True while the line on stderr is shown that says what a task waits for. */
let isProgressShown = false;

function showProgress(text: string): void {
  const { stderr } = process;
  if (stderr.isTTY && process.env["TERM"] !== "dumb") {
    hideProgress();
    // A full line would move the cursor to the next one.
    stderr.write(text.slice(0, createStyle(stderr).width - 1));
    isProgressShown = true;
  }
}

function hideProgress(): void {
  if (isProgressShown) {
    cursorTo(process.stderr, 0);
    clearLine(process.stderr, 0);
    isProgressShown = false;
  }
}

type WriteText = (
  text: string,
  done: (error?: Error | null) => void,
) => unknown;

async function writeTo(write: WriteText, text: string): Promise<boolean> {
  hideProgress();
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

/** The original `write` of stdout while tasks reserve it. */
let undiverted: typeof process.stdout.write | undefined;
let reservations = 0;

const writeToStdout: WriteText = (text, done) =>
  Reflect.apply(undiverted ?? ignore, process.stdout, [text, done]);

/** @returns Ends the reservation; with several tasks, the last call does. */
function reserveStdout(): () => void {
  const { stdout, stderr } = process;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
  const original = (undiverted ??= stdout.write);
  reservations += 1;
  stdout.write = (...args: unknown[]): boolean => {
    // Else the progress line would be erased with what others write behind it.
    hideProgress();
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called as the stream's own
    return Reflect.apply(stderr.write, stderr, args) !== false;
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

/**
 * Discards what was typed before the question. Ctrl-C and Ctrl-D, before and after it, are
 * no answer; Hardhat's own question would wait for one for ever.
 */
async function askNow(question: () => Promise<string>): Promise<string> {
  const { stdin, stderr } = process;
  let typedAhead = "";
  const discard = (keys: unknown): void => {
    typedAhead += String(keys);
  };
  stdin.on("data", discard);
  // Else the terminal keeps back a line that is not complete.
  stdin.setRawMode(true);
  stdin.resume();
  await sleep(DRAIN_MS);
  stdin.pause();
  stdin.setRawMode(false);
  stdin.off("data", discard);
  // eslint-disable-next-line no-control-regex -- Ctrl-C and Ctrl-D
  if (/[\u0003\u0004]/u.test(typedAhead)) {
    return "";
  }
  // Whoever asks lets go of stdin after an answer, too, which is handed on before this.
  const closed = once(stdin, "pause").then(
    async () => await setImmediate("\n"),
  );
  const answer = await Promise.race([question(), closed]);
  if (answer === "\n") {
    // The cursor stands behind the question.
    stderr.write("\n");
  }
  return answer;
}
