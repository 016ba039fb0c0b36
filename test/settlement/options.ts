import { expect } from "chai";

import type { SettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SETTLER } from "../helpers/scripted-contracts.js";
import { itSettles, remote, useKeeper } from "../helpers/keeper.js";

const yes: SettleAllOptions = {
  confirm: async () => await Promise.resolve(true),
};

const never = new Promise<never>(() => undefined);

describe("options of settleAll", () => {
  const keeper = useKeeper();
  const hasEnded = (): void => {
    keeper.chain.rounds = keeper.chain.rounds.map((round) => ({
      ...round,
      endTime: 1_700_000_000n,
    }));
  };

  const invalid: ReadonlyArray<
    readonly [title: string, where: string, options: SettleAllOptions]
  > = [
    ["confirmations 0", "confirmations", { confirmations: 0 }],
    ["confirmations 1.5", "confirmations", { confirmations: 1.5 }],
    ["timeout 0", "timeout", { timeout: 0 }],
    ["timeout -1", "timeout", { timeout: -1 }],
    ["pollingInterval 0", "pollingInterval", { pollingInterval: 0 }],
    ["pollingInterval -1", "pollingInterval", { pollingInterval: -1 }],
    ["from beside resume", "from", { resume: true, from: SETTLER }],
    ["tokens beside resume", "tokens", { resume: true, tokens: [] }],
    [
      "confirmReplacement without bump",
      "confirmReplacement",
      { resume: true, confirmReplacement: async () => await never },
    ],
    ["confirm beside resume", "confirm", { resume: true, ...yes }],
    [
      "resumeFirst beside resume",
      "resumeFirst",
      { resume: true, resumeFirst: true },
    ],
    [
      "assertOnly beside resume",
      "assertOnly",
      { resume: true, assertOnly: true },
    ],
  ];
  for (const [title, where, options] of invalid) {
    it(`settleAll refuses ${title} before it asks the node, with VAULT_INVALID_ARGUMENT`, async () => {
      const { details } = await expectVaultError(
        keeper.settle(options),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal(where);
      expect(keeper.chain.asked).to.deep.equal([]);
    });
  }

  itSettles(keeper, [
    {
      title: "settleAll refuses a `from` that is no address",
      options: { from: "0x12" },
      throws: "VAULT_INVALID_ADDRESS",
      says: ["from"],
    },
    {
      title: "settleAll takes false for an option that is omitted",
      options: { ifExpired: false, assertOnly: false, resume: false },
      is: { status: "settled" },
      sends: 1,
    },
    {
      title: "resume takes false for an option that it excludes",
      options: { resume: true, assertOnly: false },
      is: { status: "refused", code: "VAULT_NOTHING_TO_RESUME", before: null },
    },
    {
      title: "assertOnly asks for no account, so that it needs no signer",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => []);
      },
      network: remote,
      options: { assertOnly: true },
      is: { status: "refused", code: "VAULT_SETTLEMENT_NEEDED" },
      then: ({ chain }) => {
        expect(chain.count("eth_accounts")).to.equal(0);
      },
    },
    {
      title: "assertOnly has nothing to do with a settled round",
      given: async (on) => {
        await on.settleByOther();
      },
      options: { assertOnly: true },
      is: { status: "nothing-to-do", code: null },
      events: "",
    },
    {
      title: "assertOnly with ifExpired refuses a round that has ended",
      given: hasEnded,
      options: { ifExpired: true, assertOnly: true },
      is: { status: "refused", code: "VAULT_SETTLEMENT_NEEDED" },
      // Its chain is years behind this machine.
      events: "trouble",
    },
    {
      title:
        "settleAll with ifExpired and a question settles a round that ended",
      given: hasEnded,
      options: { ifExpired: true, ...yes },
      is: { status: "settled" },
      events: "trouble preflight sending mined",
      sends: 1,
    },
    {
      title: "settleAll settles if its listener throws",
      options: {
        onEvent: () => {
          throw new Error("the listener's own problem");
        },
      },
      is: { status: "settled" },
      sends: 1,
    },
  ]);
});
