import { z } from "zod";

import type { LocatedAddress, MissingAddress } from "../client/addresses.js";
import { vaultError } from "../errors.js";
import {
  PROJECT_FOLDER,
  listProjectFiles,
  readProjectFile,
  reasonOf,
  writeProjectFile,
} from "../files/project-file.js";
import { recordedAddress, recordedCount } from "../files/recorded-values.js";
import { byRole } from "../protocol/index.js";
import type { ContractRole, DisplaySettings } from "../protocol/index.js";
import { hasCode } from "../rpc/accounts.js";
import { UNKNOWN_GENESIS, getGenesisHash } from "../rpc/blocks.js";
import { getChainId } from "../rpc/chain.js";
import type { RpcClient } from "../rpc/rpc-client.js";

const deploymentSchema = z
  .object({
    version: z.literal(1),
    chainId: recordedCount,
    /** Identifies the chain: local nodes share one chain id. */
    genesisHash: z.string(),
    block: recordedCount,
    scenario: z.string(),
    instance: z.string().optional(),
    contracts: z.object(byRole(() => recordedAddress)).strict(),
    /** The scales of the mocks' values. */
    scales: z
      .object({
        tokenDecimals: recordedCount,
        displayDecimals: z.record(recordedCount),
      })
      .strict()
      .optional(),
  })
  .strict();

type MockDeployment = z.infer<typeof deploymentSchema>;

/**
 * The mocks that `vault deploy-mocks` recorded in `vault-deployments/`, as long as the chain
 * is the same and still has their code.
 */
export class DeploymentAddresses {
  #found: Promise<MockDeployment | string> | undefined;

  constructor(
    private readonly rpc: RpcClient,
    private readonly projectRoot: string,
    private readonly instance?: string,
    /** True if the settings have contracts: mocks are no advice then. */
    private readonly hasContracts = false,
  ) {}

  /**
   * @returns The recorded address, or why there is none and what to do.
   * @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if the file cannot be used
   */
  public async find(
    role: ContractRole,
  ): Promise<LocatedAddress<string> | Pick<MissingAddress, "hint">> {
    const found = await this.#find();
    return typeof found === "string"
      ? { hint: found }
      : { address: found.contracts[role], source: this.#fileOf(found) };
  }

  /** @returns The scales of the recorded mocks; undefined if there are none. */
  public async findScales(): Promise<DisplaySettings | undefined> {
    const found = await this.#find();
    return typeof found === "string" ? undefined : found.scales;
  }

  /** @returns The file's path, relative to the project's root. */
  public async save(
    mocks: Pick<MockDeployment, "block" | "scenario" | "contracts" | "scales">,
  ): Promise<string> {
    const deployment: MockDeployment = {
      version: 1,
      ...mocks,
      chainId: await getChainId(this.rpc),
      genesisHash: await getGenesisHash(this.rpc),
      instance: this.instance,
    };
    const file = this.#fileOf(deployment);
    await writeProjectFile(this.projectRoot, file, deployment).catch(
      (error: unknown) => {
        const problem = `it cannot be written (${reasonOf(error)})`;
        throw this.#invalid(file, problem, error);
      },
    );
    this.#found = Promise.resolve(deployment);
    return file;
  }

  /** @returns The mocks, or a hint: why there are none, and what to do. */
  async #find(): Promise<MockDeployment | string> {
    this.#found ??= this.#load();
    const found = await this.#found.catch((error: unknown) => {
      this.#found = undefined;
      throw error;
    });
    if (typeof found === "string") {
      // Mocks may be deployed, or the node restarted.
      this.#found = undefined;
    }
    return found;
  }

  async #load(): Promise<MockDeployment | string> {
    const { rpc, projectRoot } = this;
    const none = this.hasContracts
      ? ""
      : `No mocks are recorded for this chain. On a local node, also after its restart, ${this.#command} deploys them.`;
    const names = await listProjectFiles(projectRoot);
    const isThere = names.some(
      (name) => name.endsWith(this.#suffix) && !name.startsWith("settlement-"),
    );
    if (!isThere) {
      return none;
    }
    const chainId = await getChainId(rpc);
    const genesisHash = await getGenesisHash(rpc);
    const file = this.#fileOf({ chainId, genesisHash });
    const found = await readProjectFile(
      projectRoot,
      file,
      deploymentSchema,
      (problem, cause) => this.#invalid(file, problem, cause),
    );
    // Several chains may have a file of this name, or no first block.
    const isSameChain =
      found?.chainId === chainId && found.genesisHash === genesisHash;
    if (!isSameChain || genesisHash === UNKNOWN_GENESIS) {
      return none;
    }
    for (const address of Object.values(found.contracts)) {
      if (!(await hasCode(rpc, address))) {
        return `The mocks of ${file} are not on the chain any more: run ${this.#command} again.`;
      }
    }
    return found;
  }

  #invalid(file: string, problem: string, cause: unknown): Error {
    const args = { file, problem, command: this.#command };
    return vaultError("VAULT_INVALID_DEPLOYMENT_FILE", args, cause);
  }

  get #command(): string {
    const instance =
      this.instance === undefined ? "" : ` --instance ${this.instance}`;
    return `\`npx hardhat vault deploy-mocks${instance} --network ${this.rpc.network}\``;
  }

  /** End of the names of this instance's files. */
  get #suffix(): string {
    return this.instance === undefined ? ".json" : `-${this.instance}.json`;
  }

  #fileOf({
    chainId,
    genesisHash,
  }: Pick<MockDeployment, "chainId" | "genesisHash">): string {
    const genesis = genesisHash.toLowerCase().replace("0x", "").slice(0, 8);
    return `${PROJECT_FOLDER}/${chainId}-${genesis}${this.#suffix}`;
  }
}
