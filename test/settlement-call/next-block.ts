import { expect } from "chai";

import { findEndClock } from "../../src/settlement-call/next-block.js";
import { useWallClock } from "../helpers/deadlines.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

describe("findEndClock()", () => {
  const NOW = 1_800_000_000;
  const clock = useWallClock();
  beforeEach(() => {
    clock.stoppedAt = NOW * 1_000;
  });
  const live = { type: "http", vault: { maxHeadAge: 300 } };
  const onDemand = { type: "http", vault: { maxHeadAge: false } };
  const inProcess = { type: "edr-simulated" };

  for (const [title, head, pending, settings, time, isSaid] of [
    ["the pending block's if all agree", -3, 2, live, 0, false],
    ["this machine's if one is 60 s ahead", 0, 0, live, 0, false],
    ["this machine's if one is 61 s ahead", 1, 0, live, 0, true],
    ["this machine's if a pending block is ahead", 0, 600, live, 0, true],
    ["a minute after the head if that is behind", -200, 0, live, -140, true],
    ["the pending block's if that is earliest", -3, -2, live, -2, false],
    ["this machine's if blocks are on demand", -9_000, 0, onDemand, 0, false],
    ["this machine's, if one is ahead", -9_000, 600, onDemand, 0, true],
    ["the next block's in process", -9_000, 600, inProcess, 600, false],
  ] as const) {
    it(`is ${title}${isSaid ? ", and says that clocks differ" : ""}`, async () => {
      const host = new ScriptedNode().host({ settings });
      const at = (seconds: number) => ({ number: 1, timestamp: NOW + seconds });
      const found = await findEndClock(host, at(head), at(pending));
      expect(found.time - NOW).to.equal(time);
      expect(found.warning !== undefined).to.equal(isSaid);
    });
  }

  it("is the next block's on a development node", async () => {
    const node = new ScriptedNode();
    node.makeDevelopmentNode();
    const host = node.host({ settings: live });
    const next = { number: 2, timestamp: NOW + 600 };
    const latest = { number: 1, timestamp: NOW - 9_000 };
    expect(await findEndClock(host, latest, next)).to.deep.equal({
      time: NOW + 600,
    });
  });
});
