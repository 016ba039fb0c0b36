import { expect } from "chai";

import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { describeEngines, expectReality } from "../helpers/engine-stage.js";
import { isFull } from "../helpers/sample.js";
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
  /** Takes long anywhere else: the others' notes are tested in engine-fork.ts. */
  readonly onlyOnNode?: boolean;
  /** Whether it settles at the time of its block, which goes on meanwhile. */
  readonly drifts?: boolean;
  readonly note?: RegExp;
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
  [
    "needs more gas than EIP-7825 allows a transaction",
    "PayingVault",
    "settled",
    { orders: 373, note: /EIP-7825/u, onlyOnNode: true },
  ],
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
    "reads clock and oracle, after the end",
    "ClockVault",
    "settled",
    { drifts: true },
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
  [
    "is for contracts",
    "ContractsOnlyVault",
    "reverted",
    { reason: /for contracts only/u },
  ],
  ["opens the next round", "RollingVault", "settled"],
  [
    "settles in batches",
    "BatchVault",
    "not-settled",
    { orders: 25, reason: unsettled },
  ],

  ["does nothing", "IdleVault", "not-settled", { reason: unsettled }],
  [
    "moves only its end",
    "MovingEndVault",
    "not-settled",
    { reason: unsettled },
  ],
  [
    "raises only its strike price",
    "StrikeRaisingVault",
    "not-settled",
    { reason: unsettled },
  ],
  ["swallows failures", "SwallowingVault", "settled", { orders: 20 }],
  ["wants a gas price", "PaidVault", "settled"],
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
  [
    "wants a sender who has paid for gas",
    "TouchedVault",
    "settled",
    { sender: 5 },
  ],
];

describe("every engine predicts what a settlement then does", () => {
  describeEngines((engine, stage) => {
    for (const [title, name, status, more = {}] of cases) {
      if (more.onlyOnNode === true && engine !== "simulateV1" && !isFull) {
        continue;
      }
      const {
        reason = /^$/u,
        note = /^/u,
        sender = 0,
        options = {},
        drifts = false,
        onlyOnNode: _,
        ...set
      } = more;
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
        const { notes, transfers, gasUsed } = simulation;
        expect(simulation.engine).to.equal(engine);
        expect(simulation.status, String(simulation.reason)).to.equal(status);
        expect(simulation.reason ?? "").to.match(reason);
        expect(notes.join(" ")).to.match(note);
        const time = options.atTime === undefined ? undefined : set.endTime;
        const real = await stage.settleReally(vault, { from, token, time });
        expect(real.succeeded).to.equal(status !== "reverted");
        expectReality(simulation, real, drifts);
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
      expectReality(simulation, real, false);
      expect(
        simulation.transfers?.filter(({ token: of }) => of !== "native"),
      ).to.deep.equal(real.transfers);
    });
  });
});
