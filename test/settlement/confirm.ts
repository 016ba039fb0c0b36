import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import type { SettleAllOptions, SettlementPreflight } from "../../src/types.js";
import { SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { itSettles, useKeeper } from "../helpers/keeper.js";

/** A person, or a function, that answers with any value. */
const answering = (answer: unknown): SettleAllOptions => ({
  confirm: async () =>
    // JavaScript may return another type
    await Promise.resolve(answer as true),
});

describe("the confirmation of settleAll", () => {
  const keeper = useKeeper();

  itSettles(keeper, [
    ...[undefined, null, false, 0, 1, "", {}].map((answer) => ({
      title: `settleAll refuses if it returns ${JSON.stringify(answer)}: VAULT_NOT_CONFIRMED`,
      options: answering(answer),
      is: {
        status: "refused",
        code: "VAULT_NOT_CONFIRMED",
        differences: null,
      } as const,
      says: ["Nothing was sent"],
      events: "preflight",
    })),
    // The task escapes what it prints.
    ...["true", "\u001b[2J because"].map((reason) => ({
      title: `settleAll has the text ${JSON.stringify(reason)} that it returns as reason`,
      options: answering(reason),
      is: { status: "refused", code: "VAULT_NOT_CONFIRMED", reason } as const,
    })),
    {
      title: "settleAll has the code of the VaultError that it returns",
      options: answering(new VaultError("VAULT_NO_TERMINAL", {})),
      is: { status: "refused", code: "VAULT_NO_TERMINAL" },
    },
  ]);

  it("settleAll throws what it throws, and sends nothing", async () => {
    const problem = new TypeError("the terminal is lost");
    const confirm = async (): Promise<true> => await Promise.reject(problem);
    const thrown: unknown = await keeper
      .settle({ confirm })
      .catch((error: unknown) => error);
    expect(thrown).to.equal(problem);
    expect(keeper.sends).to.equal(0);
  });

  it("shows account, contract, balance and costs in wei", async () => {
    const shown: SettlementPreflight[] = [];
    await keeper.settle({
      confirm: async (preflight) => {
        shown.push(preflight);
        return await Promise.resolve("no");
      },
    });
    expect(shown).to.have.length(1);
    // A person judges the price.
    expect(keeper.chain.count("eth_feeHistory")).to.equal(0);
    expect(shown[0]).to.deep.include({
      chainId: 31_337,
      chainTime: 1_700_000_006,
      contract: { address: VAULT, source: "VaultClient" },
      from: SETTLER,
      signing: "local",
      balance: 10n ** 18n,
      // A quarter more than 75,000; the base fee 7 twice in the highest price.
      gas: 93_750n,
      cost: 93_750n * 8n,
      maxCost: 93_750n * 15n,
      outcome: "succeeds",
      warnings: [],
    });
  });
});
