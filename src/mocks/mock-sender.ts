import type { HardhatVault } from "../connection/hardhat-vault.js";
import { vaultError } from "../errors.js";
import { requestRpc, RevertedCall } from "../client/rpc.js";

/** Sends the transactions that script mocks, and waits until they are mined. */
export interface MockSender {
  send(to: string, data: string): Promise<void>;
}

/**
 * The account that scripts mocks in process: "vault" in ASCII, and not one of
 * the accounts of the network, whose nonces and balances tests look at.
 */
const SCRIPTER = "0x7661756c740000000000000000000000000000ff";

const SCRIPTER_BALANCE = `0x${(10n ** 30n).toString(16)}`;

/** A sender for an in-process network. */
export class InProcessSender implements MockSender {
  readonly #vault: HardhatVault;

  constructor(vault: HardhatVault) {
    this.#vault = vault;
  }

  public async send(to: string, data: string): Promise<void> {
    await this.#request("hardhat_impersonateAccount", [SCRIPTER]);
    try {
      await this.#request("hardhat_setBalance", [SCRIPTER, SCRIPTER_BALANCE]);
      const hash = await this.#request("eth_sendTransaction", [
        { from: SCRIPTER, to, data },
      ]);
      // Where the user turned automatic mining off, a script must not wait for
      // a block that nobody mines.
      if ((await this.#request("hardhat_getAutomine", [])) !== true) {
        await this.#request("evm_mine", []);
      }
      const receipt = await this.#request("eth_getTransactionReceipt", [hash]);
      if (receipt === null) {
        throw scriptFailed(this.#vault.networkName, "it was not mined");
      }
    } finally {
      await this.#request("hardhat_stopImpersonatingAccount", [SCRIPTER]);
    }
  }

  async #request(method: string, params: readonly unknown[]): Promise<unknown> {
    const { provider, networkName } = this.#vault;
    const answer = await requestRpc(provider, networkName, method, params);
    if (answer instanceof RevertedCall) {
      throw scriptFailed(networkName, answer.reason.text);
    }
    return answer;
  }
}

/** A sender for a node: the network's `from`, else its first account. */
export class NodeSender implements MockSender {
  readonly #vault: HardhatVault;

  constructor(vault: HardhatVault) {
    this.#vault = vault;
  }

  public async send(to: string, data: string): Promise<void> {
    const signer = await firstSigner(this.#vault);
    const transaction = await signer.sendTransaction({ to, data });
    const receipt = await transaction.wait();
    if (receipt?.status !== 1) {
      throw scriptFailed(this.#vault.networkName, "it was mined and failed");
    }
  }
}

/** @throws VaultError VAULT_NO_ACCOUNT */
export async function firstSigner(
  vault: HardhatVault,
): ReturnType<HardhatVault["connection"]["ethers"]["getSigner"]> {
  const { ethers, networkConfig } = vault.connection;
  if (networkConfig.from !== undefined) {
    return await ethers.getSigner(networkConfig.from);
  }
  const [signer] = await ethers.getSigners();
  if (signer === undefined) {
    throw vaultError("VAULT_NO_ACCOUNT", { network: vault.networkName });
  }
  return signer;
}

function scriptFailed(network: string, problem: string): Error {
  return vaultError("VAULT_MOCK_SCRIPT_FAILED", { network, problem });
}
