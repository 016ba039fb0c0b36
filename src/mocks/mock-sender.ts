import { min } from "@nomicfoundation/hardhat-utils/bigint";

import { ZeroAddress, toQuantity } from "ethers";

import type { VaultClient } from "../client/vault-client.js";
import { hexWord } from "../client/codec.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { Hex } from "../protocol/index.js";
import { getAccounts } from "../rpc/accounts.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { traceChanges, waitForReceipt } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { configuredGasCap, hasHost, isInProcess } from "../host.js";
import type { MockAddresses } from "./deployed-mocks.js";

/** A transaction that deploys a mock (without `to`) or runs a script. */
interface MockTransaction {
  readonly to?: string | undefined;
  readonly data: string;
}

/** For a client without a deadline. */
const WAIT_MS = 120_000;

/** Sends transactions in order, and waits until all are mined. */
export async function sendToMocks(
  vault: VaultClient,
  transactions: readonly MockTransaction[],
): Promise<readonly Receipt[]> {
  const { rpc } = vault;
  const method = "eth_sendTransaction";
  const from = await firstAccount(vault);
  // All are sent before it waits for the first, so that they can share a block.
  const hashes: Hex[] = [];
  for (const transaction of transactions) {
    const sent = await rpc.requestOrRevert(method, [{ from, ...transaction }]);
    if ("reverted" in sent) {
      throw scriptFailed(rpc, sent.reverted.text);
    }
    hashes.push(rpc.parser(method).hash(sent.result));
  }
  const waiting = rpc.withOptions({}, WAIT_MS);
  const receipts: Receipt[] = [];
  for (const hash of hashes) {
    const receipt = await waitForReceipt(waiting, hash);
    if (receipt === undefined || receipt.succeeded === false) {
      throw scriptFailed(
        rpc,
        receipt === undefined
          ? `transaction ${hash} is not mined in time; the node may not mine blocks by itself`
          : "the transaction was mined and failed",
      );
    }
    receipts.push(receipt);
  }
  return receipts;
}

/** The network's `from`, else its first account. */
async function firstAccount(vault: VaultClient): Promise<string> {
  const from = hasHost(vault) ? vault.connection.networkConfig.from : undefined;
  const [first] = from === undefined ? await getAccounts(vault.rpc) : [from];
  if (typeof first !== "string") {
    throw vaultError("VAULT_NO_SIGNER", { network: vault.networkName });
  }
  return first;
}

function scriptFailed({ network }: RpcClient, problem: string): VaultError {
  return vaultError("VAULT_MOCK_SCRIPT_FAILED", {
    network,
    problem: problem.replace(/\.$/u, ""),
  });
}

/** Storing an order takes some 300,000 gas. */
const GAS_PER_CALL = 400_000n;

/**
 * Makes calls in order; the mock that runs a script can call the others. In process it
 * writes their effect to the state, and mines no block.
 */
export async function sendScript(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): Promise<void> {
  const size = Math.max(1, Number(gasOf(vault) / GAS_PER_CALL));
  const starts = [...script.keys()].filter((n) => n % size === 0);
  const batches = starts.map((start) =>
    encodeBatch(addresses, script.slice(start, start + size)),
  );
  await (isInProcess(vault) ? writeEffects : sendToMocks)(vault, batches);
}

/** Gas that one transaction of a script may have. */
function gasOf(vault: VaultClient): bigint {
  return isInProcess(vault)
    ? min(configuredGasCap(vault) ?? TRANSACTION_GAS_CAP, TRANSACTION_GAS_CAP)
    : TRANSACTION_GAS_CAP;
}

/**
 * Writes what transactions would store, without sending them: a block would mine the
 * user's pending transactions and use up the time that the user set for the next one.
 */
async function writeEffects(
  vault: VaultClient,
  transactions: readonly MockTransaction[],
): Promise<void> {
  const { rpc } = vault;
  for (const { to, data } of transactions) {
    const gas = toQuantity(gasOf(vault));
    const request = { from: ZeroAddress, to, data, gas };
    const { pre, post } = await traceChanges(rpc, request);
    const [before, after] = [asRecord(pre), asRecord(post)];
    let isChanged = false;
    for (const address of Object.keys({ ...before, ...after })) {
      const { code, storage } = asRecord(after[address]);
      const stored = asRecord(storage);
      const { storage: earlier } = asRecord(before[address]);
      if (code !== undefined) {
        await rpc.request("hardhat_setCode", [address, code]);
      }
      // A slot that becomes zero is in `pre` only; one that was zero in `post` only.
      for (const slot of Object.keys({ ...asRecord(earlier), ...stored })) {
        isChanged = true;
        const value = slot in stored ? BigInt(String(stored[slot])) : 0n;
        await rpc.request("hardhat_setStorageAt", [
          address,
          toQuantity(BigInt(slot)),
          `0x${hexWord(value)}`,
        ]);
      }
    }
    if (!isChanged) {
      // Each script changes its count, so the call reverts.
      const called = await rpc.requestOrRevert("eth_call", [request, "latest"]);
      if ("reverted" in called) {
        throw scriptFailed(rpc, called.reverted.text);
      }
    }
  }
}

function encodeBatch(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): MockTransaction {
  // Counted, for assertions on a transaction of the same block.
  const count = batch.slice(0, 1).map(({ role }) => call(role, "countScript"));
  const calls = [...count, ...batch].map(
    ({ role, data }) => [addresses[role], data] as const,
  );
  const data = mockInterfaces.vault.encodeFunctionData("script", [calls]);
  return { to: calls[0]?.[0], data };
}
