import { setImmediate } from "node:timers/promises";
import { inspect } from "node:util";

import { expect } from "chai";

import type { ScanProgress } from "../../src/client/index.js";
import { textsForCommandLine } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  blocksOf,
  collect,
  historyNode,
  pastRound,
} from "../helpers/past-rounds.js";
import { settledRound } from "../helpers/scripted-contracts.js";
import type { History } from "../helpers/scripted-contracts.js";
import { isFull } from "../helpers/sample.js";

const one = pastRound(1);

describe("client - requests of rounds()", () => {
  const count = isFull ? 1_000 : 100;
  it(`rounds() makes at most 2 × ⌈log2(blocks between)⌉ + 4 requests a round for ${count} rounds in 50,000,000 blocks`, async () => {
    const head = 50_000_000;
    const { history, expected } = writeHistory(count, head);
    const provider = historyNode(history, head);
    expect(blocksOf(await collect(provider))).to.deep.equal(expected);
    // Between two rounds, not in all: the stricter of two readings.
    const allowed = 2 * Math.ceil(Math.log2(head / count)) + 4;
    expect(provider.asked.length / count).to.be.at.most(allowed);
  });

  it("rounds() calls onProgress for each request, and never with more than there is to do", async () => {
    const { history } = writeHistory(50, 1_000_000);
    const seen: ScanProgress[] = [];
    const provider = historyNode(history, 1_000_000);
    await collect(provider, { onProgress: (progress) => seen.push(progress) });
    expect(seen.map(({ done }) => done)).to.deep.equal(
      seen.map((_, index) => index + 1),
    );
    expect(seen.every(({ done, total }) => done <= total)).to.equal(true);
    expect(seen.at(-1)?.done).to.equal(seen.at(-1)?.total);
    expect(seen.at(-1)?.done).to.equal(provider.count("eth_call"));
  });

  it("rounds() reads each block of a short range once", async () => {
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

  for (const [options, allowed] of [
    [{ concurrency: 3 }, 3],
    [{}, 16],
  ] as const) {
    it(`rounds() makes no more than ${allowed} requests at a time with ${inspect(options)}`, async () => {
      const node = historyNode(writeHistory(9, 1_000).history, 1_000);
      let [now, most] = [0, 0];
      node.on("eth_call", async (_, answer) => {
        now += 1;
        most = Math.max(most, now);
        await setImmediate();
        now -= 1;
        return await answer();
      });
      await collect(node, options);
      expect(most).to.equal(allowed);
    });
  }

  it("rounds() makes no request after its signal, and throws the signal's reason", async () => {
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
    expect(
      blocksOf(await collect(provider, { fromBlock: "latest" })),
    ).to.deep.equal([[100_000, null, 100_000]]);
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
    for (const [options, code] of [
      [{ fromBlock: -1 }, "VAULT_INVALID_BLOCK"],
      [{ toBlock: 101 }, "VAULT_BLOCK_NOT_FOUND"],
    ] as const) {
      await expectVaultError(collect(provider, options), code);
    }
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
  /** A number from 0 to 1, another one for each index. */
  const part = (index: number): number => (index * 0.618) % 1;
  const slot = Math.floor(head / count);
  const starts = Array.from(
    { length: count },
    (_, index) => index * slot + 1 + Math.floor((part(index) * slot) / 2),
  );
  const expected = starts.map((start, index) => {
    const next = starts[index + 1] ?? head + 1;
    const settled =
      index % 10 === 0
        ? next - 1
        : start + 1 + Math.floor(part(7 * index) * (next - start - 2));
    return [start, index % 7 === 3 ? null : settled, next - 1] as const;
  });
  const history = expected.flatMap(([start, settled], index) => {
    const round = pastRound(index + 1);
    return settled === null
      ? [[start, round] as const]
      : [[start, round] as const, [settled, settledRound(round)] as const];
  });
  return { history, expected };
}
