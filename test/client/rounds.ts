import { setImmediate } from "node:timers/promises";

import { expect } from "chai";
import { Interface, id } from "ethers";
import fc from "fast-check";

import { VaultClient } from "../../src/client/index.js";
import type {
  Eip1193Provider,
  PastRound,
  RoundsOptions,
  ScanProgress,
  VaultRound,
} from "../../src/client/index.js";
import { textsForCommandLine } from "../../src/errors.js";
import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import {
  FACTORY,
  GENESIS,
  OPEN_ROUND,
  SETTLE,
  VAULT,
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

/** As a look at every block finds them. */
async function collectWhole(provider: Eip1193Provider): Promise<PastRound[]> {
  return (await collect(provider)).map(
    ({ unreadBlocks: _unread, ...round }) => round,
  );
}

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
/** A round of 15 blocks, none of which is among the blocks that are read first. */
const short: History = [
  [0, "no code"],
  [455, one],
  [470, "no code"],
  [900, two],
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
  ["a short round between two long gaps", [], short],
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

  const SAFE = "0x00000000000000000000000000000000000005AF";
  /** `settleAll` as an argument, as a Safe's `execTransaction` has it. */
  const nested = `0x6a761202${VAULT.slice(2).padStart(64, "0")}${SETTLE.slice(2)}`;
  const guarded = new Interface(RoundGuardArtifact.abi).encodeFunctionData(
    "settle",
    [VAULT, FACTORY, 1n, 2n, false, false, []],
  );
  for (const [title, to, data, isSettled, receipt] of [
    ["a call of settleAll", VAULT, SETTLE, true],
    ["a call of a guard for that vault", SAFE, guarded, true],
    ["a call of settleAll that reverts", VAULT, SETTLE, false, "reverted"],
    ["a call of settleAll without a receipt", VAULT, SETTLE, false, null],
    [
      "a call of settleAll with a receipt without status",
      VAULT,
      SETTLE,
      false,
      {},
    ],
    ["a transaction of a Safe with that call in its data", SAFE, nested, true],
    ["a call that fails, and one of a Safe", SAFE, nested, true, "first fails"],
    ["a transaction of another vault", SAFE, SETTLE, false],
    ["another transaction", VAULT, "0x12345678", false],
  ] as const) {
    it(`rounds() counts a round as ${isSettled ? "settled" : "replaced, not as settled,"} if the next one begins in a block with ${title}`, async () => {
      const node = new ScriptedNode();
      node.effect = nextRound;
      const sent = { hash: GENESIS, from: SAFE, to, data, nonce: 0 };
      node.pool = [sent];
      if (receipt === "first fails") {
        node.pool.push({ ...sent, hash: id("second"), nonce: 1 });
        node.on("eth_getTransactionReceipt", async ([hash], answer) => ({
          ...fieldsOf(await answer()),
          status: hash === GENESIS ? "0x0" : "0x1",
        }));
      }
      const reverts = receipt === "reverted";
      node.revertsWith = reverts ? "0x12345678" : undefined;
      node.mine(
        to === VAULT && data === SETTLE && !reverts ? undefined : nextRound,
      );
      if (typeof receipt === "object") {
        node.on("eth_getTransactionReceipt", async (_, answer) =>
          receipt === null
            ? null
            : { ...fieldsOf(await answer()), status: undefined },
        );
      }
      const client = new VaultClient(node, {
        vaultFactory: FACTORY,
        vault: VAULT,
      });
      const [first] = await Array.fromAsync(client.rounds());
      expect(first).to.include({
        lastBlock: 5,
        settled: isSettled,
        settledBlock: isSettled ? 6 : null,
        settledPrice: null,
      });
    });
  }

  it("rounds() refuses an address of the vault that is none, which may hide a settlement: VAULT_INVALID_ADDRESS", async () => {
    const node = new ScriptedNode();
    node.mine(nextRound);
    const client = new VaultClient(node, async (role) => ({
      address: role === "vault" ? "0x12" : FACTORY,
      source: await Promise.resolve("a file"),
    }));
    await expectVaultError(
      Array.fromAsync(client.rounds()),
      "VAULT_INVALID_ADDRESS",
    );
  });

  it("rounds() does not count a round as settled if a settlement is in a later block than the one behind it", async () => {
    const node = new ScriptedNode();
    node.mine((round) => ({
      ...round,
      ...{ strikePrice: 0n, APY: 0n, maxVolume: 0n, filledVolume: 0n },
      ...{ minDeposit: 0n, startTime: 0n, endTime: 0n },
    }));
    const from = SAFE;
    node.pool = [{ hash: GENESIS, from, to: SAFE, data: nested, nonce: 0 }];
    node.mine(() => two);
    const client = new VaultClient(node, {
      vaultFactory: FACTORY,
      vault: VAULT,
    });
    const found = await Array.fromAsync(client.rounds());
    expect(blocksOf(found)).to.deep.equal([
      [0, null, 5],
      [7, null, 7],
    ]);
    expect(found[0]?.settled).to.equal(false);
  });

  it("rounds() gives in unreadBlocks how many blocks of a round it did not read, where a gap may hide", async () => {
    const history: History = [
      [0, one],
      [400, "revert"],
      [600, one],
    ];
    const [round, ...others] = await collect(historyNode(history, 10_000));
    expect(others).to.deep.equal([]);
    expect(round?.unreadBlocks).to.be.within(200, 400);
    const later: History = [...history, [9_999, two]];
    const [, last] = await collect(historyNode(later, 10_000));
    expect(last).to.include({ startTime: two.startTime, firstBlock: 9_999 });
    expect(last).to.not.have.property("unreadBlocks");
    const [whole] = await collect(historyNode([[0, one]], 4));
    expect(whole).to.not.have.property("unreadBlocks");
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
            await collectWhole(historyNode(history, answers.length - 1)),
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

  it("rounds() throws VAULT_ARCHIVE_NODE_NEEDED if the state of old blocks is gone", async () => {
    const provider = historyNode([[5, one]], 100_000, 99_873);
    const error = await expectVaultError(
      collect(provider),
      "VAULT_ARCHIVE_NODE_NEEDED",
    );
    expect(error.details["block"]).to.be.below(99_873);
    expect(error.message).to.include("missing trie node");
    expect(error.fix).to.include("pass `fromBlock` 99873 for");
    expect(textsForCommandLine(error).fix).to.include(
      "pass --from-block 99873",
    );
    expect(
      blocksOf(await collect(provider, { fromBlock: 99_873 })),
    ).to.deep.equal([[99_873, null, 100_000]]);
  });

  for (const [title, hasBalance] of [
    ["has the state for other requests", true],
    ["has no state at all", false],
  ] as const) {
    it(`rounds() names no oldest block if a node that refuses old calls ${title}: VAULT_ARCHIVE_NODE_NEEDED`, async () => {
      const node = historyNode([[5, one]], 1_000);
      const refuse = (): never => {
        throw Object.assign(new Error("missing trie node"), { code: -32_000 });
      };
      node.on("eth_call", async ([, tag], answer) =>
        Number(tag) < 900 ? refuse() : await answer(),
      );
      node.on("eth_getBalance", async (_, answer) =>
        hasBalance ? await answer() : refuse(),
      );
      const { details, fix } = await expectVaultError(
        collect(node),
        "VAULT_ARCHIVE_NODE_NEEDED",
      );
      expect(details["block"]).to.be.below(900);
      expect(fix).to.not.include("oldest block");
    });
  }

  it("rounds() names no oldest block if the node fails during the search for it: VAULT_RPC_INVALID_RESPONSE", async () => {
    const node = historyNode([[5, one]], 1_000, 900);
    node.on("eth_getBalance", async ([, tag], answer) =>
      Number(tag) >= 900 && Number(tag) < 1_000 ? "none" : await answer(),
    );
    await expectVaultError(collect(node), "VAULT_RPC_INVALID_RESPONSE");
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

  it("rounds() ends with its signal while a call is not answered", async () => {
    const node = historyNode([[5, one]], 1_000);
    const stop = new AbortController();
    node.on("eth_call", async () => {
      stop.abort("enough");
      return await new Promise(() => undefined);
    });
    const { signal } = stop;
    const [end] = await Promise.allSettled([collect(node, { signal })]);
    expect(end).to.include({ status: "rejected", reason: "enough" });
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
