import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

/** Runs a program to its end; fails with its output if that is not 0. */
export async function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Readonly<Record<string, string>> },
): Promise<string> {
  const child = spawn(command, args, {
    cwd,
    env: { ...strangersEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  await once(child, "close");
  if (child.exitCode !== 0) {
    throw new Error(
      `${path.basename(command)} ${args.join(" ")} ended with ${String(child.exitCode)}:\n${output}`,
    );
  }
  return stdout;
}

/**
 * The environment without what `npm test` of this repository put there, so that
 * nothing of its node_modules is found by chance; with this Node first.
 */
export function strangersEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$|HARDHAT_|NODE_(OPTIONS|ENV)$|FORCE_COLOR$|NO_COLOR$)/u.test(
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
