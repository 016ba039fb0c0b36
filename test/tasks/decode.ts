import { expect } from "chai";
import { Interface, ZeroAddress } from "ethers";

import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

// What decode prints is recorded: see sessions.ts.
describe("vault decode", () => {
  it("decode sends no request, and names errors of the artifacts of the project", async () => {
    const hre = await createTestHre(
      // Nobody listens there.
      { networks: { remote: httpNetwork("http://127.0.0.1:1") } },
      { network: "remote" },
    );
    const hex = new Interface([
      "error InvalidAnswer(address target, bytes answer)",
    ]).encodeErrorResult("InvalidAnswer", [ZeroAddress, "0x12"]);
    const result = await runTyped(hre, `decode ${hex} --json`);
    expect(result.exitCode).to.equal(0);
    expect(parseDocument(result)).to.have.deep.nested.property(
      "decoded.values",
      { target: ZeroAddress, answer: "0x12" },
    );
  });
});
