import { readFile } from "node:fs/promises";
import path from "node:path";
import { runInThisContext } from "node:vm";

import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { expectScreen, steady } from "./screens.js";

/** Where a session runs; each door has one of its own. */
export interface CallWorld {
  readonly hre: HardhatRuntimeEnvironment;
  /** What the calls can name beside `hre`, `connection` and `vault`. */
  readonly names?: Readonly<Record<string, unknown>>;
  readonly close?: () => Promise<void>;
}

/**
 * Makes the calls of `test/tasks/screens/calls-<name>.txt`, and compares what
 * each returns or throws with what is recorded below it. A call is a line that
 * begins with `> `; `> x = call` keeps the result for later lines, and `> call;`
 * must succeed and records nothing. Lines that begin with `# ` are comments.
 *
 * The whole session runs twice, with `vault` as `hre.vault` and as
 * `connection.vault`. Results that differ are recorded both.
 */
export async function recordCalls(
  name: string,
  open: () => Promise<CallWorld>,
): Promise<void> {
  const folder = path.join(import.meta.dirname, "../tasks/screens");
  const recorded = await readFile(path.join(folder, `calls-${name}.txt`));
  const lines = recorded.toString().match(/^[>#] .*/gmu) ?? [];
  const lazy = await resultsOf(lines, await open(), true);
  const connected = await resultsOf(lines, await open(), false);
  const shown = lines.map((line, index) => {
    const [one, other] = [steady(lazy[index] ?? ""), connected[index] ?? ""];
    return one === steady(other)
      ? `${line}\n${one}`
      : `${line}\nhre.vault: ${one}connection.vault: ${steady(other)}`;
  });
  await expectScreen(`calls-${name}`, shown.join("\n"));
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
      const [, name, call, silent] =
        /^> (?:(\w+) = )?(.*?)(;?)$/u.exec(line) ?? [];
      const source = `async ({ ${Object.keys(scope).join(", ")} }) => (${call})`;
      let result = "";
      try {
        const made: unknown = call === undefined ? 0 : runInThisContext(source);
        if (typeof made === "function") {
          const value: unknown = await Reflect.apply(made, undefined, [scope]);
          scope[name ?? "last"] = value;
          result = silent === ";" ? "" : `${show(await collected(value))}\n`;
        }
      } catch (error) {
        if (silent === ";") {
          throw error;
        }
        result = `throws ${show(error)}\n`;
      }
      results.push(result);
    }
    return results;
  } finally {
    await close?.();
  }
}

/** The items of a generator, and the error that ended it. */
async function collected(value: unknown): Promise<unknown> {
  if (!(Symbol.asyncIterator in Object(value))) {
    return value;
  }
  const items: unknown[] = [];
  try {
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- checked above
    for await (const item of value as AsyncIterable<unknown>) {
      items.push(item);
    }
  } catch (thrown) {
    return { items, thrown };
  }
  return items;
}

function show(value: unknown): string {
  return (
    JSON.stringify(plain(value), null, 2)
      // What is short is on one line.
      .replaceAll(/([[{])\n\s+([^[\]{}]{1,90}?)\n\s+([\]}])/gu, (_, ...parts) =>
        parts.slice(0, 3).join(" ").replaceAll(/\n\s+/gu, " "),
      )
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
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (value instanceof Map) {
    return { Map: plain([...value]) };
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isError = value instanceof Error;
  if (!isError && prototype !== null && prototype !== Object.prototype) {
    return `(${value.constructor.name})`;
  }
  const fields = new Map<string, unknown>(Object.entries(value));
  if (isError) {
    const { name, message, cause } = value;
    fields.set("name", name);
    // The message of a VaultError is both its texts.
    if (!message.startsWith(`${String(fields.get("shortMessage"))} `)) {
      fields.set("message", message);
    }
    if (cause instanceof Error) {
      fields.set("cause", cause.name);
    }
  }
  return Object.fromEntries(
    [...fields].map(([key, field]) => [key, plain(field)]),
  );
}
