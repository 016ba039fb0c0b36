import { expect } from "chai";
import { Transaction } from "ethers";

import { VaultError } from "../../src/client/index.js";
import type { FeeLimits } from "../../src/sending/fees.js";
import { raiseFees, signReplacement } from "../../src/sending/replace.js";
import type { SignedReplacement } from "../../src/sending/replace.js";
import type { SentTransaction } from "../../src/sending/transaction.js";
import type { SettleAllOptions } from "../../src/settlement/options.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { itSettles, remote, sent, useKeeper } from "../helpers/keeper.js";
import { SETTLER } from "../helpers/scripted-contracts.js";

const SEND = "eth_sendRawTransaction";
const eip1559 = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint) => ({
  maxFeePerGas,
  maxPriorityFeePerGas,
});

describe("raiseFees()", () => {
  for (const [title, old, asked, raised] of [
    [
      "raises both fees by an eighth, rounded up",
      eip1559(1_001n, 1n),
      eip1559(0n, 0n),
      eip1559(1_127n, 2n),
    ],
    [
      "takes what the node asks for if that is more",
      eip1559(1_000n, 10n),
      eip1559(5_000n, 50n),
      eip1559(5_000n, 50n),
    ],
    [
      "never leaves the whole fee below the tip",
      eip1559(8n, 8n),
      eip1559(0n, 50n),
      eip1559(50n, 50n),
    ],
    ["raises a tip of 0", eip1559(8n, 0n), eip1559(0n, 0n), eip1559(9n, 1n)],
    [
      "keeps a gas price a gas price",
      { gasPrice: 9n },
      { gasPrice: 1n },
      { gasPrice: 11n },
    ],
    [
      "raises the whole fee to the gas price that the node asks for by now",
      eip1559(8n, 8n),
      { gasPrice: 500n },
      eip1559(500n, 9n),
    ],
    [
      "raises a gas price to the whole fee that the node asks for by now",
      { gasPrice: 9n },
      eip1559(500n, 1n),
      { gasPrice: 500n },
    ],
  ] as const) {
    it(title, () => {
      expect(raiseFees(old, asked)).to.deep.equal(raised);
    });
  }
});

// The scripted node asks for a base fee of 7, a tip of 1, and a gas price of 1 gwei.
describe("signReplacement()", () => {
  const keeper = useKeeper();
  const old: SentTransaction = { ...sent, fees: eip1559(100n, 2n) };
  const ofAccount = { to: SETTLER, data: "0x" };
  const limitOf = (wei: bigint): FeeLimits => ({
    maxFeePerGas: { wei, setting: "the limit" },
  });

  const replace = async (
    kind: "bump" | "cancel",
    newest = old,
    limits: FeeLimits = limitOf(10n ** 15n),
    confirm?: SettleAllOptions["confirmReplacement"],
  ): Promise<SignedReplacement> =>
    await signReplacement(keeper.host(), newest, kind, {
      limits,
      confirmReplacement: confirm,
    });

  for (const [title, kind, newest, is] of [
    [
      "signs the same call with the same gas at a higher fee",
      "bump",
      old,
      {
        ...{ kind: "settlement", to: old.to, data: old.data, gas: old.gas },
        fees: eip1559(113n, 3n),
      },
    ],
    [
      "raises the fee of a cancellation, which stays one",
      "bump",
      { ...old, ...ofAccount, kind: "cancellation" },
      { ...ofAccount, kind: "cancellation" },
    ],
    [
      "signs a transfer of 0 to the account itself as a cancellation",
      "cancel",
      old,
      { ...ofAccount, kind: "cancellation", gas: 21_000n },
    ],
  ] as const) {
    it(title, async () => {
      const before = Date.now();
      const transaction = await replace(kind, newest);
      expect(transaction).to.deep.include(is);
      // The next one waits as long.
      expect(transaction.preparedAt).to.be.within(before, Date.now());
      const { gasLimit, nonce } = Transaction.from(transaction.raw ?? "");
      expect([gasLimit, nonce]).to.deep.equal([transaction.gas, 7]);
    });
  }

  for (const [title, estimate, gas] of [
    ["is a rollup, and estimates more", () => "0xffff", 65_535n],
    ["estimates less", () => "0x5207", 21_000n],
    [
      "refuses to estimate",
      () => {
        throw Object.assign(new Error("nope"), { code: -32_000 });
      },
      21_000n,
    ],
  ] as const) {
    it(`gives a cancellation ${gas} gas if the node ${title}`, async () => {
      keeper.chain.on("eth_estimateGas", estimate);
      const made = await replace("cancel");
      expect(made).to.have.property("gas", gas);
    });
  }

  for (const [method, what] of [
    ["eth_estimateGas", "its gas is estimated"],
    ["eth_maxPriorityFeePerGas", "its price is asked for"],
  ] as const) {
    it(`signs no cancellation if the network fails while ${what}`, async () => {
      keeper.chain.on(method, () => {
        throw codedError("ECONNREFUSED");
      });
      await expectVaultError(replace("cancel"), "VAULT_NETWORK_UNREACHABLE");
    });
  }

  it("lowers the reserve for later base fees to the limit", async () => {
    // An eighth more than 10 is 12, and the reserve would make it 15.
    const newest = { ...old, fees: eip1559(10n, 1n) };
    const made = await replace("bump", newest, limitOf(12n));
    expect(made).to.have.property("fees").that.deep.equals(eip1559(12n, 2n));
  });

  for (const [fees, says, limit] of [
    [eip1559(11n, 1n), "a price of 13 wei", "12 wei (the limit)"],
    [eip1559(8n, 4n), "a priority fee of 5 wei", "4 wei (the tip's)"],
    [{ gasPrice: 11n }, "a price of 1 gwei", "12 wei (the limit)"],
  ] as const) {
    it(`signs nothing above a limit, and names it: ${says}`, async () => {
      const limits = {
        ...limitOf(12n),
        maxPriorityFeePerGas: { wei: 4n, setting: "the tip's" },
      };
      const { message } = await expectVaultError(
        replace("bump", { ...old, fees }, limits),
        "VAULT_FEE_ABOVE_LIMIT",
      );
      expect(message).to.include(says).and.include(limit);
    });
  }

  it("signs nothing if nobody is asked, and no limit bounds it: VAULT_FEE_LIMIT_NEEDED", async () => {
    const { message } = await expectVaultError(
      replace("bump", old, {}),
      "VAULT_FEE_LIMIT_NEEDED",
    );
    expect(message).to.include("maxFeePerGasLimit: 100n");
    const bounded = await replace("bump", old, limitOf(10n ** 9n));
    expect(bounded).to.include({ kind: "settlement" });
  });

  const noTerminal = new VaultError("VAULT_NO_TERMINAL", {});
  for (const [answer, is] of [
    [true, "settlement"],
    ["too much", "Error: too much"],
    [noTerminal, String(noTerminal)],
  ] as const) {
    it(`shows the old and the new cost to a person, who answers ${answer instanceof VaultError ? answer.code : answer}`, async () => {
      keeper.chain.on("eth_maxPriorityFeePerGas", () => "0xffff");
      const shown: unknown[] = [];
      const made = await replace("bump", old, {}, async (one) => {
        shown.push(one);
        return await Promise.resolve(answer);
      }).then(({ kind }) => kind, String);
      expect(made).to.equal(is);
      expect(shown).to.deep.equal([
        {
          ...{ chainId: 31_337, from: SETTLER, nonce: 7, hash: old.hash },
          earlierMaxCost: old.gas * 100n,
          cost: old.gas * (7n + 0xffffn),
          maxCost: old.gas * (14n + 0xffffn),
        },
      ]);
    });
  }

  it("shows the cost of a cancellation by its own gas, at no more than the whole fee", async () => {
    const newest = { ...old, fees: eip1559(15n, 9n) };
    const shown: unknown[] = [];
    await replace("cancel", newest, {}, async (one) => {
      shown.push(one);
      return await Promise.resolve("no");
    }).catch(String);
    expect(shown).to.have.length(1);
    // An eighth more: 17 in all, and a tip of 11 above the base fee of 7.
    expect(shown[0]).to.deep.include({
      ...{ earlierMaxCost: old.gas * 15n, cost: 21_000n * 17n },
      maxCost: 21_000n * 17n,
    });
  });

  for (const [title, newest, network] of [
    ["has no signed bytes", { ...old, raw: undefined }, {}],
    ["is of a node that does not sign", old, remote],
  ] as const) {
    it(`throws VAULT_CANNOT_REPLACE if the transaction ${title}`, async () => {
      await expectVaultError(
        signReplacement(keeper.host(network), newest, "bump", {
          limits: limitOf(10n ** 15n),
        }),
        "VAULT_CANNOT_REPLACE",
      );
    });
  }
});

describe("settleAll, with a transaction that is not mined", () => {
  const keeper = useKeeper();
  const bump = { resume: true, bump: true } as const;
  const cancel = { resume: true, cancel: true } as const;
  const ended = async (_: unknown, answer: () => Promise<unknown>) =>
    await answer();
  const bumping = { vault: { timeBeforeBumpingFees: 0, maxFeeBumps: 2 } };

  /** It waits in the pool; the next run ends at its fifth look. */
  const wait = async (): Promise<void> => {
    keeper.stopMining();
    await keeper.settle();
    keeper.chain.asked.length = 0;
    keeper.endAtLook(5);
  };
  /** Refused by the node however often it was sent. */
  const refuseForGood = async (): Promise<void> => {
    keeper.chain.on(SEND, () => {
      throw Object.assign(new Error("no"), { code: -32_000 });
    });
    keeper.endAtLook(6);
    expect(await keeper.settle()).to.include({ status: "unconfirmed" });
    keeper.chain.on("eth_getTransactionReceipt", ended);
    keeper.chain.on(SEND, ended);
    keeper.chain.asked.length = 0;
  };

  itSettles(keeper, [
    {
      title: "settleAll raises its fees as often as the settings allow",
      given: ({ chain }) => {
        chain.mines = false;
        keeper.endAtLook(20);
      },
      network: bumping,
      is: "unconfirmed",
      sends: 3,
      then: ({ chain }, settlement) => {
        const all = chain.asked
          .filter(({ method }) => method === SEND)
          .map(({ params: [raw] }) => Transaction.from(String(raw)));
        expect(all.map(({ hash }) => hash)).to.deep.equal(settlement.hashes);
        const calls = all.map(({ to, data, nonce }) => [to, data, nonce]);
        expect(new Set(calls.map(String))).to.have.property("size", 1);
        const tips = all.map((one) => one.maxPriorityFeePerGas);
        expect(tips).to.deep.equal([1n, 2n, 3n]);
      },
    },
    {
      title: "resume raises no fee by itself, whatever the settings are",
      given: wait,
      network: bumping,
      options: { resume: true },
      is: "unconfirmed",
      sends: 0,
    },
    {
      title:
        "settleAll raises its fees four times if no setting says how often",
      given: ({ chain }) => {
        chain.mines = false;
        keeper.endAtLook(40);
      },
      network: { vault: { timeBeforeBumpingFees: 0 } },
      is: "unconfirmed",
      sends: 5,
      events: `preflight sending${" replacing".repeat(4)}`,
    },
    {
      title: "resume with bump asks a person, and raises no fee after No",
      given: wait,
      options: {
        ...bump,
        confirmReplacement: async () => await Promise.resolve("too much"),
      },
      is: "unconfirmed",
      says: ["too much"],
      sends: 0,
    },
    {
      title:
        "resume cancels a settlement whose bytes the node refuses for good",
      given: refuseForGood,
      options: cancel,
      is: "cancelled",
      sends: 1,
    },
    {
      title:
        "resume with cancel refuses without signed bytes, and keeps the journal: VAULT_CANNOT_REPLACE",
      given: async (on) => {
        await on.interrupt(remote);
      },
      network: remote,
      options: cancel,
      is: "refused VAULT_CANNOT_REPLACE",
      then: async () => {
        expect(await keeper.journal()).to.have.property("transactions");
      },
    },
  ]);

  it("resume with bump follows both transactions, and the one that is mined counts", async () => {
    await wait();
    const bumped = await keeper.settle(bump);
    expect(bumped).to.include({ status: "unconfirmed" });
    expect(bumped.hashes).to.have.length(2);
    keeper.chain.on("eth_getTransactionReceipt", ended);
    keeper.chain.mine();
    expect(await keeper.settle({ resume: true })).to.deep.include({
      ...{ status: "settled", hash: bumped.hashes[1], hashes: bumped.hashes },
    });
  });
});
