import { inspect } from "node:util";

import { expect } from "chai";
import { Interface, toBeHex } from "ethers";

import { VaultClient, isFailedOrder } from "../../src/client/index.js";
import type {
  Eip1193Provider,
  ListedOrder,
  OrdersOptions,
  ScanProgress,
} from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { orderWords } from "../helpers/scripted-contracts.js";
import type { ContractAnswer } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const TRADING = "0x00000000000000000000000000000000000000A1";
const HOLDER = `0x${"ab".repeat(20)}`;
const LAST_ID = 2n ** 256n - 1n;
const abis = [["error Odd(uint256 id)", "error Gone(uint256 id)"]];
const odd = new Interface(["error Odd(uint256 id)", "error Gone(uint256 id)"]);

/** Each third order is closed, and each seventh is HOLDER's; each says its id. */
const order = (id: bigint): ContractAnswer => ({
  reverted: false,
  data: orderWords({
    exType: Buffer.from("BTC-USDT"),
    number: id,
    state: id % 3n === 0n ? 2 : 1,
    ...(id % 7n === 0n ? { holder: HOLDER } : {}),
  }),
});
const empty = (): ContractAnswer => ({
  reverted: false,
  data: `0x${toBeHex(13 * 32, 32).slice(2)}${"0".repeat(13 * 64)}`,
});
const refusal =
  (name: "Odd" | "Gone") =>
  (id: bigint): ContractAnswer => ({
    reverted: true,
    data: odd.encodeErrorResult(name, [id]),
  });

type Book = (id: bigint) => ContractAnswer;

/** Orders with these ids, and another answer for the other ids. */
const book =
  (has: (id: bigint) => boolean, other: Book = empty): Book =>
  (id) =>
    has(id) ? order(id) : other(id);
const upTo = (last: bigint): Book => book((id) => id >= 1n && id <= last);

const idOf = (data: unknown): bigint => BigInt(`0x${String(data).slice(10)}`);

/** A trading contract on a node that may change what the lens returns. */
function nodeOf(
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

const scan = (
  provider: Eip1193Provider,
  options?: OrdersOptions,
): AsyncGenerator<ListedOrder, void, undefined> =>
  new VaultClient(provider, { trading: TRADING }, { abis }).orders(options);

const outline = (orders: readonly ListedOrder[]): string[] =>
  orders.map((found) =>
    isFailedOrder(found)
      ? `${found.orderID} ${found.error.code} ${found.error.details["reason"] ?? ""}`.trim()
      : `${found.orderID} ${found.exType}${[0n, found.orderID].includes(found.number) ? "" : ` of order ${found.number}`}`.trim(),
  );
const outlineOf = async (
  provider: Eip1193Provider,
  options?: OrdersOptions,
): Promise<string[]> => outline(await Array.fromAsync(scan(provider, options)));
const present = (...ids: Array<bigint | number>): string[] =>
  ids.map((id) => `${id} BTC-USDT`);
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);
const failure = (message: string, code: number | string): Error =>
  Object.assign(new Error(message), { code });
const thrownBy = async (work: Promise<unknown>): Promise<unknown> =>
  await work.catch((error: unknown) => error);

/** The requests for one order, each with its id and block. */
const singleReads = (node: ScriptedNode): unknown[] =>
  node.asked
    .filter(({ method, params }) => method === "eth_call" && params.length < 3)
    .map(({ params: [call, tag] }) => [
      Number(idOf(fieldsOf(call)["data"])),
      tag,
    ]);

/** Hex digits before the entries of a lens' answer, and those of an entry. */
const ENTRIES = 2 + 4 * 64;
const ENTRY = 64 + order(1n).data.length - 2;

/** Answers `most` orders a call, and notes how many were requested. */
const sized = (sizes: number[], most = Infinity): ScriptedNode =>
  nodeOf(order, (answer) => {
    const size = (answer.length - ENTRIES) / ENTRY;
    sizes.push(size);
    return answer.slice(0, ENTRIES + Math.min(size, most) * ENTRY);
  });

describe("client - orders", () => {
  speedUpTime();

  const odds = book(
    (id) => ![2n, 3n].includes(id),
    (id) =>
      id === 2n ? refusal("Odd")(id) : { reverted: false, data: "0x1234" },
  );
  const oddOnes = [
    ...present(1),
    "2 VAULT_CALL_REVERTED Odd(id: 2)",
    "3 VAULT_RETURN_DATA_MALFORMED",
    ...present(4),
  ];
  const noThird = book((id) => id !== 3n);
  const goneThird = book((id) => id !== 3n, refusal("Gone"));
  const failedThird = "3 VAULT_CALL_REVERTED Gone(id: 3)";
  const listings = [
    [
      "every id of a range in order, whatever the chunks",
      order,
      { firstId: 5, lastId: 505n, chunkSize: 7, concurrency: 3 },
      present(...range(5, 505)),
    ],
    ["ids as they are named", order, { ids: [9, 2n, 3] }, present(9, 2, 3)],
    [
      "ids in no order, although they end as a row does, and twice if they are named twice",
      order,
      { ids: [1, 3, 2, 4, 4] },
      present(1, 3, 2, 4, 4),
    ],
    ["the only id of a range", order, { firstId: 7, lastId: 7 }, present(7)],
    [
      "the reason of each order that fails, in the words of the contract's errors",
      odds,
      { firstId: 1, lastId: 4 },
      oddOnes,
    ],
    [
      "an order of zeros as empty",
      noThird,
      { firstId: 2, lastId: 4 },
      [...present(2), "3", ...present(4)],
    ],
    [
      "no order of zeros with skipEmpty",
      noThird,
      { firstId: 2, lastId: 4, skipEmpty: true },
      present(2, 4),
    ],
    [
      "a missing order that reverts, also with skipEmpty and a state",
      goneThird,
      { firstId: 2, lastId: 4, skipEmpty: true, state: "open" },
      [...present(2), failedThird, ...present(4)],
    ],
    [
      "the orders of a state by its number",
      order,
      { firstId: 1, lastId: 9, state: 1 },
      present(1, 2, 4, 5, 7, 8),
    ],
    [
      "the orders of a state by its word",
      order,
      { firstId: 1, lastId: 9, state: "closed" },
      present(3, 6, 9),
    ],
    [
      "the orders of a holder, however the address is written",
      order,
      { firstId: 1, lastId: 15, holder: HOLDER },
      present(7, 14),
    ],
    [
      "the orders of a holder that are in a state",
      order,
      { firstId: 1, lastId: 30, holder: HOLDER, state: "closed" },
      present(21),
    ],
    [
      "every order without a range",
      upTo(1_234n),
      {},
      present(...range(1, 1_234)),
    ],
    ["none if there is none", upTo(0n), {}, []],
    [
      "no id without a range that fails as the ids behind the end do",
      book((id) => id >= 1n && id <= 20n && id !== 7n, refusal("Gone")),
      {},
      present(...range(1, 6), ...range(8, 20)),
    ],
    [
      "the last ids that there can be",
      order,
      { firstId: LAST_ID - 1n },
      present(LAST_ID - 1n, LAST_ID),
    ],
  ] as const;
  for (const [title, answers, options, listed] of listings) {
    it(`orders() lists ${title}`, async () => {
      expect(await outlineOf(nodeOf(answers), options)).to.deep.equal(listed);
    });
  }

  it("orders() finds the end in few requests, and tells onProgress how many ids there are", async () => {
    const node = nodeOf(upTo(1_234n));
    const totals: number[] = [];
    await outlineOf(node, { onProgress: ({ total }) => totals.push(total) });
    expect(node.asked.length).to.be.lessThan(25);
    expect(totals.at(-1)).to.equal(1_235);
    let seen = 0;
    await outlineOf(nodeOf(empty), { onProgress: () => (seen += 1) });
    expect(seen, "nothing is left to read").to.equal(0);
  });

  it("orders() throws VAULT_INVALID_ARGUMENT if there is no end", async () => {
    const { message } = await expectVaultError(
      outlineOf(nodeOf(order)),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.include("2^40");
  });

  for (const overrides of [true, false]) {
    it(`orders() reads one block, whatever is mined meanwhile, or the one of blockTag, of a node ${overrides ? "with" : "without"} overrides`, async () => {
      const node = new ScriptedNode({
        codeOf: () => "0x00",
        answerOf: ({ data, block }) =>
          block > 5 ? empty() : order(idOf(data)),
      });
      node.overrides = overrides;
      const found: ListedOrder[] = [];
      const options = { firstId: 1, lastId: 60, chunkSize: 10, concurrency: 1 };
      for await (const each of scan(node, options)) {
        found.push(each);
        if (found.length === 5) {
          node.mine();
        }
      }
      expect(outline(found)).to.deep.equal(present(...range(1, 60)));
      expect(await outlineOf(node, { ids: [3] })).to.deep.equal(["3"]);
      expect(await outlineOf(node, { ids: [3], blockTag: 5 })).to.deep.equal(
        present(3),
      );
    });
  }

  it("orders() and a read throw VAULT_BLOCK_NOT_FOUND for a block that is gone after a revert of the chain", async () => {
    const node = nodeOf(order);
    const vault = new VaultClient(node, { trading: TRADING });
    const { number: blockTag } = await vault.block();
    await Array.fromAsync(vault.orders({ ids: [1, 2] }));
    node.on("eth_getBlockByNumber", () => null);
    for (const method of ["eth_call", "eth_getBalance"]) {
      node.on(method, () => {
        throw Object.assign(new Error("header not found"), { code: -32000 });
      });
    }
    for (const read of [
      async () =>
        await Array.fromAsync(vault.orders({ ids: [1, 2], blockTag })),
      async () => await vault.getOrderInfo(1n, { blockTag }),
    ]) {
      await expectVaultError(read, "VAULT_BLOCK_NOT_FOUND");
    }
  });

  it("orders() takes a range of 2^40 ids, and refuses one of more with VAULT_INVALID_ARGUMENT before any request", async () => {
    const node = nodeOf(order);
    const tooMany = { firstId: 1, lastId: 2n ** 40n + 1n };
    await expectVaultError(outlineOf(node, tooMany), "VAULT_INVALID_ARGUMENT");
    expect(node.asked).to.have.length(0);
    const orders = scan(node, { firstId: 1, lastId: 2n ** 40n });
    expect((await orders.next()).value).to.include({ orderID: 1n });
    await orders.return();
  });

  it("orders() sends one call with an override a chunk, and one for the block", async () => {
    const node = nodeOf(order);
    const vault = new VaultClient(node, { trading: TRADING });
    for (const [lastId, calls] of [
      [100, 3],
      [50, 2],
    ] as const) {
      node.asked.length = 0;
      await Array.fromAsync(
        vault.orders({ firstId: 1, lastId, chunkSize: 50 }),
      );
      expect(node.asked.map(({ method }) => method).sort()).to.deep.equal([
        ...Array.from({ length: calls }, () => "eth_call"),
        "eth_getBlockByNumber",
      ]);
    }
    expect(node.asked.at(-1)?.params).to.have.length(3);
    node.asked.length = 0;
    await Array.fromAsync(vault.orders({ ids: [1, 2], blockTag: node.head }));
    expect(node.count("eth_getBlockByNumber"), "a block seen before").to.equal(
      0,
    );
  });

  it("orders() requests no more chunks than a slow reader wants", async () => {
    const node = nodeOf(order);
    const options = {
      firstId: 1,
      lastId: 100_000,
      chunkSize: 10,
      concurrency: 3,
    };
    const orders = scan(node, options);
    for (let taken = 0; taken < 10; ++taken) {
      await orders.next();
    }
    for (let turn = 0; turn < 20; ++turn) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    // The chunk that is read, five more at most, and two that a turn has let go.
    expect(node.asked.length - 1).to.be.within(3, 7);
    await orders.return();
  });

  it("orders() goes on behind the orders that the gas of a call allowed", async () => {
    const sizes: number[] = [];
    const seen: number[] = [];
    expect(
      await outlineOf(sized(sizes, 3), {
        firstId: 1,
        lastId: 10,
        chunkSize: 5,
        concurrency: 1,
        onProgress: ({ done }) => seen.push(done),
      }),
    ).to.deep.equal(present(...range(1, 10)));
    expect(sizes).to.deep.equal([5, 2, 5, 2]);
    expect(seen.at(-1)).to.equal(10);
  });

  const scattered = Array.from({ length: 250 }, (_, index) => 2 * index);
  for (const [title, options, expected] of [
    ["700 orders of a range", { firstId: 1, lastId: 1_000 }, [700, 300]],
    ["100 ids that are not in a row", { ids: scattered }, [100, 100, 50]],
    ["all ids that are in a row", { ids: range(7, 256) }, [250]],
  ] as const) {
    it(`orders() requests ${title} at once`, async () => {
      const sizes: number[] = [];
      await outlineOf(sized(sizes), { ...options, concurrency: 1 });
      expect(sizes).to.deep.equal(expected);
    });
  }

  const second = ENTRIES + ENTRY;
  for (const [title, wrong, alone] of [
    [
      "more orders",
      (answer: string) => `${answer}${answer.slice(ENTRIES, second)}`,
      [1, 2, 3, 4],
    ],
    ["no orders", (answer: string) => answer.slice(0, ENTRIES), [1, 2, 3, 4]],
    [
      "an order that it could not find out",
      (answer: string) =>
        `${answer.slice(0, second)}02${answer.slice(second + 2)}`,
      [2],
    ],
  ] as const) {
    it(`orders() requests ${alone.join()} of 4 orders alone if the lens returns ${title}`, async () => {
      const node = nodeOf(order, wrong);
      expect(await outlineOf(node, { firstId: 1, lastId: 4 })).to.deep.equal(
        present(1, 2, 3, 4),
      );
      expect(singleReads(node)).to.have.deep.members(
        alone.map((id) => [id, "0x5"]),
      );
    });
  }

  const limit = 10 * ENTRY;
  const limits = {
    "refuses big responses": failure("response is too big", -32008),
    "drops the connection on big responses": failure("no", "UND_ERR_SOCKET"),
    "times out on big calls": failure("no", "UND_ERR_HEADERS_TIMEOUT"),
    "cuts big responses off": undefined,
  };
  for (const [title, error] of Object.entries(limits)) {
    it(`orders() lists good and failed orders of a node that ${title}`, async () => {
      const node = nodeOf(odds, (answer) => {
        if (answer.length > limit && error !== undefined) {
          throw error;
        }
        return answer.slice(0, limit + 2);
      });
      expect(await outlineOf(node, { firstId: 1, lastId: 40 })).to.deep.equal([
        ...oddOnes,
        ...present(...range(5, 40)),
      ]);
    });
  }

  it("orders() lists good and failed orders of a node that refuses overrides", async () => {
    const node = nodeOf(odds);
    node.overrides = false;
    expect(await outlineOf(node, { firstId: 1, lastId: 4 })).to.deep.equal(
      oddOnes,
    );
  });

  it("orders() throws VAULT_NO_CODE if there is no contract, whatever the lens returns", async () => {
    const noCode = nodeOf(
      () => ({ reverted: false, data: "0x" }),
      (answer) =>
        `${answer.slice(0, ENTRIES + 2)}00${answer.slice(ENTRIES + 4)}`,
    );
    for (const from of [toBeHex(0, 20), toBeHex(1, 20)]) {
      await expectVaultError(
        outlineOf(noCode, { firstId: 1, lastId: 2, from }),
        "VAULT_NO_CODE",
      );
    }
  });

  it("orders() lists what a contract returns, also if the node knows no code of it", async () => {
    const native = nodeOf(order, (answer) =>
      answer.replaceAll(`0101${"0".repeat(52)}`, `0100${"0".repeat(52)}`),
    );
    expect(await outlineOf(native, { firstId: 1, lastId: 3 })).to.deep.equal(
      present(1, 2, 3),
    );
    expect(singleReads(native)).to.deep.equal([]);
  });

  for (const [during, before] of [
    ["before any request", 0],
    ["during the first request", 1],
    ["during a later request", 5],
  ] as const) {
    it(`orders() throws the reason of its signal ${during}`, async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const node = nodeOf(order);
      node.on("eth_call", async (_, answer) => {
        if (node.asked.length >= before) {
          controller.abort(reason);
          // This request never ends.
          await new Promise(() => undefined);
        }
        return await answer();
      });
      const { signal } = controller;
      if (before === 0) {
        controller.abort(reason);
      }
      const options = {
        ...{ firstId: 1, lastId: 1_000, chunkSize: 5, signal },
        // If the signal does not end it, this does: five minutes earlier.
        timeout: 60_000,
      };
      expect(await thrownBy(Array.fromAsync(scan(node, options)))).to.equal(
        reason,
      );
      expect(node.asked.length === 0).to.equal(before === 0);
    });
  }

  it("orders() ends at the next order after its signal, whatever was read ahead", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const { signal } = controller;
    const orders = scan(nodeOf(order), { firstId: 1, lastId: 5, signal });
    await orders.next();
    expect((await orders.next()).value).to.include({ orderID: 2n });
    controller.abort(reason);
    expect(await thrownBy(orders.next())).to.equal(reason);
  });

  it("orders() reports progress by the chunk, also by the half of one", async () => {
    const tenOrders = toBeHex(10, 32).slice(2);
    const node = nodeOf(order);
    node.on("eth_call", async (params, answer) => {
      if (JSON.stringify(params).includes(tenOrders)) {
        throw failure("response too large", -32000);
      }
      return await answer();
    });
    const seen: ScanProgress[] = [];
    await outlineOf(node, {
      firstId: 1,
      lastId: 20,
      chunkSize: 10,
      concurrency: 1,
      onProgress: (progress) => seen.push(progress),
    });
    expect(seen).to.deep.equal(
      [10, 15, 20].map((done) => ({ done, total: 20 })),
    );
  });

  it("orders() counts every id that it has read in onProgress, also those of orders that the options leave out", async () => {
    const seen: ScanProgress[] = [];
    const listed = await outlineOf(nodeOf(order), {
      firstId: 1,
      lastId: 20,
      chunkSize: 10,
      holder: HOLDER,
      onProgress: (progress) => seen.push(progress),
    });
    expect(listed).to.deep.equal(present(7, 14));
    expect(seen).to.deep.equal([10, 20].map((done) => ({ done, total: 20 })));
  });

  for (const chunkSize of [10, 1]) {
    it(`orders() throws VAULT_NETWORK_UNREACHABLE if the node is gone, and lists no failed orders, ${chunkSize} in a request`, async () => {
      const node = nodeOf(order);
      const options = {
        ...{ firstId: 1, lastId: 1_000, chunkSize },
        concurrency: 1,
      };
      const orders = scan(node, options);
      await orders.next();
      node.request = async () =>
        await Promise.reject(failure("connect", "ECONNREFUSED"));
      await expectVaultError(
        Array.fromAsync(orders),
        "VAULT_NETWORK_UNREACHABLE",
      );
    });
  }

  it("orders() halves chunks once if requests that were sent together fail", async () => {
    const sizes: number[] = [];
    const node = nodeOf(order, (answer) => {
      const size = (answer.length - ENTRIES) / ENTRY;
      if (size > 4) {
        throw failure("response too large", -32008);
      }
      sizes.push(size);
      return answer;
    });
    const options = { firstId: 1, lastId: 24, chunkSize: 8, concurrency: 3 };
    expect(await outlineOf(node, options)).to.deep.equal(
      present(...range(1, 24)),
    );
    expect(sizes).to.deep.equal([4, 4, 4, 4, 4, 4]);
  });

  for (const [overrides, most] of [
    [true, 3],
    [false, 16],
  ] as const) {
    it(`orders() has ${most} requests under way at most, of a node ${overrides ? "with" : "without"} overrides`, async () => {
      const node = nodeOf(order);
      node.overrides = overrides;
      let [now, highest] = [0, 0];
      node.on("eth_call", async ([call, , given], answer) => {
        const isRead = String(fieldsOf(call)["to"]) === TRADING;
        now += isRead || given !== undefined ? 1 : 0;
        highest = Math.max(highest, now);
        await new Promise((resolve) => setImmediate(resolve));
        now -= isRead || given !== undefined ? 1 : 0;
        return await answer();
      });
      await outlineOf(node, { firstId: 1, lastId: 60, chunkSize: 5 });
      expect(highest).to.equal(most);
    });
  }

  const mistakes = [
    [{ firstId: -1 }, "VAULT_INVALID_INTEGER"],
    [{ lastId: 1.5 }, "VAULT_INVALID_INTEGER"],
    [{ firstId: 9 }, "VAULT_INVALID_ARGUMENT"],
    [{ ids: [1] }, "VAULT_INVALID_ARGUMENT"],
    [{ firstId: undefined, ids: [1] }, "VAULT_INVALID_ARGUMENT"],
    [{ lastId: undefined, ids: [1] }, "VAULT_INVALID_ARGUMENT"],
    [
      { firstId: undefined, lastId: undefined, ids: [1, -1] },
      "VAULT_INVALID_INTEGER",
    ],
    [{ state: 7 }, "VAULT_INVALID_ENUM"],
    [{ state: "shut" }, "VAULT_INVALID_ENUM"],
    [{ holder: "0x12" }, "VAULT_INVALID_ADDRESS"],
    [{ chunkSize: 0 }, "VAULT_INVALID_ARGUMENT"],
    [{ concurrency: 2.5 }, "VAULT_INVALID_ARGUMENT"],
    [{ from: "me" }, "VAULT_INVALID_ADDRESS"],
    [{ blockTag: "pending" }, "VAULT_INVALID_ARGUMENT"],
  ] as const;
  for (const [mistake, code] of mistakes) {
    it(`orders() throws ${code} for ${inspect(mistake)} before any request`, async () => {
      const node = nodeOf(order);
      // the types refuse some of these mistakes
      const options = { firstId: 1, lastId: 5, ...mistake } as OrdersOptions;
      await expectVaultError(outlineOf(node, options), code);
      expect(node.asked).to.deep.equal([]);
    });
  }
});
