import type { VaultRound } from "../protocol/index.js";
import { describeOutcome, isSameRound } from "../protocol/round.js";
import { MatcherContext } from "./matcher-context.js";
import type { ReadableVault } from "./readable-vault.js";
import { awaitRound } from "./round-details.js";
import { requireAloneInBlock, waitForTransaction } from "./sent-transaction.js";

/** Adds `settleRound(vault)`. */
export function supportSettleRound(
  chai: Chai.ChaiStatic,
  utils: Chai.ChaiUtils,
): void {
  utils.addMethod(
    chai.Assertion.prototype,
    "settleRound",
    function (this: object, vault: unknown): object {
      const context = new MatcherContext(this, chai, utils);
      context.preventChaining("settleRound");
      return awaitRound(
        context,
        findSettlement(
          context,
          context.requireVault(vault, "the argument of .settleRound()"),
        ),
      );
    },
  );
}

async function findSettlement(
  context: MatcherContext,
  vault: ReadableVault,
): Promise<VaultRound | undefined> {
  const transaction = await waitForTransaction(context, vault);
  if (transaction === undefined) {
    context.check(
      false,
      () =>
        "expected the vault's latest round to be settled by a transaction, but nothing was sent: the settlement had nothing to do",
      () => "",
    );
    return undefined;
  }
  const { hash, blockNumber } = transaction;
  await requireAloneInBlock(context, vault, transaction);
  const [before, after] = await Promise.all([
    vault.getLatestRoundInfo({ blockTag: blockNumber - 1 }),
    vault.getLatestRoundInfo({ blockTag: blockNumber }),
  ]);
  const failure = whyNotSettled(before, after);
  context.check(
    failure === undefined,
    () =>
      `expected transaction ${hash} to settle the vault's round, but ${String(failure)}`,
    () =>
      `expected transaction ${hash} not to settle the vault's round, but it did (${describeOutcome(after)})`,
  );
  return context.negated ? undefined : after;
}

function whyNotSettled(
  before: VaultRound,
  after: VaultRound,
): string | undefined {
  if (before.settled) {
    return `it was settled before (${describeOutcome(before)})`;
  }
  if (!isSameRound(before, after)) {
    return `another round took its place\n  before: ${describeOutcome(before)}\n   after: ${describeOutcome(after)}`;
  }
  return after.settled
    ? undefined
    : `it is still not settled (${describeOutcome(after)})`;
}
