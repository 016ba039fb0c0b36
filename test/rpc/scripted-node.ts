import { expect } from "chai";
import { Transaction, Wallet } from "ethers";

import type { Eip1193Provider } from "../../src/client/index.js";
import { startAnvil } from "../helpers/anvil.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf } from "../helpers/fields.js";
import { KEY, SETTLER } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const SEVEN = `0x${"b1".padStart(40, "0")}`;
const REFUSER = `0x${"b2".padStart(40, "0")}`;
/** Code that returns 7, and code that reverts with 0x12345678. */
const codes: Readonly<Record<string, string>> = {
  [SEVEN]: "0x600760005260206000f3",
  [REFUSER]: "0x631234567860e01b60005260046000fd",
};
const TOO_HIGH = "0xfffff";

/** The JSON types of an answer, and of the given fields of an object. */
function shapeOf(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => shapeOf(each, fields));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      fields.map((name) => [name, shapeOf(fieldsOf(value)[name], [])]),
    );
  }
  const text = String(value);
  // Bytes, addresses and hashes have their length, figures have any.
  const isFixed = text === "0x" || [42, 66].includes(text.length);
  return typeof value === "string" ? isFixed && text.length : typeof value;
}

/** The requests of a settlement, and the forms of the answers or the errors. */
async function exercise(
  node: Eip1193Provider,
  mine: () => Promise<unknown> | void,
): Promise<Readonly<Record<string, unknown>>> {
  const sign = async (to: string): Promise<string> =>
    await new Wallet(KEY).signTransaction({
      ...{ to, nonce: 0, gasLimit: 100_000, gasPrice: 10n ** 10n },
      chainId: 31_337,
    });
  const raw = await sign(SEVEN);
  const { hash } = Transaction.from(raw);
  const call = { from: SETTLER, to: SEVEN, data: "0xa69590a8" };
  const refused = { ...call, to: REFUSER };
  const block = ["number", "timestamp", "gasLimit", "baseFeePerGas", "hash"];
  const seen = ["hash", "from", "to", "input", "nonce", "blockNumber"];
  const mined = ["blockNumber", "blockHash", "gasUsed", "status", "logs"];
  const fees = ["baseFeePerGas", "gasUsedRatio", "reward"];
  const found: Record<string, unknown> = {};
  for (const [method, params = [], fields = []] of [
    ["eth_blockNumber"],
    ["eth_nonsense"],
    ["eth_getCode", [SETTLER, "latest"]],
    ["eth_getBlockByNumber", ["latest", false], block],
    ["eth_getBlockByNumber", [TOO_HIGH, false]],
    ["eth_getBlockByNumber", ["pending", false], block.slice(0, -1)],
    ["eth_call", [call, "latest"]],
    ["eth_call", [refused, "latest"]],
    ["eth_call", [call, TOO_HIGH]],
    ["eth_estimateGas", [refused]],
    ["eth_getTransactionReceipt", [hash]],
    ["eth_sendRawTransaction", [raw]],
    ["eth_sendRawTransaction", [raw]],
    ["eth_getTransactionCount", [SETTLER, "latest"]],
    ["eth_getTransactionCount", [SETTLER, "pending"]],
    ["eth_getTransactionByHash", [hash], seen],
    ["eth_getTransactionReceipt", [hash]],
    ["evm_mine"],
    ["eth_getTransactionCount", [SETTLER, "latest"]],
    ["eth_getTransactionByHash", [hash], seen],
    ["eth_getTransactionReceipt", [hash], mined],
    // One base fee more than blocks: that of the next one.
    ["eth_feeHistory", ["0x2", "latest", [50]], fees],
    ["eth_sendRawTransaction", [await sign(REFUSER)]],
  ] as const) {
    const step = `${Object.keys(found).length}: ${method}`;
    try {
      if (method === "evm_mine") {
        await mine();
        continue;
      }
      const answer = await node.request({ method, params });
      found[step] =
        method === "eth_getTransactionCount" ? answer : shapeOf(answer, fields);
    } catch (error) {
      const { code, data } = fieldsOf(error);
      // Of refusals, each node has codes of its own.
      const isRefusal = [-32_000, -32_003, -32_602].includes(Number(code));
      found[step] = isRefusal ? "a refusal" : [code, data];
    }
  }
  return found;
}

describe("the scripted node of the tests", () => {
  it("answers the requests of a settlement as anvil does", async () => {
    const anvil = await startAnvil();
    const provider = fetchProvider(anvil.url);
    const change = async (method: string, ...params: unknown[]) =>
      await provider.request({ method, params });
    for (const [address, code] of Object.entries(codes)) {
      await change("hardhat_setCode", address, code);
    }
    await change("hardhat_setBalance", SETTLER, "0xde0b6b3a7640000");
    await change("evm_mine");
    await change("evm_setAutomine", false);
    const expected = await exercise(
      provider,
      async () => await change("evm_mine"),
    );
    await anvil.stop();
    const node = new ScriptedNode({
      codeOf: (address) => codes[address.toLowerCase()] ?? "0x",
      answerOf: ({ to }) => {
        const reverted = to.toLowerCase() === REFUSER;
        const seven = `0x${"7".padStart(64, "0")}`;
        return { reverted, data: reverted ? "0x12345678" : seven };
      },
    });
    node.mines = false;
    const found = await exercise(node, () => {
      node.mine();
    });
    expect(found).to.deep.equal(expected);
  });
});
