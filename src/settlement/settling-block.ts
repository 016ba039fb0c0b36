import { getTransactions } from "../rpc/transactions.js";
import { halve, hasSettlement } from "../client/rounds.js";
import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import type { VaultRound } from "../protocol/index.js";
import { isSameRound } from "../protocol/round.js";
import type { Reported } from "./journal.js";
import { observe } from "./observe.js";

/**
 * Says who settled the round of a transaction that came too late, as far as it is seen.
 *
 * @returns Undefined if the round is not settled: then the refusal is the vault's, not the guard's.
 */
export async function describeSettler(
  vault: VaultHost,
  { round, sentAfterBlock, transaction }: Reported,
  minedIn: number,
): Promise<string | undefined> {
  const unknown = "somebody else had settled the round.";
  const isSettled = (seen: VaultRound): boolean =>
    seen.settled || !isSameRound(seen, round);
  try {
    const { round: then } = await observe(vault, minedIn);
    if (!isSettled(then)) {
      return undefined;
    }
    // It was open when this transaction was made.
    const settled = await findChange(vault, sentAfterBlock, minedIn, isSettled);
    const { address } = await vault.addressOf("vault");
    const targets = [address, transaction.to].map((to) => to.toLowerCase());
    const found = (await getTransactions(vault.rpc, settled)).filter(
      ({ hash, to }) =>
        hash !== transaction.hash && targets.includes(String(to)),
    );
    const [only] = found;
    return only === undefined || found.length > 1
      ? `somebody else had settled the round in block ${settled}.`
      : `${only.from} had settled the round in block ${settled} with transaction ${only.hash}.`;
  } catch (error) {
    return fallbackTo(unknown)(error);
  }
}

/**
 * Finds the block that settled a round, between one that has it unsettled and a later one
 * that has it settled.
 *
 * @returns Undefined if the node lacks the state of a block in between.
 */
export async function settlingBlock(
  vault: VaultHost,
  unsettled: number,
  settled: number,
): Promise<number | undefined> {
  return await findChange(
    vault,
    unsettled,
    settled,
    (seen) => seen.settled,
  ).catch(fallbackTo(undefined));
}

/**
 * Finds the block that settled a round, between one that has it unsettled and a later one
 * that has another round.
 *
 * @returns Undefined if no settlement is seen.
 */
export async function settledBeforeReplaced(
  vault: VaultHost,
  round: VaultRound,
  unsettled: number,
  replaced: number,
): Promise<number | undefined> {
  const isOther = (seen: VaultRound): boolean => !isSameRound(seen, round);
  const first = await findChange(vault, unsettled, replaced, isOther).catch(
    fallbackTo(undefined),
  );
  if (first === undefined) {
    return undefined;
  }
  const last = await observe(vault, first - 1).catch(fallbackTo(undefined));
  if (last?.round.settled === true) {
    return await settlingBlock(vault, unsettled, first - 1);
  }
  const isSettling = await hasSettlement(vault, first).catch(fallbackTo(false));
  return isSettling ? first : undefined;
}

/** @returns First block whose round is changed, between one without and one with it. */
async function findChange(
  vault: VaultHost,
  unchanged: number,
  changed: number,
  isChanged: (round: VaultRound) => boolean,
): Promise<number> {
  return await halve(unchanged, changed, async (block) => {
    const { round } = await observe(vault, block);
    return isChanged(round);
  });
}
