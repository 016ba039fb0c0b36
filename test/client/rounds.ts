import { setImmediate } from "node:timers/promises";

import { expect } from "chai";
import fc from "fast-check";

import { VaultClient } from "../../src/client/index.js";
import type {
  Eip1193Provider,
  PastRound,
  RoundsOptions,
  ScanProgress,
  VaultRound,
} from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  FACTORY,
  OPEN_ROUND,
  contractsWithHistory,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import type { Answer, History } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { isFull, seed } from "../helpers/sample.js";

/** The round number `index`, told from its neighbours by its start time. */
function pastRound(index: number): VaultRound {
  const startTime = 1_700_000_000n + BigInt(index) * 604_800n;
  return {
    ...OPEN_ROUND,
    filledVolume: BigInt(index),
    startTime,
    endTime: startTime + 604_800n,
  };
}

/** A round as it is listed: what a settlement writes, only if it was seen. */
const asListed = (round: VaultRound): Pick<PastRound, keyof VaultRound> =>
  round.settled ? round : { ...round, settledPrice: null, settledAmount: null };

/** What a look at every block finds: slow, with nothing in common with a search. */
function roundsBlockByBlock(answers: History): PastRound[] {
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

const historyNode = (
  history: History,
  head: number,
  oldestState = 0,
): ScriptedNode =>
  new ScriptedNode({ head, oldestState, ...contractsWithHistory(history) });

async function collect(
  provider: Eip1193Provider,
  options?: RoundsOptions,
): Promise<PastRound[]> {
  const client = new VaultClient(provider, { vaultFactory: FACTORY });
  return await Array.fromAsync(client.rounds(options));
}

/** The blocks alone: first, settled, last. */
const blocksOf = (rounds: readonly PastRound[]): unknown[] =>
  rounds.map((round) => [
    round.firstBlock,
    round.settledBlock,
    round.lastBlock,
  ]);

const one = pastRound(1);
const two = pastRound(2);
const three = pastRound(3);
const four = pastRound(4);

const changed = { ...one, filledVolume: 5n, maxVolume: 6n, minDeposit: 7n };
const otherStrike = { ...one, strikePrice: 1n };
const otherEnd = { ...otherStrike, endTime: one.endTime + 1n };
const gap: History = [
  [100, one],
  [200, two],
  [250, settledRound(two)],
  [300, "no code"],
  [900, three],
  [950, "revert"],
  [960, four],
];
const each = (first: number, ...answers: readonly Answer[]): History =>
  answers.map((answer, index) => [first + 100 * index, answer]);
/** Answers up to block 1,000, and the first blocks of the rounds that are marked. */
const histories = [
  ["no round if none was opened yet", [], [[10, "zeros"]]],
  [
    // They start together, and so none before another.
    "rounds that differ in start or strike, and in nothing else",
    [],
    each(0, one, changed, otherStrike, otherEnd),
  ],
  ["the rounds before and after a gap without code", [], gap],
  [
    "the rounds of the blocks from fromBlock to toBlock",
    [],
    gap,
    { fromBlock: 160, toBlock: 240 },
  ],
  [
    "no settlement before the given blocks",
    [],
    gap,
    { fromBlock: 260, toBlock: 299 },
  ],
  ["the round of a single block", [], gap, { fromBlock: 250, toBlock: 250 }],
  ["a round whose contract is gone at the end", [], each(800, one, "no code")],
  [
    "rounds, and marks each whose start is not the latest",
    [300, 400],
    each(100, two, three, one, { ...two, strikePrice: 1n }, four),
  ],
  [
    "rounds, and marks those of a second life",
    [300, 400],
    each(100, one, two, one, two),
  ],
  [
    "rounds, and marks one that is not settled any more",
    [400],
    each(400, settledRound(three), three),
  ],
] as const;

describe("client - rounds", () => {
  for (const [title, outOfOrder, history, blocks] of histories) {
    it(`rounds() lists ${title}${outOfOrder.length === 0 ? "" : ", outOfOrder"}`, async () => {
      const node = historyNode(history, 1_000);
      const { fromBlock, toBlock } = blocks ?? { fromBlock: 0, toBlock: 1_000 };
      const answers = Array.from({ length: 1_001 }, (_, block) => {
        const started = history.findLast(([first]) => first <= block);
        return [block, started?.[1] ?? "no code"] as const;
      }).slice(fromBlock, toBlock + 1);
      const found = await collect(node, blocks);
      expect(blocksOf(found)).to.deep.equal(
        blocksOf(roundsBlockByBlock(answers)),
      );
      expect(
        found.filter((round) => round.outOfOrder).map((of) => of.firstBlock),
      ).to.deep.equal(outOfOrder);
      for (const request of node.asked) {
        expect(node.blockOf(request) ?? toBlock).to.be.within(
          fromBlock,
          request.method === "eth_call" ? toBlock : 1_000,
        );
      }
    });
  }

  it("rounds() lists a round as not settled that the settling block replaced, with no price", async () => {
    const node = new ScriptedNode();
    node.mine((round) => nextRound(settledRound(round)));
    const client = new VaultClient(node, { vaultFactory: FACTORY });
    const [first] = await Array.fromAsync(client.rounds());
    expect(first).to.include({
      ...{ lastBlock: 5, settled: false, settledBlock: null },
      ...{ settledPrice: null, settledAmount: null },
    });
  });

  it("rounds() lists what a look at every block finds, in any history", async () => {
    // Rounds replace each other, get settled or not, within the same block too.
    const steps = fc.array(
      fc.record({
        blocks: fc.integer({ min: 0, max: 40 }),
        blocksSettled: fc.option(fc.integer({ min: 0, max: 40 }), { nil: 0 }),
      }),
      { maxLength: 12 },
    );
    const times = (count: number, answer: Answer): Answer[] =>
      Array.from({ length: count }, () => answer);
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 1, max: 61 }),
        fc.constantFrom<Answer>("no code", "zeros", "revert"),
        async (rounds, before, nothing) => {
          const answers = [
            ...times(before, nothing),
            ...rounds.flatMap(({ blocks, blocksSettled }, index) => [
              ...times(blocks, pastRound(index + 1)),
              ...times(blocksSettled, settledRound(pastRound(index + 1))),
            ]),
          ];
          // Each is listed as it was last seen.
          const history = answers.map((answer, block) => {
            const filledVolume = BigInt(block);
            const seen =
              typeof answer === "string" ? answer : { ...answer, filledVolume };
            return [block, seen] as const;
          });
          const expected = roundsBlockByBlock(history);
          if (expected.length === 0 && nothing !== "zeros") {
            return;
          }
          expect(
            await collect(historyNode(history, answers.length - 1)),
          ).to.deep.equal(expected);
        },
      ),
      { seed, numRuns: isFull ? 1_000 : 50 },
    );
  });
});

describe("client - requests of rounds()", () => {
  const count = isFull ? 1_000 : 100;
  it(`rounds() makes at most 2 × ⌈log2(blocks between)⌉ + 4 requests a round for ${count} rounds in 50,000,000 blocks`, async () => {
    const head = 50_000_000;
    const history = writeHistory(count, head);
    const provider = historyNode(history, head);
    const found = await collect(provider);
    expect(
      found.flatMap((round) => [round.firstBlock, round.settledBlock]),
    ).to.deep.equal(history.map(([block]) => block));
    // Between two rounds, not in all: the stricter of two readings.
    const allowed = 2 * Math.ceil(Math.log2(head / count)) + 4;
    expect(provider.asked.length / count).to.be.at.most(allowed);
  });

  it("rounds() calls onProgress for each request, and never with more than there is to do", async () => {
    const seen: ScanProgress[] = [];
    const provider = historyNode(writeHistory(50, 1_000_000), 1_000_000);
    await collect(provider, { onProgress: (progress) => seen.push(progress) });
    expect(seen.every(({ done, total }) => done <= total)).to.equal(true);
    expect(seen.at(-1)?.done).to.equal(seen.at(-1)?.total);
    expect(seen.at(-1)?.done).to.equal(provider.count("eth_call"));
  });

  it("rounds() ends with the error of an async onProgress, which no process sees", async () => {
    const onProgress = async (): Promise<never> =>
      await Promise.reject(new Error("the listener's own problem"));
    const node = historyNode(writeHistory(50, 1_000_000), 1_000_000);
    const reading = collect(node, { onProgress });
    expect(await reading.catch(String)).to.match(/the listener's own problem/u);
  });

  it("rounds() hands out each round as it is found, and looks little further ahead", async () => {
    const head = 50_000_000;
    const node = historyNode(writeHistory(count, head), head);
    const client = new VaultClient(node, { vaultFactory: FACTORY });
    const most = 2 * Math.ceil(Math.log2(head)) + 4;
    const ahead: number[] = [];
    let handedOut = 0;
    for await (const _ of client.rounds()) {
      handedOut += 1;
      ahead.push(node.count("eth_call") - most * handedOut);
    }
    expect(handedOut).to.equal(count);
    expect(Math.max(...ahead)).to.be.at.most(8 * most);
  });

  it("rounds() makes no request once its reader has left", async () => {
    const node = historyNode(writeHistory(count, 1_000_000), 1_000_000);
    const client = new VaultClient(node, { vaultFactory: FACTORY });
    for await (const _ of client.rounds()) {
      break;
    }
    const asked = node.asked.length;
    for (let turn = 0; turn < 20; turn += 1) {
      await setImmediate();
    }
    expect(node.asked).to.have.length(asked);
  });

  it("rounds() throws VAULT_REORGED at the end if the chain replaced a block that it read, after the rounds of that branch", async () => {
    const node = historyNode(writeHistory(count, 1_000_000), 1_000_000);
    const client = new VaultClient(node, { vaultFactory: FACTORY });
    const found: PastRound[] = [];
    await expectVaultError(async () => {
      for await (const round of client.rounds()) {
        if (found.push(round) === 1) {
          node.reorganise(500_000);
        }
      }
    }, "VAULT_REORGED");
    expect(found).to.not.have.length(0);
  });

  it("rounds() throws VAULT_ARCHIVE_NODE_NEEDED if the state of old blocks is gone", async () => {
    const provider = historyNode([[5, one]], 100_000, 99_873);
    const error = await expectVaultError(
      collect(provider),
      "VAULT_ARCHIVE_NODE_NEEDED",
    );
    expect(error.details["block"]).to.be.below(99_873);
    expect(error.message).to.include("missing trie node");
    expect(
      blocksOf(await collect(provider, { fromBlock: 99_873 })),
    ).to.deep.equal([[99_873, null, 100_000]]);
  });

  it("rounds() throws VAULT_RPC_ERROR and makes no request after one that failed", async () => {
    const node = historyNode([[5, one]], 1_000_000);
    node.on("eth_call", async (_, answer, occurrence) => {
      if (occurrence >= 2) {
        throw new Error("daily quota used up");
      }
      return await answer();
    });
    const { message } = await expectVaultError(
      collect(node, { concurrency: 1 }),
      "VAULT_RPC_ERROR",
    );
    expect(message).to.include("daily quota used up");
    for (let turn = 0; turn < 20; turn += 1) {
      await setImmediate();
    }
    // Each refusal is held against the newest block.
    expect(node.count("eth_call")).to.be.at.most(6);
  });

  it("rounds() throws instead of an empty list if the address is wrong: VAULT_NO_CODE, VAULT_CALL_REVERTED", async () => {
    await expectVaultError(collect(historyNode([], 1_000)), "VAULT_NO_CODE");
    await expectVaultError(
      collect(historyNode([[0, "revert"]], 1_000)),
      "VAULT_CALL_REVERTED",
    );
  });

  it("rounds() refuses pending blocks, a range that is none and a wrong concurrency: VAULT_INVALID_ARGUMENT", async () => {
    const provider = historyNode([[5, one]], 100);
    for (const [options, where, problem] of [
      [{ toBlock: "pending" }, "toBlock", "not a fixed block"],
      [{ fromBlock: 50, toBlock: 49 }, "fromBlock", "50 is above"],
      [{ concurrency: 0 }, "concurrency", "got 0"],
    ] as const) {
      const { details } = await expectVaultError(
        collect(provider, options),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal(where);
      expect(details["problem"]).to.include(problem);
    }
  });
});

/** Rounds at uneven distances, each with the blocks that opened and settled it. */
function writeHistory(count: number, head: number): History {
  const slot = Math.floor(head / count);
  return Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const start =
      index * slot + 1 + Math.floor(((index * 0.618) % 1) * slot * 0.5);
    const round = pastRound(index + 1);
    return [
      [start, round] as const,
      [start + Math.floor(slot / 3), settledRound(round)] as const,
    ];
  });
}
