import { expect } from "chai";
import { AbiCoder, ErrorFragment, Interface } from "ethers";

import type { DisplaySettings } from "../../src/protocol/index.js";
import { decode } from "../../tasks/decode.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";
import { rowsOf } from "../helpers/rows.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { linesOf } from "../helpers/screens.js";
import { squeezed } from "../helpers/use-tasks.js";

const coder = AbiCoder.defaultAbiCoder();
const answers = (...values: readonly unknown[]): string =>
  coder.encode(
    values.map(() => "uint256"),
    values,
  );
const nameIn = (signature: string): string =>
  signature.slice(0, signature.indexOf("("));
const call = (signature: string, ...args: readonly unknown[]): string =>
  new Interface([`function ${signature}`]).encodeFunctionData(
    nameIn(signature),
    args,
  );
const error = (signature: string, ...args: readonly unknown[]): string =>
  new Interface([`error ${signature}`]).encodeErrorResult(
    nameIn(signature),
    args,
  );
describe("vault decode", () => {
  const decoded = async (
    hex: string,
    { raw = false, ...settings }: DisplaySettings & { raw?: boolean } = {},
    errors: readonly ErrorFragment[] = [],
  ) => {
    const asked: string[] = [];
    const { json, blocks } = await decode(
      { hex, raw },
      { tokenDecimals: 18, ...settings },
      async (selector) => {
        asked.push(selector);
        return await Promise.resolve(errors);
      },
    );
    const [title, ...lines] = linesOf(blocks);
    const document = fieldsOf(fieldsOf(json)["decoded"]);
    return { title, lines, document, asked };
  };

  for (const [name, bytes, title, lines, fields] of [
    [
      "a call whose arguments have units",
      call(
        "calMargins(uint256,uint256,uint256)",
        15n * 10n ** 20n,
        10n ** 17n,
        7,
      ),
      "Call calMargins(uint256,uint256,uint256)",
      [
        "Contract · vault",
        "Maximum volume of the next round · 1,500 tokens",
        "APY of the next round · 10 %",
        "End of the next round · 1970-01-01T00:00:07Z",
      ],
      { values: { maxVolume: 15n * 10n ** 20n, APY: 10n ** 17n, endTime: 7n } },
    ],
    [
      "bytes after the arguments of a call",
      `${call("getFundingFeeRate(uint8)", 2)}deadbeef`,
      "Call getFundingFeeRate(uint8)",
      [
        "Contract · underlying asset",
        "Contract type · put (2)",
        "Trailing bytes · 0xdeadbeef · no part of the arguments",
      ],
      { values: { contractType: 2 }, trailing: "0xdeadbeef" },
    ],
    [
      "an answer of either pool",
      answers(1, 2, 3),
      "Answer of getLPAmountInfo",
      [
        "Contract · public pool or private pool",
        ...["Deposited · 1 raw", "Available · 2 raw", "Locked · 3 raw"],
      ],
      { kind: "result", values: { deposit: 1n, availabe: 2n, locked: 3n } },
    ],
    [
      "a reason, escaped",
      error("Error(string)", "not\u202e yet"),
      "Error not\\u{202e} yet",
      ["Signature · Error(string)", "message · not\\u{202e} yet"],
      { kind: "error", operation: null, reason: "not\u202e yet" },
    ],
    ...(
      [
        ["a guard", "RoundNotEnded", "endTime", "RoundNotEnded(endTime: 7)"],
        ["a mock", "OrderNotFound", "orderID", "OrderNotFound(orderID: 7)"],
        ["the compiler", "Panic", "code", "unknown panic code 0x7"],
      ] as const
    ).map(
      ([of, short, input, reason]) =>
        [
          `an error of ${of}`,
          error(`${short}(uint256 ${input})`, 7),
          `Error ${reason}`,
          [`Signature · ${short}(uint256)`, `${input} · 7`],
          { kind: "error", signature: `${short}(uint256)` },
        ] as const,
    ),
  ] as const) {
    it(`decode shows ${name}, and its document has the same`, async () => {
      const found = await decoded(bytes);
      expect(found.title).to.equal(title);
      expect(found.lines.slice(0, lines.length)).to.deep.equal([...lines]);
      expect(found.document).to.deep.include(fields);
    });
  }

  it("decode shows an error of the project with each of its arguments, from bytes in capitals between blanks", async () => {
    const signature = "Late(uint256 by, bool paid, uint256[] ids, string text)";
    const fragment = ErrorFragment.from(`error ${signature}`);
    const bytes = error(signature, ...[5, true, [1, 2], "a\u202eb"]);
    const hex = ` ${bytes.toUpperCase().replace("0X", "0x")} `;
    const { title, lines, document, asked } = await decoded(hex, {}, [
      fragment,
    ]);
    expect(asked).to.deep.equal([fragment.selector]);
    expect(document).to.deep.equal({
      ...{ kind: "error", operation: null },
      signature: "Late(uint256,bool,uint256[],string)",
      values: { by: 5n, paid: true, ids: [1n, 2n], text: "a\u202eb" },
      reason: 'Late(by: 5, paid: true, ids: ["1","2"], text: "a\u202eb")',
    });
    expect(title).to.match(/^Error Late\(.*"a\\u\{202e\}b"\)$/u);
    expect(lines).to.deep.equal([
      "Signature · Late(uint256,bool,uint256[],string)",
      ...["by · 5", "paid · true", 'ids · ["1","2"]', "text · a\\u{202e}b"],
    ]);
  });

  for (const [name, bytes = "", code, words = ""] of rowsOf(`
    an answer that several operations have | ${answers(1, 2)} | VAULT_NOT_DECODABLE | calMargins, queryMarginBalance
    empty bytes | 0x | VAULT_NOT_DECODABLE | they are empty
    bytes of nothing | 0x1234 | VAULT_NOT_DECODABLE | no call or result of an operation
    an unknown error | 0xdeadbeef | VAULT_NOT_DECODABLE | no standard error
    a call without its arguments | 0xd311636b0000 | VAULT_NOT_DECODABLE | begin like a call of getOrder
    an answer with a byte too many | ${answers(1, 2, 3)}00 | VAULT_NOT_DECODABLE | no call or result of an operation
    an odd digit | 0x123 | VAULT_INVALID_ARGUMENT | 0x and an even number
  `)) {
    it(`decode fails with ${code} for ${name}`, async () => {
      const thrown: unknown = await decoded(bytes).catch(
        (caught: unknown) => caught,
      );
      expect(fieldsOf(thrown)["code"]).to.equal(code);
      expect(String(thrown)).to.include(words);
    });
  }

  it("decode --instance scales by the displayDecimals of the instance, and not with --raw", async () => {
    const instances = { usdc: { displayDecimals: { pools: 1 } } };
    const hre = await createTestHre({
      networks: { default: { type: "edr-simulated", vault: { instances } } },
    });
    for (const [options, shown] of [
      ["", "0.3"],
      ["--raw", "3"],
    ] as const) {
      const typed = `decode ${answers(1, 2, 3)} --instance usdc ${options}`;
      const { stdout } = await runTyped(hre, typed);
      expect(squeezed(stdout)).to.include(`\nLocked · ${shown}\n`);
    }
  });
});
