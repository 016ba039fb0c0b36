import { expect } from "chai";

import { KnownNode, Pace } from "../../src/rpc/known-node.js";

describe("what is known about a node", () => {
  it("has the newest block that it was told of, and the 127 before it, no other", () => {
    const node = new KnownNode();
    node.noteBlock(200);
    node.noteBlock(150);
    const has = ["0xc9", "0xc8", "0x49", "0x48"].map((block) =>
      node.hasBlockOf([{ to: "0x01" }, block]),
    );
    expect(has).to.deep.equal([false, true, true, false]);
  });

  it("has a block that is named by its hash, once it takes hashes", () => {
    const node = new KnownNode();
    const params = [{ blockHash: `0x${"ab".repeat(32)}` }];
    expect(node.hasBlockOf(params)).to.equal(false);
    node.takesHashes = true;
    expect(node.hasBlockOf(params)).to.equal(true);
  });
});

describe("the pace of requests", () => {
  it("is halved by refusals at one moment once, and rises with answers", () => {
    const pace = new Pace();
    expect(pace.turns.concurrency).to.equal(16);
    pace.adapt(true);
    pace.adapt(true);
    expect(pace.turns.concurrency).to.equal(8);
    for (let answer = 0; answer < 40; answer += 1) {
      pace.adapt(false);
    }
    expect(pace.turns.concurrency).to.equal(9);
  });
});
