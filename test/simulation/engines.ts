import { expect } from "chai";
import { getAddress } from "ethers";

import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { describeEngines, expectReality } from "../helpers/engine-stage.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";

interface Case {
  readonly orders?: number;
  readonly isProxied?: boolean;
  readonly endTime?: number;
  /** Index of the account that settles. */
  readonly sender?: number;
  readonly options?: SimulateSettleAllOptions;
  readonly reason?: RegExp;
}

const OPEN = 2_000_000_000;
const notKeeper = /unknown error 0x|NotKeeper/u;
const notEnded = /the round has not ended/u;
const unsettled = /not settled by it/u;

const cases: ReadonlyArray<
  readonly [
    title: string,
    vault: SettlingVaultName,
    status: Simulation["status"],
    more?: Case,
  ]
> = [
  ["pays holders in a loop", "PayingVault", "settled", { orders: 40 }],
  ["is behind a proxy", "PayingVault", "settled", { isProxied: true }],
  ["gives gas back", "RefundingVault", "settled", { orders: 12 }],
  ["is for keepers, asked by one", "KeeperVault", "settled"],
  [
    "is for keepers, asked by somebody",
    "KeeperVault",
    "reverted",
    { sender: 3, reason: notKeeper },
  ],
  [
    "reads clock and oracle, before the end",
    "ClockVault",
    "reverted",
    { endTime: OPEN, reason: notEnded },
  ],
  [
    "reads clock and oracle, at the end",
    "ClockVault",
    "settled",
    { endTime: OPEN, options: { atTime: "end" } },
  ],
  ["moves native currency", "NativeVault", "settled", { sender: 2 }],
  ["is for accounts without code", "NoContractsVault", "settled"],
  ["opens the next round", "RollingVault", "settled"],
  [
    "settles in batches",
    "BatchVault",
    "not-settled",
    { orders: 25, reason: unsettled },
  ],

  ["does nothing", "IdleVault", "not-settled", { reason: unsettled }],
  [
    "wants no gas price",
    "UnpaidVault",
    "reverted",
    { reason: /^somebody pays for gas/u },
  ],
  [
    "wants a sender who has not paid for gas",
    "UntouchedVault",
    "reverted",
    { sender: 5, reason: /^the sender has paid/u },
  ],
];

describe("every engine predicts what a settlement then does", () => {
  describeEngines((engine, stage) => {
    for (const [title, name, status, more = {}] of cases) {
      const { reason = /^$/u, sender = 0, options = {}, ...set } = more;
      it(`${engine} predicts ${status} for a vault that ${title}`, async () => {
        const { vault, token } = await stage.deploy(name, set);
        const from = await stage.accountOf(sender);
        const asked = {
          from,
          orders: [1, 2, 3],
          tokens: [token],
          ...options,
        };
        const simulation = await stage.simulate(vault, asked);
        const { transfers, gasUsed } = simulation;
        expect(simulation.engine).to.equal(engine);
        expect(simulation.status, String(simulation.reason)).to.equal(status);
        expect(simulation.reason ?? "").to.match(reason);
        const time = options.atTime === undefined ? undefined : set.endTime;
        const real = await stage.settleReally(vault, { from, token, time });
        expect(real.succeeded).to.equal(status !== "reverted");
        expectReality(simulation, real);
        expect(gasUsed).to.equal(real.gasUsed);
        expect(
          transfers?.filter(({ token: of }) => of !== "native"),
        ).to.deep.equal(real.transfers);
      });
    }

    it(`${engine} predicts every reading and every transfer of a vault that is a token itself`, async () => {
      const { vault, token, contract } = await stage.deploy("MixedVault", {
        orders: 2,
      });
      const from = await stage.accountOf(0);
      await mined(
        await contract.getFunction("give").send(from, 4n * 10n ** 18n),
      );
      const asked = { from, orders: [1, 2, 3, 2], tokens: [token] };
      const simulation = await stage.simulate(vault, asked);
      const real = await stage.settleReally(vault, {
        from,
        token,
        time: undefined,
      });
      expect(simulation.status).to.equal("settled");
      expectReality(simulation, real);
      expect(
        simulation.transfers?.filter(({ token: of }) => of !== "native"),
      ).to.deep.equal(real.transfers);
    });

    it(`${engine} sees the block's own base fee, unless the node ignores it`, async () => {
      const { vault } = await stage.deploy("FeeVault");
      const { changes } = await stage.simulate(vault);
      const predicted = changes.find(({ field }) => field === "settledPrice");
      await vault.settleAll({ pollingInterval: 20 });
      const { settledPrice } = await vault.getLatestRoundInfo();
      const isSeen = predicted?.after === settledPrice;
      expect(isSeen, "anvil ignores it in eth_simulateV1 alone").to.equal(
        engine !== "simulateV1",
      );
    });

    it(`${engine} sees native currency move between any accounts`, async () => {
      const { vault, address: from } = await stage.deploy("NativeVault");
      const sender = await stage.accountOf(4);
      const { transfers } = await stage.simulate(vault, { from: sender });
      const to = (tail: string): string =>
        getAddress(`0x${tail.padStart(40, "0")}`);
      expect(transfers).to.deep.equal(
        [
          { to: sender, amount: 1_000n },
          { to: to("beef0001"), amount: 3n * 10n ** 18n },
          { to: to("beef0002"), amount: 5n },
        ].map((moved) => ({ token: "native", from, ...moved })),
      );
    });

    for (const name of ["PurseVault", "GivingVault"] as const) {
      const isListed = engine !== "simulateV1";
      it(`${engine} ${isListed ? "lists" : "omits"} what a contract that destroys itself gives away, in ${name}`, async () => {
        const { vault, address } = await stage.deploy(name);
        const { transfers, notes } = await stage.simulate(vault);
        expect(transfers?.map(({ amount }) => amount)).to.deep.equal(
          isListed ? [7n, 7n] : [7n],
        );
        // A note needs an account whose balance is read.
        expect(
          notes.join(" ").includes(`${address} ends with 7 wei more`),
        ).to.equal(!isListed && name === "PurseVault");
      });
    }

    it(`${engine} lists no payment that fails inside, or notes that the list is not right`, async () => {
      const { vault, address } = await stage.deploy("FailingPaymentVault");
      const { status, transfers, notes } = await stage.simulate(vault);
      expect(status).to.equal("settled");
      const isNoted = notes
        .join(" ")
        .includes(`${address} ends with ${3n * 10n ** 18n} wei more`);
      // anvil lists it.
      expect({ count: transfers?.length, isNoted }).to.deep.equal(
        engine === "simulateV1"
          ? { count: 1, isNoted: true }
          : { count: 0, isNoted: false },
      );
    });

    it(`${engine} lists no change of what only the clock moves`, async () => {
      const { vault } = await stage.deploy("TickingVault");
      const { changes } = await stage.simulate(vault, { atTime: "+1h" });
      const readings = changes.map(({ reading }) => reading);
      expect(readings).to.include("round").and.not.include("volume");
    });

    it(`${engine} leaves the balance of a sender without money as it is, and notes the fee that it cannot pay`, async () => {
      const { vault } = await stage.deploy("PayingVault");
      const from = getAddress(`0x${"00".repeat(18)}beef`);
      const { status, balances, notes } = await stage.simulate(vault, { from });
      expect(status).to.equal("settled");
      expect(balances.filter(({ account }) => account === from)).to.eql([]);
      expect(notes.join(" ")).to.match(/cannot pay for gas: it has 0 wei/u);
    });

    it(`${engine} notes for a sender with code, not for one that delegates, that another account sends the transaction`, async () => {
      const { vault } = await stage.deploy("OriginVault");
      const [safe, delegating] = ["5afe", "7702"].map((tail) =>
        getAddress(`0x${tail.padStart(40, "0")}`),
      );
      const set = engine === "in-process" ? "hardhat_setCode" : "anvil_setCode";
      await stage.send(set, safe, "0x00");
      await stage.send(set, delegating, `0xef0100${"11".repeat(20)}`);
      for (const [from, isNoted] of [
        [safe, true],
        [delegating, false],
      ] as const) {
        const { status, notes } = await stage.simulate(vault, { from });
        expect(status).to.equal("settled");
        expect(notes.join(" ").includes("tx.origin"), from).to.equal(isNoted);
      }
    });
  });
});
