import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import { strangersEnvironment } from "./consumers/run-command.js";
import { hardhatCli } from "./hardhat-node.js";

const compileCache = path.join(
  import.meta.dirname,
  "../../cache/node-compile-cache",
);

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A command that runs the rest, such as `unshare`, with its options. */
  readonly under?: readonly string[];
}

/** Starts `hardhat <args>` as a child process, as a user would. */
export function startHardhat(
  args: readonly string[],
  { cwd, env = {}, under = [] }: CommandOptions,
): ChildProcessByStdio<null, Readable, Readable> {
  const [command, ...rest] = [...under, process.execPath, hardhatCli];
  return spawn(command, [...rest, ...args], {
    cwd,
    env: { ...environmentWithoutColours(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

export async function runHardhat(
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const child = startHardhat(args, options);
  const [stdout, stderr] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { stdout, stderr, exitCode: child.exitCode };
}

/** The environment as a script has it: nothing that asks for colours or CI. */
export const environmentWithoutColours = (): NodeJS.ProcessEnv => ({
  ...strangersEnvironment(),
  // Some hundred commands of one test run load the same modules.
  NODE_COMPILE_CACHE: compileCache,
});
