import { expect } from "chai";
import { ErrorFragment } from "ethers";

import { explainReason } from "../../src/client/error-abis.js";
import { encodeRevertData } from "../../src/mocks/failure.js";
import { findErrorsInProject } from "../../src/plugin/project-abis.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";

const paused = ErrorFragment.from("error Paused()");

describe("client - the look-up of custom errors", () => {
  it("should be asked only for what nothing else explains, by four bytes", async () => {
    const asked: string[] = [];
    const explain = async (data: string): Promise<string> =>
      (
        await explainReason(decodeRevertReason(data), (selector) => {
          asked.push(selector);
          return [paused];
        })
      ).text;

    expect(await explain(encodeRevertData("too early"))).to.equal("too early");
    expect(await explain("0x")).to.equal("no reason given");
    await explain("0x1234");
    expect(asked).to.deep.equal([]);
    const upper = `0x${paused.selector.slice(2).toUpperCase()}`;
    expect(await explain(upper)).to.include("Paused()");
    expect(asked).to.deep.equal([paused.selector]);
  });

  it("should leave the refusal where it fails, and say so without harm", async () => {
    const { text } = await explainReason(
      decodeRevertReason(paused.selector),
      () => {
        throw new Error("\u001b[2J");
      },
    );
    expect(text).to.include("unknown error").and.include("looked up");
    expect(text).not.to.include("\u001b");
  });

  it("should pass over what another tool has written into an artifact", async () => {
    const found = await findErrorsInProject(
      {
        getAllFullyQualifiedNames: async () =>
          await Promise.resolve(new Set(["A.sol:A"])),
        readArtifact: async () =>
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a file's content, which Hardhat does not check either
          await Promise.resolve({
            abi: [
              { type: "error", name: "Odd", inputs: [{ type: "(((" }] },
              { type: "error", name: "Paused", inputs: [] },
            ],
          } as never),
      },
      paused.selector,
    );
    expect(found.map(({ name }) => name)).to.deep.equal(["Paused"]);
  });
});
