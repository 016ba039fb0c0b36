import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";

import { fieldsOf } from "../fields.js";

/** Far more than any command of a consumer takes, on any machine. */
const TIMEOUT_MS = 1_200_000;

/** Runs a program to its end; fails with its output if that is not 0. */
export async function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<string> {
  const running = promisify(execFile)(command, args, {
    cwd,
    env: { ...strangersEnvironment(), ...env },
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    maxBuffer: Infinity,
    // There, npm and npx are scripts of the shell.
    shell: process.platform === "win32" && /^np[mx]$/u.test(command),
  });
  running.child.stdin?.end();
  const { stdout } = await running.catch((error: unknown) => {
    const { stdout: out, stderr } = fieldsOf(error);
    throw new Error(
      `${path.basename(command)} ${args.join(" ")}:\n${String(out)}${String(stderr)}`,
      { cause: error },
    );
  });
  return stdout;
}

/**
 * The environment without what `npm test` of this repository put there, so that
 * nothing of its node_modules is found by chance; with this Node first.
 */
export function strangersEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$|HARDHAT_|NODE_(OPTIONS|ENV)$|CI$|FORCE_COLOR$|NO_COLOR$)/u.test(
        name,
      ),
  );
  const directories = (process.env.PATH ?? "")
    .split(path.delimiter)
    .filter((directory) => !directory.includes("node_modules"));
  return {
    ...Object.fromEntries(kept),
    PATH: [path.dirname(process.execPath), ...directories].join(path.delimiter),
    HARDHAT_DISABLE_TELEMETRY_PROMPT: "true",
  };
}
