import type { PastRound, VaultRound } from "../../src/client/index.js";
import { OPEN_ROUND } from "./scripted-contracts.js";
import type { Answer } from "./scripted-contracts.js";

/** The round number `index`, told from its neighbours by its start time. */
export function pastRound(
  index: number,
  fields: Partial<VaultRound> = {},
): VaultRound {
  const startTime = 1_700_000_000n + BigInt(index) * 604_800n;
  return {
    ...OPEN_ROUND,
    APY: 10n ** 17n,
    filledVolume: BigInt(index),
    startTime,
    endTime: startTime + 604_800n,
    ...fields,
  };
}

/** A round as it is listed: what a settlement writes, only if it was seen. */
export function asListed(round: VaultRound): Pick<PastRound, keyof VaultRound> {
  return round.settled
    ? round
    : { ...round, settledPrice: null, settledAmount: null };
}

/** What a look at every block finds: slow, with nothing in common with a search. */
export function roundsBlockByBlock(
  answers: ReadonlyArray<readonly [block: number, answer: Answer]>,
): PastRound[] {
  const found: PastRound[] = [];
  let latest: VaultRound | undefined;
  for (const [index, [block, answer]] of answers.entries()) {
    const round = typeof answer === "string" ? undefined : answer;
    const known =
      round !== undefined &&
      latest?.startTime === round.startTime &&
      latest.strikePrice === round.strikePrice
        ? found.pop()
        : undefined;
    if (round !== undefined) {
      const settledNow =
        round.settled && index > 0 && known?.settled !== true ? block : null;
      found.push({
        ...asListed(round),
        firstBlock: known?.firstBlock ?? block,
        settledBlock: known?.settledBlock ?? settledNow,
        lastBlock: block,
      });
    }
    latest = round;
  }
  return found;
}
