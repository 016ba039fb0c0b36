import { Interface, toBeHex } from "ethers";

import { VaultClient, isFailedOrder } from "../../src/client/index.js";
import type {
  Eip1193Provider,
  ListedOrder,
  OrdersOptions,
} from "../../src/client/index.js";
import { fieldsOf } from "./fields.js";
import { orderWords } from "./scripted-contracts.js";
import type { ContractAnswer } from "./scripted-contracts.js";
import { ScriptedNode } from "./scripted-node.js";

export const TRADING = "0x00000000000000000000000000000000000000A1";
export const HOLDER = `0x${"ab".repeat(20)}`;
export const LAST_ID = 2n ** 256n - 1n;
const abis = [["error Odd(uint256 id)", "error Gone(uint256 id)"]];
const odd = new Interface(["error Odd(uint256 id)", "error Gone(uint256 id)"]);

/** Each third order is closed, and each seventh is HOLDER's; each says its id. */
export const order = (id: bigint): ContractAnswer => ({
  reverted: false,
  data: orderWords({
    exType: Buffer.from("BTC-USDT"),
    number: id,
    state: id % 3n === 0n ? 2 : 1,
    ...(id % 7n === 0n ? { holder: HOLDER } : {}),
  }),
});
export const empty = (): ContractAnswer => ({
  reverted: false,
  data: `0x${toBeHex(13 * 32, 32).slice(2)}${"0".repeat(13 * 64)}`,
});
export const refusal =
  (name: "Odd" | "Gone") =>
  (id: bigint): ContractAnswer => ({
    reverted: true,
    data: odd.encodeErrorResult(name, [id]),
  });

type Book = (id: bigint) => ContractAnswer;

/** Orders with these ids, and another answer for the other ids. */
export const book =
  (has: (id: bigint) => boolean, other: Book = empty): Book =>
  (id) =>
    has(id) ? order(id) : other(id);
export const upTo = (last: bigint): Book =>
  book((id) => id >= 1n && id <= last);

export const idOf = (data: unknown): bigint =>
  BigInt(`0x${String(data).slice(10)}`);

/** A trading contract on a node that may change what the lens returns. */
export function nodeOf(
  answers: Book,
  change?: (answer: string) => string,
): ScriptedNode {
  const node = new ScriptedNode({
    codeOf: () => "0x00",
    answerOf: ({ data }) => answers(idOf(data)),
  });
  node.on("eth_call", async ([call, , overrides], answer) => {
    const isLens =
      overrides !== undefined && String(fieldsOf(call)["data"]).length > 200;
    const found = await answer();
    return isLens && change !== undefined ? change(String(found)) : found;
  });
  return node;
}

export const scan = (
  provider: Eip1193Provider,
  options?: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> =>
  new VaultClient(provider, { trading: TRADING }, { abis }).orders(options);

export const outline = (orders: readonly ListedOrder[]): string[] =>
  orders.map((found) =>
    isFailedOrder(found)
      ? `${found.orderID} ${found.error.code} ${found.error.details["reason"] ?? ""}`.trim()
      : `${found.orderID} ${found.exType}${[0n, found.orderID].includes(found.number) ? "" : ` of order ${found.number}`}`.trim(),
  );
export const outlineOf = async (
  provider: Eip1193Provider,
  options?: OrdersOptions,
): Promise<string[]> => outline(await Array.fromAsync(scan(provider, options)));
export const present = (...ids: Array<bigint | number>): string[] =>
  ids.map((id) => `${id} BTC-USDT`);
export const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
export const failure = (message: string, code: number | string): Error =>
  Object.assign(new Error(message), { code });
/** The requests for one order, each with its id and block. */
export const singleReads = (node: ScriptedNode): unknown[] =>
  node.asked
    .filter(({ method, params }) => method === "eth_call" && params.length < 3)
    .map((asked) => [
      Number(idOf(fieldsOf(asked.params[0])["data"])),
      node.blockOf(asked),
    ]);

/** Hex digits before the entries of a lens' answer, and those of an entry. */
export const ENTRIES = 2 + 4 * 64;
export const ENTRY = 64 + order(1n).data.length - 2;

/** Answers `most` orders a call, and notes how many were requested. */
export const sized = (sizes: number[], most = Infinity): ScriptedNode =>
  nodeOf(order, (answer) => {
    const size = (answer.length - ENTRIES) / ENTRY;
    sizes.push(size);
    return answer.slice(0, ENTRIES + Math.min(size, most) * ENTRY);
  });

export const odds = book(
  (id) => ![2n, 3n].includes(id),
  (id) =>
    id === 2n ? refusal("Odd")(id) : { reverted: false, data: "0x1234" },
);
export const oddOnes = [
  ...present(1),
  "2 VAULT_CALL_REVERTED Odd(id: 2)",
  "3 VAULT_RETURN_DATA_MALFORMED",
  ...present(4),
];
