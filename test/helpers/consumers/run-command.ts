import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";

/** Far more than any command of a consumer takes, on any machine. */
const DEFAULT_TIMEOUT_MS = 300_000;

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) {
    killTree(child);
  }
});

/**
 * Runs a program to its end; fails with its output if that is not 0, or does
 * not come: then it and all that it started are killed.
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  {
    cwd,
    env = {},
    timeoutMs = DEFAULT_TIMEOUT_MS,
  }: {
    cwd: string;
    env?: Readonly<Record<string, string>>;
    timeoutMs?: number;
  },
): Promise<string> {
  const child = spawn(command, args, {
    cwd,
    env: { ...strangersEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // In a process group of its own, which can be killed as a whole.
    detached: true,
  });
  running.add(child);
  let output = "";
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const timeout = AbortSignal.timeout(timeoutMs);
  const kill = (): void => {
    killTree(child);
  };
  timeout.addEventListener("abort", kill);
  try {
    await once(child, "close");
  } finally {
    timeout.removeEventListener("abort", kill);
    running.delete(child);
  }
  const timedOut = child.signalCode === "SIGKILL" && timeout.aborted;
  if (child.exitCode !== 0) {
    throw new Error(
      `${path.basename(command)} ${args.join(" ")} ${timedOut ? `was killed after ${timeoutMs / 1_000} s` : `ended with ${String(child.exitCode ?? child.signalCode)}`}:\n${output}`,
    );
  }
  return stdout;
}

function killTree({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) {
      process.kill(-pid, "SIGKILL");
    }
  } catch {
    // It has just ended by itself.
  }
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
    // The same tools are started again and again.
    NODE_COMPILE_CACHE: path.join(tmpdir(), "hardhat-vault-compile-cache"),
  };
}
