import { expect } from "chai";
import { AbiCoder, ErrorFragment, Interface } from "ethers";

import { decode } from "../../tasks/decode.js";
import { renderText } from "../../tasks/output/render-text.js";
import { createStyle } from "../../tasks/output/style.js";
import { createTestHre } from "../helpers/hre.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { squeezed } from "../helpers/use-tasks.js";
import { fieldsOf } from "../helpers/fields.js";

const words = (...values: readonly unknown[]): string =>
  AbiCoder.defaultAbiCoder().encode(
    values.map(() => "uint256"),
    values,
  );
const call = (signature: string, ...args: readonly unknown[]): string =>
  new Interface([`function ${signature}`]).encodeFunctionData(
    signature.slice(0, signature.indexOf("(")),
    args,
  );
const error = (signature: string, ...args: readonly unknown[]): string =>
  new Interface([`error ${signature}`]).encodeErrorResult(
    signature.slice(0, signature.indexOf("(")),
    args,
  );
const message = (text: string): string => error("Error(string)", text);
const NASTY = '=HYPERLINK("http://x"),\u001b[2J\u202e';
const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const ORDER = AbiCoder.defaultAbiCoder().encode(
  [
    ...["string", "address", "uint256", "uint256", "uint256", "uint256"],
    ...["uint256", "uint256", "uint256", "uint256", "uint256", "uint8"],
    "uint8",
  ],
  [NASTY, HOLDER, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2],
);

/** Bytes, what a person sees of them, and some of the document. */
const decoded = {
  "a call with its argument": [
    call("getOrderInfo(uint256)", 5),
    ["Call getOrderInfo(uint256)", "Contract · trading", "Order id · 5"],
    { kind: "call", operation: "getOrderInfo", values: { orderID: "5" } },
  ],
  "a call whose arguments have units": [
    call(
      "calMargins(uint256,uint256,uint256)",
      15n * 10n ** 20n,
      10n ** 17n,
      7,
    ),
    [
      "Maximum volume of the next round · 1,500 tokens",
      "APY of the next round · 10 %",
      "End of the next round · 1970-01-01T00:00:07Z",
    ],
    {
      values: {
        maxVolume: "1500000000000000000000",
        APY: "100000000000000000",
        endTime: "7",
      },
    },
  ],
  "bytes behind the arguments of a call": [
    `${call("getFundingFeeRate(uint8)", 2)}deadbeef`,
    [
      "Contract type · put (2)",
      "Trailing bytes · 0xdeadbeef · no part of the arguments",
    ],
    { values: { contractType: 2 }, trailing: "0xdeadbeef" },
  ],
  "a selector in capitals, and a name of ours": [
    "0x789F4B5A",
    ["Call minSLDMargin()", "Contract · vault factory"],
    { operation: "minXMargin", signature: "minSLDMargin()" },
  ],
  "an answer of the round": [
    words(1, 2, 3, 4, 5, 6, 7, 8, 9, 1),
    [
      "Answer of getLatestRoundInfo",
      "Maximum volume · 0.000000000000000003 tokens",
      "End · 1970-01-01T00:00:07Z",
      "Settled amount · 9 raw",
      "Settled · yes",
    ],
    { kind: "result", operation: "getLatestRoundInfo", signature: null },
  ],
  "an answer of an order, its hostile pair escaped": [
    ORDER,
    [
      "Answer of getOrderInfo",
      'Pair · =HYPERLINK("http://x"),\\u{1b}[2J\\u{202e}',
      `Holder · ${HOLDER}`,
      "Direction · call (1)",
      "State · closed (2)",
    ],
    { kind: "result", operation: "getOrderInfo" },
  ],
  "an answer of either pool": [
    words(1, 2, 3),
    ["Contract · public pool or private pool", "Available · 2 raw"],
    { values: { deposit: "1", availabe: "2", locked: "3" } },
  ],
  "a reason, escaped": [
    message("not\u202e yet"),
    [
      "Error not\\u{202e} yet",
      "Signature · Error(string)",
      "message · not\\u{202e} yet",
    ],
    { kind: "error", operation: null, reason: "not\u202e yet" },
  ],
  "a panic": [
    error("Panic(uint256)", 0x12),
    [
      "Error panic code 0x12 (Division or modulo division by zero)",
      "code · 18",
    ],
    { signature: "Panic(uint256)", values: { code: "18" } },
  ],
  "an error of the mocks": [
    error("OrderNotFound(uint256 orderID)", 7),
    ["Error OrderNotFound(orderID: 7)"],
    { kind: "error", signature: "OrderNotFound(uint256)" },
  ],
} as const;

const INVALID = "VAULT_INVALID_ARGUMENT";
const UNKNOWN = "VAULT_NOT_DECODABLE";
const refused = {
  "an answer that several operations have": [
    words(1, 2),
    UNKNOWN,
    "calMargins, queryMarginBalance",
  ],
  "empty bytes": ["0x", UNKNOWN, "they are empty"],
  "bytes of nothing": ["0x1234", UNKNOWN, "no call or result of an operation"],
  "an error that nobody knows": ["0xdeadbeef", UNKNOWN, "no standard error"],
  "a call without its arguments": [
    "0xd311636b0000",
    UNKNOWN,
    "they begin like a call of getOrderInfo",
  ],
  "no text": ["''", INVALID, "0x and an even number of hex digits"],
  "digits without 0x": ["12", INVALID, "0x and an even number"],
  "half a byte": ["0x1", INVALID, "0x and an even number"],
  "letters that are no digits": ["0xzz", INVALID, "0x and an even number"],
} as const;

describe("vault decode", () => {
  const run = async (typed: string) =>
    await runTyped(
      await createTestHre({
        networks: {
          default: {
            type: "edr-simulated",
            vault: {
              tokenDecimals: 18,
              instances: { usdc: { displayDecimals: { pools: 1 } } },
            },
          },
        },
      }),
      `decode ${typed}`,
    );

  for (const [name, [bytes, lines, fields]] of Object.entries(decoded)) {
    it(`decode shows ${name}, and its document has the same`, async () => {
      const { stdout } = await run(bytes);
      expect(squeezed(stdout).split("\n")).to.include.members([...lines]);
      const document = fieldsOf(parseDocument(await run(`${bytes} --json`)));
      expect(document["decoded"]).to.deep.include(fields);
    });
  }

  it("decode --raw shows values unscaled", async () => {
    const { stdout } = await run(`${decoded["a panic"][0]} --raw`);
    expect(stdout).to.include("18");
    const margins = decoded["a call whose arguments have units"][0];
    expect(squeezed((await run(`${margins} --raw`)).stdout)).to.include(
      "APY of the next round · 100000000000000000\nEnd of the next round · 7\n",
    );
  });

  it("decode --instance scales by the displayDecimals of the instance", async () => {
    const { stdout } = await run(`${words(1, 2, 3)} --instance usdc`);
    expect(squeezed(stdout)).to.include("Locked · 0.3");
  });

  it("decode shows an error of the project with each of its arguments, from bytes in capitals between blanks, its text escaped", async () => {
    const fragment = ErrorFragment.from(
      "error Late(uint256 by, bool paid, uint256[] ids, string text)",
    );
    const bytes = error(
      "Late(uint256 by,bool paid,uint256[] ids,string text)",
      ...[5, true, [1, 2], "a\u202eb"],
    );
    const hex = ` ${bytes.toUpperCase().replace("0X", "0x")} `;
    const asked: string[] = [];
    const { json, blocks } = await decode(
      { hex, raw: false },
      {},
      async (selector) => {
        asked.push(selector);
        return await Promise.resolve([fragment]);
      },
    );
    expect(asked).to.deep.equal([fragment.selector]);
    expect(json).to.deep.equal({
      decoded: {
        ...{ kind: "error", operation: null },
        signature: "Late(uint256,bool,uint256[],string)",
        values: { by: 5n, paid: true, ids: [1n, 2n], text: "a\u202eb" },
        reason: 'Late(by: 5, paid: true, ids: ["1","2"], text: "a\u202eb")',
      },
    });
    const shown = squeezed(renderText(blocks, createStyle({})));
    expect(shown.split("\n").slice(1)).to.deep.equal([
      "Signature · Late(uint256,bool,uint256[],string)",
      "by · 5",
      "paid · true",
      'ids · ["1","2"]',
      "text · a\\u{202e}b",
    ]);
    expect(shown).to.match(/^Error Late\(.*"a\\u\{202e\}b"\)$/mu);
  });

  it("decode knows the errors of a guard without the project's artifacts", async () => {
    const { stdout } = await run(error("RoundNotEnded(uint256 endTime)", 7));
    expect(squeezed(stdout)).to.include(
      "Error RoundNotEnded(endTime: 7)\nSignature · RoundNotEnded(uint256)",
    );
  });

  for (const [name, [bytes, code, says]] of Object.entries(refused)) {
    it(`decode fails with ${code} for ${name}`, async () => {
      const result = await run(`${bytes} --json`);
      expect(result.exitCode).to.equal(1);
      const { error: failure } = fieldsOf(parseDocument(result));
      expect(failure).to.include({ code });
      expect(fieldsOf(failure)["message"]).to.include(says);
    });
  }
});
