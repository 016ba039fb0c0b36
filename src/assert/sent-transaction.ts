import { inspect } from "node:util";

import { isHexString } from "ethers";
import type { Provider } from "ethers";

import type { ReadOptions } from "../client/reader.js";
import { quoteForeignText } from "../untrusted-text.js";
import { NoVerdict } from "./assertion.js";
import type { ReadableVault } from "./assertion.js";

const POLLING_INTERVAL_MS = 50;
/** How long a node may take to learn of a transaction. */
const UNKNOWN_LIMIT_MS = 1_000;
/** How long a transaction may wait for its block. */
const PENDING_LIMIT_MS = 30_000;

/**
 * Waits for a transaction, and reads what it may have changed.
 *
 * @returns Undefined if a settlement found nothing to do.
 */
export async function readAroundTransaction<Value>(
  vault: ReadableVault,
  transaction: unknown,
  read: (options: ReadOptions) => Promise<Value>,
): Promise<
  | { readonly hash: string; readonly before: Value; readonly after: Value }
  | undefined
> {
  const hash = hashOf(await transaction);
  if (hash === undefined) {
    return undefined;
  }
  const contracts = await vault.contracts;
  const provider = contracts.vaultFactory.runner?.provider ?? undefined;
  if (provider === undefined) {
    throw new NoVerdict("the vault's contracts have no provider");
  }
  const blockNumber = await waitForBlock(provider, hash);
  const block = await provider.getBlock(blockNumber);
  if (block?.transactions.length !== 1) {
    throw new NoVerdict(
      `block ${blockNumber} of transaction ${hash} holds ${String(block?.transactions.length)} transactions, so it cannot be told which of them changed what: mine it alone`,
    );
  }
  const [before, after] = await Promise.all([
    read({ blockTag: blockNumber - 1 }),
    read({ blockTag: blockNumber }),
  ]);
  return { hash, before, after };
}

/** Statuses of a settlement whose transaction can be looked at. */
const SENT = ["settled", "not-settled", "unconfirmed"];

/** @returns Undefined where a settlement found nothing to do. */
function hashOf(subject: unknown): string | undefined {
  if (isSettlement(subject)) {
    if (subject.status === "nothing-to-do") {
      return undefined;
    }
    if (!SENT.includes(subject.status)) {
      const reason =
        typeof subject.reason === "string"
          ? `: ${quoteForeignText(subject.reason)}`
          : "";
      throw new NoVerdict(
        `expected a settlement that was sent, but it was ${subject.status}${reason}`,
      );
    }
  }
  const hash: unknown =
    typeof subject === "object" && subject !== null && "hash" in subject
      ? subject.hash
      : subject;
  if (!isHexString(hash, 32)) {
    throw new NoVerdict(
      `expected a transaction, its hash or a settlement, got ${inspect(subject)}`,
    );
  }
  return hash;
}

function isSettlement(
  subject: unknown,
): subject is { readonly status: string; readonly reason?: unknown } {
  return (
    typeof subject === "object" &&
    subject !== null &&
    "status" in subject &&
    typeof subject.status === "string" &&
    "before" in subject
  );
}

/** The block of a transaction that did not revert. */
async function waitForBlock(provider: Provider, hash: string): Promise<number> {
  const startedAt = Date.now();
  for (;;) {
    const receipt = await provider.getTransactionReceipt(hash);
    if (receipt !== null) {
      if (receipt.status === 0) {
        throw new NoVerdict(
          `transaction ${hash} reverted, so it changed nothing: assert the revert itself, with .revertedWith() and the like`,
        );
      }
      return receipt.blockNumber;
    }
    const elapsed = Date.now() - startedAt;
    if (
      elapsed > UNKNOWN_LIMIT_MS &&
      (await provider.getTransaction(hash)) === null
    ) {
      throw new NoVerdict(
        `transaction ${hash} is not known on the vault's network. Was it sent over another connection? hre.vault and network.create() are different chains`,
      );
    }
    if (elapsed > PENDING_LIMIT_MS) {
      throw new NoVerdict(
        `transaction ${hash} was not mined within ${PENDING_LIMIT_MS / 1000} s`,
      );
    }
    await new Promise((resolve) => {
      setTimeout(resolve, POLLING_INTERVAL_MS);
    });
  }
}
