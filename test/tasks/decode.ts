import { expect } from "chai";
import { Interface, ZeroAddress } from "ethers";

import { findInProject } from "../../src/plugin/project-abis.js";
import { decode } from "../../tasks/decode.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

// What decode prints is recorded: see sessions.ts.
describe("vault decode", () => {
  it("decode knows the errors of the project's artifacts, of which some may be malformed", async () => {
    const abi = new Interface([
      "error TooLate((uint256 at, string why)[] tries, bytes4)",
      "event Closed(address who)",
    ]);
    const entries: unknown = JSON.parse(abi.formatJson());
    const artifacts = {
      getAllFullyQualifiedNames: async () =>
        await Promise.resolve(new Set(["b.sol:B", "odd.sol:Odd"])),
      readArtifact: async (name: string): Promise<unknown> =>
        await Promise.resolve({
          abi: name.startsWith("odd")
            ? [
                {
                  type: "error",
                  name: "Odd",
                  inputs: [{ type: "uint7777" }],
                },
                null,
              ]
            : entries,
        }),
    };
    const findErrors = findInProject(
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- of an artifact, the ABI alone is read
      artifacts as unknown as Parameters<typeof findInProject>[0],
    );
    const data = abi.encodeErrorResult("TooLate", [
      [[1n, "first\u001b"]],
      "0x01020304",
    ]);
    const reason =
      'TooLate(tries: [{"at":"1","why":"first\\u001b"}], _1: "0x01020304")';
    const { json } = await decode(
      { hex: data, raw: false },
      { tokenDecimals: 18, findErrors },
    );
    expect(json).to.deep.equal({
      decoded: {
        kind: "error",
        operation: null,
        signature: "TooLate((uint256,string)[],bytes4)",
        values: { tries: [{ at: 1n, why: "first\u001b" }], _1: "0x01020304" },
        reason,
      },
    });
  });

  it("decode asks no network, and reads the artifacts of the project that it runs in", async () => {
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
