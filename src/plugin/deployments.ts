import { mkdir } from "node:fs/promises";
import path from "node:path";

import {
  FileNotFoundError,
  InvalidFileFormatError,
  readJsonFile,
} from "@nomicfoundation/hardhat-utils/fs";
import writeFileAtomic from "write-file-atomic";
import { z } from "zod";

import type { LocatedAddress } from "../client/addresses.js";
import type { Eip1193Provider } from "../rpc/eip1193.js";
import { Chain } from "../rpc/node.js";
import { vaultError } from "../errors.js";
import { contractRoleNames } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";

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

const UNKNOWN_GENESIS = "unknown";

/** Folder in the project's root. */
export const DEPLOYMENTS_FOLDER = "vault-deployments";

/**
 * The addresses of mocks that were deployed to a persistent network, as long as
 * it is the same chain and the code is still there.
 */
export class DeploymentAddresses {
  readonly #chain: Chain;
  readonly #folder: string;
  #found: Promise<MockDeployment | undefined> | undefined;
  #absence: string | undefined;

  constructor(provider: Eip1193Provider, network: string, projectRoot: string) {
    this.#chain = new Chain(provider, network);
    this.#folder = path.join(projectRoot, DEPLOYMENTS_FOLDER);
  }

  /** @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if the file cannot be used */
  public async find(role: ContractRole): Promise<LocatedAddress | undefined> {
    this.#found ??= this.#load();
    const loading = this.#found;
    const deployment = await loading.catch((error: unknown) => {
      this.#forget(loading);
      throw error;
    });
    if (deployment === undefined) {
      // Mocks may be deployed, or the node come back, while this lives.
      this.#forget(loading);
    }
    const address = deployment?.contracts[role];
    return deployment === undefined || address === undefined
      ? undefined
      : { address, source: relativeFile(deployment.chainId) };
  }

  #forget(loading: Promise<MockDeployment | undefined>): void {
    if (this.#found === loading) {
      this.#found = undefined;
    }
  }

  /** Why a file that exists is not used. */
  public describeAbsence(): string | undefined {
    return this.#absence;
  }

  /** Writes the file; it appears whole or not at all. */
  public async save(deployment: MockDeployment): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    await writeFileAtomic(
      this.#fileOf(deployment.chainId),
      `${JSON.stringify(deployment, undefined, 2)}\n`,
    );
    this.#found = Promise.resolve(deployment);
    return relativeFile(deployment.chainId);
  }

  /**
   * Hash of the chain's first block.
   *
   * @throws VaultError VAULT_RPC_INVALID_RESPONSE for a block without a hash,
   * which must not look like another chain, and those of a failed request
   */
  public async genesisHash(): Promise<string> {
    // Some archives are pruned so far that they have no first block; then
    // nothing can be matched, and nothing is.
    return (await this.#chain.genesisHash()) ?? UNKNOWN_GENESIS;
  }

  async #load(): Promise<MockDeployment | undefined> {
    const chainId = await this.#chain.chainId();
    const deployment = await this.#readFile(chainId);
    if (deployment === undefined) {
      return undefined;
    }
    const file = relativeFile(chainId);
    const genesisHash = await this.genesisHash();
    if (
      deployment.chainId !== chainId ||
      deployment.genesisHash !== genesisHash ||
      genesisHash === UNKNOWN_GENESIS
    ) {
      this.#absence = `${file} belongs to another chain with the same id (the node was probably restarted): run \`npx hardhat vault deploy-mocks\` again.`;
      return undefined;
    }
    const haveCode = await Promise.all(
      Object.values(deployment.contracts).map(
        async (address) => await this.#chain.hasCode(address),
      ),
    );
    if (haveCode.includes(false)) {
      this.#absence = `The mocks of ${file} are not on the chain any more: run \`npx hardhat vault deploy-mocks\` again.`;
      return undefined;
    }
    return deployment;
  }

  async #readFile(chainId: number): Promise<MockDeployment | undefined> {
    let json: unknown;
    try {
      json = await readJsonFile(this.#fileOf(chainId));
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

  #fileOf(chainId: number): string {
    return path.join(this.#folder, `${chainId}.json`);
  }
}

function relativeFile(chainId: number): string {
  return `${DEPLOYMENTS_FOLDER}/${chainId}.json`;
}

function invalidFile(chainId: number, problem: string, cause: unknown): Error {
  return vaultError(
    "VAULT_INVALID_DEPLOYMENT_FILE",
    { file: relativeFile(chainId), problem },
    cause,
  );
}
