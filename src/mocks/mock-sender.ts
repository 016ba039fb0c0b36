import { setTimeout as sleep } from "node:timers/promises";

import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import type { VaultClient } from "../client/vault-client.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { listOf } from "../json.js";
import { getBlock } from "../rpc/blocks.js";
import { TRANSACTION_GAS_CAP } from "../rpc/gas.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { getReceipt } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import {
  call,
  hasHost,
  isInProcess,
  mockInterfaces,
} from "./mock-contracts.js";
import type {
  MockAddresses,
  ScriptCall,
  ScriptCounts,
} from "./mock-contracts.js";

/** A transaction that deploys a mock (without `to`) or runs a script. */
export interface MockTransaction {
  readonly to?: string | undefined;
  readonly data: string;
}

/**
 * The account that scripts mocks in process, "vault" in ASCII. Tests may check
 * nonces and balances of the network's own accounts.
 */
const SCRIPTER = "0x7661756c740000000000000000000000000000ff";

// Above every base fee that a test may set.
const MAX_FEE_PER_GAS = 2n ** 96n;
const SCRIPTER_BALANCE = MAX_FEE_PER_GAS * TRANSACTION_GAS_CAP * 1_000n;

/** Sends transactions in order, and waits until all are mined. */
export async function sendToMocks(
  vault: VaultClient,
  transactions: readonly MockTransaction[],
): Promise<readonly Receipt[]> {
  const { rpc } = vault;
  const method = "eth_sendTransaction";
  const fields = isInProcess(vault)
    ? await scripterFields(rpc)
    : { from: await firstAccount(vault) };
  // All are sent before it waits for the first, so that they can share a block.
  const hashes: string[] = [];
  for (const transaction of transactions) {
    const sent = await rpc.requestOrRevert(method, [
      { ...fields, ...transaction },
    ]);
    if ("reverted" in sent) {
      const { text } = sent.reverted;
      throw scriptFailed(rpc, `${text}${gasNote(fields)}`);
    }
    hashes.push(rpc.parser(method).hash(sent.result));
  }
  return await Promise.all(
    hashes.map(async (hash) => await waitForReceipt(vault, hash)),
  );
}

/** Sets every field: the user's gas settings may not suit this account. */
async function scripterFields(rpc: RpcClient): Promise<object> {
  const [{ gasLimit, baseFeePerGas }] = await Promise.all([
    getBlock(rpc),
    rpc.request("hardhat_impersonateAccount", [SCRIPTER]),
    rpc.request("hardhat_setBalance", [
      SCRIPTER,
      numberToHexString(SCRIPTER_BALANCE),
    ]),
  ]);
  const gas = gasLimit < TRANSACTION_GAS_CAP ? gasLimit : TRANSACTION_GAS_CAP;
  return {
    from: SCRIPTER,
    gas: numberToHexString(gas),
    // Before the hardfork london, there is no base fee.
    ...(baseFeePerGas === undefined
      ? { gasPrice: "0x0" }
      : {
          maxFeePerGas: numberToHexString(MAX_FEE_PER_GAS),
          maxPriorityFeePerGas: "0x0",
        }),
  };
}

/** Contracts give no reason when gas runs out, so a low limit is named. */
function gasNote(fields: object): string {
  const gas = "gas" in fields ? Number(fields.gas) : NaN;
  return gas < TRANSACTION_GAS_CAP
    ? ` (with ${gas} gas, the network's blockGasLimit: if that is too little gas, raise it to ${TRANSACTION_GAS_CAP})`
    : "";
}

/** The network's `from`, else its first account. */
async function firstAccount(vault: VaultClient): Promise<string> {
  const from = hasHost(vault) ? vault.connection.networkConfig.from : undefined;
  const [first] =
    from === undefined
      ? listOf(await vault.rpc.request("eth_accounts"))
      : [from];
  if (typeof first !== "string") {
    throw vaultError("VAULT_NO_SIGNER", { network: vault.networkName });
  }
  return first;
}

/** Some two minutes; in process, this many blocks. */
const MOST_POLLS = 127;

/** Waits; in process it mines blocks, because the user may have turned mining off. */
async function waitForReceipt(
  vault: VaultClient,
  hash: string,
): Promise<Receipt> {
  const { rpc } = vault;
  for (let poll = 0; poll < MOST_POLLS; poll += 1) {
    const receipt = await getReceipt(rpc, hash);
    if (receipt?.succeeded === false) {
      throw scriptFailed(rpc, "the transaction was mined and failed");
    }
    if (receipt !== undefined) {
      return receipt;
    }
    await (isInProcess(vault)
      ? rpc.request("evm_mine")
      : sleep(Math.min(10 * 2 ** poll, 1_000)));
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

/** Storing an order takes some 300,000 gas; a transaction has 16.7 million. */
const CALLS_PER_TRANSACTION = 40;

/**
 * Makes calls in order; the mock that runs a script can call the others.
 *
 * @param counts If given, each transaction reverts if another process scripted
 * one of its mocks since, and waits for the one before. They are kept up to date.
 */
export async function sendScript(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
  counts?: ScriptCounts,
): Promise<void> {
  const starts = [...script.keys()].filter(
    (n) => n % CALLS_PER_TRANSACTION === 0,
  );
  const batches = starts.map((start) =>
    script.slice(start, start + CALLS_PER_TRANSACTION),
  );
  if (counts === undefined) {
    await sendToMocks(
      vault,
      batches.map((batch) => encodeBatch(addresses, batch)),
    );
    return;
  }
  for (const batch of batches) {
    const roles = [...new Set(batch.map(({ role }) => role))];
    const turns = roles.map((role) =>
      call(role, "countScript", counts.get(role)),
    );
    await sendToMocks(vault, [encodeBatch(addresses, [...turns, ...batch])]);
    for (const role of roles) {
      counts.set(role, (counts.get(role) ?? 0n) + 1n);
    }
  }
}

function encodeBatch(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): MockTransaction {
  const calls = batch.map(({ role, data }) => [addresses[role], data] as const);
  const data = mockInterfaces.vault.encodeFunctionData("script", [calls]);
  return { to: calls[0]?.[0], data };
}
