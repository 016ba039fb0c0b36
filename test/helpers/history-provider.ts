import { VaultFactory__factory } from "../../src/bindings/factories/VaultFactory__factory.js";
import type { PastRound, VaultRound } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";

const factory = VaultFactory__factory.createInterface();

/** What a factory says from one block on: a round, none yet, or nothing at all. */
export type Answer = VaultRound | "zeros" | "no code" | "revert";

/** A history as a test writes it down: answers by the block that began them. */
export type History = ReadonlyArray<readonly [block: number, answer: Answer]>;

/** The round number `index`, told from its neighbours by its start time. */
export function pastRound(
  index: number,
  fields: Partial<VaultRound> = {},
): VaultRound {
  const startTime = 1_700_000_000n + BigInt(index) * 604_800n;
  return {
    strikePrice: 1_900n * 10n ** 18n,
    APY: 10n ** 17n,
    maxVolume: 1_000n,
    filledVolume: BigInt(index),
    minDeposit: 10n,
    startTime,
    endTime: startTime + 604_800n,
    settledPrice: 0n,
    settledAmount: 0n,
    settled: false,
    ...fields,
  };
}

/** The same round once it is settled. */
export function settledRound(round: VaultRound): VaultRound {
  return {
    ...round,
    settled: true,
    settledPrice: round.strikePrice + 1n,
    settledAmount: round.filledVolume,
  };
}

/** A node that answers from a history, its own requests counted. */
export interface HistoryProvider extends Eip1193Provider {
  readonly requests: Array<{ method: string; block: number | undefined }>;
}

/**
 * @param head The latest block.
 * @param oldestState First block that the node has the state of.
 */
export function historyProvider(
  history: History,
  head: number,
  oldestState = 0,
): HistoryProvider {
  const requests: HistoryProvider["requests"] = [];
  const answerAt = (block: number): Answer => {
    let [low, high] = [0, history.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((history[middle]?.[0] ?? Infinity) <= block) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return history[low - 1]?.[1] ?? "no code";
  };
  return {
    requests,
    async request({ method, params = [] }) {
      await Promise.resolve();
      const tag = String(params.at(method === "eth_getBlockByNumber" ? 0 : 1));
      const block = tag.startsWith("0x") ? Number(tag) : head;
      requests.push({ method, block });
      if (block > head) {
        return null;
      }
      if (method === "eth_chainId") {
        return "0x1";
      }
      if (method === "eth_getBlockByNumber") {
        return {
          number: hex(block),
          timestamp: hex(1_700_000_000 + block),
          hash: `0x${block.toString(16).padStart(64, "0")}`,
          gasLimit: hex(30_000_000),
        };
      }
      if (block < oldestState) {
        throw Object.assign(new Error(`missing trie node at ${block}`), {
          code: -32_000,
        });
      }
      const answer = answerAt(block);
      switch (method) {
        case "eth_getBalance":
          return "0x0";
        case "eth_getCode":
          return answer === "no code" ? "0x" : "0x00";
        case "eth_call":
          return encode(answer);
        default:
          throw new Error(`no answer for ${method}`);
      }
    },
  };
}

/** Rounds at uneven distances, every tenth settled next to the one before. */
export function writeHistory(
  count: number,
  head: number,
): {
  history: History;
  expected: Array<readonly [number, number | null, number]>;
} {
  // A generator of pseudo-random numbers: the same history in every run.
  let state = 12_345;
  const random = (): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
  const history: Array<readonly [number, Answer]> = [];
  const expected: Array<readonly [number, number | null, number]> = [];
  const slot = Math.floor(head / count);
  const starts = Array.from(
    { length: count },
    (_, index) => index * slot + 1 + Math.floor((random() * slot) / 2),
  );
  starts.forEach((start, index) => {
    const round = pastRound(index + 1);
    const next = starts[index + 1] ?? head + 1;
    history.push([start, round]);
    const settledBlock =
      index % 7 === 3
        ? null
        : index % 10 === 0
          ? next - 1
          : start + 1 + Math.floor(random() * (next - start - 2));
    if (settledBlock !== null) {
      history.push([settledBlock, settledRound(round)]);
    }
    expected.push([start, settledBlock, next - 1]);
  });
  return { history, expected };
}

function encode(answer: Answer): string {
  if (answer === "no code") {
    return "0x";
  }
  if (answer === "revert") {
    throw Object.assign(new Error("execution reverted"), { code: 3 });
  }
  const round =
    answer === "zeros"
      ? pastRound(0, {
          strikePrice: 0n,
          APY: 0n,
          maxVolume: 0n,
          minDeposit: 0n,
          startTime: 0n,
          endTime: 0n,
        })
      : answer;
  return factory.encodeFunctionResult("getLatestRoundInfo", [
    round.strikePrice,
    round.APY,
    round.maxVolume,
    round.filledVolume,
    round.minDeposit,
    round.startTime,
    round.endTime,
    round.settledPrice,
    round.settledAmount,
    round.settled,
  ]);
}

/**
 * What a look at every single block finds: slow, and with nothing in common with
 * a search.
 */
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
      latest.endTime === round.endTime &&
      latest.strikePrice === round.strikePrice
        ? found.pop()
        : undefined;
    if (round !== undefined) {
      const settledNow =
        round.settled && index > 0 && known?.settled !== true ? block : null;
      found.push({
        ...round,
        firstBlock: known?.firstBlock ?? block,
        settledBlock: known?.settledBlock ?? settledNow,
        lastBlock: block,
      });
    }
    latest = round;
  }
  return found;
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
