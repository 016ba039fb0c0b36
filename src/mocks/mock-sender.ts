import { numberToHexString } from "@nomicfoundation/hardhat-utils/hex";

import { ZeroAddress } from "ethers";

import type { VaultClient } from "../client/vault-client.js";
import { hexWord } from "../client/words.js";
import { vaultError } from "../errors.js";
import type { VaultError } from "../errors.js";
import { asRecord } from "../json.js";
import type { Hex } from "../protocol/index.js";
import { getAccounts } from "../rpc/accounts.js";
import { TRANSACTION_GAS_CAP } from "../rpc/chain.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import { traceCall } from "../rpc/traces.js";
import { waitForReceipt } from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { call, mockInterfaces } from "./mock-contracts.js";
import type { ScriptCall } from "./mock-contracts.js";
import { requireMocks, countScripts } from "./deployed-mocks.js";
import { hasHost, isInProcess } from "../host.js";
import type { MockAddresses, ScriptCounts } from "./deployed-mocks.js";

/** A transaction that deploys a mock (without `to`) or runs a script. */
interface MockTransaction {
  readonly to?: string | undefined;
  readonly data: string;
}

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
    receipts.push(await requireSuccess(waiting, hash));
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

/** For a client without a deadline. */
const WAIT_MS = 120_000;

async function requireSuccess(rpc: RpcClient, hash: Hex): Promise<Receipt> {
  const receipt = await waitForReceipt(rpc, hash);
  if (receipt === undefined) {
    throw scriptFailed(
      rpc,
      `transaction ${hash} is not mined in time; the node may not mine blocks by itself`,
    );
  }
  if (receipt.succeeded === false) {
    throw scriptFailed(rpc, "the transaction was mined and failed");
  }
  return receipt;
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
 * Makes calls in order; the mock that runs a script can call the others. In process it
 * writes their effect to the state, and mines no block.
 *
 * @param counts If given, each batch reverts if another process scripted one of its mocks
 * since, and waits for the one before. They are kept up to date.
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
  const send = isInProcess(vault) ? writeEffects : sendToMocks;
  if (counts === undefined) {
    await send(
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
    await send(vault, [encodeBatch(addresses, [...turns, ...batch])]);
    for (const role of roles) {
      counts.set(role, (counts.get(role) ?? 0n) + 1n);
    }
  }
}

/** After this many attempts, no other process can be the cause. */
const MOST_ATTEMPTS = 20;

/**
 * Makes the calls of a plan, which may read what the mocks return now. If another process
 * scripted the same mocks meanwhile, it plans the calls again.
 */
export async function sendPlan(
  vault: VaultClient,
  addresses: MockAddresses,
  plan: () => readonly ScriptCall[] | Promise<readonly ScriptCall[]>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const counts = await countScripts(vault, addresses);
    const script = await plan();
    const roles = script.map(({ role }) => role);
    await requireMocks(vault, addresses, roles, counts);
    try {
      await sendScript(vault, addresses, script, counts);
      return;
    } catch (error) {
      const now = await countScripts(vault, addresses);
      const isOvertaken =
        roles.some((role) => now.get(role) !== counts.get(role)) ||
        // Another process's transaction may not be mined yet.
        /nonce too low|replacement transaction underpriced/iu.test(
          String(error),
        );
      if (!isOvertaken || attempt === MOST_ATTEMPTS) {
        throw error;
      }
    }
  }
}

/** Writes the effect of a script to the state of a network in process. */
export async function writeScript(
  vault: VaultClient,
  addresses: MockAddresses,
  script: readonly ScriptCall[],
): Promise<void> {
  await writeEffects(vault, [encodeBatch(addresses, script)]);
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
    const gas = numberToHexString(TRANSACTION_GAS_CAP);
    const request = { from: ZeroAddress, to, data, gas };
    const { codes, writes } = effectsOf(
      await traceCall(rpc, request, "latest", "changes"),
    );
    for (const { address, code } of codes) {
      await rpc.request("hardhat_setCode", [address, code]);
    }
    if (writes.length === 0) {
      // Nothing changes, or the call reverts: the trace does not show which.
      const called = await rpc.requestOrRevert("eth_call", [request, "latest"]);
      if ("reverted" in called) {
        throw scriptFailed(rpc, called.reverted.text);
      }
    }
    for (const { address, slot, value } of writes) {
      await rpc.request("hardhat_setStorageAt", [
        address,
        numberToHexString(BigInt(slot)),
        `0x${hexWord(value)}`,
      ]);
    }
  }
}

interface Effects {
  /** Of the contracts that it makes. */
  readonly codes: ReadonlyArray<{ address: string; code: unknown }>;
  readonly writes: ReadonlyArray<{
    address: string;
    slot: string;
    value: bigint;
  }>;
}

/** Reads what a traced call changes. */
function effectsOf({ pre, post }: Readonly<Record<string, unknown>>): Effects {
  const [before, after] = [asRecord(pre), asRecord(post)];
  const addresses = Object.keys({ ...before, ...after });
  return {
    codes: addresses.flatMap((address) => {
      const { code } = asRecord(after[address]);
      return code === undefined ? [] : { address, code };
    }),
    writes: addresses.flatMap((address) => {
      const stored = storageOf(after[address]);
      // A slot that becomes zero is in `pre` only; one that was zero in `post` only.
      return Object.keys({ ...storageOf(before[address]), ...stored }).map(
        (slot) => ({
          address,
          slot,
          value: slot in stored ? BigInt(String(stored[slot])) : 0n,
        }),
      );
    }),
  };
}

function storageOf(account: unknown): Readonly<Record<string, unknown>> {
  return asRecord(asRecord(account)["storage"]);
}

function encodeBatch(
  addresses: MockAddresses,
  batch: readonly ScriptCall[],
): MockTransaction {
  const calls = batch.map(({ role, data }) => [addresses[role], data] as const);
  const data = mockInterfaces.vault.encodeFunctionData("script", [calls]);
  return { to: calls[0]?.[0], data };
}
