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
  const goneIds = (first: number, last: number): string[] =>
    range(first, last).map((id) => `${id} VAULT_CALL_REVERTED Gone(id: ${id})`);
  const lists: ReadonlyArray<
    readonly [title: string, answers: Answers, listed: readonly string[]]
  > = [
    ["an order behind 499 empty ids", book(among(3, 503)), present(3, 503)],
    ["no order behind 500 empty ids", book(among(3, 504)), present(3)],
    [
      "an order behind 15 ids that fail, and these as failed",
      book(among(3, 19), gone),
      [...goneIds(0, 2), ...present(3), ...goneIds(4, 18), ...present(19)],
    ],
    ["no order behind 16 ids that fail", book(among(0, 17), gone), present(0)],
    [
      "an id that fails before the first order, and none behind the last one",
      but([0], malformed, book(among(1), gone)),
      ["0 VAULT_RETURN_DATA_MALFORMED", ...present(1)],
    ],
    [
      "an id that fails between orders, however it does, and none of the last ids",
      but([5], silent, but([10], malformed, book(among(...range(0, 9)), gone))),
      [
        ...present(...range(0, 4)),
        "5 VAULT_CALL_REVERTED no reason given",
        ...present(...range(6, 9)),
      ],
    ],
    [
      "an id that fails among empty ones, if an order follows",
      but([4], gone, book(among(3, 400))),
      [...present(3), ...goneIds(4, 4), ...present(400)],
    ],
    [
      "no id that fails among the last empty ones",
      but([4], gone, book(among(3))),
      present(3),
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
