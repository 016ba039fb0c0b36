import { inspect } from "node:util";

import { expect } from "chai";
import { toBeHex } from "ethers";

import { VaultClient } from "../../../src/client/index.js";
import type {
  ListedOrder,
  OrdersOptions,
  ScanProgress,
} from "../../../src/client/index.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { speedUpTime } from "../../helpers/deadlines.js";
import {
  HOLDER,
  LAST_ID,
  TRADING,
  book,
  empty,
  idOf,
  nodeOf,
  order,
  outline,
  outlineOf,
  present,
  range,
  refusal,
  scan,
  upTo,
} from "../../helpers/order-book.js";
import type { ContractAnswer } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";

describe("client - orders", () => {
  speedUpTime();

  const stateOnly = (): ContractAnswer => {
    const { data } = empty();
    return {
      reverted: false,
      data: `${data.slice(0, 2 + 12 * 64)}${toBeHex(1, 32).slice(2)}${data.slice(2 + 13 * 64)}`,
    };
  };
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
    ["a range of one id", order, { firstId: 5, lastId: 5 }, present(5)],
    ["ids as they are named", order, { ids: [9, 2n, 3] }, present(9, 2, 3)],
    [
      "ids in no order that begin and end as a row does",
      order,
      { ids: [1, 3, 2, 4] },
      present(1, 3, 2, 4),
    ],
    [
      "an id twice that is named twice",
      order,
      { ids: [4, 5, 4] },
      present(4, 5, 4),
    ],
    [
      "an order of zeros as empty",
      noThird,
      { firstId: 2, lastId: 4 },
      [...present(2), "3", ...present(4)],
    ],
    [
      "an order that has a state and nothing else, also with skipEmpty",
      book((id) => id !== 3n, stateOnly),
      { firstId: 2, lastId: 4, skipEmpty: true },
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
      "no id without a range that fails behind the last order",
      book((id) => id >= 5n && id <= 20n, refusal("Gone")),
      { firstId: 5 },
      present(...range(5, 20)),
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

  it("orders() ends at the next order after its signal, whatever was read ahead", async () => {
    const stop = new AbortController();
    const options = { firstId: 1, lastId: 5, signal: stop.signal };
    const orders = scan(nodeOf(order), options);
    expect((await orders.next()).value).to.include({ orderID: 1n });
    stop.abort("enough");
    const [end] = await Promise.allSettled([orders.next()]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });

  it("orders() throws the reason of its signal, also if that comes where no order matches", async () => {
    const stop = new AbortController();
    const node = nodeOf(order);
    node.on("eth_call", async (_, answer) => {
      stop.abort("enough");
      return await answer();
    });
    const orders = scan(node, {
      firstId: 1,
      lastId: 700,
      holder: TRADING,
      signal: stop.signal,
    });
    const [end] = await Promise.allSettled([Array.fromAsync(orders)]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });

  it("orders() tells onProgress how many ids there are, and nothing if none is left to read", async () => {
    const totals: number[] = [];
    const onProgress = ({ total }: ScanProgress): unknown => totals.push(total);
    await outlineOf(nodeOf(upTo(1_234n)), { firstId: 1_000, onProgress });
    expect(totals.at(-1)).to.equal(235);
    totals.length = 0;
    await outlineOf(nodeOf(empty), { onProgress });
    expect(totals).to.deep.equal([]);
  });

  it("orders() ends with the error of an async onProgress, which no process sees", async () => {
    const onProgress = async (): Promise<never> =>
      await Promise.reject(new Error("the listener's own problem"));
    const reading = outlineOf(nodeOf(upTo(1_234n)), { onProgress });
    expect(await reading.catch(String)).to.match(/the listener's own problem/u);
  });

  it("orders() tells onProgress of unknown ids as done", async () => {
    const seen: ScanProgress[] = [];
    await outlineOf(nodeOf(book((id) => id % 3n === 0n && id <= 300n)), {
      firstId: 1,
      chunkSize: 50,
      onProgress: (progress) => seen.push(progress),
    });
    expect(seen.at(-1)).to.deep.equal({ done: 300, total: 300 });
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

  const mistakes = [
    [{ firstId: -1 }, "VAULT_INVALID_INTEGER"],
    [{ firstId: 9 }, "VAULT_INVALID_ARGUMENT"],
    [{ firstId: undefined, ids: [1] }, "VAULT_INVALID_ARGUMENT"],
    [{ lastId: undefined, ids: [1] }, "VAULT_INVALID_ARGUMENT"],
    [
      { firstId: undefined, lastId: undefined, ids: [1, -1] },
      "VAULT_INVALID_INTEGER",
    ],
    [{ state: "shut" }, "VAULT_INVALID_ARGUMENT"],
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
