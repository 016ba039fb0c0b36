import { VaultClient } from "../../src/client/index.js";
import type {
  Eip1193Provider,
  PastRound,
  RoundsOptions,
  VaultRound,
} from "../../src/client/index.js";
import { OPEN_ROUND, contractsWithHistory } from "./scripted-contracts.js";
import type { Answer, History } from "./scripted-contracts.js";
import { ScriptedNode } from "./scripted-node.js";

export const FACTORY = "0x00000000000000000000000000000000000fac70";

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

export const historyNode = (
  history: History,
  head: number,
  oldestState = 0,
): ScriptedNode =>
  new ScriptedNode({ head, oldestState, ...contractsWithHistory(history) });

export async function collect(
  provider: Eip1193Provider,
  options?: RoundsOptions,
): Promise<PastRound[]> {
  const client = new VaultClient(provider, { vaultFactory: FACTORY });
  return await Array.fromAsync(client.rounds(options));
}

/** The blocks alone: first, settled, last. */
export const blocksOf = (
  rounds: readonly PastRound[],
): Array<readonly [number, number | null, number]> =>
  rounds.map(
    ({ firstBlock, settledBlock, lastBlock }) =>
      [firstBlock, settledBlock, lastBlock] as const,
  );
