import { mkdir } from "node:fs/promises";
import path from "node:path";

import {
  FileNotFoundError,
  InvalidFileFormatError,
  readJsonFile,
} from "@nomicfoundation/hardhat-utils/fs";
import writeFileAtomic from "write-file-atomic";
import { z } from "zod";

import { vaultError } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";

/** Folder in the project's root. */
const DEPLOYMENTS_FOLDER = "vault-deployments";

const addressSchema = z.string().regex(/^0x[0-9a-fA-F]{40}$/u);

/** What `vault deploy-mocks` remembers of a persistent network. */
// Spelled out, not inferred: our declarations would import zod's, which every
// project that has this package would then have to load and check.
export interface MockDeployment {
  readonly version: 1;
  readonly chainId: number;
  /** Several local nodes share a chain id; their genesis tells them apart. */
  readonly genesisHash: string;
  readonly block: number;
  readonly scenario: string;
  readonly contracts: Readonly<Record<ContractRole, string>>;
}

const deploymentSchema: z.ZodType<MockDeployment> = z
  .object({
    version: z.literal(1),
    chainId: z.number().int().nonnegative(),
    genesisHash: z.string(),
    block: z.number().int().nonnegative(),
    scenario: z.string(),
    contracts: z
      .object(
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the keys are the roles, which fromEntries forgets
        Object.fromEntries(
          contractRoleNames.map((role) => [role, addressSchema]),
        ) as Record<ContractRole, typeof addressSchema>,
      )
      .strict(),
  })
  .strict();

/** Writes the file; it appears whole or not at all. */
export async function writeDeployment(
  projectRoot: string,
  deployment: MockDeployment,
): Promise<void> {
  const file = path.join(projectRoot, deploymentFile(deployment.chainId));
  await mkdir(path.dirname(file), { recursive: true });
  await writeFileAtomic(file, `${JSON.stringify(deployment, undefined, 2)}\n`);
}

/**
 * @returns Undefined if there is no file.
 * @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if it cannot be used
 */
export async function readDeployment(
  projectRoot: string,
  chainId: number,
): Promise<MockDeployment | undefined> {
  let json: unknown;
  try {
    json = await readJsonFile(path.join(projectRoot, deploymentFile(chainId)));
  } catch (error) {
    if (error instanceof FileNotFoundError) {
      return undefined;
    }
    throw invalidFile(
      chainId,
      error instanceof InvalidFileFormatError
        ? "it is not JSON"
        : "it cannot be read",
      error,
    );
  }
  const parsed = deploymentSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalidFile(
      chainId,
      `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}`,
      parsed.error,
    );
  }
  return parsed.data;
}

/** Relative to the project's root. */
export function deploymentFile(chainId: number): string {
  return `${DEPLOYMENTS_FOLDER}/${chainId}.json`;
}

function invalidFile(chainId: number, problem: string, cause: unknown): Error {
  return vaultError(
    "VAULT_INVALID_DEPLOYMENT_FILE",
    { file: deploymentFile(chainId), problem },
    cause,
  );
}
