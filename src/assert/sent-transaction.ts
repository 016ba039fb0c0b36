import { isHexString } from "ethers";

import type { ReadOptions } from "../client/read-at-block.js";
import type { VaultClient } from "../client/vault-client.js";
import { isInProcess } from "../host.js";
import { asRecord } from "../json.js";
import type { Hex } from "../protocol/index.js";
import type { RpcClient } from "../rpc/rpc-client.js";
import {
  getTransaction,
  getTransactions,
  waitForReceipt,
} from "../rpc/transactions.js";
import type { Receipt } from "../rpc/transactions.js";
import { mockInfo } from "../mocks/mock-contracts.js";
import { quoteForeignText } from "../redact.js";
import { NoVerdict, describe, requireVault } from "./assertion.js";
import { requireSameBranch } from "../rpc/blocks.js";

/** Time until a node has a transaction. */
const UNKNOWN_LIMIT_MS = 1_000;
const PENDING_LIMIT_MS = 30_000;

/**
 * Waits for a transaction, and reads the vault before and after it.
 */
export async function readAroundTransaction<Value>(
  vault: unknown,
  transaction: unknown,
  read: (client: VaultClient, options: ReadOptions) => Promise<Value>,
): Promise<{
  readonly hash: string;
  readonly before: Value;
  readonly after: Value;
}> {
  // Comes first: a rejected promise must not stay unhandled.
  const sent = await transaction;
  const client = await requireVault(vault);
  const hash = hashOf(sent);
  const { blockNumber, blockHash, succeeded } = await requireReceipt(
    client.rpc,
    hash,
  );
  if (succeeded === false) {
    throw new NoVerdict(
      `transaction ${hash} reverted, so it changed nothing: assert the revert itself, with .revertedWith() and the like`,
    );
  }
  const { length } = await getTransactions(client.rpc, blockNumber);
  if (length !== 1) {
    throw new NoVerdict(
      `block ${blockNumber} of transaction ${hash} holds ${length} transactions, so its own changes cannot be separated: mine it alone`,
    );
  }
  await requireUnchangedMocks(client, hash, blockNumber);
  const pin = { number: blockNumber, hash: blockHash };
  const [before, after] = await Promise.all([
    read(client, { blockTag: blockNumber - 1 }),
    read(client, { blockTag: pin }),
  ]);
  await requireSameBranch(client.rpc, pin);
  return { hash, before, after };
}

/**
 * In process, a change to the mocks takes effect in the latest block: the readings of
 * that block are then no longer those after its transaction.
 */
async function requireUnchangedMocks(
  client: VaultClient,
  hash: string,
  block: number,
): Promise<void> {
  if (!isInProcess(client)) {
    return;
  }
  for (const address of Object.values(await client.addresses)) {
    const before = await mockInfo(client, address, block - 1);
    if ((await mockInfo(client, address, block)) !== before) {
      throw new NoVerdict(
        `the mocks were changed after transaction ${hash}, in its block ${block}, so its own changes cannot be separated: assert before you change the mocks, or mine a block in between`,
      );
    }
  }
}

export function hashOf(subject: unknown): Hex {
  const { transactionHash, hashes, status, reason, ...given } =
    asRecord(subject);
  // viem's receipt has its hash, and a status of its own.
  if (isHexString(transactionHash, 32)) {
    return transactionHash;
  }
  const { hash = subject } = given;
  if (status === "nothing-to-do") {
    const isSent = Array.isArray(hashes) && hashes.length > 0;
    throw new NoVerdict(
      `expected a transaction that settles, but ${isSent ? `transaction ${String(hash)} settled nothing: ${quoteForeignText(String(reason))}` : "nothing was sent: the settlement had nothing to do"}`,
      true,
    );
  }
  if (status === "refused" || status === "reverted") {
    throw new NoVerdict(
      `expected a settlement that was sent, but it was ${status}${typeof reason === "string" ? `: ${quoteForeignText(reason)}` : ""}`,
    );
  }
  if (!isHexString(hash, 32)) {
    throw new NoVerdict(
      `expected a transaction, its hash or a settlement, got ${describe(subject)}`,
    );
  }
  return hash;
}

export async function requireReceipt(
  rpc: RpcClient,
  hash: Hex,
): Promise<Receipt> {
  const early = await waitForReceipt(rpc, hash, UNKNOWN_LIMIT_MS);
  if (early !== undefined) {
    return early;
  }
  if ((await getTransaction(rpc, hash)) === undefined) {
    throw new NoVerdict(
      `transaction ${hash} is not known on the vault's network. Was it sent over another connection? hre.vault and network.create() are different chains`,
    );
  }
  const late = await waitForReceipt(rpc, hash, PENDING_LIMIT_MS);
  if (late === undefined) {
    throw new NoVerdict(
      `transaction ${hash} was not mined within ${PENDING_LIMIT_MS / 1000} s`,
    );
  }
  return late;
}
