import { expect } from "chai";

import { TimeLimit } from "../../src/settlement/time-limit.js";
import type { SignedReplacement } from "../../src/settlement/replace.js";
import type { SentTransaction } from "../../src/settlement/transaction.js";
import { endDeadlines } from "../helpers/deadlines.js";
import {
  HASH,
  OTHER_HASH as OTHER,
  sent as transaction,
} from "../helpers/settlement-stage.js";
import {
  SEND,
  cancels,
  mined,
  minedIn6,
  undecided,
  pooled,
  useWays,
} from "../helpers/ways.js";
import type { Answers } from "../helpers/ways.js";

function signedAs(kind: SentTransaction["kind"]): SignedReplacement {
  const replacing = { ...transaction, kind, raw: "0x03", hash: OTHER };
  return { kind: "signed", transaction: replacing };
}

describe("the replacement of a settlement's transaction", () => {
  const ways = useWays();
  const { itGoes, run, sends } = ways;
  const otherOnceSent: Answers[string] = (_, [hash]) =>
    hash === OTHER && sends() > 0
      ? { ...minedIn6, transactionHash: OTHER }
      : null;

  it("settle sends the cancellation that another process signed, not its own higher fee", async () => {
    const raws: unknown[] = [];
    await run({
      title: "",
      start: "find",
      plan: { timeBeforeBumpingFees: 1 },
      answers: {
        eth_getTransactionByHash: () => pooled,
        eth_getTransactionReceipt: otherOnceSent,
        [SEND]: (_, [raw]) => {
          raws.push(raw);
          return OTHER;
        },
      },
      changes: () => ({
        sign: async () => await Promise.resolve(signedAs("settlement")),
        record: async ([first, ...own]) =>
          await Promise.resolve([first, cancels, ...own] as const),
      }),
      is: {},
    });
    expect(raws).to.deep.equal(["0x04"]);
  });

  itGoes([
    {
      title: "resume sends a cancellation as soon as it is signed",
      start: "find",
      plan: { requestedReplacement: "cancel" },
      answers: {
        eth_getTransactionByHash: () => pooled,
        [SEND]: () => OTHER,
        eth_getTransactionReceipt: otherOnceSent,
      },
      changes: () => ({
        sign: async () => {
          ways.stage.asked.push("signed");
          return await Promise.resolve(signedAs("cancellation"));
        },
      }),
      is: { kind: "mined", hash: OTHER },
      sends: 1,
      then: (all) => {
        expect(all[all.indexOf("signed") + 1]).to.equal(SEND);
      },
    },
    {
      title:
        "resume sends a cancellation of the journal though the round cannot be read",
      start: "find",
      transactions: [
        transaction,
        { ...transaction, kind: "cancellation", raw: "0x03", hash: OTHER },
      ],
      answers: {
        eth_getTransactionByHash: (_, [hash]) =>
          hash === HASH ? pooled : null,
        [SEND]: () => OTHER,
        eth_getTransactionReceipt: otherOnceSent,
      },
      changes: () => ({
        limit: new TimeLimit(5_000),
        checkRound: async () => await Promise.reject(new Error("no state")),
      }),
      is: { kind: "mined", hash: OTHER },
      sends: 1,
      troubles: [],
    },
    {
      title:
        "settle warns once that the round forbids a higher fee while that does not change",
      start: "find",
      plan: { timeBeforeBumpingFees: 0 },
      answers: {
        eth_getTransactionByHash: () => pooled,
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 5 ? null : minedIn6,
      },
      changes: () => ({
        checkRound: async () =>
          await Promise.resolve({
            kind: "stopped" as const,
            status: "refused" as const,
            reason: "Changed.",
          }),
      }),
      is: mined,
      troubles: [/not replaced at a higher fee: Changed\.$/u],
    },
    {
      title:
        "resume sends no replacement that the journal does not take, since another process finished it",
      start: "find",
      plan: { requestedReplacement: "cancel" },
      answers: {
        eth_getTransactionByHash: () => pooled,
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 1 ? null : minedIn6,
      },
      changes: () => ({
        sign: async () => await Promise.resolve(signedAs("settlement")),
        record: async () => await Promise.resolve(undefined),
      }),
      is: mined,
      troubles: [
        /not cancelled: another process has finished this settlement$/u,
      ],
    },
    {
      title:
        "resume sends no replacement if the time was over when a person had signed it",
      start: "find",
      plan: { requestedReplacement: "cancel" },
      answers: { eth_getTransactionByHash: () => pooled },
      changes: () => ({
        sign: async () => {
          endDeadlines();
          return await Promise.resolve(signedAs("cancellation"));
        },
      }),
      is: undecided,
      says: /not cancelled: the node did not answer in time\.$/u,
      troubles: [/not cancelled/u],
    },
  ]);
});
