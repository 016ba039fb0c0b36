import { expect } from "chai";

import { expectVaultError } from "../helpers/assertions.js";
import { itSettles, useKeeper } from "../helpers/keeper.js";
import type { Keeper, SettlementCase } from "../helpers/keeper.js";
import { OPEN_ROUND } from "../helpers/scripted-contracts.js";

const confirm = async (): Promise<true> => await Promise.resolve(true);

describe("settleAll, after a settlement that was mined and reverted", () => {
  const keeper = useKeeper();
  /** The vault refuses only in the block, as one that is paused just before. */
  const pauseJustBefore = async ({ chain }: Keeper): Promise<void> => {
    keeper.beforeSending(() => {
      chain.revertsWith = "0x12345678";
    });
    const { status, hash } = await keeper.settle({ retryReverted: true });
    expect(status).to.equal("reverted");
    expect(hash).not.to.equal(null);
    chain.revertsWith = undefined;
    keeper.beforeSending(() => undefined);
    chain.asked.length = 0;
  };

  itSettles(keeper, [
    {
      title: "refuses to pay for the same round again: VAULT_REVERTED_BEFORE",
      given: pauseJustBefore,
      is: "refused VAULT_REVERTED_BEFORE",
      says: ["in block 6", "retryReverted: true"],
      sends: 0,
      then: async () => {
        // However often it is run.
        for (let run = 0; run < 3; run += 1) {
          const { code } = await keeper.settle({ resumeFirst: true });
          expect(code).to.equal("VAULT_REVERTED_BEFORE");
        }
        expect(keeper.sends).to.equal(0);
      },
    },
    {
      title: "goes on with retryReverted",
      given: pauseJustBefore,
      options: { retryReverted: true },
      is: "settled",
    },
    {
      title: "refuses again if the retry reverts, too",
      given: async (on) => {
        await pauseJustBefore(on);
        await pauseJustBefore(on);
      },
      is: "refused VAULT_REVERTED_BEFORE",
      sends: 0,
    },
    {
      title: "tells a person, who may agree to settle",
      given: pauseJustBefore,
      options: { confirm },
      is: "settled",
      then: ({ troubles }) => {
        expect(troubles).to.match(/reverted in block 6/u);
      },
    },
    ...[
      { when: "while it was simulated", options: {} },
      { when: "while a person was asked", options: { confirm } },
    ].map(({ when, options }): SettlementCase => ({
      title: `refuses if another run paid for a revert of the round ${when}`,
      given: ({ chain }) => {
        let isFirst = true;
        chain.on("eth_simulateV1", async (_, answer) => {
          const simulated = await answer();
          if (isFirst) {
            isFirst = false;
            await pauseJustBefore(keeper);
          }
          return simulated;
        });
      },
      options,
      is: "refused VAULT_REVERTED_BEFORE",
      sends: 0,
    })),
    {
      title: "remembers it after a run that sent nothing",
      given: async (on) => {
        await pauseJustBefore(on);
        // Before it sends, somebody else settles the round: nothing leaves.
        on.chain.on("eth_getTransactionCount", async (_, answer) => {
          on.chain.rounds = on.chain.rounds.map((round) => ({
            ...round,
            settled: true,
          }));
          return await answer();
        });
        const { status, hash } = await on.settle({ retryReverted: true });
        expect([status, hash]).to.deep.equal(["nothing-to-do", null]);
        on.chain.on(
          "eth_getTransactionCount",
          async (_, answer) => await answer(),
        );
        on.chain.rounds = on.chain.rounds.map(() => OPEN_ROUND);
        on.chain.asked.length = 0;
      },
      is: "refused VAULT_REVERTED_BEFORE",
      sends: 0,
    },
    {
      title: "remembers it after a retry that was never mined",
      given: async (on) => {
        await pauseJustBefore(on);
        await on.interrupt({}, { retryReverted: true });
        const { status } = await on.settle({ resume: true, cancel: true });
        expect(status).to.equal("cancelled");
        on.chain.asked.length = 0;
      },
      is: "refused VAULT_REVERTED_BEFORE",
      says: ["in block 6"],
      sends: 0,
    },
    {
      title: "settles the next round without a word",
      given: async (on) => {
        await pauseJustBefore(on);
        on.openNextRound();
      },
      is: "settled",
    },
  ]);

  it("pays for nothing if its journal cannot be read: VAULT_INVALID_JOURNAL", async () => {
    await pauseJustBefore(keeper);
    await keeper.writeJournal("{}", ".finished");
    await expectVaultError(keeper.settle(), "VAULT_INVALID_JOURNAL");
    expect(keeper.sends).to.equal(0);
  });

  it("is remembered on a node that has pruned the first block", async () => {
    await pauseJustBefore(keeper);
    keeper.changeGenesis(undefined);
    expect(await keeper.settle()).to.include({ code: "VAULT_REVERTED_BEFORE" });
  });
});
