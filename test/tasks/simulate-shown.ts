import { expect } from "chai";
import { toBeHex } from "ethers";

import { simulate } from "../../tasks/simulate.js";
import { fieldsOf } from "../helpers/fields.js";
import { VAULT, settledRound } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { linesOf } from "../helpers/screens.js";

/** The selector of `decimals()`. */
const DECIMALS = "0x313ce567";

describe("what vault simulate shows", () => {
  const shown = async (
    node: ScriptedNode,
    options: Parameters<typeof simulate>[1] = {},
  ): Promise<{ lines: readonly string[]; json: unknown }> => {
    const host = node.host({
      networkConfig: { type: "http", accounts: "remote" },
      projectRoot: import.meta.dirname,
    });
    const { blocks, json } = await simulate(host, options);
    return { lines: linesOf(blocks), json };
  };

  it("simulate scales a token that moves by its decimals, also if --tokens does not name it", async () => {
    const node = new ScriptedNode();
    node.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["data"] === DECIMALS ? toBeHex(1, 32) : await answer(),
    );
    const { lines } = await shown(node);
    expect(lines).to.include(`0.5 ${VAULT} · vault contract · vault contract`);
  });

  it("simulate counts by the time of the simulated block, and names the block that it started from", async () => {
    const node = new ScriptedNode();
    const atTime = 1_800_000_000;
    node.effect = (round) => ({
      ...settledRound(round),
      endTime: BigInt(atTime + 60),
    });
    const { lines, json } = await shown(node, {
      ...{ atTime: String(atTime), blockNumber: 3 },
    });
    expect(lines[0]).to.include("Simulated settlement").and.include("block 3,");
    expect(lines.join("\n")).to.match(/^Round end · .* · in 1m$/mu);
    expect(json).to.have.nested.property("block.number", 3);
  });
});
