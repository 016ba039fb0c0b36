import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import ts from "typescript";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";

/** As in a project of a user, that also writes declarations. */
const SOURCE = `
import type { Signer } from "ethers";
import { settlesRound } from "hardhat-vault/assert";
import { vaultAbi } from "hardhat-vault/abi";
import { Vault__factory } from "hardhat-vault/bindings";
import { VaultClient } from "hardhat-vault/client";
import { deployMocks } from "hardhat-vault/mocks";

type Provider = ConstructorParameters<typeof VaultClient>[0];

export async function settle(provider: Provider, signer: Signer) {
  const mocks = await deployMocks(provider);
  await settlesRound(
    mocks.vault,
    Vault__factory.connect(mocks.addresses.vault, signer).settleAll(),
  );
  await mocks.contracts.vault.connect(signer).settleAll();
}
export const vaultInterface = Vault__factory.createInterface();
export const type: "function" = vaultAbi[0].type;
`;

const strict = { strict: true, declaration: true, types: [] };

/** How projects are set up. */
const projects: ReadonlyArray<
  readonly [title: string, type: "commonjs" | "module", ts.CompilerOptions]
> = [
  [
    "a CommonJS project as Hardhat 2 makes it (module: commonjs)",
    "commonjs",
    {
      module: ts.ModuleKind.CommonJS,
      // The default for this module before TypeScript 6, which warns of it.
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- users have it
      moduleResolution: ts.ModuleResolutionKind.Node10,
      ignoreDeprecations: "6.0",
    },
  ],
  [
    "a CommonJS project with module: nodenext",
    "commonjs",
    { module: ts.ModuleKind.NodeNext },
  ],
  [
    "an ES module project with module: nodenext",
    "module",
    { module: ts.ModuleKind.NodeNext },
  ],
];

describe("types of the package", () => {
  for (const [title, type, options] of projects) {
    it(`ethers' signers and our contracts type-check in ${title}`, async () => {
      const folder = await mkdtemp(path.join(tmpdir(), "vault-types-"));
      try {
        await mkdir(path.join(folder, "node_modules"));
        for (const [name, target] of [
          ["hardhat-vault", repositoryRoot],
          ["ethers", path.join(repositoryRoot, "node_modules/ethers")],
        ] as const) {
          await symlink(target, path.join(folder, "node_modules", name), "dir");
        }
        const manifest = JSON.stringify({ type });
        await writeFile(path.join(folder, "package.json"), manifest);
        const file = path.join(folder, "settle.ts");
        await writeFile(file, SOURCE);
        const program = ts.createProgram([file], {
          ...{ ...strict, ...options },
          target: ts.ScriptTarget.ES2022,
          esModuleInterop: true,
          outDir: path.join(folder, "out"),
        });
        const problems = ts
          .getPreEmitDiagnostics(program)
          .map(
            ({ code, messageText, file: where }) =>
              `${where?.fileName ?? ""} TS${code} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
          );
        expect(problems).to.deep.equal([]);
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  }
});
