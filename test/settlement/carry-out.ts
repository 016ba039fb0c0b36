import { expect } from "chai";
import { toQuantity } from "ethers";

import type { Means } from "../../src/settlement/carry-out.js";
import type { Stopped } from "../../src/settlement-call/outcome.js";
import { TimeLimit } from "../../src/settlement/time-limit.js";
import { endDeadlines } from "../helpers/deadlines.js";
import {
  HASH,
  OTHER_HASH as OTHER,
  sent as signed,
} from "../helpers/settlement-stage.js";
import {
  ASK,
  SEND,
  cancels,
  mined,
  minedIn6,
  never,
  undecided,
  pooled,
  readOpen,
  rival,
  soon,
  unsigned,
  usedBy,
  useWays,
} from "../helpers/ways.js";
import type { Answers, Way } from "../helpers/ways.js";

describe("the way of a settlement's transaction", () => {
  const ways = useWays();
  const { itGoes, run, sends } = ways;

  const minedOnceSent = (times: number) => (): unknown =>
    sends() >= times ? minedIn6 : null;
  /** No receipt; and the time is over when it was sent so often. */
  const overOnceSent = (times: number) => (): null => {
    if (sends() >= times) {
      endDeadlines();
    }
    return null;
  };
  const answeringWith = (words: string): Answers => ({
    [SEND]: () => {
      throw Object.assign(new Error(words), { code: -32000 });
    },
  });
  const NO_FUNDS = "insufficient funds for gas * price + value";
  /** Something with its nonce waits. */
  const nonceWaits: Answers = {
    eth_getTransactionCount: (_, [, tag]) =>
      tag === "pending" ? "0x8" : "0x7",
  };

  itGoes([
    {
      title: "settle keeps the hash of what it sent if its own code fails",
      start: "send",
      changes: () => ({
        emit: ({ type }) => {
          if (type === "mined") {
            throw new Error("a bug");
          }
        },
      }),
      answers: { eth_getTransactionReceipt: () => minedIn6 },
      is: undecided,
      says: /a bug/u,
      sends: 1,
    },
    ...(["send", "find"] as const).map((start): Way => ({
      title: `settle looks at once, however long its polling interval (first: ${start})`,
      start,
      answers: { eth_getTransactionReceipt: () => minedIn6 },
      changes: () => ({
        limit: new TimeLimit(5_000),
        pollingIntervalMs: 60_000,
      }),
      is: mined,
      sends: start === "send" ? 1 : 0,
    })),
    {
      title: "settle warns once while its looks have no answer",
      start: "find",
      answers: {
        eth_getTransactionReceipt: (occurrence) => {
          if (occurrence < 3) {
            throw new Error("cut");
          }
          return minedIn6;
        },
      },
      is: mined,
      troubles: [/cut/u],
    },
    {
      title: "settle sends again what the node does not have",
      start: "send",
      answers: { eth_getTransactionReceipt: minedOnceSent(2) },
      is: mined,
      sends: 2,
      troubles: [],
    },
    ...[
      async () => await never,
      async () => {
        endDeadlines();
        return await readOpen();
      },
    ].map((checkRound, index): Way => ({
      title: `settle sends nothing if the round has ${["no answer in time", "its answer when the time is over"][index]}`,
      start: "send",
      changes: () => ({ ...soon(), checkRound }),
      is: { kind: "stopped", status: "refused", code: "VAULT_RPC_TIMEOUT" },
      // The last look has no answer in time either.
      troubles: Array.from(
        { length: 2 - index },
        () => /^the node did not answer in time$/u,
      ),
    })),
    {
      title:
        "settle warns once, and reads the round again until it has an answer, before it sends",
      start: "send",
      answers: { eth_getTransactionReceipt: minedOnceSent(1) },
      changes: () => {
        let reads = 0;
        return {
          checkRound: async () => {
            reads += 1;
            return await (reads < 4
              ? Promise.reject(new Error("There is no state."))
              : readOpen());
          },
        };
      },
      is: mined,
      sends: 1,
      troubles: [/There is no state/u],
    },
    {
      title:
        "settle reads the round as the last request before each send, a bump included",
      start: "send",
      plan: { timeBeforeBumpingFees: 1 },
      answers: {
        eth_getTransactionReceipt: (_, [hash]) =>
          sends() >= 3 ? { ...minedIn6, transactionHash: hash } : null,
        eth_getTransactionByHash: () => (sends() > 1 ? pooled : null),
      },
      changes: () => ({
        checkRound: async () => {
          ways.stage.asked.push("round");
          return await readOpen();
        },
        sign: async () => {
          ways.stage.asked.push("signed");
          return await Promise.resolve({
            kind: sends() === 2 ? ("signed" as const) : ("forbidden" as const),
            problem: "not yet",
            transaction: { ...signed, raw: "0x03", hash: OTHER },
          });
        },
      }),
      is: { kind: "mined" },
      sends: 3,
      troubles: [/not yet/u],
      then: (all) => {
        const before = all.flatMap((method, index) =>
          method === SEND ? [all[index - 1]] : [],
        );
        expect(before).to.deep.equal(["round", "round", "round"]);
        expect(all).to.include("signed");
      },
    },
    ...[
      "upstream request cancelled by timeout",
      "request denied by rate limiter",
      "execution reverted",
      NO_FUNDS,
    ].map((words): Way => ({
      title: `settle waits for the block if a gateway passes its transaction on, answers "${words}", and then asks a node that does not see it`,
      start: "send",
      answers: {
        ...answeringWith(words),
        // Neither the first looks nor what is sent again finds it.
        eth_getTransactionReceipt: (occurrence) =>
          occurrence < 9 ? null : minedIn6,
      },
      is: mined,
      sends: 5,
    })),
    ...(["send", "find"] as const).map((start): Way => ({
      title: `settle is refused, in the node's words, if five sends are answered with an error and five looks after that find nothing (first: ${start})`,
      start,
      answers: answeringWith(NO_FUNDS),
      is: {
        kind: "dropped",
        hash: HASH,
        status: "refused",
        code: "VAULT_RPC_ERROR",
      },
      says: /does not have the transaction, .*: insufficient funds for gas/u,
      sends: 5,
      then: (all) => {
        const looks = all.slice(all.lastIndexOf(SEND));
        expect(
          looks.filter((method) => method === "eth_getTransactionReceipt"),
        ).to.have.length(5);
      },
    })),
    {
      title:
        "settle stays unconfirmed if a transaction with its nonce waits, whatever the node answered",
      start: "send",
      answers: { ...answeringWith("call rejected by upstream"), ...nonceWaits },
      changes: soon,
      is: undecided,
      sends: 1,
    },
    {
      title:
        "settle warns once, and sends again, if the node drops a transaction that waited",
      start: "find",
      answers: {
        eth_getTransactionByHash: (occurrence) =>
          occurrence === 0 ? pooled : null,
        eth_getTransactionReceipt: minedOnceSent(2),
      },
      is: mined,
      sends: 2,
      troubles: [/^the node dropped the transaction$/u],
    },
    {
      title:
        "settle begins to count errors again after a send without an answer",
      start: "send",
      answers: {
        eth_getTransactionReceipt: () => overOnceSent(9)(),
        [SEND]: (occurrence) => {
          throw Object.assign(
            new Error("nope"),
            occurrence === 4 ? { code: "ECONNRESET" } : { code: -32000 },
          );
        },
      },
      is: undecided,
      sends: 9,
    },
    ...[11, 12].map((depth): Way => {
      const kind = depth === 11 ? "mined" : "dropped";
      let isReorged = false;
      return {
        title: `settle with 12 confirmations is ${kind} if the transaction that used its nonce was in ${depth} blocks when a re-org mined this one`,
        start: "find",
        answers: {
          ...usedBy(rival),
          eth_blockNumber: () => toQuantity(isReorged ? 32 : 5 + depth),
          eth_getTransactionReceipt: (occurrence) => {
            isReorged = occurrence > 2;
            return isReorged ? minedIn6 : null;
          },
        },
        plan: { confirmations: 12 },
        is: { kind, hash: HASH },
      };
    }),
    {
      title:
        "settle is unconfirmed, and names the transaction, if another one used its nonce",
      start: "find",
      answers: usedBy(rival),
      is: { kind: "dropped", status: "unconfirmed", hash: HASH },
      says: new RegExp(
        `^It was replaced: transaction ${OTHER} .* nonce 7`,
        "u",
      ),
    },
    {
      title:
        "settle is unconfirmed for good if no transaction of any block used its nonce",
      start: "find",
      answers: usedBy(),
      is: { kind: "dropped", status: "unconfirmed", hash: HASH },
      says: /^It was replaced: no transaction of \S+ has its nonce 7, which is used/u,
    },
    {
      title:
        "settle follows its settlement under the new hash if a wallet sped it up",
      start: "find",
      answers: {
        ...usedBy({ ...pooled, hash: OTHER }),
        eth_getTransactionReceipt: (_, [hash]) =>
          hash === OTHER ? { ...minedIn6, transactionHash: OTHER } : null,
      },
      // The journal keeps the hash of the signed bytes.
      changes: () => ({
        record: async () => await Promise.reject(new Error("written")),
      }),
      is: { kind: "mined", hash: OTHER },
      troubles: [new RegExp(`replaced by ${OTHER}`, "u")],
      then: (_, all) => {
        expect(all.at(-2)).to.deep.equal({ type: "hash", hash: OTHER });
      },
    },
    {
      title:
        "settle names account and nonce if the time is over without a hash",
      start: "send",
      answers: { [ASK]: () => null },
      changes: soon,
      followed: unsigned,
      is: { kind: "undecided", status: "unconfirmed" },
      says: /^The time is over for the transaction of 0x\S+ with nonce 7: the node does not have it, and sending it failed: /u,
      sends: "any",
    },
    {
      title:
        "settle is unconfirmed in time if the node or the wallet that signs does not answer",
      start: "send",
      answers: { [ASK]: async () => await never },
      changes: soon,
      followed: unsigned,
      is: { kind: "undecided", status: "unconfirmed" },
      says: /with nonce 7/u,
      sends: 1,
      troubles: [/no answer in time/u, /^the node did not answer in time$/u],
    },
  ]);

  describe("if the node does not have it and the round forbids another send", () => {
    const over: Stopped = {
      kind: "stopped",
      status: "nothing-to-do",
      reason: "The round is settled.",
      code: "VAULT_WRONG_CHAIN",
    };
    const forbid = (): Partial<Means> => ({
      checkRound: async () => await Promise.resolve(over),
    });
    /** It is mined two looks after the round was checked. */
    const minedLater = (
      answers: Answers,
      obstacleAt: (block?: number) => Stopped | undefined,
    ): Pick<Way, "answers" | "changes"> => {
      let isChecked = false;
      let looks = 0;
      return {
        answers: {
          eth_getTransactionReceipt: () => {
            looks += isChecked ? 1 : 0;
            return looks > 1 ? minedIn6 : null;
          },
          ...answers,
        },
        changes: () => ({
          checkRound: async (block) => {
            isChecked = true;
            return await Promise.resolve(obstacleAt(block));
          },
        }),
      };
    };

    itGoes([
      {
        title: "settle ends with the reason if this process sent nothing",
        start: "find",
        changes: forbid,
        is: {
          kind: "dropped",
          hash: HASH,
          status: "nothing-to-do",
          code: "VAULT_WRONG_CHAIN",
        },
        says: /^The round is settled\. .* is not sent again\. .* nonce 7, takes its place\.$/u,
      },
      {
        title: "settle stays undecided if this process sent it",
        start: "send",
        changes: () => ({
          checkRound: async () =>
            await Promise.resolve(sends() === 0 ? undefined : over),
        }),
        is: undecided,
        says: /^The round .* it is not sent again\.$/u,
        sends: 1,
      },
      {
        title:
          "resume is mined if the node has the transaction only once the round, which it settled, was read",
        start: "find",
        answers: {
          eth_getTransactionReceipt: () =>
            ways.stage.asked.includes("eth_blockNumber") ? minedIn6 : null,
        },
        changes: forbid,
        is: mined,
      },
      {
        title:
          "settle goes on if its nonce is used at the block of the obstacle",
        start: "find",
        ...minedLater(
          {
            eth_getTransactionCount: (_, [, tag]) =>
              String(tag).startsWith("0x") ? "0x8" : "0x7",
          },
          () => over,
        ),
        is: mined,
      },
      {
        title: "settle goes on if that block has no obstacle",
        start: "find",
        ...minedLater({}, (block) => (block === undefined ? over : undefined)),
        is: mined,
      },
    ]);
  });

  it("resume sends the cancellation that another process wrote to the journal meanwhile", async () => {
    const raws: unknown[] = [];
    await run({
      title: "",
      start: "find",
      answers: {
        [SEND]: (_, [raw]) => {
          raws.push(raw);
          endDeadlines();
          return OTHER;
        },
      },
      changes: () => ({
        record: async (known) =>
          await Promise.resolve([...known, cancels] as const),
      }),
      is: {},
    });
    expect(raws).to.deep.equal(["0x04"]);
  });

  it("resume sends nothing if another process has finished the journal meanwhile", async () => {
    const end = await run({
      title: "",
      start: "find",
      changes: () => ({
        record: async () => await Promise.resolve(undefined),
      }),
      is: {},
    });
    expect(end).to.include({ kind: "undecided", status: "unconfirmed" });
    expect(ways.sends()).to.equal(0);
  });
});
