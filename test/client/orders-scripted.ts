import { expect } from "chai";
import { Interface, toBeHex } from "ethers";

import { VaultClient, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, OrdersOptions } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/rpc/eip1193.js";
import { expectVaultError } from "../helpers/assertions.js";
import { collectAll } from "../helpers/collect.js";
import { fieldsOf } from "../helpers/fields.js";
import { recordCalls } from "../helpers/recording-provider.js";
import { ScriptedNode, orderWords } from "../helpers/scripted-node.js";
import type { ContractAnswer } from "../helpers/scripted-node.js";

const TRADING = "0x00000000000000000000000000000000000000A1";
const odd = new Interface(["error Odd(uint256 id)"]);
const aBook = orderWords({ exType: Buffer.from("BTC-USDT") });

const idOf = (data: string): bigint => BigInt(`0x${data.slice(10)}`);

/** Orders as told, behind a way to change what a request for many answers. */
function node(
  answerOf: (id: bigint) => ContractAnswer,
  change: (answer: string) => string = (answer) => answer,
): Eip1193Provider {
  const scripted = new ScriptedNode({
    head: 5,
    codeOf: () => "0x00",
    answerOf: ({ data }) => answerOf(idOf(data)),
  });
  return {
    request: async (args) => {
      const answer = await scripted.request(args);
      const { data = "" } = fieldsOf(args.params?.[0]);
      return args.params?.length === 3 && String(data).length > 200
        ? change(String(answer))
        : answer;
    },
  };
}

const present = (): ContractAnswer => ({ reverted: false, data: aBook });

async function scan(
  provider: Eip1193Provider,
  options: OrdersOptions,
): Promise<ListedOrder[]> {
  const client = new VaultClient(
    provider,
    { trading: TRADING },
    { abis: [["error Odd(uint256 id)"]] },
  );
  return await collectAll(client.orders(options));
}

/** What became of each id. */
const outline = (orders: readonly ListedOrder[]): string[] =>
  orders.map((order) =>
    isFailedOrder(order)
      ? `${order.orderID} ${order.error.code} ${order.error.details["reason"] ?? ""}`.trim()
      : `${order.orderID} ${order.exType}`,
  );

/** Where the entries of a lens' answer begin, in hex digits behind 0x. */
const ENTRIES = 2 + 4 * 64;
const ENTRY = 64 + aBook.length - 2;

/** Answers `most` orders a call, and notes how many it was asked for. */
const sized = (sizes: number[], most = Infinity): Eip1193Provider =>
  node(present, (answer) => {
    const size = (answer.length - ENTRIES) / ENTRY;
    sizes.push(size);
    return answer.slice(0, ENTRIES + Math.min(size, most) * ENTRY);
  });

describe("client - orders of a scripted node", () => {
  it("should say why each failed, in the words of its own errors", async () => {
    const provider = node((id) =>
      id === 2n
        ? { reverted: true, data: odd.encodeErrorResult("Odd", [id]) }
        : id === 3n
          ? { reverted: false, data: "0x1234" }
          : present(),
    );
    expect(
      outline(await scan(provider, { firstId: 1, lastId: 4 })),
    ).to.deep.equal([
      "1 BTC-USDT",
      "2 VAULT_CALL_REVERTED Odd(id: 2)",
      "3 VAULT_RETURN_DATA_MALFORMED",
      "4 BTC-USDT",
    ]);
  });

  it("should ask by itself for what the lens could not find out", async () => {
    const recorder = recordCalls(
      node(present, (answer) => {
        const second = ENTRIES + ENTRY;
        return `${answer.slice(0, second)}02${answer.slice(second + 2)}`;
      }),
    );
    expect(
      outline(await scan(recorder, { firstId: 1, lastId: 3 })),
    ).to.deep.equal(["1 BTC-USDT", "2 BTC-USDT", "3 BTC-USDT"]);
    const single = recorder.calls.filter(
      ({ method, params }) => method === "eth_call" && params?.length === 2,
    );
    expect(
      single.map(({ params = [] }) => [
        idOf(String(fieldsOf(params[0])["data"])).toString(),
        params[1],
      ]),
    ).to.deep.equal([["2", "0x5"]]);
  });

  it("should go on behind as many as fitted into the gas of a call", async () => {
    const sizes: number[] = [];
    const provider = sized(sizes, 3);
    const seen: number[] = [];
    const orders = await scan(provider, {
      firstId: 1,
      lastId: 10,
      chunkSize: 5,
      concurrency: 1,
      onProgress: ({ done }) => seen.push(done),
    });
    expect(outline(orders)).to.deep.equal(
      Array.from({ length: 10 }, (_, index) => `${index + 1} BTC-USDT`),
    );
    expect(sizes).to.deep.equal([5, 2, 5, 2]);
    expect(seen.at(-1)).to.equal(10);
  });

  it("should ask for 1,000 orders at once, and for fewer ids that are not in a row", async () => {
    const rows: number[] = [];
    await scan(sized(rows), { firstId: 1, lastId: 1_600, concurrency: 1 });
    expect(rows).to.deep.equal([1_000, 600]);
    const scattered: number[] = [];
    const ids = Array.from({ length: 250 }, (_, index) => 2 * index);
    const orders = await scan(sized(scattered), { ids, concurrency: 1 });
    expect(orders.map(({ orderID }) => Number(orderID))).to.deep.equal(ids);
    expect(scattered).to.deep.equal([100, 100, 50]);
    const row: number[] = [];
    const inRow = Array.from({ length: 250 }, (_, index) => 7 + index);
    await scan(sized(row), { ids: inRow, concurrency: 1 });
    expect(row).to.deep.equal([250]);
  });

  it("should believe no answer with more orders, or none", async () => {
    for (const wrong of [
      (answer: string) => `${answer}${answer.slice(ENTRIES, ENTRIES + ENTRY)}`,
      (answer: string) => answer.slice(0, ENTRIES),
    ]) {
      const recorder = recordCalls(node(present, wrong));
      expect(
        outline(await scan(recorder, { firstId: 1, lastId: 4 })),
      ).to.deep.equal([1, 2, 3, 4].map((id) => `${id} BTC-USDT`));
      // Each by itself in the end.
      expect(
        recorder.calls.filter(
          ({ method, params }) => method === "eth_call" && params?.length === 2,
        ),
      ).to.have.length(4);
    }
  });

  it("should end where there is no contract, whatever the lens says it returned", async () => {
    const noCode = node(
      () => ({ reverted: false, data: "0x" }),
      (answer) =>
        `${answer.slice(0, ENTRIES + 2)}00${answer.slice(ENTRIES + 4)}`,
    );
    await expectVaultError(
      scan(noCode, { firstId: 1, lastId: 2, from: toBeHex(1, 20) }),
      "VAULT_NO_CODE",
    );
  });
});
