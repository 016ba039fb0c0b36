import { expect } from "chai";
import { toBeHex } from "ethers";

import { VaultClient, isFailedOrder } from "../../../src/client/index.js";
import type { ScanProgress } from "../../../src/client/index.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { speedUpTime } from "../../helpers/deadlines.js";
import {
  ENTRIES,
  ENTRY,
  TRADING,
  book,
  empty,
  failure,
  nodeOf,
  odds,
  oddOnes,
  order,
  outlineOf,
  present,
  range,
  refusal,
  scan,
  singleReads,
  sized,
  upTo,
} from "../../helpers/order-book.js";
import type { ContractAnswer } from "../../helpers/scripted-contracts.js";

describe("client - requests of orders()", () => {
  speedUpTime();

  it("orders() sends a header and one call with an override a chunk", async () => {
    const node = nodeOf(order);
    const vault = new VaultClient(node, { trading: TRADING });
    await Array.fromAsync(
      vault.orders({ firstId: 1, lastId: 100, chunkSize: 50 }),
    );
    expect(node.asked.map(({ method }) => method)).to.deep.equal([
      "eth_getBlockByNumber",
      "eth_call",
      "eth_call",
    ]);
  });

  for (const [title, unknown] of [
    ["are empty", empty],
    ["revert", refusal("Gone")],
  ] as const) {
    it(`orders() sends one call to the end of a list whose unknown ids ${title}`, async () => {
      const node = nodeOf(book((id) => id <= 40n, unknown));
      expect(await outlineOf(node)).to.deep.equal(present(...range(0, 40)));
      expect(node.asked.map(({ method }) => method)).to.deep.equal([
        "eth_getBlockByNumber",
        "eth_call",
      ]);
    });
  }

  it("orders() keeps the size of its chunks if one order is left of one", async () => {
    const sizes: number[] = [];
    const options = { firstId: 1, lastId: 40, chunkSize: 10, concurrency: 1 };
    const outline = await outlineOf(sized(sizes, 9), options);
    expect(outline).to.deep.equal(present(...range(1, 40)));
    expect(sizes.slice(0, 3)).to.deep.equal([10, 9, 9]);
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
    for (let taken = 0; taken < 11; ++taken) {
      await orders.next();
    }
    for (let turn = 0; turn < 20; ++turn) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    // The first chunk by itself, the one that is read, and two more.
    expect(node.asked.map(({ method }) => method)).to.deep.equal([
      "eth_getBlockByNumber",
      ...Array.from({ length: 4 }, () => "eth_call"),
    ]);
    await orders.return();
  });

  it("orders() sends nothing more once its reader has left", async () => {
    const node = nodeOf(upTo(1_000_000n));
    node.on("eth_call", async (_, answer) => {
      await new Promise((resolve) => setImmediate(resolve));
      return await answer();
    });
    const orders = scan(node, { chunkSize: 10, concurrency: 1 });
    await orders.next();
    await orders.return();
    const sent = node.asked.length;
    for (let turn = 0; turn < 50; ++turn) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(node.asked).to.have.length(sent);
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
    expect(sizes).to.deep.equal([5, 2, 3, 2]);
    expect(seen.at(-1)).to.equal(10);
  });

  const scattered = Array.from({ length: 1_200 }, (_, index) => 2 * index);
  for (const [title, options] of [
    ["of a range", { firstId: 1, lastId: 1_200 }],
    ["that are listed", { ids: scattered }],
  ] as const) {
    it(`orders() requests 800 orders ${title} at once`, async () => {
      const sizes: number[] = [];
      await outlineOf(sized(sizes), { ...options, concurrency: 1 });
      expect(sizes).to.deep.equal([800, 400]);
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
        alone.map((id) => [id, 5]),
      );
    });
  }

  it("orders() does not read an order's text into the order behind it", async () => {
    const longer = (id: bigint): ContractAnswer => {
      const { data } = order(id);
      const size = toBeHex(id === 2n ? 64 : 8, 32).slice(2);
      return {
        reverted: false,
        data: `${data.slice(0, 2 + 13 * 64)}${size}${data.slice(2 + 14 * 64)}`,
      };
    };
    const four = { firstId: 1, lastId: 4 };
    expect(await outlineOf(nodeOf(longer), four)).to.deep.equal([
      ...present(1),
      "2 VAULT_RETURN_DATA_MALFORMED",
      ...present(3, 4),
    ]);
    const [, cut] = await Array.fromAsync(scan(nodeOf(longer), four));
    expect(cut).to.have.nested.property(
      "error.details.problem",
      "not the canonical encoding",
    );
  });

  const tooLong = "0201".padEnd(64, "0");
  const usedUp = "0301".padEnd(64, "0");
  const unknown = {
    answer: () => ({ reverted: true, data: "0x" }),
    shown: "VAULT_CALL_REVERTED no reason given",
  };
  const malformed = {
    answer: () => ({ reverted: false, data: "0x1234" }),
    shown: "VAULT_RETURN_DATA_MALFORMED",
  };
  const even = range(1, 20).map((id) => 2 * id);
  for (const [title, ids, missing, { answer, shown }, answered] of [
    ["a run that begins with an unknown id", range(1, 20), [1], unknown, 0],
    ["a run between two that fail", range(1, 20), [1, 20], malformed, 0],
    ["a list between two unknown ids", even, [2, 40], unknown, 0],
    [
      "a run before one that is answered, behind an unknown id",
      range(1, 30),
      [1, ...range(4, 30)],
      unknown,
      3,
    ],
  ] as const) {
    it(`orders() finds orders that used up their share in ${title}`, async () => {
      const isMissing = (id: bigint | number): boolean =>
        missing.some((one: number) => one === Number(id));
      const node = nodeOf(
        book((id) => !isMissing(id), answer),
        (entries) =>
          entries.slice(0, ENTRIES) +
          ids
            .map((id) =>
              id === answered
                ? `0101${toBeHex((ENTRY - 64) / 2, 30).slice(2)}${order(BigInt(id)).data.slice(2)}`
                : usedUp,
            )
            .join(""),
      );
      expect(await outlineOf(node, { ids })).to.deep.equal(
        ids.flatMap((id) => (isMissing(id) ? `${id} ${shown}` : present(id))),
      );
    });
  }

  it("orders() takes no row for unknown ids of whose sample with more gas one is answered", async () => {
    const node = nodeOf(order, (answer) => {
      const size = (answer.length - ENTRIES) / ENTRY;
      return (
        answer.slice(0, ENTRIES) +
        (size === 4
          ? usedUp.repeat(3) + answer.slice(-ENTRY)
          : usedUp.repeat(size))
      );
    });
    expect(await outlineOf(node, { firstId: 1, lastId: 20 })).to.deep.equal(
      present(...range(1, 20)),
    );
  });

  const limit = 10 * ENTRY;
  const limits = {
    "refuses big responses": failure("response is too big", -32008),
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
    await expectVaultError(
      outlineOf(noCode, { firstId: 1, lastId: 2 }),
      "VAULT_NO_CODE",
    );
  });

  it("orders() does not put the lens in the place of a trading contract that calls itself", async () => {
    const node = nodeOf(order);
    const options = { ids: [1, 2], from: TRADING };
    expect(await outlineOf(node, options)).to.deep.equal(present(1, 2));
    expect(singleReads(node)).to.have.length(2);
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

  it("orders() reports progress by the request, also by the half of a chunk", async () => {
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
      [5, 10, 15, 20].map((done) => ({ done, total: 20 })),
    );
  });

  for (const chunkSize of [10, 1]) {
    it(`orders() throws VAULT_NETWORK_UNREACHABLE if the node is gone, and lists no failed orders, ${chunkSize} in a request`, async () => {
      const node = nodeOf(order);
      const options = { firstId: 1, lastId: 100, chunkSize, concurrency: 1 };
      const orders = scan(node, options);
      await orders.next();
      node.request = async () =>
        await Promise.reject(failure("connect", "ECONNREFUSED"));
      const failed: unknown[] = [];
      await expectVaultError(async () => {
        for await (const listed of orders) {
          failed.push(...(isFailedOrder(listed) ? [listed] : []));
        }
      }, "VAULT_NETWORK_UNREACHABLE");
      expect(failed).to.deep.equal([]);
    });
  }

  const all = { firstId: 1, lastId: 60 };
  for (const [title, overrides, options, most, change] of [
    ["by default", true, { ...all, chunkSize: 5 }, 3],
    ["by default, each for one order", false, all, 16],
    [
      "with concurrency 2, if each order is too long for a larger request",
      true,
      { ...all, concurrency: 2 },
      2,
      (answer: string) => answer.slice(0, ENTRIES) + tooLong.repeat(60),
    ],
    [
      "with concurrency 1, if the gas of one allows 3 orders",
      true,
      { ...all, concurrency: 1 },
      1,
      (answer: string) => answer.slice(0, ENTRIES + 3 * ENTRY),
    ],
  ] as const) {
    it(`orders() has ${most} requests under way at most ${title}`, async () => {
      const node = nodeOf(upTo(60n), change);
      node.overrides = overrides;
      let [now, highest] = [0, 0];
      const answer = node.request.bind(node);
      node.request = async (asked) => {
        // A node that refuses an override is asked twice for it.
        const isCounted = overrides || asked.params?.length === 2;
        const counted = asked.method === "eth_call" && isCounted ? 1 : 0;
        now += counted;
        highest = Math.max(highest, now);
        await new Promise((resolve) => setImmediate(resolve));
        now -= counted;
        return await answer(asked);
      };
      await outlineOf(node, options);
      expect(highest).to.equal(most);
    });
  }
});
