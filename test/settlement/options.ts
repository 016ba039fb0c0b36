import { once } from "node:events";

import { expect } from "chai";

import {
  defaultConfirmations,
  parseOptions,
} from "../../src/settlement/options.js";
import type { SettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { itSettles, remote, useKeeper } from "../helpers/keeper.js";
import { HASH } from "../helpers/names.js";
import { SETTLER } from "../helpers/scripted-contracts.js";

describe("options of settleAll", () => {
  const keeper = useKeeper();
  const resume = { resume: true } as const;
  const yes = { confirm: async () => await Promise.resolve(true as const) };
  const raise = {
    confirmReplacement: async () => await Promise.resolve(true as const),
  };

  const invalid: ReadonlyArray<readonly [string, SettleAllOptions]> = [
    ["confirmations", { confirmations: 0 }],
    ["timeout", { timeout: -1 }],
    ["pollingInterval", { pollingInterval: 0 }],
    ["from", { ...resume, from: SETTLER }],
    ["tokens", { ...resume, tokens: [] }],
    ["confirm", { ...resume, ...yes }],
    ["resumeFirst", { ...resume, resumeFirst: true }],
    ["assertOnly", { ...resume, assertOnly: true }],
    ["confirmReplacement", { ...resume, ...raise }],
    ["bump", { bump: true }],
    ["cancel", { cancel: true }],
    ["bump", { ...resume, bump: true, cancel: true }],
  ];
  for (const [where, options] of invalid) {
    it(`settleAll refuses ${where} of ${Object.keys(options).join()}, and asks the node nothing: VAULT_INVALID_ARGUMENT`, async () => {
      const network = { vault: { maxFeePerGasLimit: 100n } };
      const { details } = await expectVaultError(
        keeper.settle(options, network),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal(where);
      expect(keeper.chain.asked).to.deep.equal([]);
    });
  }

  it("settleAll refuses a token that is no address: VAULT_INVALID_ADDRESS", async () => {
    const settling = keeper.settle({ tokens: ["0x12"] });
    await expectVaultError(settling, "VAULT_INVALID_ADDRESS");
  });

  for (const [kind, vault, confirmations] of [
    ["live", { maxHeadAge: 300 }, 3],
    ["live", { maxHeadAge: false }, 1],
    ["development", { maxHeadAge: 300 }, 1],
    ["live", { confirmations: 8 }, 8],
    ["development", { confirmations: 2 }, 2],
  ] as const) {
    it(`settleAll waits by default for ${confirmations} confirmations on a ${kind} chain with the settings ${JSON.stringify(vault)}`, () => {
      const host = keeper.host({ vault });
      expect(defaultConfirmations(host, kind)).to.equal(confirmations);
    });
  }

  for (const [type, pollingInterval, timeoutMs, pollingIntervalMs] of [
    ["http", undefined, 300_000, 1_000],
    ["http", 50, 300_000, 50],
    ["edr-simulated", undefined, 10_000, 50],
  ] as const) {
    it(`settleAll (${type}) takes ${timeoutMs} ms, with a check every ${pollingIntervalMs}`, () => {
      const parsed = parseOptions(keeper.host({ type }), { pollingInterval });
      expect(parsed).to.include({
        timeoutMs,
        pollingIntervalMs,
        replacement: undefined,
      });
    });
  }

  for (const [how, onEvent] of [
    [
      "throws",
      () => {
        throw new Error("the listener's own problem");
      },
    ],
    [
      "is async and rejects",
      async () => await Promise.reject(new Error("the listener's own problem")),
    ],
  ] as const) {
    it(`settleAll warns if its listener ${how}`, async () => {
      const warned = once(process, "warning");
      const { emit } = parseOptions(keeper.host(), { onEvent });
      emit({ type: "hash", hash: HASH });
      expect(String((await warned)[0])).to.equal(
        'Warning: onEvent of settleAll() failed at "hash": Error: the listener\'s own problem',
      );
    });
  }

  itSettles(keeper, [
    {
      title: "settleAll settles if its async listener rejects",
      options: {
        onEvent: async () =>
          await Promise.reject(new Error("the listener's own problem")),
      },
      is: "settled",
    },
    {
      title: "settleAll settles if its listener rejects with what has no text",
      options: {
        onEvent: async () => {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as JavaScript may
          await Promise.reject(Object.create(null));
        },
      },
      is: "settled",
    },
    {
      title: "settleAll settles if its listener throws",
      options: {
        onEvent: () => {
          throw new Error("the listener's own problem");
        },
      },
      is: "settled",
    },
    {
      title: "resume takes false for an option that it excludes",
      options: { ...resume, assertOnly: false },
      is: { code: "VAULT_NOTHING_TO_RESUME" },
    },
    {
      title: "assertOnly asks for no account, so that it needs no signer",
      given: ({ chain }) => {
        chain.on("eth_accounts", () => []);
      },
      network: remote,
      options: { assertOnly: true },
      is: "refused VAULT_SETTLEMENT_NEEDED",
      then: ({ chain }) => {
        expect(chain.count("eth_accounts")).to.equal(0);
      },
    },
    {
      title: "assertOnly has nothing to do with a settled round",
      given: async (on) => {
        on.settleByOther();
      },
      options: { assertOnly: true },
      is: "nothing-to-do",
      events: "",
    },
  ]);
});
