import { z } from "zod";

import { vaultError } from "../errors.js";
import {
  PROJECT_FOLDER,
  listProjectFiles,
  readProjectFile,
  reasonOf,
  writeProjectFile,
} from "../project-file.js";
import { byRole } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import { recordedAddress, recordedCount } from "../recorded-values.js";
import type { Schema } from "../recorded-values.js";

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
  /** Whose mocks they are, where the network has several sets of contracts. */
  readonly instance?: string | undefined;
  readonly contracts: Readonly<Record<ContractRole, string>>;
}

const deploymentSchema: Schema<MockDeployment> = z
  .object({
    version: z.literal(1),
    chainId: recordedCount,
    genesisHash: z.string(),
    block: recordedCount,
    scenario: z.string(),
    instance: z.string().optional(),
    contracts: z.object(byRole(() => recordedAddress)).strict(),
  })
  .strict();

/**
 * Writes the file; it appears whole or not at all.
 *
 * @param command Replaces it, for the error's text.
 * @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if it cannot be written
 */
export async function writeDeployment(
  projectRoot: string,
  deployment: MockDeployment,
  command: string,
): Promise<void> {
  const name = deploymentFile(deployment);
  try {
    await writeProjectFile(projectRoot, name, deployment);
  } catch (error) {
    const problem = `it cannot be written (${reasonOf(error)})`;
    throw invalidFile({ file: name, problem, command }, error);
  }
}

/** A file of mocks, by the parts of its name. */
interface DeploymentFile {
  /** Relative to the project's root. */
  readonly file: string;
  readonly chain: string;
  readonly instance: string | undefined;
}

export async function listDeployments(
  projectRoot: string,
): Promise<readonly DeploymentFile[]> {
  return (await listProjectFiles(projectRoot)).toSorted().flatMap((name) => {
    const [, chain, instance] =
      /^([0-9]+)-[0-9a-z]+(?:-([a-z0-9_-]+))?\.json$/u.exec(name) ?? [];
    return chain === undefined
      ? []
      : [{ file: `${PROJECT_FOLDER}/${name}`, chain, instance }];
  });
}

/**
 * @param file As {@link deploymentFile} names it.
 * @param command Replaces it, for the error's text.
 * @returns Undefined if there is no file.
 * @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if it cannot be used
 */
export async function readDeployment(
  projectRoot: string,
  file: string,
  command: string,
): Promise<MockDeployment | undefined> {
  return await readProjectFile(
    projectRoot,
    file,
    deploymentSchema,
    (problem, cause) => invalidFile({ file, problem, command }, cause),
  );
}

/**
 * Where a chain's mocks are remembered, relative to the project's root: by its
 * first block too, since local nodes share a chain id.
 */
export function deploymentFile({
  chainId,
  genesisHash,
  instance,
}: Pick<MockDeployment, "chainId" | "genesisHash" | "instance">): string {
  const genesis = /^0x([0-9a-f]{8})/iu.exec(genesisHash)?.[1] ?? "unknown";
  const ofInstance = instance === undefined ? "" : `-${instance}`;
  return `${PROJECT_FOLDER}/${chainId}-${genesis.toLowerCase()}${ofInstance}.json`;
}

function invalidFile(
  args: Readonly<Record<"file" | "problem" | "command", string>>,
  cause: unknown,
): Error {
  return vaultError("VAULT_INVALID_DEPLOYMENT_FILE", args, cause);
}
