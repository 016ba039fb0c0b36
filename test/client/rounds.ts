import { setImmediate } from "node:timers/promises";

import { expect } from "chai";
import fc from "fast-check";

import { VaultClient } from "../../src/client/index.js";
import type {
  PastRound,
  RoundsOptions,
  ScanProgress,
  Eip1193Provider,
} from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { pastRound, roundsBlockByBlock } from "../helpers/past-rounds.js";
import {
  ScriptedNode,
  contractsWithHistory,
  settledRound,
} from "../helpers/scripted-node.js";
import type { Answer, History } from "../helpers/scripted-node.js";
import { isFull, seed } from "../helpers/sample.js";

const FACTORY = "0x00000000000000000000000000000000000fac70";

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

/** As a look at every block finds them. */
async function collectWhole(provider: Eip1193Provider): Promise<PastRound[]> {
  return (await collect(provider)).map(
    ({ unreadBlocks: _unread, ...round }) => round,
  );
}

/** The blocks alone: first, settled, last. */
const blocksOf = (
  rounds: readonly PastRound[],
): Array<readonly [number, number | null, number]> =>
  rounds.map(
    ({ firstBlock, settledBlock, lastBlock }) =>
      [firstBlock, settledBlock, lastBlock] as const,
  );

const one = pastRound(1);
const two = pastRound(2);
const three = pastRound(3);
const four = pastRound(4);

describe("client - rounds", () => {
  it("should find every round with its blocks, oldest first, as it was last seen", async () => {
    const filled = { ...two, filledVolume: 777n };
    const history: History = [
      [120, "zeros"],
      [200, one],
      [300, settledRound(one)],
      [350, two],
      [360, filled],
      [5_000, settledRound(filled)],
      [5_100, three],
    ];
    expect(await collectWhole(historyNode(history, 9_999))).to.deep.equal([
      {
        ...settledRound(one),
        firstBlock: 200,
        settledBlock: 300,
        lastBlock: 349,
      },
      {
        ...settledRound(filled),
        firstBlock: 350,
        settledBlock: 5_000,
        lastBlock: 5_099,
      },
      { ...three, firstBlock: 5_100, settledBlock: null, lastBlock: 9_999 },
    ]);
  });

  it("should tell rounds apart by start, end and strike, and by nothing else", async () => {
    const history: History = [
      [1, one],
      [2, { ...one, filledVolume: 5n, maxVolume: 6n, minDeposit: 7n, APY: 8n }],
      [3, { ...one, strikePrice: 1n }],
      [4, { ...one, strikePrice: 1n, endTime: one.endTime + 1n }],
    ];
    const rounds = await collect(historyNode(history, 4));
    expect(blocksOf(rounds)).to.deep.equal([
      [1, null, 2],
      [3, null, 3],
      [4, null, 4],
    ]);
    // They start together, and so none before another.
    expect(rounds.some(({ outOfOrder }) => outOfOrder)).to.equal(false);
  });

  it("should look at the given blocks only, and claim nothing of those before", async () => {
    const history: History = [
      [100, one],
      [150, settledRound(one)],
      [200, two],
      [250, settledRound(two)],
    ];
    const provider = historyNode(history, 1_000);
    expect(
      blocksOf(await collect(provider, { fromBlock: 160, toBlock: 240n })),
    ).to.deep.equal([
      [160, null, 199],
      [200, null, 240],
    ]);
    expect(
      provider.asked
        .map((request) => provider.blockOf(request) ?? 160)
        .filter((block) => block < 160 || block > 240),
    ).to.deep.equal([]);
    expect(
      blocksOf(await collect(provider, { fromBlock: "latest" })),
    ).to.deep.equal([[1_000, null, 1_000]]);
  });

  describe("a re-deployed factory", () => {
    it("should find the rounds before and after the gap without code", async () => {
      const history: History = [
        [100, one],
        [200, two],
        [250, settledRound(two)],
        [300, "no code"],
        [9_000, three],
        [9_500, "revert"],
        [9_600, four],
      ];
      const rounds = await collect(historyNode(history, 10_000));
      expect(blocksOf(rounds)).to.deep.equal([
        [100, null, 199],
        [200, 250, 299],
        [9_000, null, 9_499],
        [9_600, null, 10_000],
      ]);
      expect(rounds.some(({ outOfOrder }) => outOfOrder)).to.equal(false);
    });

    it("should say how many blocks of a round were not read, where a gap may hide", async () => {
      const history: History = [
        [0, one],
        [400, "revert"],
        [600, one],
      ];
      const [round, ...others] = await collect(historyNode(history, 10_000));
      expect(others).to.deep.equal([]);
      expect(round?.unreadBlocks).to.be.within(200, 400);
      const [whole] = await collect(historyNode([[0, one]], 4));
      expect(whole).to.not.have.property("unreadBlocks");
    });
  });

  const life = [one, two, three, four];
  const disorders: ReadonlyArray<
    readonly [name: string, history: History, outOfOrder: readonly number[]]
  > = [
    [
      "whose start time went back, or is not the latest",
      [
        [100, two],
        [200, three],
        [300, one],
        [350, { ...two, strikePrice: 1n }],
        [400, four],
      ],
      [300, 350],
    ],
    [
      "of a second life with the same rounds",
      [0, 500].flatMap((birth) =>
        life.map((round, index) => [birth + 10 + index * 100, round] as const),
      ),
      [510, 610, 710, 810],
    ],
    [
      "that came back, or stopped being settled",
      [
        [100, one],
        [200, two],
        [300, one],
        [400, settledRound(three)],
        [500, three],
      ],
      [300, 400],
    ],
  ];
  for (const [name, history, outOfOrder] of disorders) {
    it(`rounds() marks a round ${name}`, async () => {
      const found = await collect(historyNode(history, 1_000));
      expect(
        found.filter((round) => round.outOfOrder).map((of) => of.firstBlock),
      ).to.deep.equal(outOfOrder);
    });
  }

  it("should find what a look at every block finds, in any history", async () => {
    // Rounds replace each other, get settled or not, within the same block too.
    const steps = fc.array(
      fc.record({
        blocks: fc.integer({ min: 0, max: 40 }),
        settle: fc.boolean(),
        blocksSettled: fc.integer({ min: 0, max: 40 }),
      }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.integer({ min: 0, max: 60 }),
        fc.constantFrom<Answer>("no code", "zeros", "revert"),
        async (rounds, before, nothing) => {
          const answers: Answer[] = Array.from(
            { length: before + 1 },
            () => nothing,
          );
          rounds.forEach(({ blocks, settle, blocksSettled }, index) => {
            const round = pastRound(index + 1);
            answers.push(...Array.from({ length: blocks }, () => round));
            if (settle) {
              answers.push(
                ...Array.from({ length: blocksSettled }, () =>
                  settledRound(round),
                ),
              );
            }
          });
          const history = answers.map(
            (answer, block) => [block, answer] as const,
          );
          const expected = roundsBlockByBlock(history);
          if (expected.length === 0 && nothing !== "zeros") {
            return;
          }
          expect(
            await collectWhole(historyNode(history, answers.length - 1)),
          ).to.deep.equal(expected);
        },
      ),
      { seed, numRuns: isFull ? 1_000 : 50 },
    );
  });

  const count = isFull ? 1_000 : 100;
  it(`should ask at most 2 × ⌈log2(blocks between)⌉ + 4 times a round: ${count} rounds in 50,000,000 blocks`, async () => {
    const head = 50_000_000;
    const { history, expected } = writeHistory(count, head);
    const provider = historyNode(history, head);
    expect(blocksOf(await collect(provider))).to.deep.equal(expected);
    // Between two rounds, not in all: the stricter of two readings.
    const allowed = 2 * Math.ceil(Math.log2(head / count)) + 4;
    expect(provider.asked.length / count).to.be.at.most(allowed);
  });

  it("should say how far it is, and never more than there is to do", async () => {
    const { history } = writeHistory(50, 1_000_000);
    const seen: ScanProgress[] = [];
    const provider = historyNode(history, 1_000_000);
    await collect(provider, { onProgress: (progress) => seen.push(progress) });
    expect(seen.map(({ done }) => done)).to.deep.equal(
      Array.from({ length: seen.length }, (_, index) => index + 1),
    );
    expect(seen.every(({ done, total }) => done <= total)).to.equal(true);
    expect(seen.at(-1)?.done).to.equal(seen.at(-1)?.total);
    expect(seen.at(-1)?.done).to.equal(provider.count("eth_call"));
  });

  it("should look at each block of a short range once", async () => {
    for (const [fromBlock, toBlock, looks] of [
      [100, 103, [100, 101, 102, 103]],
      [7, 7, [7]],
    ] as const) {
      const provider = historyNode([[0, one]], 5_000);
      await collect(provider, { fromBlock, toBlock, concurrency: 1 });
      const calls = provider.asked.filter(
        ({ method }) => method === "eth_call",
      );
      expect(calls.map((call) => provider.blockOf(call))).to.deep.equal(looks);
    }
  });

  it("should ask no more at a time than it may", async () => {
    const provider = historyNode(writeHistory(9, 1_000).history, 1_000);
    let [now, most] = [0, 0];
    await collect(
      {
        async request(args) {
          now += 1;
          most = Math.max(most, now);
          await setImmediate();
          const answer = await provider.request(args);
          now -= 1;
          return answer;
        },
      },
      { concurrency: 3 },
    );
    expect(most).to.equal(3);
  });

  it("should stop asking when it is aborted, with the caller's reason", async () => {
    const stop = new AbortController();
    const provider = historyNode([[5, one]], 1_000_000);
    const reason = new Error("enough");
    const thrown: unknown = await collect(provider, {
      concurrency: 1,
      signal: stop.signal,
      onProgress: ({ done }) => {
        if (done === 7) {
          stop.abort(reason);
        }
      },
    }).catch((error: unknown) => error);
    expect(thrown).to.equal(reason);
    expect(provider.count("eth_call")).to.be.at.most(8);
  });

  describe("what cannot be answered", () => {
    it("should ask for an archive node where the state of old blocks is gone", async () => {
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

    it("should end the search: nothing is asked once a look has failed", async () => {
      const provider = historyNode([[5, one]], 1_000_000);
      let calls = 0;
      const { message } = await expectVaultError(
        collect(
          {
            async request(args) {
              if (args.method === "eth_call" && ++calls >= 3) {
                throw new Error("daily quota used up");
              }
              return await provider.request(args);
            },
          },
          { concurrency: 1 },
        ),
        "VAULT_RPC_ERROR",
      );
      expect(message).to.include("daily quota used up");
      for (let turn = 0; turn < 20; turn += 1) {
        await setImmediate();
      }
      expect(calls).to.be.at.most(4);
    });

    it("should be no empty list where the address is wrong", async () => {
      await expectVaultError(collect(historyNode([], 1_000)), "VAULT_NO_CODE");
      await expectVaultError(
        collect(historyNode([[0, "revert"]], 1_000)),
        "VAULT_CALL_REVERTED",
      );
    });

    it("should be an empty list where there was no round yet", async () => {
      expect(await collect(historyNode([[10, "zeros"]], 1_000))).to.deep.equal(
        [],
      );
    });

    it("should be refused: pending blocks, a range that is none, a wrong concurrency", async () => {
      const provider = historyNode([[5, one]], 100);
      for (const [options, where, problem] of [
        [{ fromBlock: "pending" }, "fromBlock", "not a fixed block"],
        [{ toBlock: "pending" }, "toBlock", "not a fixed block"],
        [{ fromBlock: 50, toBlock: 49 }, "fromBlock", "50 is above"],
        [{ concurrency: 0 }, "concurrency", "got 0"],
        [{ concurrency: 1.5 }, "concurrency", "got 1.5"],
      ] as const) {
        const { details } = await expectVaultError(
          collect(provider, options),
          "VAULT_INVALID_ARGUMENT",
        );
        expect(details["where"]).to.equal(where);
        expect(details["problem"]).to.include(problem);
      }
      await expectVaultError(
        collect(provider, { fromBlock: -1 }),
        "VAULT_INVALID_BLOCK",
      );
      await expectVaultError(
        collect(provider, { toBlock: 101 }),
        "VAULT_BLOCK_NOT_FOUND",
      );
    });
  });
});

/** Rounds at uneven distances, every tenth settled next to the one before. */
function writeHistory(
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
