import { runInThisContext } from "node:vm";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { itShows, steady } from "./screens.js";

/** Where a session runs; each door has one of its own. */
export interface CallWorld {
  readonly hre: HardhatRuntimeEnvironment;
  /** What the calls can name beside `hre`, `connection` and `vault`. */
  readonly names?: Readonly<Record<string, unknown>>;
  readonly close?: () => Promise<void>;
}

/**
 * Makes the calls of `test/tasks/screens/calls-<name>.txt`, and compares what
 * each returns or throws with what is recorded below it. A call begins with `> `
 * and may go on in lines that begin with `| `; `> x = call` keeps the result for
 * later calls, and `> call;` must succeed and records nothing. A line that begins
 * with `# ` is the title of a test.
 *
 * The whole session runs twice, with `vault` as `hre.vault` and as
 * `connection.vault`. Results that differ are recorded both.
 */
export function recordCalls(
  name: string,
  open: () => Promise<CallWorld>,
): void {
  itShows(`calls-${name}`, async (recorded) => {
    const lines = recorded.match(/^[>#] .*(?:\n\| .*)*/gmu) ?? [];
    const lazy = await resultsOf(lines, await open(), true);
    const connected = await resultsOf(lines, await open(), false);
    const shown = lines.map((line, index) => {
      const [one, other] = [steady(lazy[index] ?? ""), connected[index] ?? ""];
      return one === steady(other)
        ? `${line}\n${one}`
        : `${line}\nhre.vault: ${one}connection.vault: ${steady(other)}`;
    });
    return shown.join("\n");
  });
}

async function resultsOf(
  lines: readonly string[],
  { hre, names, close }: CallWorld,
  isLazy: boolean,
): Promise<string[]> {
  try {
    const { network } = hre;
    const connection = await (isLazy
      ? network.getOrCreate()
      : network.create());
    const { vault } = isLazy ? hre : connection;
    const scope: Record<string, unknown> = { ...names, hre, connection, vault };
    const results: string[] = [];
    for (const line of lines) {
      const [, name = "last", call = "0", silent = ";"] =
        /^> (?:(\w+) = )?(.*?)(;?)$/su.exec(line.replaceAll("\n| ", "\n")) ??
        [];
      let result: string;
      try {
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- its text begins as such a function
        const made = runInThisContext(
          `async ({ ${Object.keys(scope).join(", ")} }) => (${call})`,
        ) as (scope: object) => Promise<unknown>;
        scope[name] = await listed(await made(scope));
        result = show(scope[name]);
      } catch (error) {
        if (silent === ";") {
          throw error;
        }
        result = `throws ${show(error)}`;
      }
      const shown = result.replaceAll(hre.config.paths.root, "/project");
      results.push(silent === ";" ? "" : `${shown}\n`);
    }
    return results;
  } finally {
    await close?.();
  }
}

/** The items of a generator; anything else as it is. */
async function listed(value: unknown): Promise<unknown> {
  return Symbol.asyncIterator in Object(value)
    ? // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- checked above
      await Array.fromAsync(value as AsyncIterable<unknown>)
    : value;
}

function show(value: unknown): string {
  const text = JSON.stringify(plain(value), null, 2);
  // What is short is on one line.
  return text.replaceAll(
    /([[{])\n\s+([^[\]{}]{1,90}?)\n\s+([\]}])/gu,
    (short) => short.replaceAll(/\n\s+/gu, " "),
  );
}

/** What a value has, in JSON: also a bigint, undefined, a Map and an error. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") {
    return `${value}n`;
  }
  if (value === undefined || typeof value === "function") {
    return `(${typeof value})`;
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || prototype === Object.prototype;
  if (!isPlain && !(value instanceof Map || value instanceof Error)) {
    // Its getters may have effects.
    return `(${value.constructor.name})`;
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  if (value instanceof Map) {
    fields.set("Map", [...value]);
  } else if (value instanceof Error) {
    fields.set("name", value.name);
    // The message of a VaultError is both its texts.
    if (!value.message.startsWith(`${String(fields.get("shortMessage"))} `)) {
      fields.set("message", value.message);
    }
    // A node's own error has no stack.
    if (
      value.cause instanceof Error &&
      value.cause.stack?.includes("\n") === true
    ) {
      fields.set("cause", value.cause.name);
    }
  }
  return Object.fromEntries(
    [...fields].map(([key, field]) => [key, plain(field)]),
  );
}
