import fs, { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { mock } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";

import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import { endDeadlines, useWallClock } from "../helpers/deadlines.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import {
  entry,
  itSettles,
  journalSubject,
  remote,
  unlimited,
  useKeeper,
} from "../helpers/keeper.js";
import { HASH, OTHER_HASH } from "../helpers/names.js";
import type { Keeper } from "../helpers/keeper.js";
import {
  KEY,
  OPEN_ROUND,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import type { Settlement } from "../../src/types.js";
import { itSettlesAsEverywhere, notSent } from "../helpers/settlement-cases.js";

const SEND = "eth_sendRawTransaction";
const RECEIPT = "eth_getTransactionReceipt";
const resume = { resume: true } as const;

/** Time of the next block; the newest one is a second older. */
const NOW = 1_700_000_006n;
const notEnded = (endTime: bigint): string =>
  `The round has not ended yet: it ends at ${new Date(Number(endTime) * 1_000).toISOString().replace(".000", "")}.`;
const interrupted = async (keeper: Keeper): Promise<void> => {
  await keeper.interrupt();
};

describe("settleAll", () => {
  const keeper = useKeeper();

  for (const overrides of [true, false]) {
    describe(`on a scripted node with state overrides: ${overrides}`, () => {
      beforeEach(() => {
        keeper.chain.overrides = overrides;
      });

      itSettlesAsEverywhere(() => keeper);
    });
  }

  itSettles(keeper, [
    {
      title: "has no code for a step of several that it resumes",
      given: async (on) => {
        on.chain.effect = (round) => round;
        await on.interrupt({}, { partial: true });
        on.chain.effect = (round) => round;
      },
      options: resume,
      is: { status: "not-settled", code: null },
    },
    {
      title: "refuses another chain than the configured one: VAULT_WRONG_CHAIN",
      network: { chainId: 1 },
      is: { status: "refused", code: "VAULT_WRONG_CHAIN", before: null },
      says: ["31337", "1"],
    },
    {
      title: "reads the outcome also if its time is over",
      given: (on) => {
        on.endAtLook(1);
        on.chain.on(SEND, async (_, answer) => {
          on.chain.on("eth_call", async (_call, answerCall) => {
            await nextTick();
            return await answerCall();
          });
          return await answer();
        });
      },
      is: "settled",
      events: "preflight sending mined",
    },
    {
      title: "lists what was previewed and did not come",
      given: (on) => {
        on.beforeSending(async () => {
          on.chain.effect = (round) => ({
            ...settledRound(round),
            settledPrice: 9n,
            APY: 9n,
          });
          await Promise.resolve();
        });
      },
      is: {
        status: "settled",
        differences: [
          {
            reading: "round",
            field: "settledPrice",
            previewed: OPEN_ROUND.strikePrice + 1n,
            happened: 9n,
          },
        ],
      },
    },
  ]);

  it("looks on while the node has another block in the place of the receipt's", async () => {
    let isReorged = false;
    keeper.chain.on(RECEIPT, async (_, answer, seen) => {
      isReorged = seen < 3;
      return await answer();
    });
    keeper.chain.on("eth_getBlockByNumber", async ([tag], answer) => ({
      ...fieldsOf(await answer()),
      ...(isReorged && tag === "0x6" && { hash: OTHER_HASH }),
    }));
    expect(await keeper.settle()).to.include({ status: "settled" });
    expect(keeper.chain.count(RECEIPT)).to.equal(4);
    expect(keeper.types).to.equal("preflight sending mined");
  });

  it("does not say that it was mined if the block that a receipt promised never comes", async () => {
    keeper.stopMining();
    keeper.chain.on(RECEIPT, async ([hash], answer, seen) => {
      if (seen > 0) {
        endDeadlines();
        return await answer();
      }
      return {
        ...{ transactionHash: hash, blockNumber: "0x63", status: "0x1" },
        ...{ blockHash: OTHER_HASH, gasUsed: "0x1" },
      };
    });
    const { status, blockNumber, gasUsed, reason } = await keeper.settle();
    expect({ status, blockNumber, gasUsed }).to.deep.equal({
      ...{ status: "unconfirmed", blockNumber: null, gasUsed: null },
    });
    expect(reason).not.to.include("was mined");
    expect(existsSync(keeper.journalFile())).to.equal(true);
  });

  it("names the settlement of another process that was sent meanwhile, not only that its transaction is pending: VAULT_SETTLEMENT_UNFINISHED", async () => {
    const settlement = await keeper.settle({
      confirm: async () => {
        await keeper.writeJournal({ version: 1, ...journalSubject, ...entry });
        keeper.chain.on("eth_getTransactionCount", ([, at]) =>
          at === "pending" ? "0x1" : "0x0",
        );
        return true;
      },
    });
    expect(settlement).to.include({
      ...{ code: "VAULT_SETTLEMENT_UNFINISHED", hash: HASH },
    });
    expect(keeper.sends).to.equal(0);
  });

  describe("while another process has resumed it", () => {
    /** Between the journal and the first send. */
    const afterResume = (act: () => void): void => {
      let isResumed = false;
      keeper.chain.on("eth_call", async (_, answer) => {
        if (!isResumed && existsSync(keeper.journalFile())) {
          isResumed = true;
          const journal = await keeper.journal();
          await keeper.writeJournal({ ...journal, resumed: true });
          act();
        }
        return await answer();
      });
    };
    const expectOpen = (
      { status, hash, reason }: Settlement,
      why: RegExp,
    ): void => {
      expect({ status }).to.deep.equal({ status: "unconfirmed" });
      expect(reason).to.match(why).and.include("This process sent nothing");
      expect(reason).to.include("another process goes on");
      expect(hash).to.match(/^0x/u);
      expect(keeper.sends).to.equal(0);
      expect(existsSync(keeper.journalFile())).to.equal(true);
    };

    it("does not say that nothing was sent if the journal cannot be written", async () => {
      let restore = (): void => undefined;
      afterResume(() => {
        const { mock: full } = mock.method(
          fs.promises,
          "writeFile",
          async () =>
            await Promise.reject(new Error("ENOSPC: no space left on device")),
        );
        restore = () => {
          full.restore();
          syncBuiltinESMExports();
        };
        syncBuiltinESMExports();
      });
      expectOpen(
        await keeper.settle().finally(() => {
          restore();
        }),
        /ENOSPC/u,
      );
    });

    it("does not say that nothing was sent if the round cannot be read in time", async () => {
      afterResume(endDeadlines);
      expectOpen(await keeper.settle(), /in time/u);
    });
  });

  it("stays unfinished, and waits no longer, if the client's signal is aborted", async () => {
    const stop = new AbortController();
    keeper.chain.mines = false;
    keeper.chain.on(RECEIPT, () => {
      stop.abort(new Error("enough"));
      return null;
    });
    const host = keeper.host().withOptions({ signal: stop.signal });
    const hour = 3_600_000;
    const { settlement } = await keeper.end({ timeout: hour }, host);
    const { hash } = keeper.chain.pool[0] ?? {};
    expect(settlement).to.include({ status: "unconfirmed", hash });
    expect(await keeper.journal()).to.include({ sentAfterBlock: 5 });
  });

  it("keeps its hash if it fails after sending", async () => {
    const host = keeper.host();
    const withOptions = host.withOptions.bind(host);
    host.withOptions = (given) => {
      if (given.timeout !== undefined && keeper.sends > 0) {
        endDeadlines();
        throw new Error("a bug");
      }
      return withOptions(given);
    };
    const { settlement, isFinal, block } = await keeper.end({}, host);
    expect(isFinal).to.equal(false);
    expect(keeper.chain.count(RECEIPT)).to.equal(1);
    expect(block).to.include({ number: 5 });
    expect(settlement.preview).to.include({ status: "settled" });
    expect(await keeper.journal()).to.include({ sentAfterBlock: 5 });
    expect(settlement).to.deep.include({
      ...{ ...notSent, status: "unconfirmed", code: null },
      ...{ reason: "Error: a bug", before: OPEN_ROUND },
      hash: keeper.chain.mined[0]?.hash,
    });
  });
});

describe("settleAll with ifExpired", () => {
  const keeper = useKeeper();
  const clock = useWallClock();
  beforeEach(() => {
    // A little ahead of the chain.
    clock.stoppedAt = (Number(NOW) + 30) * 1_000;
    keeper.chain.rounds = keeper.chain.rounds.map((round) => ({
      ...{ ...round, endTime: NOW },
    }));
  });
  const ifExpired = { ifExpired: true } as const;

  itSettles(keeper, [
    {
      title: "settles at the round's end",
      options: ifExpired,
      is: "settled",
    },
    {
      title:
        "sends nothing if the chain goes back before the end while it asks",
      options: ({ chain }) => ({
        ...ifExpired,
        confirm: async () => {
          chain.rounds.pop();
          return await Promise.resolve(true);
        },
      }),
      is: { status: "nothing-to-do", reason: notEnded(NOW) },
      events: "preflight",
      then: () => {
        expect(existsSync(keeper.journalFile())).to.equal(false);
      },
    },
    {
      title:
        "sends nothing before the newest block is of the round's end, though the next block and this machine are past it",
      given: ({ chain }) => {
        const endTime = NOW + 1n;
        chain.rounds = chain.rounds.map((round) => ({ ...round, endTime }));
        clock.stoppedAt = (Number(NOW) + 100) * 1_000;
      },
      network: { vault: { maxHeadAge: 300 } },
      options: ifExpired,
      is: { status: "nothing-to-do", reason: notEnded(NOW + 1n) },
      events: "",
    },
    ...[ifExpired, { assertOnly: true, ifExpired: true }].map((options) => ({
      title: `${"assertOnly" in options ? "and assertOnly " : ""}refuses if a node that is 4,000 s behind has a round that has not ended: VAULT_STALE_HEAD`,
      given: ({ chain }: typeof keeper) => {
        const endTime = NOW + 1n;
        chain.rounds = chain.rounds.map((round) => ({ ...round, endTime }));
        clock.stoppedAt = (Number(NOW) + 4_000) * 1_000;
      },
      network: { vault: { maxHeadAge: 300 } },
      options,
      is: "refused VAULT_STALE_HEAD" as const,
      events: "",
    })),
    {
      title:
        "and assertOnly refuses a settled round of a node that is behind: VAULT_STALE_HEAD",
      given: ({ chain }) => {
        chain.rounds = chain.rounds.map(settledRound);
        clock.stoppedAt = (Number(NOW) + 4_000) * 1_000;
      },
      network: { vault: { maxHeadAge: 300 } },
      options: { assertOnly: true },
      is: "refused VAULT_STALE_HEAD",
      events: "",
    },
  ]);
});

describe("settleAll with resume", () => {
  const keeper = useKeeper();

  itSettles(keeper, [
    {
      title:
        "is needed first, and names the transaction: VAULT_SETTLEMENT_UNFINISHED",
      given: interrupted,
      is: "refused VAULT_SETTLEMENT_UNFINISHED",
      says: ["transaction 0x"],
      events: "",
    },
    {
      title: "sends the signed bytes, whoever signs by now",
      given: interrupted,
      network: remote,
      options: resume,
      is: { status: "settled", preview: null },
      events: "resuming sending mined",
      then: async ({ chain }) => {
        const sent = chain.asked.find(({ method }) => method === SEND);
        const { transactions } = await keeper.journal(".finished");
        expect(fieldsOf(listOf(transactions)[0])["raw"]).to.equal(
          sent?.params[0],
        );
      },
    },
    {
      title:
        "sends nothing if the next round is current, which the next settlement settles: VAULT_ROUND_CHANGED",
      given: async (on) => {
        await on.interrupt();
        on.openNextRound();
      },
      options: resume,
      is: "refused VAULT_ROUND_CHANGED",
      events: "resuming",
      then: async ({ chain }) => {
        const again = await keeper.settle(resume);
        const code = "VAULT_ROUND_CHANGED";
        expect(again).to.include({ status: "refused", code });
        expect(again.reason).to.match(
          /^An earlier run finished the settlement of .*: refused\. .*it is not sent again/u,
        );
        expect((await keeper.settle()).status).to.equal("settled");
        expect(chain.mined.at(-1)).to.include({ nonce: 0 });
      },
    },
  ]);

  it("sends nothing if another process finishes the settlement as it takes it over", async () => {
    await keeper.interrupt();
    const finishesAtKey = async (): Promise<string> => {
      await rename(keeper.journalFile(), keeper.journalFile(".finished"));
      return KEY;
    };
    const accounts = [{ get: finishesAtKey, getHexString: finishesAtKey }];
    const taken = await keeper.settle({ ...resume, bump: true }, { accounts });
    expect(taken).to.include({ status: "nothing-to-do" });
    expect(keeper.sends).to.equal(0);
  });

  /** On a node that lost the block: the journal has all that is known. */
  const finished = async (on: Keeper): Promise<void> => {
    await on.settle();
    on.chain = new ScriptedNode();
  };
  itSettles(keeper, [
    {
      title: "after the end names its outcome and its block",
      given: async (on) => {
        await finished(on);
        on.chain.mine(settledRound);
      },
      options: resume,
      is: {
        status: "nothing-to-do",
        code: null,
        after: null,
        blockNumber: 6,
      },
      says: ["An earlier run finished", ": settled in block 6."],
      events: "",
      then: ({ chain }) => {
        const methods = chain.asked.map(({ method }) => method).join();
        expect(methods).to.not.include("Transaction");
      },
    },
  ]);

  for (const [what, end, is] of [
    [
      "reverted",
      { status: "reverted", code: "VAULT_CALL_REVERTED" },
      { status: "reverted", code: "VAULT_CALL_REVERTED" },
    ],
    [
      "settled with tokens left in the guard",
      { status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
      { status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
    ],
    [
      "another round in the place of its own",
      { status: "not-settled", code: "VAULT_ROUND_CHANGED" },
      { status: "not-settled", code: "VAULT_ROUND_CHANGED" },
    ],
    [
      "no state of its block",
      { status: "unconfirmed", code: "VAULT_ARCHIVE_NODE_NEEDED" },
      { status: "unconfirmed", code: "VAULT_ARCHIVE_NODE_NEEDED" },
    ],
    [
      "reverted, by an older journal without a code",
      { status: "reverted" },
      { status: "reverted", code: null },
    ],
    [
      "cancelled",
      { status: "cancelled" },
      { status: "nothing-to-do", code: null },
    ],
  ] as const) {
    it(`says what another run found: ${what}`, async () => {
      await keeper.writeJournal(
        {
          version: 1,
          ...journalSubject,
          ...entry,
          // Of another of its transactions than the newest.
          end: { ...end, mined: { blockNumber: 6, hash: OTHER_HASH } },
        },
        ".finished",
      );
      const settlement = await keeper.settle(resume);
      expect(settlement).to.deep.include({
        ...{ ...is, hash: OTHER_HASH, hashes: [OTHER_HASH] },
      });
    });
  }

  it("writes the code of its end to the finished journal", async () => {
    keeper.beforeSending(() => {
      keeper.refuseWith("0x");
    });
    await keeper.settle();
    const { end } = await keeper.journal(".finished");
    expect(end).to.include({
      status: "reverted",
      code: "VAULT_CALL_REVERTED",
    });
  });

  it("sends nothing before the round's end if the settlement was to wait for it, and stays unfinished: a node may be behind", async () => {
    keeper.chain.rounds = keeper.chain.rounds.map((round) => ({
      ...round,
      endTime: NOW,
    }));
    keeper.loseTransactions();
    const open = await keeper.settle({ ifExpired: true });
    expect(open.status).to.equal("unconfirmed");
    const begun = await keeper.journal();
    expect(begun).to.include({ ifExpired: true });
    await keeper.reset();
    await keeper.writeJournal(begun);
    keeper.chain.rounds = keeper.chain.rounds.map((round) => ({
      ...round,
      endTime: NOW + 100n,
    }));
    keeper.endAtLook(3);
    const resumed = await keeper.settle(resume);
    expect(resumed.status).to.equal("unconfirmed");
    expect(keeper.sends).to.equal(0);
    expect(await keeper.journal()).to.include({ ifExpired: true });
  });

  it("settles, or throws and keeps the journal, whatever request fails", async () => {
    await keeper.interrupt();
    const unsent = await keeper.journal();
    expect(await keeper.settle(resume)).to.include({ status: "settled" });
    const requests = keeper.chain.asked.length;
    let thrown = 0;
    for (let number = 1; number <= requests; number += 1) {
      await keeper.reset();
      await keeper.writeJournal(unsent);
      const { chain } = keeper;
      const request = chain.request.bind(chain);
      let count = 0;
      chain.request = async (args) => {
        count += 1;
        return await (count === number
          ? Promise.reject(new Error("nope"))
          : request(args));
      };
      const { status } = await keeper
        .settle(resume)
        .catch(async (error: unknown) => {
          thrown += 1;
          expect(error).to.be.instanceOf(VaultError);
          expect(keeper.sends).to.equal(0);
          expect(await keeper.journal()).to.deep.equal(unsent);
          return await keeper.settle(resume);
        });
      expect(status, `request ${number}`).to.equal("settled");
      expect(keeper.chain.mined).to.have.length(1);
    }
    expect(thrown).to.be.above(0);
  });
});

describe("settleAll with resumeFirst", () => {
  const keeper = useKeeper();
  const options = { resumeFirst: true } as const;

  itSettles(keeper, [
    {
      title: "begins a settlement if none is under way",
      options,
      is: "settled",
      events: "preflight sending mined",
    },
    {
      title:
        "finishes the interrupted settlement, does not ask about it, and begins no other",
      given: interrupted,
      options: {
        ...options,
        confirm: async () => await Promise.reject(new Error("asked")),
      },
      is: "settled",
      events: "resuming sending mined",
    },
    {
      title:
        "leaves the next round to the next run if others settled the interrupted one",
      given: async (on) => {
        await on.interrupt();
        on.settleByOther();
        on.openNextRound();
      },
      options,
      is: "refused VAULT_ROUND_CHANGED",
      events: "resuming",
      then: async () => {
        const { status, before } = await keeper.settle(options);
        expect(status).to.equal("settled");
        expect(before).to.deep.equal(nextRound(OPEN_ROUND));
      },
    },
    {
      title: "resumes nothing if another problem refuses the settlement",
      network: unlimited,
      options,
      is: "refused VAULT_FEE_LIMIT_NEEDED",
      events: "preflight",
    },
  ]);

  it("begins no other settlement while one may still be mined: VAULT_SETTLEMENT_UNFINISHED", async () => {
    const { hash } = await keeper.interrupt();
    keeper.stopMining();
    const open = await keeper.settle(options);
    expect(open).to.include({ status: "unconfirmed", hash });
    expect(await keeper.settle()).to.include({
      ...{ code: "VAULT_SETTLEMENT_UNFINISHED", hash },
    });
    keeper.chain.mine();
    const settled = await keeper.settle(options);
    expect(settled).to.include({ status: "settled", hash });
    expect(keeper.sends).to.equal(1);
  });
});
