import { inspect } from "node:util";

import { expect } from "chai";
import { Interface } from "ethers";

import { VaultClient, isFailedReading } from "../../../src/client/index.js";
import type { VaultClientOptions } from "../../../src/client/index.js";
import { PROJECT_FOLDER } from "../../../src/files/project-file.js";
import { encodeRevertData } from "../../../src/mocks/index.js";
import { Redactor } from "../../../src/foreign-text.js";
import { KnownNode } from "../../../src/rpc/known-node.js";
import { RpcClient } from "../../../src/rpc/rpc-client.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { harmfulIn } from "../../helpers/hostile-text.js";
import { FACTORY, VAULT } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";

/** A node whose contracts revert with this data. */
const nodeThatReverts = (data: string): ScriptedNode =>
  new ScriptedNode({
    codeOf: () => "0x00",
    answerOf: () => ({ reverted: true, data }),
  });
const errorData = (error: string, value: unknown): string =>
  new Interface([`error ${error}`]).encodeErrorResult(
    error.slice(0, error.indexOf("(")),
    [value],
  );

const odd = errorData("Odd(uint256)", 7);
const json = JSON.stringify([
  { type: "error", name: "Odd", inputs: [{ type: "uint256" }] },
]);
// Both begin with 0x42966c68; a small number is no bytes16.
const burn = "error burn(uint256 amount)";
const other = "error collate_propagate_storage(bytes16 key)";
const burnt = errorData("burn(uint256)", 7);
const cannotLookUp = (): never => {
  throw new Error("\u001b[2J https://node.test/key");
};
const words = ["error Odd(string why)"];
const secret = "s3cret-of-the-url";
const reversed = "no\u202eon";

describe("client - the reason of a read that reverts", () => {
  const rows: ReadonlyArray<
    readonly [
      title: string,
      data: string,
      options: VaultClientOptions,
      reason: RegExp,
      hint?: RegExp,
      source?: string,
    ]
  > = [
    [
      "names a custom error by an ABI as JSON, behind another one",
      odd,
      { abis: [["error Other()"], json] },
      /^Odd\(_0: 7\)$/u,
    ],
    [
      "names no function and no event of the same signature",
      odd,
      { abis: [["function Odd(uint256)", "event Odd(uint256)"]] },
      /^unknown error (?!.*looked)/u,
    ],
    [
      "names that of two errors with a selector that fits, in whichever ABI",
      burnt,
      { abis: [[other], [burn], [other]] },
      /^burn\(amount: 7\)$/u,
    ],
    [
      "shows a custom error that could not be looked up, on one line",
      odd,
      { errorAbisOf: cannotLookUp },
      /^unknown error [^\n]+$/u,
    ],
    [
      "advises to correct what an unknown error names",
      "0x12345678",
      {},
      /^unknown error/u,
      /correct what it names/u,
    ],
    [
      "advises to check the address if there is none",
      "0x",
      {},
      /^no reason given/u,
      /check the address, which comes from/u,
    ],
    [
      "tells that a mock that a task deployed may be scripted to fail",
      "0x",
      {},
      /^no reason given/u,
      /is a mock .*scripted to fail/u,
      `${PROJECT_FOLDER}/31337.json`,
    ],
    [
      "has no character that changes a terminal's text",
      errorData("Odd(string)", reversed),
      { abis: [words] },
      /^Odd\(why: "no[^\u202e]*on"\)$/u,
    ],
  ];
  for (const [title, data, options, reason, hint = /./u, source] of rows) {
    it(`${title}, in a read of at() and in a snapshot`, async () => {
      const node = nodeThatReverts(data);
      const client = new VaultClient(node, { vault: VAULT }, options);
      const { details, message } = await expectVaultError(
        client.at({ vault: FACTORY }, source).queryVolume(),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.match(reason);
      expect(details["hint"]).to.match(hint);
      expect(harmfulIn(message)).to.deep.equal([]);
      const { volume } = await client.snapshot();
      const error = isFailedReading(volume) ? volume.error : undefined;
      expect(error?.details["reason"]).to.match(reason);
    });
  }

  for (const [form, data] of [
    ["a text", encodeRevertData(`no ${secret}`)],
    ["a custom error", errorData("Odd(string)", `no ${secret}`)],
  ] as const) {
    it(`hides the secrets of the connection in ${form}, of a read and of orders()`, async () => {
      const node = nodeThatReverts(data);
      const redactor = new Redactor();
      redactor.keep(secret);
      const rpc = new RpcClient(node, "testnet", new KnownNode(redactor));
      const client = new VaultClient(
        node,
        { vault: VAULT, trading: VAULT },
        { abis: [words], rpc },
      );
      const { message } = await expectVaultError(
        client.queryVolume(),
        "VAULT_CALL_REVERTED",
      );
      const [first] = await Array.fromAsync(client.orders({ ids: [1, 2] }));
      for (const text of [message, inspect(first)]) {
        expect(text).to.include("no <hidden>").and.not.include(secret);
      }
    });
  }

  it("is looked up by four bytes in lower case, and only if it is a custom error", async () => {
    const asked: string[] = [];
    const errorAbisOf = (selector: string): [] => {
      asked.push(selector);
      return [];
    };
    const text = encodeRevertData("too early");
    for (const data of [text, "0x", "0x1234", "0xABCDEF12"]) {
      const node = nodeThatReverts(data);
      const client = new VaultClient(node, { vault: VAULT }, { errorAbisOf });
      await expectVaultError(client.queryVolume(), "VAULT_CALL_REVERTED");
    }
    expect(asked).to.deep.equal(["0xabcdef12"]);
  });

  it("refuses what is no ABI, and names its place: VAULT_INVALID_ARGUMENT", async () => {
    for (const [bad, problem] of [
      ["{", "JSON"],
      ["{}", "an ABI is a list"],
    ] as const) {
      const abis = [["error Paused()"], bad];
      const { details } = await expectVaultError(
        () => new VaultClient(nodeThatReverts("0x"), {}, { abis }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal("abis[1]");
      expect(details["problem"]).to.include(problem);
    }
  });
});
