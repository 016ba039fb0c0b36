import { expect } from "chai";

import { fieldsOf, listOf } from "../helpers/fields.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

describe("the scripted node of the tests", () => {
  it("answers eth_feeHistory with one base fee more than blocks: that of the next one", async () => {
    const history = fieldsOf(
      await new ScriptedNode().request({
        method: "eth_feeHistory",
        params: ["0x3", "latest", [50]],
      }),
    );
    expect(history["oldestBlock"]).to.equal("0x3");
    expect(listOf(history["baseFeePerGas"])).to.have.length(4);
    expect(listOf(history["gasUsedRatio"])).to.have.length(3);
    expect(listOf(history["reward"])).to.have.length(3);
  });
});
