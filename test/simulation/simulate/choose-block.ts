import { expect } from "chai";

import { chooseBlock } from "../../../src/simulation/simulate.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { OPEN_ROUND, nextRound } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";

describe("chooseBlock()", () => {
  /** The time of the newest block, which is block 5, and has another round than block 4. */
  const HEAD = 1_700_000_005;
  const END = OPEN_ROUND.endTime;
  const choose = async (
    block: number | "latest" | undefined,
    time: string | bigint | undefined,
    endTime = END,
  ) => {
    const node = new ScriptedNode();
    node.rounds[5] = { ...nextRound(OPEN_ROUND), endTime };
    return await chooseBlock(node.host(), block, time);
  };

  for (const [title, block, time, number, timestamp, end] of [
    ["the node's next block", undefined, undefined, 6, HEAD + 1],
    ["the same after the latest", "latest", undefined, 6, HEAD + 1],
    ["the next second after a block", 4, undefined, 5, HEAD],
    ["an hour after a block", 4, "+1h", 5, HEAD + 3_599],
    ["a time", undefined, "1700000099", 6, 1_700_000_099],
    ["the end of the round at a block", 4, "end", 5, Number(END), HEAD + 9],
    ["the end of the newest round", undefined, "end", 6, HEAD + 9, HEAD + 9],
    ["its own time at that end", undefined, "end", 6, HEAD + 1, HEAD],
  ] as const) {
    it(`is ${title}`, async () => {
      const endTime = end === undefined ? undefined : BigInt(end);
      expect(await choose(block, time, endTime)).to.include({
        ...{ number, timestamp },
        ...(time !== undefined && { isTimed: true }),
      });
    });
  }

  it("reads the round that it is the end of at the hash of the block", async () => {
    const node = new ScriptedNode();
    await chooseBlock(node.host(), 4, "end");
    const calls = node.asked.filter(({ method }) => method === "eth_call");
    expect(calls).to.have.length(1);
    expect(calls[0]?.params[1]).to.include.keys("blockHash");
  });

  for (const [title, code, time, endTime] of [
    [
      "the time of the newest block",
      "VAULT_INVALID_ARGUMENT",
      String(HEAD),
      END,
    ],
    [
      "an end that no number can hold",
      "VAULT_INVALID_ARGUMENT",
      "end",
      2n ** 53n,
    ],
    ["what is no time", "VAULT_INVALID_ARGUMENT", "soon", END],
  ] as const) {
    it(`refuses ${title}: ${code}`, async () => {
      await expectVaultError(choose(undefined, time, endTime), code);
    });
  }
});
