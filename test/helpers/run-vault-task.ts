import { ArgumentType } from "hardhat/types/arguments";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { NewTaskDefinition } from "hardhat/types/tasks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import hardhatVault from "../../src/index.js";
import type { CommandResult } from "./cli.js";

/**
 * Runs `hardhat vault <task>` in this process, its output captured as that of a
 * process with pipes, from the task's definition to the exit code.
 *
 * @param stdoutFails Why nothing can be written to stdout.
 */
export async function runVaultTask(
  hre: HardhatRuntimeEnvironment,
  task: string,
  args: Readonly<Record<string, unknown>> = {},
  stdoutFails?: Error,
): Promise<CommandResult> {
  const pipe = { isTTY: false };
  const out = capture([process.stdout], pipe, stdoutFails);
  const err = capture([process.stderr], pipe);
  const exitCode = await run(hre, task, args, [out, err]);
  return { stdout: out.text(), stderr: err.text(), exitCode };
}

/** On a terminal of that width, without a keyboard; what is written to it. */
export async function runOnTerminal(
  hre: HardhatRuntimeEnvironment,
  typed: string,
  columns: number,
): Promise<string> {
  const terminal = { isTTY: true, columns };
  const screen = capture([process.stdout, process.stderr], terminal);
  await run(hre, ...parseTyped(typed), [screen]);
  return screen.text();
}

async function run(
  hre: HardhatRuntimeEnvironment,
  task: string,
  args: Readonly<Record<string, unknown>>,
  captured: ReadonlyArray<{ restore: () => void }>,
): Promise<0 | 1> {
  const restoreStdin = replace(process.stdin, { isTTY: false });
  try {
    const found = hre.tasks.getTask(["vault", ...task.split(" ")]);
    const result: unknown = await found.run({ ...args });
    return Reflect.get(Object(result), "success") === true ? 0 : 1;
  } finally {
    captured.forEach(({ restore }) => {
      restore();
    });
    restoreStdin();
  }
}

/** Runs in this process what a user types after `hardhat vault`. */
export async function runTyped(
  hre: HardhatRuntimeEnvironment,
  typed: string,
): Promise<CommandResult> {
  return await runVaultTask(hre, ...parseTyped(typed));
}

/** The task and its arguments, by the definitions that Hardhat parses with. */
export function parseTyped(
  typed: string,
): readonly [task: string, args: Record<string, unknown>] {
  const words = Array.from(
    typed.matchAll(/'([^']*)'|\S+/gu),
    ([word, quoted]) => quoted ?? word,
  );
  const definition = hardhatVault.tasks?.findLast(
    (each): each is NewTaskDefinition =>
      each.type === TaskDefinitionType.NEW_TASK &&
      each.id.slice(1).every((part, index) => part === words[index]),
  );
  if (definition === undefined) {
    throw new Error(`no task is named as in: ${typed}`);
  }
  const [, ...id] = definition.id;
  const args: Record<string, unknown> = {};
  const given: string[] = [];
  for (let at = id.length; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const name = word
      .slice(2)
      .replaceAll(/-./gu, (c) => c.slice(1).toUpperCase());
    const option = word.startsWith("--") ? definition.options[name] : undefined;
    if (option === undefined) {
      given.push(word);
    } else {
      args[name] = option.type === ArgumentType.FLAG ? true : words[(at += 1)];
    }
  }
  for (const { name, isVariadic } of definition.positionalArguments) {
    args[name] = isVariadic ? given.splice(0) : given.shift();
  }
  if (given.length > 0) {
    throw new Error(`nothing takes ${given.join(" ")} in: ${typed}`);
  }
  return [id.join(" "), args];
}

/** The document that a task printed with `--json`, which must be all of it. */
export function parseDocument({ stdout }: CommandResult): unknown {
  if (!stdout.endsWith("\n") || stdout.trimEnd().includes("\n")) {
    throw new Error(`not one line: ${JSON.stringify(stdout)}`);
  }
  return JSON.parse(stdout);
}

function capture(
  streams: readonly NodeJS.WriteStream[],
  values: Readonly<Record<string, unknown>>,
  failure?: Error,
): { text: () => string; restore: () => void } {
  let written = "";
  const write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
    if (failure === undefined) {
      written += typeof text === "string" ? text : Buffer.from(text).toString();
    }
    // Whoever waits until it is written is told so.
    const done = rest.at(-1);
    if (typeof done === "function") {
      process.nextTick(done, failure);
    }
    return true;
  };
  const restores = streams.map((stream) =>
    replace(stream, { ...values, write }),
  );
  return {
    text: () => written,
    restore: () => {
      restores.forEach((restore) => {
        restore();
      });
    },
  };
}

/** Replaces properties of a stream, until they are restored. */
export function replace(
  stream: object,
  values: Readonly<Record<string, unknown>>,
): () => void {
  const own = Object.getOwnPropertyDescriptors(stream);
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(stream, name, {
      configurable: true,
      writable: true,
      value,
    });
  }
  return (): void => {
    for (const name of Object.keys(values)) {
      Reflect.deleteProperty(stream, name);
      const before = Object.entries(own).find(([each]) => each === name);
      if (before !== undefined) {
        Object.defineProperty(stream, name, before[1]);
      }
    }
  };
}
