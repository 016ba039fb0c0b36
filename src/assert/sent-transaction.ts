import type { Provider } from "ethers";

import { quoteForeignText } from "../untrusted-text.js";
import type { Assertion } from "./assertion.js";
import type { ReadableVault } from "./readable-vault.js";

/** A transaction that was mined and did not revert. */
export interface TransactionLocation {
  readonly hash: string;
  readonly blockNumber: number;
}

const POLLING_INTERVAL_MS = 50;
/** How long a node may take to learn of a transaction. */
const UNKNOWN_LIMIT_MS = 1_000;
/** How long a transaction may wait for its block. */
const PENDING_LIMIT_MS = 30_000;

/**
 * Waits for the subject's transaction. Fails, negated or not, where there is
 * none to speak of: a matcher must not take a failure for an answer.
 *
 * @returns Undefined where a settlement found nothing to do.
 */
export async function waitForTransaction(
  assertion: Assertion,
  vault: ReadableVault,
): Promise<TransactionLocation | undefined> {
  const subject: unknown = await assertion.subject;
  if (isSettlement(subject)) {
    if (subject.status === "nothing-to-do") {
      return undefined;
    }
    if (subject.status !== "settled" && subject.status !== "unconfirmed") {
      const reason =
        typeof subject.reason === "string"
          ? `: ${quoteForeignText(subject.reason)}`
          : "";
      assertion.fail(
        `expected a settlement that was sent, but it was ${subject.status}${reason}`,
      );
    }
  }
  return await waitForReceipt(assertion, vault, hashOf(assertion, subject));
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

function hashOf(assertion: Assertion, subject: unknown): string {
  const hash: unknown =
    typeof subject === "object" && subject !== null && "hash" in subject
      ? subject.hash
      : subject;
  return typeof hash === "string" && /^0x[0-9a-f]{64}$/iu.test(hash)
    ? hash
    : assertion.fail(
        `expected a transaction, its hash or a settlement, got ${assertion.inspect(subject)}`,
      );
}

async function waitForReceipt(
  assertion: Assertion,
  vault: ReadableVault,
  hash: string,
): Promise<TransactionLocation> {
  const provider = await providerOf(assertion, vault);
  const startedAt = Date.now();
  for (;;) {
    const receipt = await provider.getTransactionReceipt(hash);
    if (receipt !== null) {
      if (receipt.status === 0) {
        assertion.fail(
          `transaction ${hash} reverted, so it changed nothing: assert the revert itself, with .revertedWith() and the like`,
        );
      }
      return { hash, blockNumber: receipt.blockNumber };
    }
    const elapsed = Date.now() - startedAt;
    if (
      elapsed > UNKNOWN_LIMIT_MS &&
      (await provider.getTransaction(hash)) === null
    ) {
      assertion.fail(
        `transaction ${hash} is not known on the vault's network. Was it sent over another connection? hre.vault and network.create() are different chains`,
      );
    }
    if (elapsed > PENDING_LIMIT_MS) {
      assertion.fail(
        `transaction ${hash} was not mined within ${PENDING_LIMIT_MS / 1000} s`,
      );
    }
    await new Promise((resolve) => {
      setTimeout(resolve, POLLING_INTERVAL_MS);
    });
  }
}

/**
 * Fails where other transactions share the block: what happened between two
 * blocks could then be their doing.
 */
export async function requireAloneInBlock(
  assertion: Assertion,
  vault: ReadableVault,
  { hash, blockNumber }: TransactionLocation,
): Promise<void> {
  const provider = await providerOf(assertion, vault);
  const block = await provider.getBlock(blockNumber);
  if (block?.transactions.length !== 1) {
    assertion.fail(
      `block ${blockNumber} of transaction ${hash} holds ${String(block?.transactions.length)} transactions, so it cannot be told which of them changed what: mine it alone`,
    );
  }
}

async function providerOf(
  assertion: Assertion,
  vault: ReadableVault,
): Promise<Provider> {
  const contracts = await vault.contracts;
  return (
    contracts.vaultFactory.runner?.provider ??
    assertion.fail("the vault's contracts have no provider")
  );
}
