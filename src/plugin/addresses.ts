import type {
  NetworkConfig,
  ResolvedConfigurationVariable,
} from "hardhat/types/config";

import { z } from "zod";

import { firstOf } from "../client/contracts.js";
import type { AddressResolver, LocatedAddress } from "../client/contracts.js";
import { describeInput, parseAddress } from "../client/inputs.js";
import { invalidArgument, vaultError } from "../errors.js";
import {
  PROJECT_FOLDER,
  listProjectFiles,
  readProjectFile,
  reasonOf,
  writeProjectFile,
  recordedAddress,
  recordedCount,
} from "../files/project-file.js";
import { settingsPath } from "../host.js";
import { byRole } from "../protocol/index.js";
import type { DisplaySettings } from "../protocol/index.js";
import { UNKNOWN_GENESIS, getGenesisHash } from "../rpc/blocks.js";
import { getChainId, hasCode } from "../rpc/chain.js";
import { toConfigVariableError } from "../rpc/errors.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import type { VaultInstanceConfig } from "./config.js";

/** Addresses in the settings of an instance, or of the network itself. */
export function configuredAddresses(
  networkName: string,
  networkConfig: NetworkConfig,
  instance?: string,
): AddressResolver {
  const { contracts } = requireInstance(networkName, networkConfig, instance);
  const path = settingsPath(networkName, instance);
  return async (role) => {
    const address = contracts[role];
    const source = `${path}.contracts.${role}`;
    return address === undefined
      ? { path: source, hint: "" }
      : await resolveAddress(address, source);
  };
}

export interface ConnectionAddresses {
  readonly locate: AddressResolver;
  /** For instances, which inherit no mocks of deploy-mocks. */
  readonly locateWithoutMocks: AddressResolver;
  /** Puts these addresses first, and drops those bound before. */
  bind(addresses: AddressResolver): void;
}

/**
 * Looks an address up in this order: bound addresses, the settings, those of the network for
 * an instance, the mocks of deploy-mocks.
 */
export function connectionAddresses(
  configured: AddressResolver,
  network: ConnectionAddresses | undefined,
  findMocks: () => Promise<RecordedMocks | string>,
): ConnectionAddresses {
  const own =
    network === undefined
      ? configured
      : firstOf(configured, network.locateWithoutMocks);
  let current = own;
  const locateMock: AddressResolver = async (role) => {
    const found = await findMocks();
    return typeof found === "string"
      ? { ...(await configured(role)), hint: found }
      : { address: found.contracts[role], source: found.file };
  };
  return {
    locate: async (role) => await firstOf(current, locateMock)(role),
    locateWithoutMocks: async (role) => await current(role),
    bind: (bound) => {
      current = firstOf(bound, own);
    },
  };
}

/** @throws VaultError VAULT_INVALID_ADDRESS, VAULT_CONFIG_VARIABLE */
export async function resolveAddress(
  setting: ResolvedConfigurationVariable,
  source: string,
): Promise<LocatedAddress> {
  const value = await setting.get().catch((error: unknown) => {
    throw toConfigVariableError(error, source);
  });
  // A variable may hold a secret by mistake.
  const address = parseAddress(value, source, "the configured value");
  return { address, source };
}

/** @throws VaultError VAULT_INVALID_ARGUMENT if the network has no instance of that name */
export function requireInstance(
  networkName: string,
  { vault }: NetworkConfig,
  instance: string | undefined,
): VaultInstanceConfig {
  if (instance === undefined) {
    return vault;
  }
  const names = Object.keys(vault.instances);
  const settings = vault.instances[instance];
  if (settings === undefined || !names.includes(instance)) {
    const known = names.length === 0 ? "none" : names.join(", ");
    throw invalidArgument(
      "instance",
      `network ${networkName} has no instance ${describeInput(instance)}`,
      `Use an instance of networks.${networkName}.vault.instances (${known}), or another network.`,
    );
  }
  return settings;
}

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
  })
  .strict();

type MockDeployment = z.infer<typeof deploymentSchema>;

/** The file is relative to the project's root. */
type RecordedMocks = MockDeployment & { readonly file: string };

/** The scales of recorded mocks, whose state is a scenario: amounts have 18 decimals, `settledAmount` counts orders. */
export const mockScales = {
  tokenDecimals: 18,
  displayDecimals: {
    round: 0,
    order: 18,
    pools: 18,
    margins: 18,
    marginBalance: 18,
    volume: 18,
    minXMargin: 18,
  },
} satisfies DisplaySettings;

/**
 * The mocks that `vault deploy-mocks` recorded in `vault-deployments/`, as long as the chain
 * is the same and still has their code.
 */
export class DeploymentAddresses {
  #found: RecordedMocks | undefined;

  constructor(
    private readonly rpc: RpcClient,
    private readonly projectRoot: string,
    private readonly instance?: string,
  ) {}

  /**
   * @returns The mocks, or a hint: why there are none, and what to do.
   * @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if the file cannot be used
   */
  public async find(): Promise<RecordedMocks | string> {
    const found = this.#found ?? (await this.#load());
    // Without any it looks again: mocks may be deployed, or the node restarted.
    this.#found = typeof found === "string" ? undefined : found;
    return found;
  }

  /** @returns The file's path, relative to the project's root. */
  public async save(
    mocks: Pick<MockDeployment, "block" | "scenario" | "contracts">,
  ): Promise<string> {
    const deployment: MockDeployment = {
      version: 1,
      ...mocks,
      chainId: await getChainId(this.rpc),
      genesisHash: await getGenesisHash(this.rpc),
      instance: this.instance,
    };
    const file = this.#fileOf(deployment);
    try {
      await writeProjectFile(this.projectRoot, file, deployment);
    } catch (error) {
      throw this.#invalid(
        file,
        `it cannot be written (${reasonOf(error)})`,
        error,
      );
    }
    this.#found = { ...deployment, file };
    return file;
  }

  async #load(): Promise<RecordedMocks | string> {
    const { rpc, projectRoot } = this;
    const none = `No mocks are recorded for this chain. On a local node, also after its restart, ${this.#command} deploys them.`;
    // Without a file, no request is needed: a settlement's journal is none.
    const names = await listProjectFiles(projectRoot);
    if (names.every((name) => name.startsWith("settlement-"))) {
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
        return none;
      }
    }
    return { ...found, file };
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

  #fileOf({
    chainId,
    genesisHash,
  }: Pick<MockDeployment, "chainId" | "genesisHash">): string {
    const genesis = genesisHash.toLowerCase().replace("0x", "").slice(0, 8);
    const suffix = this.instance === undefined ? "" : `-${this.instance}`;
    return `${PROJECT_FOLDER}/${chainId}-${genesis}${suffix}.json`;
  }
}
