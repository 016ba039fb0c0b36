import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

export interface ServerProcess {
  readonly url: string;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) {
    child.kill("SIGKILL");
  }
});

/** @param addressPattern Matches the line with the port, which is its first group. */
export async function startServerProcess(
  command: string,
  args: readonly string[],
  addressPattern: RegExp,
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<ServerProcess> {
  const child = spawn(command, args, {
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let output = "";
  const port = await new Promise<number>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = addressPattern.exec(output)?.[1];
      if (found !== undefined) {
        // Read on, so that the server never waits, and keep nothing of it.
        child.stdout.off("data", read).resume();
        child.stderr.off("data", read).resume();
        resolve(Number(found));
      }
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => {
      running.delete(child);
      reject(
        new Error(
          `${command} ended with ${String(code)} before it listened:\n${output}`,
        ),
      );
    });
  });
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, "exit");
        child.kill("SIGKILL");
        await exited;
      }
    },
  };
}
