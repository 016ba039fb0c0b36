import { expect } from "chai";

import { encodeRevertData } from "../../../src/mocks/index.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { speedUpTime } from "../../helpers/deadlines.js";
import { fieldsOf } from "../../helpers/fields.js";
import {
  book,
  empty,
  failure,
  idOf,
  nodeOf,
  order,
  outlineOf,
  present,
  range,
  refusal,
  scan,
} from "../../helpers/order-book.js";
import type { ContractAnswer } from "../../helpers/scripted-contracts.js";

type Answers = (id: bigint) => ContractAnswer;

const reverts =
  (reasonOf: (id: bigint) => string): Answers =>
  (id) => ({ reverted: true, data: encodeRevertData(reasonOf(id)) });
const silent: Answers = () => ({ reverted: true, data: "0x" });
const malformed: Answers = () => ({ reverted: false, data: "0x1234" });
const among = (...ids: readonly number[]): ((id: bigint) => boolean) => {
  const known = new Set(ids);
  return (id) => known.has(Number(id));
};
/** Another answer for some ids. */
const but =
  (ids: readonly number[], answer: Answers, others: Answers): Answers =>
  (id) =>
    among(...ids)(id) ? answer(id) : others(id);

describe("client - the end of orders() without a last id", () => {
  speedUpTime();

  const gone = refusal("Gone");
  const lists: ReadonlyArray<
    readonly [title: string, answers: Answers, listed: readonly string[]]
  > = [
    ["an order behind 499 empty ids", book(among(3, 503)), present(3, 503)],
    ["no order behind 500 empty ids", book(among(3, 504)), present(3)],
    [
      "an order behind 15 ids that fail",
      book(among(3, 19), gone),
      present(3, 19),
    ],
    ["no order behind 16 ids that fail", book(among(3, 20), gone), present(3)],
    [
      "no id between orders that reverts as one far behind the end does",
      book(
        among(...range(2, 30), 40),
        reverts((id) => `order ${id} of 110`),
      ),
      present(...range(2, 30), 40),
    ],
    [
      "an id between orders that reverts otherwise than one far behind the end",
      but(
        [5],
        reverts(() => "frozen"),
        book(among(...range(0, 9)), gone),
      ),
      [
        ...present(...range(0, 4)),
        "5 VAULT_CALL_REVERTED frozen",
        ...present(...range(6, 9)),
      ],
    ],
    [
      "an id between orders that reverts without a reason, and none behind the end",
      but([5], silent, book(among(...range(0, 9)), silent)),
      [
        ...present(...range(0, 4)),
        "5 VAULT_CALL_REVERTED no reason given",
        ...present(...range(6, 9)),
      ],
    ],
    [
      "the last order if it fails otherwise than the ids behind it",
      but([9], malformed, book(among(...range(0, 8)), gone)),
      [...present(...range(0, 8)), "9 VAULT_RETURN_DATA_MALFORMED"],
    ],
    [
      "the first order if it fails otherwise than the ids behind it",
      but([0], malformed, book(among(1), gone)),
      ["0 VAULT_RETURN_DATA_MALFORMED", ...present(1)],
    ],
    [
      "orders behind 16 that fail otherwise than an id far behind the end, and these as failed",
      but(
        range(40, 55),
        reverts(() => "MarketPaused"),
        book(among(...range(0, 99)), gone),
      ),
      [
        ...present(...range(0, 39)),
        ...range(40, 55).map((id) => `${id} VAULT_CALL_REVERTED MarketPaused`),
        ...present(...range(56, 99)),
      ],
    ],
    [
      "500 ids as failed if one far behind them fails otherwise, and nothing behind",
      (id) =>
        id < 10n || id === 510n
          ? order(id)
          : reverts(() => (id < 2n ** 30n ? "unknown" : "out of range"))(id),
      [
        ...present(...range(0, 9)),
        ...range(10, 509).map((id) => `${id} VAULT_CALL_REVERTED unknown`),
      ],
    ],
    [
      "in their order an id that reverts without a reason, one that fails otherwise, and the order behind these",
      but(
        [1],
        reverts(() => "paused"),
        book(among(2), silent),
      ),
      [
        "0 VAULT_CALL_REVERTED no reason given",
        "1 VAULT_CALL_REVERTED paused",
        ...present(2),
      ],
    ],
    ["nothing if every id is empty", empty, []],
  ];
  for (const [title, answers, listed] of lists) {
    for (const chunkSize of [700, 7, 1]) {
      it(`orders() lists ${title}, ${chunkSize === 1 ? "an id" : `${chunkSize} ids`} in a request`, async () => {
        const node = nodeOf(answers);
        // Then a chunk has as many ids as otherwise, each read by itself.
        node.overrides = chunkSize > 1;
        const found = await outlineOf(
          node,
          chunkSize > 1 ? { chunkSize } : undefined,
        );
        expect(found).to.deep.equal(listed);
      });
    }
  }

  it("orders() lists nothing behind the only order, from its id 2 ** 31 on, if the other ids revert without a reason", async () => {
    const firstId = 2n ** 31n;
    const node = nodeOf(book((id) => id === firstId, silent));
    const listed = await outlineOf(node, { firstId });
    expect(listed).to.deep.equal(present(firstId));
  });

  it("orders() throws what the node says if it refuses the id far behind the end, which shows what failed ids are", async () => {
    const node = nodeOf(
      but(
        [5],
        reverts(() => "Gone"),
        book(among(...range(0, 30))),
      ),
    );
    node.on("eth_call", async ([call], answer) => {
      const { data } = fieldsOf(call);
      if (String(data).length < 200 && idOf(data) > 2n ** 30n) {
        throw failure("no such slot", -32_000);
      }
      return await answer();
    });
    await expectVaultError(outlineOf(node), "VAULT_RPC_ERROR");
  });

  it("orders() throws what the node says if it refuses sixteen orders in a row, and does not take that for the end", async () => {
    const node = nodeOf(book(among(...range(0, 30))));
    node.overrides = false;
    node.on("eth_call", async ([call], answer) => {
      if (idOf(fieldsOf(call)["data"]) > 4n) {
        throw failure("this state is too expensive", -32_000);
      }
      return await answer();
    });
    const listed: bigint[] = [];
    await expectVaultError(async () => {
      for await (const { orderID } of scan(node)) {
        listed.push(orderID);
      }
    }, "VAULT_RPC_ERROR");
    expect(listed).to.deep.equal([0n, 1n, 2n, 3n, 4n]);
  });

  for (const [title, answers, code, reason] of [
    [
      "reverts",
      reverts((id) => `paused for ${id}`),
      "VAULT_CALL_REVERTED",
      "paused for 0",
    ],
    ["reverts without a reason", silent, "VAULT_CALL_REVERTED", "no reason"],
    ["is no order", malformed, "VAULT_RETURN_DATA_MALFORMED", ""],
  ] as const) {
    it(`orders() throws the first error if every id ${title}`, async () => {
      const error = await expectVaultError(outlineOf(nodeOf(answers)), code);
      expect(String(error.details["reason"] ?? "")).to.include(reason);
    });
  }
});
