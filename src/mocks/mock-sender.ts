import { setTimeout as sleep } from "node:timers/promises";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import type { RpcClient, Receipt } from "../rpc/node.js";
import { RevertedCall } from "../rpc/request.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
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
  vault: Pick<MockHost, "rpc" | "connection">,
): MockSender {
  const { rpc } = vault;
  if (isInProcess(vault)) {
    return async (transactions) => await sendInProcess(rpc, transactions);
  }
  let from: Promise<string> | undefined;
  return async (transactions) => {
    from ??= firstAccount(rpc, vault.connection?.networkConfig.from);
    return await sendAll(rpc, { from: await from }, transactions, false);
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
  rpc: RpcClient,
  transactions: readonly MockTransaction[],
): Promise<readonly Receipt[]> {
  const [{ gasLimit, baseFeePerGas }] = await Promise.all([
    rpc.header(),
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
  try {
    return await sendAll(rpc, fields, transactions, true);
  } finally {
    await rpc.request("hardhat_stopImpersonatingAccount", [SCRIPTER]);
  }
}

/** What is sent, as on the wire. */
interface Sent extends Readonly<Record<string, string>> {
  readonly from: string;
}

async function sendAll(
  rpc: RpcClient,
  fields: Sent,
  transactions: readonly MockTransaction[],
  mines: boolean,
): Promise<readonly Receipt[]> {
  // All are sent before the first is waited for: on a chain with slow blocks
  // they share one.
  const hashes: string[] = [];
  for (const transaction of transactions) {
    hashes.push(await send(rpc, { ...fields, ...transaction }));
  }
  const mined: Receipt[] = [];
  for (const hash of hashes) {
    mined.push(await waitForReceipt(rpc, hash, mines));
  }
  return mined;
}

const RECEIPT_TIMEOUT_MS = 120_000;
const FIRST_POLL_MS = 10;
const LONGEST_POLL_MS = 1_000;

/**
 * @param mines Whether it mines a block, with all that is pending, where the user
 * turned automatic mining off: nobody else does.
 */
async function waitForReceipt(
  rpc: RpcClient,
  hash: string,
  mines: boolean,
): Promise<Receipt> {
  const deadline = Date.now() + RECEIPT_TIMEOUT_MS;
  for (let asked = 0; ; asked += 1) {
    const receipt = await rpc.receipt(hash);
    if (receipt?.succeeded === false) {
      throw scriptFailed(rpc, "the transaction was mined and failed");
    }
    if (receipt !== undefined) {
      return receipt;
    }
    if (!mines && Date.now() < deadline) {
      await sleep(Math.min(FIRST_POLL_MS * 2 ** asked, LONGEST_POLL_MS));
    } else if (mines && asked <= MAX_BLOCKS) {
      await rpc.request("evm_mine", []);
    } else {
      throw scriptFailed(
        rpc,
        mines
          ? "the transaction does not fit into a block"
          : `transaction ${hash} was not mined within ${RECEIPT_TIMEOUT_MS / 1000} seconds; does the node mine blocks by itself?`,
      );
    }
  }
}

/** The network's `from`, else its first account. */
async function firstAccount(
  rpc: RpcClient,
  from: string | undefined,
): Promise<string> {
  const accounts: unknown =
    from === undefined ? await rpc.request("eth_accounts", []) : [from];
  const first: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof first !== "string") {
    throw vaultError("VAULT_NO_ACCOUNT", { network: rpc.network });
  }
  return first;
}

/** @returns The transaction's hash. */
async function send(rpc: RpcClient, transaction: Sent): Promise<string> {
  const { from } = transaction;
  const method = "eth_sendTransaction";
  let failure: VaultError;
  try {
    const answer = await rpc.request(method, [transaction]);
    if (typeof answer === "string") {
      return answer;
    }
    failure =
      answer instanceof RevertedCall
        ? scriptFailed(rpc, answer.reason.text)
        : rpc.reader(method).invalid("no transaction hash");
  } catch (error) {
    if (!isNodeRefusal(error)) {
      throw error;
    }
    failure = error;
  }
  // Nodes word it in ways that do not always tell what is missing.
  if ((await rpc.balance(from)) !== 0n) {
    throw failure;
  }
  throw scriptFailed(
    rpc,
    `account ${from} has no funds to pay for gas (${String(failure.details["problem"])})`,
    `Fund the account, or name another one in networks.${rpc.network}.`,
    failure,
  );
}

function scriptFailed(
  { network }: RpcClient,
  problem: string,
  advice = "Correct what the message names, and script the mocks again.",
  cause?: unknown,
): VaultError {
  return vaultError(
    "VAULT_MOCK_SCRIPT_FAILED",
    { network, problem: problem.replace(/\.$/u, ""), advice },
    cause,
  );
}
