import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { CommandResult } from "./cli.js";

/**
 * Runs `hardhat vault <task>` in this process, with what it writes captured:
 * the whole way from the task's definition to the exit code, without the second
 * that a child process takes.
 *
 * @param stdoutFails Why nothing can be written to stdout.
 */
export async function runVaultTask(
  hre: HardhatRuntimeEnvironment,
  task: string,
  args: Readonly<Record<string, unknown>> = {},
  stdoutFails?: Error,
): Promise<CommandResult> {
  const out = capture(process.stdout, stdoutFails);
  const err = capture(process.stderr);
  try {
    const result: unknown = await hre.tasks
      .getTask(["vault", ...task.split(" ")])
      .run({ ...args });
    const success: unknown = Reflect.get(Object(result), "success");
    return {
      stdout: out.text(),
      stderr: err.text(),
      exitCode: success === true ? 0 : 1,
    };
  } finally {
    out.restore();
    err.restore();
  }
}

/** The document that a task printed with `--json`, which must be all of it. */
export function parseDocument({ stdout }: CommandResult): unknown {
  if (!stdout.endsWith("\n") || stdout.trimEnd().includes("\n")) {
    throw new Error(`not one line: ${JSON.stringify(stdout)}`);
  }
  return JSON.parse(stdout);
}

function capture(
  stream: NodeJS.WriteStream,
  failure?: Error,
): {
  text: () => string;
  restore: () => void;
} {
  const own = Object.getOwnPropertyDescriptor(stream, "write");
  let written = "";
  Object.defineProperty(stream, "write", {
    configurable: true,
    writable: true,
    value: (text: string | Uint8Array, ...rest: unknown[]): boolean => {
      if (failure === undefined) {
        written +=
          typeof text === "string" ? text : Buffer.from(text).toString();
      }
      // Whoever waits until it is written is told so.
      const done = rest.at(-1);
      if (typeof done === "function") {
        process.nextTick(done, failure);
      }
      return true;
    },
  });
  return {
    text: () => written,
    restore: () => {
      if (own === undefined) {
        Reflect.deleteProperty(stream, "write");
      } else {
        Object.defineProperty(stream, "write", own);
      }
    },
  };
}
