import { fallbackTo } from "../errors.js";
import type { VaultHost } from "../host.js";
import { isSameRound } from "../protocol/round.js";
import { getTransactions } from "../rpc/transactions.js";
import { observe } from "./observe.js";
import type { Reported } from "./journal.js";

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
  const isSettledAt = async (block: number): Promise<boolean> => {
    const { round: then } = await observe(vault, block);
    return then.settled || !isSameRound(then, round);
  };
  try {
    if (!(await isSettledAt(minedIn))) {
      return undefined;
    }
    // It was open when this transaction was made.
    let [open, settled] = [sentAfterBlock, minedIn];
    while (settled - open > 1) {
      const middle = Math.floor((open + settled) / 2);
      if (await isSettledAt(middle)) {
        settled = middle;
      } else {
        open = middle;
      }
    }
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
