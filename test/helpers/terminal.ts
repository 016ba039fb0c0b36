import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

import { hardhatCli } from "./hardhat-node.js";
import { environmentWithoutColours } from "./cli.js";

/** One line of a screen, as a person sees it. */
export interface ScreenLine {
  readonly text: string;
  /** True if the terminal had to break the line before, wherever that was. */
  readonly isBroken: boolean;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly columns: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What is typed, or done, once a text is on the screen. */
  readonly answers?: ReadonlyArray<
    readonly [shown: string, typed: string | (() => void)]
  >;
}

/** Runs `hardhat <args>` in a pseudo-terminal, and returns all that it showed. */
export async function runInTerminal(
  args: readonly string[],
  { cwd, columns, env = {}, answers = [] }: TerminalOptions,
): Promise<{
  lines: readonly ScreenLine[];
  exitCode: number;
}> {
  const screen = newScreen(columns);
  const pty = spawn(process.execPath, [hardhatCli, ...args], {
    ...{ cols: columns, rows: 50, cwd },
    name: "xterm-256color",
    env: { ...environmentWithoutColours(), TERM: "xterm-256color", ...env },
  });
  const left = [...answers];
  let unanswered = "";
  const written: Array<Promise<void>> = [];
  pty.onData((data) => {
    written.push(
      new Promise((resolve) => {
        screen.write(data, resolve);
      }),
    );
    unanswered += data;
    const [next] = left;
    if (next !== undefined && unanswered.includes(next[0])) {
      left.shift();
      unanswered = "";
      const [, typed] = next;
      if (typeof typed === "string") {
        pty.write(typed);
      } else {
        typed();
      }
    }
  });
  const exitCode = await new Promise<number>((resolve) => {
    pty.onExit(({ exitCode: code }) => {
      resolve(code);
    });
  });
  await Promise.all(written);
  return { lines: readScreen(screen), exitCode };
}

/** The screen of a terminal of that width after this output. */
export async function showOnScreen(
  output: string,
  columns: number,
): Promise<readonly ScreenLine[]> {
  const screen = newScreen(columns);
  // As a terminal's driver does.
  screen.options.convertEol = true;
  await new Promise<void>((resolve) => {
    screen.write(output, resolve);
  });
  return readScreen(screen);
}

const newScreen = (cols: number): xterm.Terminal =>
  new xterm.Terminal({
    ...{ cols, rows: 50, scrollback: 10_000, allowProposedApi: true },
  });

function readScreen(screen: xterm.Terminal): ScreenLine[] {
  const { active } = screen.buffer;
  const lines = Array.from({ length: active.length }, (_, row): ScreenLine => {
    const line = active.getLine(row);
    const text = (line?.translateToString(true) ?? "").trimEnd();
    return { text, isBroken: line?.isWrapped ?? false };
  });
  screen.dispose();
  const end = lines.findLastIndex(({ text }) => text !== "");
  return lines.slice(0, end + 1);
}
