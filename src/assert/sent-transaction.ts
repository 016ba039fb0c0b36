import { inspect } from "node:util";

import { isHexString } from "ethers";
import type { Provider } from "ethers";

import type { ReadOptions } from "../client/reader.js";
import { quoteForeignText } from "../untrusted-text.js";
import type { Assertion, ReadableVault } from "./assertion.js";

const POLLING_INTERVAL_MS = 50;
/** How long a node may take to learn of a transaction. */
const UNKNOWN_LIMIT_MS = 1_000;
/** How long a transaction may wait for its block. */
const PENDING_LIMIT_MS = 30_000;

/**
 * Waits for the subject's transaction, and reads what it may have changed. Fails,
 * negated or not, where there is none to speak of: a matcher must not take a
 * failure for an answer.
 *
 * @param nothingSent The failure where a settlement found nothing to do.
 * @returns Undefined where that is what is asserted.
 */
export async function readAroundTransaction<Value>(
  assertion: Assertion,
  vault: ReadableVault,
  nothingSent: string,
  read: (options: ReadOptions) => Promise<Value>,
): Promise<
  | { readonly hash: string; readonly before: Value; readonly after: Value }
  | undefined
> {
  const hash = hashOf(assertion, await assertion.subject);
  if (hash === undefined) {
    return assertion.negated ? undefined : assertion.fail(nothingSent);
  }
  const contracts = await vault.contracts;
  const provider =
    contracts.vaultFactory.runner?.provider ??
    assertion.fail("the vault's contracts have no provider");
  const blockNumber = await waitForBlock(assertion, provider, hash);
  const block = await provider.getBlock(blockNumber);
  if (block?.transactions.length !== 1) {
    assertion.fail(
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
function hashOf(assertion: Assertion, subject: unknown): string | undefined {
  if (isSettlement(subject)) {
    if (subject.status === "nothing-to-do") {
      return undefined;
    }
    if (!SENT.includes(subject.status)) {
      const reason =
        typeof subject.reason === "string"
          ? `: ${quoteForeignText(subject.reason)}`
          : "";
      assertion.fail(
        `expected a settlement that was sent, but it was ${subject.status}${reason}`,
      );
    }
  }
  const hash: unknown =
    typeof subject === "object" && subject !== null && "hash" in subject
      ? subject.hash
      : subject;
  return isHexString(hash, 32)
    ? hash
    : assertion.fail(
        `expected a transaction, its hash or a settlement, got ${inspect(subject)}`,
      );
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
async function waitForBlock(
  assertion: Assertion,
  provider: Provider,
  hash: string,
): Promise<number> {
  const startedAt = Date.now();
  for (;;) {
    const receipt = await provider.getTransactionReceipt(hash);
    if (receipt !== null) {
      return receipt.status === 0
        ? assertion.fail(
            `transaction ${hash} reverted, so it changed nothing: assert the revert itself, with .revertedWith() and the like`,
          )
        : receipt.blockNumber;
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
