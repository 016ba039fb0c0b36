import { expect } from "chai";
import { ErrorFragment, FunctionFragment } from "ethers";

import { explainReason, findInAbis } from "../../src/client/error-abis.js";
import { encodeRevertData } from "../../src/mocks/failure.js";
import { findInProject } from "../../src/plugin/project-abis.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";
import { expectVaultError } from "../helpers/assertions.js";

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

  it("should find errors in lists and in JSON, and nothing but errors", async () => {
    const find = findInAbis([
      ["function settleAll()", "event Paused()"],
      JSON.stringify([{ type: "error", name: "Paused", inputs: [] }]),
      ["error Paused()", "error Other()"],
    ]);
    const found = await find(paused.selector);
    expect(found.map((error) => error.format())).to.deep.equal([
      "Paused()",
      "Paused()",
    ]);
    const { selector } = FunctionFragment.from("settleAll()");
    expect(await find(selector)).to.deep.equal([]);
  });

  it("should refuse what is no ABI, and say which one and why", async () => {
    for (const [bad, problem] of [
      ["{", "JSON"],
      ["{}", "an ABI is a list"],
      [["error ("], "expected ID"],
    ] as const) {
      const { details } = await expectVaultError(
        () => findInAbis([["error Paused()"], bad]),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal("abis[1]");
      expect(details["problem"]).to.include(problem);
    }
  });

  it("findInProject reads every artifact once, and passes over what another tool wrote", async () => {
    let reads = 0;
    const find = findInProject({
      getAllFullyQualifiedNames: async () =>
        await Promise.resolve(new Set(["A.sol:A", "B.sol:B"])),
      readArtifact: async () => {
        reads += 1;
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- a file's content, which Hardhat does not check either
        return await Promise.resolve({
          abi: [
            { type: "error", name: "Odd", inputs: [{ type: "(((" }] },
            { type: "error", name: "Paused", inputs: [] },
          ],
        } as never);
      },
    });
    for (const [selector, names] of [
      [paused.selector, ["Paused"]],
      ["0x12345678", []],
      ["0x12345678", []],
    ] as const) {
      const found = await find(selector);
      expect(found.map(({ name }) => name)).to.deep.equal(names);
    }
    expect(reads).to.equal(2);
  });
});
