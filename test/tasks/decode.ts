import { expect } from "chai";
import { AbiCoder, Interface, ZeroAddress, concat } from "ethers";

import { IMockErrors__factory } from "../../src/bindings/factories/IMockErrors__factory.js";
import { contractFactories } from "../../src/client/codec.js";
import { findInProject } from "../../src/plugin/project-abis.js";
import { decode } from "../../tasks/decode.js";
import { renderText } from "../../tasks/output/render-text.js";
import { createStyle } from "../../tasks/output/style.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { parseDocument, runVaultTask } from "../helpers/run-vault-task.js";

const trading = contractFactories.Trading.createInterface();
const vault = contractFactories.Vault.createInterface();
const factory = contractFactories.VaultFactory.createInterface();
const asset = contractFactories.UnderlyingAsset.createInterface();
const pool = contractFactories.LiquidityPool.createInterface();

type FindErrors = Parameters<typeof decode>[1]["findErrors"];

const nothing: FindErrors = async () => await Promise.resolve([]);

async function reportOf(
  hex: string,
  findErrors: FindErrors,
): ReturnType<typeof decode> {
  return await decode({ hex, raw: false }, { tokenDecimals: 18, findErrors });
}

async function decodedOf(hex: string, findErrors = nothing): Promise<unknown> {
  const { json } = await reportOf(hex, findErrors);
  return Reflect.get(Object(json), "decoded");
}

async function textOf(hex: string, findErrors = nothing): Promise<string> {
  return renderText((await reportOf(hex, findErrors)).blocks, createStyle({}));
}

describe("tasks - decode", () => {
  describe("calls", () => {
    it("should tell an operation by its selector, arguments by our names", async () => {
      expect(
        await decodedOf(trading.encodeFunctionData("getOrderInfo", [5])),
      ).to.deep.equal({
        kind: "call",
        operation: "getOrderInfo",
        signature: "getOrderInfo(uint256)",
        values: { orderID: 5n },
      });
      expect(await decodedOf("0x789F4B5A")).to.deep.include({
        operation: "minXMargin",
        signature: "minSLDMargin()",
      });
    });

    it("should show values scaled, and what each is of", async () => {
      const data = vault.encodeFunctionData("calMargins", [
        1_500n * 10n ** 18n,
        125n * 10n ** 15n,
        1_795_250_890n,
      ]);
      expect((await textOf(data)).split("\n")).to.deep.equal([
        "Call calMargins(uint256,uint256,uint256)",
        "Contract                          vault",
        "Maximum volume of the next round  1,500 tokens",
        "APY of the next round             12.5 %",
        "End of the next round             2026-11-21T08:48:10Z",
      ]);
    });

    it("decode shows a word for an enum's value, and what stands behind the arguments", async () => {
      const rate = asset.encodeFunctionData("getFundingFeeRate", [2]);
      const data = concat([rate, "0xdeadbeef"]);
      expect(await decodedOf(data)).to.deep.include({
        values: { contractType: 2 },
        trailing: "0xdeadbeef",
      });
      expect(await textOf(data))
        .to.match(/^Contract type +put \(2\)$/mu)
        .and.include("0xdeadbeef");
    });
  });

  describe("answers", () => {
    it("should tell a round and an order by their shape", async () => {
      const round = [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, true];
      expect(
        await decodedOf(
          factory.encodeFunctionResult("getLatestRoundInfo", round),
        ),
      ).to.deep.equal({
        kind: "result",
        operation: "getLatestRoundInfo",
        signature: null,
        values: {
          ...{ strikePrice: 1n, APY: 2n, maxVolume: 3n, filledVolume: 4n },
          ...{ minDeposit: 5n, startTime: 6n, endTime: 7n },
          ...{ settledPrice: 8n, settledAmount: 9n, settled: true },
        },
      });
      const order = trading.encodeFunctionResult("getOrderInfo", [
        "ETH\u001b[2J",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        ...Array.from({ length: 9 }, (_, index) => BigInt(index)),
        1,
        2,
      ]);
      expect(await decodedOf(order)).to.have.nested.property(
        "values.holder",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      );
      const text = await textOf(order);
      expect(text).to.include("closed (2)");
      expect(text).to.include("ETH\\u{1b}[2J");
    });

    it("decode should refuse with VAULT_NOT_DECODABLE what several operations return, and name them", async () => {
      expect(
        await decodedOf(
          pool.encodeFunctionResult("getLPAmountInfo", [1n, 2n, 3n]),
        ),
      ).to.deep.include({ operation: "getLPAmountInfo" });
      const { message } = await expectVaultError(
        decodedOf(vault.encodeFunctionResult("queryMarginBalance", [1, 2])),
        "VAULT_NOT_DECODABLE",
      );
      expect(message).to.include(
        "several operations return such values: calMargins, queryMarginBalance",
      );
    });
  });

  describe("errors", () => {
    it("should say what a standard error says", async () => {
      const errors = new Interface([
        "error Error(string)",
        "error Panic(uint256)",
      ]);
      expect(
        await decodedOf(errors.encodeErrorResult("Error", ["not\u202e yet"])),
      ).to.deep.equal({
        kind: "error",
        operation: null,
        signature: "Error(string)",
        values: { message: "not\u202e yet" },
        reason: "not\u202e yet",
      });
      expect(
        await textOf(errors.encodeErrorResult("Error", ["not\u202e yet"])),
      ).to.include("not\\u{202e} yet");
      expect(
        await decodedOf(errors.encodeErrorResult("Panic", [0x11])),
      ).to.deep.include({
        values: { code: 17n },
        reason: "panic 0x11: arithmetic overflow or underflow",
      });
      const ofMocks = IMockErrors__factory.createInterface();
      const missing = ofMocks.encodeErrorResult("OrderNotFound", [7n]);
      expect(await decodedOf(missing)).to.deep.include({
        kind: "error",
        signature: "OrderNotFound(uint256)",
      });
      // Not UTF-8.
      const broken = concat([
        "0x08c379a0",
        AbiCoder.defaultAbiCoder().encode(["bytes"], ["0xff41"]),
      ]);
      expect(await decodedOf(broken)).to.deep.include({
        values: { message: "\ufffdA" },
      });
    });

    it("decode should know the errors of the project's artifacts", async () => {
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
      expect(await decodedOf(data, findErrors)).to.deep.equal({
        kind: "error",
        operation: null,
        signature: "TooLate((uint256,string)[],bytes4)",
        values: { tries: [{ at: 1n, why: "first\u001b" }], _1: "0x01020304" },
        reason,
      });
    });
  });

  it("should refuse what is no hex, and say why other bytes cannot be decoded", async () => {
    for (const hex of ["", "12", "0x1", "0xzz"]) {
      await expectVaultError(decodedOf(hex), "VAULT_INVALID_ARGUMENT");
    }
    for (const [hex, expected] of [
      ["0x", "empty"],
      ["0x1234", "2 bytes"],
      [`0xd311636b${"00".repeat(31)}`, "call of getOrderInfo"],
      // A bool of 2 in a round.
      [`0x${"00".repeat(319)}02`, "320 bytes"],
    ] as const) {
      const error = await expectVaultError(
        decodedOf(hex),
        "VAULT_NOT_DECODABLE",
      );
      expect(error.message).to.include(expected);
    }
  });

  it("should ask no network, and read the artifacts of the project that it runs in", async () => {
    const hre = await createTestHre(
      // Nobody listens there.
      { networks: { remote: httpNetwork("http://127.0.0.1:1") } },
      { network: "remote" },
    );
    const hex = new Interface([
      "error InvalidAnswer(address target, bytes answer)",
    ]).encodeErrorResult("InvalidAnswer", [ZeroAddress, "0x12"]);
    const result = await runVaultTask(hre, "decode", { hex, json: true });
    expect(result.exitCode).to.equal(0);
    expect(parseDocument(result)).to.have.deep.nested.property(
      "decoded.values",
      { target: ZeroAddress, answer: "0x12" },
    );
    expect(
      await runVaultTask(hre, "decode", { hex: "0x1234", json: true }),
    ).to.deep.include({ exitCode: 1 });
  });
});
