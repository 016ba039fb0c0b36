import { expect } from "chai";

import { endDeadlines } from "../helpers/deadlines.js";
import { HASH, OTHER_HASH } from "../helpers/settlement-stage.js";
import { ASK, soon, undecided, unsigned, useWays } from "../helpers/ways.js";

describe("a settlement's transaction that the node signs", () => {
  const ways = useWays();
  const { itGoes } = ways;

  itGoes([
    {
      title:
        "resume gives a transaction up after six checks without it, and sends nothing",
      start: "find",
      followed: { ...unsigned, hash: HASH },
      is: {
        kind: "dropped",
        hash: HASH,
        status: "refused",
        code: "VAULT_SETTLEMENT_LOST",
      },
      says: /nonce 7/u,
    },
    {
      title:
        "resume keeps a transaction undecided while something with its nonce waits",
      start: "find",
      answers: {
        eth_getTransactionCount: (occurrence, [, tag]) => {
          if (occurrence > 20) {
            endDeadlines();
          }
          return tag === "pending" ? "0x8" : "0x7";
        },
        eth_getBlockByNumber: () => ({ transactions: [] }),
      },
      followed: unsigned,
      is: { kind: "undecided", status: "unconfirmed" },
    },
    {
      title: "settle asks once for what was taken, and notes its hash",
      start: "send",
      answers: { [ASK]: () => HASH },
      changes: () => ({
        ...soon(),
        record: async (transactions) => {
          const { hash = OTHER_HASH } = transactions[0];
          ways.stage.events.push({ type: "hash", hash });
          return await Promise.resolve(transactions);
        },
      }),
      followed: unsigned,
      is: undecided,
      sends: 1,
      then: (_, all) => {
        expect(all).to.deep.equal([
          { type: "sending", hash: null, nonce: 7 },
          { type: "hash", hash: HASH },
          // By the journal.
          { type: "hash", hash: HASH },
        ]);
      },
    },
    {
      title:
        "settle asks once, and stays undecided, if the answer was lost and nothing came",
      start: "send",
      answers: {
        [ASK]: () => null,
        eth_getTransactionCount: (occurrence) => {
          if (occurrence > 20) {
            endDeadlines();
          }
          return "0x7";
        },
      },
      followed: unsigned,
      is: { kind: "undecided", status: "unconfirmed" },
      says: /the node does not have it, and sending it failed/u,
      sends: 1,
    },
    {
      title: "settle asks once, and is refused, if a wallet says no",
      start: "send",
      answers: {
        [ASK]: () => {
          throw Object.assign(new Error("User rejected the request."), {
            code: 4001,
          });
        },
      },
      followed: unsigned,
      is: { kind: "dropped", status: "refused", mayStillArrive: true },
      says: /User rejected the request/u,
      sends: 1,
    },
  ]);
});
