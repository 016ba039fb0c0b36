import { setTimeout as sleep } from "node:timers/promises";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import { Chain } from "../rpc/node.js";
import type { Receipt } from "../rpc/node.js";
import { RevertedCall } from "../rpc/request.js";
import { VaultError, vaultError } from "../errors.js";
import { isNodeRefusal } from "../rpc/errors.js";
import { isInProcess } from "./types.js";
import type { MockHost } from "./types.js";

/** A transaction that deploys a mock (without `to`) or scripts some. */
export interface MockTransaction {
  readonly to?: string;
  readonly data: string;
}

/**
 * Sends transactions in order, and waits until all of them have succeeded.
 *
 * @throws VaultError VAULT_MOCK_SCRIPT_FAILED and those of a request
 */
export type MockSender = (
  transactions: readonly MockTransaction[],
) => Promise<readonly Receipt[]>;

/** The sender that suits the connection. */
export function createMockSender(
  vault: Pick<MockHost, "provider" | "networkName" | "connection">,
): MockSender {
  const chain = new Chain(vault.provider, vault.networkName);
  if (isInProcess(vault)) {
    return async (transactions) => await sendInProcess(chain, transactions);
  }
  let from: Promise<string> | undefined;
  return async (transactions) => {
    from ??= firstAccount(chain, vault.connection?.networkConfig.from);
    return await sendFrom(chain, await from, transactions);
  };
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

/** Blocks to mine for a transaction that others stand before. */
const MAX_BLOCKS = 20;

async function sendInProcess(
  chain: Chain,
  transactions: readonly MockTransaction[],
): Promise<readonly Receipt[]> {
  const [{ gasLimit, baseFeePerGas }] = await Promise.all([
    chain.header(),
    requestOrFail(chain, "hardhat_impersonateAccount", [SCRIPTER]),
    requestOrFail(chain, "hardhat_setBalance", [
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
  try {
    const hashes: string[] = [];
    for (const transaction of transactions) {
      hashes.push(await send(chain, { ...fields, ...transaction }));
    }
    const mined: Receipt[] = [];
    for (const hash of hashes) {
      mined.push(await mineUntilReceipt(chain, hash));
    }
    return mined;
  } finally {
    await requestOrFail(chain, "hardhat_stopImpersonatingAccount", [SCRIPTER]);
  }
}

/**
 * Where the user turned automatic mining off, a script must not wait for a
 * block that nobody mines: it mines one, with all that is pending.
 */
async function mineUntilReceipt(chain: Chain, hash: string): Promise<Receipt> {
  for (let blocks = 0; blocks <= MAX_BLOCKS; blocks += 1) {
    const receipt = await succeededReceipt(chain, hash);
    if (receipt !== undefined) {
      return receipt;
    }
    await requestOrFail(chain, "evm_mine", []);
  }
  throw scriptFailed(chain, "the transaction does not fit into a block");
}

const RECEIPT_TIMEOUT_MS = 120_000;
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 1_000;

async function sendFrom(
  chain: Chain,
  from: string,
  transactions: readonly MockTransaction[],
): Promise<readonly Receipt[]> {
  // All are sent before the first is waited for: on a chain with slow blocks
  // they share one.
  const hashes: string[] = [];
  for (const transaction of transactions) {
    try {
      hashes.push(await send(chain, { from, ...transaction }));
    } catch (error) {
      if (
        !VaultError.isVaultError(error) ||
        error.code !== "VAULT_MOCK_SCRIPT_FAILED" ||
        (await chain.balance(from)) > 0n
      ) {
        throw error;
      }
      // Nodes word it in ways that do not always tell what is missing.
      throw scriptFailed(
        chain,
        `account ${from} has no funds to pay for gas (${String(error.details["problem"])})`,
        error,
      );
    }
  }
  return await Promise.all(
    hashes.map(async (hash) => await waitForReceipt(chain, hash)),
  );
}

async function waitForReceipt(chain: Chain, hash: string): Promise<Receipt> {
  const deadline = Date.now() + RECEIPT_TIMEOUT_MS;
  for (let pause = FIRST_POLL_MS; Date.now() < deadline; pause *= 2) {
    const receipt = await succeededReceipt(chain, hash);
    if (receipt !== undefined) {
      return receipt;
    }
    await sleep(Math.min(pause, LONGEST_POLL_MS));
  }
  throw scriptFailed(
    chain,
    `transaction ${hash} was not mined within ${RECEIPT_TIMEOUT_MS / 1000} seconds; does the node mine blocks by itself?`,
  );
}

/** The network's `from`, else its first account. */
async function firstAccount(
  chain: Chain,
  from: string | undefined,
): Promise<string> {
  const accounts: unknown =
    from === undefined
      ? await requestOrFail(chain, "eth_accounts", [])
      : [from];
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof first !== "string") {
    throw vaultError("VAULT_NO_ACCOUNT", { network: chain.network });
  }
  return first;
}

/** Like `Chain.request()`, but a revert is a failure of the script. */
async function requestOrFail(
  chain: Chain,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  const answer = await chain.request(method, params);
  if (answer instanceof RevertedCall) {
    throw scriptFailed(chain, answer.reason.text);
  }
  return answer;
}

/** @returns The transaction's hash. */
async function send(
  chain: Chain,
  transaction: Readonly<Record<string, string>>,
): Promise<string> {
  const method = "eth_sendTransaction";
  let hash;
  try {
    hash = await requestOrFail(chain, method, [transaction]);
  } catch (error) {
    throw isNodeRefusal(error)
      ? scriptFailed(chain, String(error.details["problem"]), error)
      : error;
  }
  if (typeof hash !== "string") {
    throw chain.reader(method).invalid("no transaction hash");
  }
  return hash;
}

/** @returns Undefined while the transaction is not mined. */
async function succeededReceipt(
  chain: Chain,
  hash: string,
): Promise<Receipt | undefined> {
  const receipt = await chain.receipt(hash);
  if (receipt?.succeeded === false) {
    throw scriptFailed(chain, "the transaction was mined and failed");
  }
  return receipt;
}

function scriptFailed(
  { network }: Chain,
  problem: string,
  cause?: unknown,
): VaultError {
  return vaultError(
    "VAULT_MOCK_SCRIPT_FAILED",
    { network, problem: problem.replace(/\.$/u, "") },
    cause,
  );
}
