import { setTimeout as sleep } from "node:timers/promises";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import type { VaultClient } from "../client/vault-client.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import type { Receipt, RpcClient } from "../rpc/rpc-client.js";
import { hasHost, isInProcess } from "./local-node.js";

/** A transaction that deploys a mock (without `to`) or scripts some. */
export interface MockTransaction {
  readonly to?: string;
  readonly data: string;
}

/**
 * The account that scripts mocks in process: "vault" in ASCII, and not one of
 * the accounts of the network, whose nonces and balances tests look at.
 */
const SCRIPTER = "0x7661756c740000000000000000000000000000ff";

// Above every base fee that a test may have set; the account can pay it, and
// what it pays is burnt: no block producer is tipped.
const MAX_FEE_PER_GAS = 2n ** 96n;
const SCRIPTER_BALANCE = MAX_FEE_PER_GAS * TRANSACTION_GAS_CAP * 1_000n;

/**
 * Sends transactions in order, and waits until all of them have succeeded.
 *
 * @throws VaultError VAULT_NO_ACCOUNT, VAULT_MOCK_SCRIPT_FAILED and those of a
 * request
 */
export async function sendToMocks(
  vault: VaultClient,
  transactions: readonly MockTransaction[],
): Promise<readonly Receipt[]> {
  const { rpc } = vault;
  if (!isInProcess(vault)) {
    return await sendAll(
      rpc,
      { from: await firstAccount(vault) },
      transactions,
      false,
    );
  }
  const [{ gasLimit, baseFeePerGas }] = await Promise.all([
    rpc.getBlock(),
    rpc.request("hardhat_impersonateAccount", [SCRIPTER]),
    rpc.request("hardhat_setBalance", [
      SCRIPTER,
      numberToHexString(SCRIPTER_BALANCE),
    ]),
  ]);
  // Everything explicit: a user's gas settings may not suit this sender.
  const fields = {
    from: SCRIPTER,
    gas: numberToHexString(
      gasLimit < TRANSACTION_GAS_CAP ? gasLimit : TRANSACTION_GAS_CAP,
    ),
    ...(baseFeePerGas === undefined
      ? { gasPrice: "0x0" }
      : {
          maxFeePerGas: numberToHexString(MAX_FEE_PER_GAS),
          maxPriorityFeePerGas: "0x0",
        }),
  };
  return await sendAll(rpc, fields, transactions, true);
}

/** The network's `from`, else its first account. */
async function firstAccount(vault: VaultClient): Promise<string> {
  const from = hasHost(vault) ? vault.connection.networkConfig.from : undefined;
  const accounts: unknown =
    from === undefined ? await vault.rpc.request("eth_accounts") : [from];
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof first !== "string") {
    throw vaultError("VAULT_NO_ACCOUNT", { network: vault.networkName });
  }
  return first;
}

/** @param mines True to mine blocks, where nobody else does. */
async function sendAll(
  rpc: RpcClient,
  fields: Readonly<Record<string, string>>,
  transactions: readonly MockTransaction[],
  mines: boolean,
): Promise<readonly Receipt[]> {
  // All are sent before the first is waited for: on a chain with slow blocks
  // they share one.
  const hashes: string[] = [];
  for (const transaction of transactions) {
    const method = "eth_sendTransaction";
    const sent = await rpc.execute(method, [{ ...fields, ...transaction }]);
    if ("reverted" in sent) {
      throw scriptFailed(rpc, sent.reverted.text);
    }
    hashes.push(rpc.parser(method).hash(sent.result));
  }
  const mined: Receipt[] = [];
  for (const hash of hashes) {
    mined.push(await waitForReceipt(rpc, hash, mines));
  }
  return mined;
}

const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 1_000;
/** Some two minutes, or so many blocks in process. */
const MOST_POLLS = 127;

async function waitForReceipt(
  rpc: RpcClient,
  hash: string,
  mines: boolean,
): Promise<Receipt> {
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    const receipt = await rpc.receipt(hash);
    if (receipt?.succeeded === false) {
      throw scriptFailed(rpc, "the transaction was mined and failed");
    }
    if (receipt !== undefined) {
      return receipt;
    }
    await (mines
      ? rpc.request("evm_mine", [])
      : sleep(Math.min(FIRST_POLL_MS * 2 ** poll, LONGEST_POLL_MS)));
  }
  throw scriptFailed(
    rpc,
    `transaction ${hash} was not mined within two minutes; does the node mine blocks by itself?`,
  );
}

function scriptFailed({ network }: RpcClient, problem: string): VaultError {
  return vaultError("VAULT_MOCK_SCRIPT_FAILED", {
    network,
    problem: problem.replace(/\.$/u, ""),
  });
}
