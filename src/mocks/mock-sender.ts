import { setTimeout as sleep } from "node:timers/promises";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { Chain } from "../rpc/node.js";
import { invalidResponse } from "../rpc/errors.js";
import { RevertedCall, requestRpc } from "../rpc/request.js";
import { VaultError, vaultError } from "../errors.js";
import { isInProcess } from "./types.js";
import type { MockHost } from "./types.js";

/** A transaction that deploys a mock (without `to`) or scripts some. */
export interface MockTransaction {
  readonly to?: string;
  readonly data: string;
}

/** What is left of a transaction that succeeded. */
export interface MockReceipt {
  /** The new contract, of a transaction without `to`. */
  readonly contractAddress: string | null;
}

/** Sends transactions in order, and waits until all of them have succeeded. */
export interface MockSender {
  /** @throws VaultError VAULT_MOCK_SCRIPT_FAILED and those of a request */
  send(
    transactions: readonly MockTransaction[],
  ): Promise<readonly MockReceipt[]>;
}

/** The sender that suits the connection. */
export function createMockSender(vault: MockHost): MockSender {
  return isInProcess(vault)
    ? new InProcessSender(vault)
    : new NodeSender(vault);
}

/**
 * The account that scripts mocks in process: "vault" in ASCII, and not one of
 * the accounts of the network, whose nonces and balances tests look at.
 */
const SCRIPTER = "0x7661756c740000000000000000000000000000ff";

/** Osaka refuses transactions with more gas. */
const MAX_TRANSACTION_GAS = 16_777_216n;

// Above every base fee that a test may have set; the account can pay it, and
// what it pays is burnt: no block producer is tipped.
const MAX_FEE_PER_GAS = 2n ** 96n;
const SCRIPTER_BALANCE = MAX_FEE_PER_GAS * MAX_TRANSACTION_GAS * 1_000n;

/** Blocks to mine for a transaction that others stand before. */
const MAX_BLOCKS = 20;

class InProcessSender implements MockSender {
  readonly #vault: MockHost;

  constructor(vault: MockHost) {
    this.#vault = vault;
  }

  public async send(
    transactions: readonly MockTransaction[],
  ): Promise<readonly MockReceipt[]> {
    const [fields] = await Promise.all([
      this.#commonFields(),
      this.#request("hardhat_impersonateAccount", [SCRIPTER]),
      this.#request("hardhat_setBalance", [
        SCRIPTER,
        numberToHexString(SCRIPTER_BALANCE),
      ]),
    ]);
    try {
      const hashes: unknown[] = [];
      for (const transaction of transactions) {
        hashes.push(
          await this.#request("eth_sendTransaction", [
            { ...fields, ...transaction },
          ]),
        );
      }
      const mined: MockReceipt[] = [];
      for (const hash of hashes) {
        mined.push(await this.#receipt(hash));
      }
      return mined;
    } finally {
      await this.#request("hardhat_stopImpersonatingAccount", [SCRIPTER]);
    }
  }

  /** Everything explicit: a user's gas settings may not suit this sender. */
  async #commonFields(): Promise<Readonly<Record<string, string>>> {
    const { provider, networkName } = this.#vault;
    const chain = new Chain(provider, networkName);
    const { gasLimit, baseFeePerGas } = await chain.header();
    return {
      from: SCRIPTER,
      gas: numberToHexString(
        gasLimit < MAX_TRANSACTION_GAS ? gasLimit : MAX_TRANSACTION_GAS,
      ),
      ...(baseFeePerGas === undefined
        ? { gasPrice: "0x0" }
        : {
            maxFeePerGas: numberToHexString(MAX_FEE_PER_GAS),
            maxPriorityFeePerGas: "0x0",
          }),
    };
  }

  /**
   * Where the user turned automatic mining off, a script must not wait for a
   * block that nobody mines: it mines one, with all that is pending.
   */
  async #receipt(hash: unknown): Promise<MockReceipt> {
    for (let blocks = 0; blocks <= MAX_BLOCKS; blocks += 1) {
      const receipt = await this.#request("eth_getTransactionReceipt", [hash]);
      if (receipt !== null) {
        return parseReceipt(this.#vault.networkName, receipt);
      }
      await this.#request("evm_mine", []);
    }
    throw scriptFailed(
      this.#vault.networkName,
      "the transaction does not fit into a block",
    );
  }

  async #request(method: string, params: readonly unknown[]): Promise<unknown> {
    return await requestOrFail(this.#vault, method, params);
  }
}

const RECEIPT_TIMEOUT_MS = 120_000;
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 1_000;

/** Sends from the network's `from`, else from its first account. */
class NodeSender implements MockSender {
  readonly #vault: MockHost;
  #from: Promise<string> | undefined;

  constructor(vault: MockHost) {
    this.#vault = vault;
  }

  public async send(
    transactions: readonly MockTransaction[],
  ): Promise<readonly MockReceipt[]> {
    this.#from ??= firstAccount(this.#vault);
    const from = await this.#from;
    // All are sent before the first is waited for: on a chain with slow blocks
    // they share one.
    const hashes: unknown[] = [];
    for (const transaction of transactions) {
      hashes.push(await this.#sendFrom(from, transaction));
    }
    return await Promise.all(
      hashes.map(async (hash) => await this.#waitFor(hash)),
    );
  }

  async #sendFrom(
    from: string,
    transaction: MockTransaction,
  ): Promise<unknown> {
    try {
      return await requestOrFail(this.#vault, "eth_sendTransaction", [
        { from, ...transaction },
      ]);
    } catch (error) {
      const { provider, networkName } = this.#vault;
      if (
        !VaultError.isVaultError(error) ||
        error.code !== "VAULT_MOCK_SCRIPT_FAILED" ||
        (await new Chain(provider, networkName).balance(from)) > 0n
      ) {
        throw error;
      }
      // Nodes word it in ways that do not always tell what is missing.
      throw scriptFailed(
        networkName,
        `account ${from} has no funds to pay for gas (${String(error.details["problem"])})`,
        error,
      );
    }
  }

  async #waitFor(hash: unknown): Promise<MockReceipt> {
    const deadline = Date.now() + RECEIPT_TIMEOUT_MS;
    for (let pause = FIRST_POLL_MS; Date.now() < deadline; pause *= 2) {
      const receipt = await requestOrFail(
        this.#vault,
        "eth_getTransactionReceipt",
        [hash],
      );
      if (receipt !== null) {
        return parseReceipt(this.#vault.networkName, receipt);
      }
      await sleep(Math.min(pause, LONGEST_POLL_MS));
    }
    throw scriptFailed(
      this.#vault.networkName,
      `transaction ${String(hash)} was not mined within ${RECEIPT_TIMEOUT_MS / 1000} seconds; does the node mine blocks by itself?`,
    );
  }
}

/** @throws VaultError VAULT_NO_ACCOUNT */
async function firstAccount(vault: MockHost): Promise<string> {
  const from = vault.connection?.networkConfig.from;
  const accounts: unknown =
    from === undefined
      ? await requestOrFail(vault, "eth_accounts", [])
      : [from];
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof first !== "string") {
    throw vaultError("VAULT_NO_ACCOUNT", { network: vault.networkName });
  }
  return first;
}

/** Like `requestRpc`, but a node's refusal is that of the script. */
async function requestOrFail(
  { provider, networkName }: MockHost,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  let answer;
  try {
    answer = await requestRpc(provider, networkName, method, params);
  } catch (error) {
    throw VaultError.isVaultError(error) &&
      error.code === "VAULT_RPC_ERROR" &&
      method === "eth_sendTransaction"
      ? scriptFailed(networkName, String(error.details["problem"]), error)
      : error;
  }
  if (answer instanceof RevertedCall) {
    throw scriptFailed(networkName, answer.reason.text);
  }
  return answer;
}

function parseReceipt(network: string, receipt: unknown): MockReceipt {
  const { status, contractAddress }: Readonly<Record<string, unknown>> =
    typeof receipt === "object" ? { ...receipt } : {};
  if (status !== "0x1") {
    throw scriptFailed(network, "the transaction was mined and failed");
  }
  if (typeof contractAddress === "string") {
    return { contractAddress };
  }
  if (contractAddress !== null && contractAddress !== undefined) {
    throw invalidResponse(
      network,
      "eth_getTransactionReceipt",
      "contractAddress is not an address",
    );
  }
  return { contractAddress: null };
}

function scriptFailed(
  network: string,
  problem: string,
  cause?: unknown,
): VaultError {
  return vaultError(
    "VAULT_MOCK_SCRIPT_FAILED",
    { network, problem: problem.replace(/\.$/u, "") },
    cause,
  );
}
