import type { LocatedAddress } from "../client/addresses.js";
import { parseAddress } from "../client/inputs.js";
import { vaultError } from "../errors.js";
import { contractRoles } from "../protocol/index.js";
import type { ContractRole } from "../protocol/index.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import type { MockDeployment } from "./deployment-file.js";

const UNKNOWN_GENESIS = "unknown";

/** Kept from a connection, which need not load zod for it. */
const loadFiles = async (): Promise<typeof import("./deployment-file.js")> =>
  await import("./deployment-file.js");

/**
 * The addresses of mocks that were deployed to a persistent network, as long as
 * it is the same chain and the code is still there.
 */
export class DeploymentAddresses {
  #found: Promise<MockDeployment | undefined> | undefined;
  #absence: string | undefined;

  /** @param instance The set of contracts on the network, if it is a named one. */
  constructor(
    private readonly rpc: RpcClient,
    private readonly projectRoot: string,
    private readonly instance?: string,
  ) {}

  /**
   * @throws VaultError VAULT_INVALID_DEPLOYMENT_FILE if the file cannot be used,
   * VAULT_INVALID_ADDRESS for a wrong checksum in it
   */
  public async find(role: ContractRole): Promise<LocatedAddress | undefined> {
    this.#found ??= this.#load();
    const loading = this.#found;
    let deployment: MockDeployment | undefined;
    try {
      deployment = await loading;
    } finally {
      // Mocks may be deployed, or the node come back, while this lives.
      if (deployment === undefined && this.#found === loading) {
        this.#found = undefined;
      }
    }
    if (deployment === undefined) {
      return undefined;
    }
    const { deploymentFile } = await loadFiles();
    const source = deploymentFile(deployment);
    // A file may have it in any case, and addresses are compared as they are.
    const address = parseAddress(
      deployment.contracts[role],
      `The address of the ${contractRoles[role].label} contract (${source})`,
    );
    return { address, source };
  }

  /** Says what to do about mocks that are missing, or not used. */
  public describeAbsence(): string {
    return this.#absence === undefined
      ? `For a local node, ${this.#command} deploys mocks.`
      : `${this.#absence}: run ${this.#command} again.`;
  }

  get #command(): string {
    const instance =
      this.instance === undefined ? "" : ` --instance ${this.instance}`;
    return `\`npx hardhat vault deploy-mocks${instance} --network ${this.rpc.network}\``;
  }

  #invalid(file: string, problem: string, cause: unknown): Error {
    const args = { file, problem, command: this.#command };
    return vaultError("VAULT_INVALID_DEPLOYMENT_FILE", args, cause);
  }

  /** Writes the file; it appears whole or not at all. */
  public async save(mocks: Omit<MockDeployment, "instance">): Promise<string> {
    const deployment = { ...mocks, instance: this.instance };
    const { deploymentFile, reasonOf, writeProjectFile } = await loadFiles();
    const file = deploymentFile(deployment);
    await writeProjectFile(this.projectRoot, file, deployment).catch(
      (error: unknown) => {
        const problem = `it cannot be written (${reasonOf(error)})`;
        throw this.#invalid(file, problem, error);
      },
    );
    this.#found = Promise.resolve(deployment);
    return file;
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
    return (await this.rpc.genesisHash()) ?? UNKNOWN_GENESIS;
  }

  async #load(): Promise<MockDeployment | undefined> {
    this.#absence = undefined;
    const files = await loadFiles();
    const { instance, projectRoot } = this;
    const found = await files.listDeployments(projectRoot, instance);
    if (found.length === 0) {
      return undefined;
    }
    const chainId = await this.rpc.chainId();
    const others = found
      .filter(({ chain }) => chain === `${chainId}`)
      .map(({ file }) => file);
    if (others.length === 0) {
      return undefined;
    }
    const genesisHash = await this.genesisHash();
    const expected = files.deploymentFile({ chainId, genesisHash, instance });
    const deployment = await files.readProjectFile(
      projectRoot,
      expected,
      files.deploymentSchema,
      (problem, cause) => this.#invalid(expected, problem, cause),
    );
    if (
      deployment?.chainId !== chainId ||
      deployment.genesisHash !== genesisHash ||
      genesisHash === UNKNOWN_GENESIS
    ) {
      this.#absence = `${others.join(", ")} ${others.length === 1 ? "belongs to another chain" : "belong to other chains"} with the same id (the node was probably restarted)`;
      return undefined;
    }
    const haveCode = await Promise.all(
      Object.values(deployment.contracts).map(
        async (address) => await this.rpc.hasCode(address),
      ),
    );
    if (haveCode.includes(false)) {
      this.#absence = `The mocks of ${expected} are not on the chain any more`;
      return undefined;
    }
    return deployment;
  }
}
