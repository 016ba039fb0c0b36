import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const load = createRequire(import.meta.url);
const root = path.resolve(import.meta.dirname, "../..");

/** The compilers of the npm packages, oldest and newest supported among them. */
export const solcPackages = {
  "0.8.20": "solc-0.8.20",
  "0.8.28": "solc-0.8.28",
  "0.8.37": "solc",
} as const;

export type SolcVersion = keyof typeof solcPackages;

/** And that of the deployed protocol, whose code only tests need. */
const everyPackage = { ...solcPackages, "0.6.12": "solc-0.6.12" } as const;

export interface CompiledContract {
  readonly abi: readonly unknown[];
  readonly evm: {
    readonly bytecode: { readonly object: string };
    readonly methodIdentifiers: Readonly<Record<string, string>>;
  };
}

export interface CompilerOutput {
  readonly errors?: ReadonlyArray<{
    readonly formattedMessage: string;
  }>;
  readonly contracts: Readonly<
    Record<string, Readonly<Record<string, CompiledContract>>>
  >;
}

/** A program that Foundry takes for a compiler, around one of npm's. */
export function foundryCompiler(version: SolcVersion): string {
  const solc = load.resolve(solcPackages[version]);
  return `#!${process.execPath}
process.stdout.write(
  process.argv.includes("--version")
    ? "Version: ${version}+commit.00000000.Linux.g++"
    : require(${JSON.stringify(solc)}).compile(
        require("node:fs").readFileSync(0, "utf8"),
      ),
);
`;
}

export async function contractSources(): Promise<
  Record<string, { content: string }>
> {
  const sources: Record<string, { content: string }> = {};
  for await (const file of glob("contracts/**/*.sol", { cwd: root })) {
    const name = file.replaceAll(path.sep, "/");
    sources[name] = { content: await readFile(path.join(root, file), "utf8") };
  }
  return sources;
}

/**
 * Runs a compiler on sources, without a project around them. Its output is
 * kept, since it follows from what goes in and some settings take a minute.
 */
export function compile(
  version: keyof typeof everyPackage,
  sources: Record<string, { content: string }>,
  settings: Readonly<Record<string, unknown>>,
): CompilerOutput {
  const input = JSON.stringify({
    language: "Solidity",
    sources,
    settings: {
      ...settings,
      outputSelection: {
        "*": { "*": ["abi", "evm.bytecode.object", "evm.methodIdentifiers"] },
      },
    },
  });
  const key = createHash("sha256").update(input).digest("hex");
  const kept = path.join(root, "cache", "solc", `${version}-${key}.json`);
  if (!existsSync(kept)) {
    mkdirSync(path.dirname(kept), { recursive: true });
    // Another worker may read it meanwhile.
    const written = `${kept}.${process.pid}`;
    writeFileSync(written, run(version, input));
    renameSync(written, kept);
  }
  const output: unknown = JSON.parse(readFileSync(kept, "utf8"));
  // the shape that the compiler documents
  return output as CompilerOutput;
}

/** A contract of `test/fixture-projects/settling-vaults/`. */
export function compileFixture(
  file: string,
  name: string,
  imported: Record<string, { content: string }> = {},
): CompiledContract {
  const content = readFileSync(
    path.join(root, "test/fixture-projects/settling-vaults", file),
    "utf8",
  );
  const { errors = [], contracts } = compile(
    "0.8.37",
    { ...imported, [file]: { content } },
    // Not optimized: several test files compile it at once.
    { evmVersion: "paris" },
  );
  const found = contracts[file]?.[name];
  if (found === undefined) {
    throw new Error(
      errors.map(({ formattedMessage }) => formattedMessage).join("\n"),
    );
  }
  return found;
}

function run(version: keyof typeof everyPackage, input: string): string {
  const event = "unhandledRejection";
  const own = process.listeners(event);
  // The package has no types; this is its documented interface.
  // see above
  const solc = load(everyPackage[version]) as {
    compile(input: string): string;
  };
  // The old one adds a listener that would end the process.
  for (const listener of process.listeners(event)) {
    if (!own.includes(listener)) {
      process.off(event, listener);
    }
  }
  return solc.compile(input);
}
