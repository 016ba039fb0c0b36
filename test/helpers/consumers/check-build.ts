import { glob, readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import { contractSources } from "../solc.js";
import type { CompilerOutput } from "../solc.js";
import type { ConsumerDefinition } from "./definitions.js";

/** What Hardhat keeps of a compiler's run, as far as it is looked at. */
interface BuildInfo {
  readonly solcVersion: string;
  readonly input: {
    readonly settings: {
      readonly optimizer?: { readonly enabled: boolean };
      readonly viaIR?: boolean;
    };
    readonly sources: Readonly<Record<string, unknown>>;
  };
}

/** No limit of size holds for a test, which is not deployed. */
const TEST_FILE = /\.t\.sol\b/u;

/**
 * Checks by what Hardhat's build left that the project's settings compiled all
 * of our contracts, without a warning.
 */
export async function checkBuild(
  folder: string,
  { compiler }: ConsumerDefinition,
): Promise<void> {
  const compiled = new Set<string>();
  const buildInfos = path.join(folder, "artifacts/build-info");
  for await (const file of glob("*.json", { cwd: buildInfos })) {
    if (file.endsWith(".output.json")) {
      continue;
    }
    const { solcVersion, input } = await readJson<BuildInfo>(
      path.join(buildInfos, file),
    );
    const { optimizer, viaIR = false } = input.settings;
    expect(
      { version: solcVersion, optimizer: optimizer?.enabled ?? false, viaIR },
      file,
    ).to.deep.equal(compiler);
    const { output } = await readJson<{ output: CompilerOutput }>(
      path.join(buildInfos, file.replace(/\.json$/u, ".output.json")),
    );
    expect(
      (output.errors ?? [])
        .map(({ formattedMessage }) => formattedMessage)
        .filter((message) => !TEST_FILE.test(message)),
      "errors and warnings",
    ).to.deep.equal([]);
    for (const source of Object.keys(input.sources)) {
      // Hardhat adds the name and version of the package.
      compiled.add(source.replace(/^npm\/hardhat-vault@[^/]+\//u, ""));
    }
  }
  const importable = Object.keys(await contractSources()).filter(
    (file) => !file.startsWith("contracts/lens/"),
  );
  expect([...compiled]).to.include.members(importable);
}

async function readJson<Content>(file: string): Promise<Content> {
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- Hardhat wrote it
  return JSON.parse(await readFile(file, "utf8")) as Content;
}
