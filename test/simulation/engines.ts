import { expect } from "chai";
import { getAddress } from "ethers";
import fc from "fast-check";

import { explainRefusal } from "../../src/settlement-call/refusal.js";
import type {
  HardhatVault,
  ScriptedReason,
  Simulation,
  SimulateSettleAllOptions,
} from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { flatten } from "../helpers/flatten.js";
import { anyString } from "../helpers/hostile-text.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { isFull, seed } from "../helpers/sample.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { mined, untilFound } from "../helpers/transactions.js";

const TRANSFER =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const engines = ["simulateV1", "fork", "in-process"] as const;
type Engine = (typeof engines)[number];

interface Case {
  readonly orders?: number;
  readonly isProxied?: boolean;
  readonly endTime?: number;
  /** Index of the account that settles. */
  readonly sender?: number;
  readonly options?: SimulateSettleAllOptions;
  readonly reason?: RegExp;
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
    { orders: 373, note: /EIP-7825/u },
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
  ["swallows failures", "SwallowingVault", "settled", { orders: 20 }],
];

/** How many random vaults each engine predicts; a fork takes ten times as long. */
const scenariosOf = {
  simulateV1: 12,
  fork: 6,
  "in-process": 6,
} as const;

/** In turn: a round that is already settled, and a vault that refuses. */
const turns = [
  "settled",
  "refused",
  "open",
  "refused",
  "open",
  "open",
] as const;

const uint256 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  fc.bigInt({ min: 0n, max: 10n ** 24n }),
  fc.constantFrom(0n, 1n, 2n ** 256n - 1n),
);
/** A round may end long ago, about now, in ages, or never. */
const roundTime = fc.oneof(
  fc.bigInt({ min: 1_700_000_000n, max: 2_100_000_000n }),
  uint256,
);
const bytes = fc
  .uint8Array({ maxLength: 100 })
  .map((data) => `0x${Buffer.from(data).toString("hex")}`);
const margins = { baseMarginAmount: uint256, xMarginAmount: uint256 };
const pool = { deposit: uint256, availabe: uint256, locked: uint256 };

/** Reasons of a scripted settlement that reverts. */
const reasons: fc.Arbitrary<ScriptedReason> = fc.oneof(
  anyString,
  // A larger code aborts the whole process: EDR's own defect.
  fc.record({ panic: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
  fc.record({ panic: fc.constantFrom(0x01n, 0x11n, 0x12n, 0x32n) }),
  fc.record({
    customError: fc.constant("RoundAlreadySettled"),
    args: fc.tuple(uint256, uint256, uint256),
  }),
  fc.record({ data: bytes }),
);

const scenario = fc.record({
  changes: fc.record({
    round: fc.record({
      ...{ strikePrice: uint256, APY: uint256, maxVolume: uint256 },
      ...{ filledVolume: uint256, minDeposit: uint256 },
      ...{ startTime: roundTime, endTime: roundTime },
      ...{ settledPrice: uint256, settledAmount: uint256 },
    }),
    settlement: fc.record({ settledPrice: uint256, settledAmount: uint256 }),
    pools: fc.record({ public: fc.record(pool) }),
    fundingFeeRate: fc.record({ call: uint256 }),
    volume: uint256,
    marginBalance: fc.record(margins),
    minXMargin: uint256,
  }),
  reason: reasons,
  sender: fc.nat({ max: 9 }),
  delay: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
});

type Values = ReadonlyMap<string, unknown>;
/** Before and after, by path as in `round.settled`, or by account and token. */
type Differences = ReadonlyMap<string, readonly [unknown, unknown]>;

describe("every engine predicts what a settlement then does", () => {
  const anvil = useAnvil();
  let connected: HardhatVault;
  let checkpoint: unknown;

  for (const engine of engines) {
    describe(engine, () => {
      beforeEach(async () => {
        connected = await connect(engine);
        checkpoint = await send("evm_snapshot");
      });
      afterEach(async () => {
        await send("evm_revert", checkpoint);
        await connected.connection.close();
      });

      const simulate = async (
        vault: HardhatVault,
        options: SimulateSettleAllOptions = {},
      ): Promise<Simulation> =>
        await vault.simulateSettleAll(
          engine === "in-process" ? options : { engine, ...options },
        );

      for (const [title, name, status, more = {}] of cases) {
        const {
          reason = /^$/u,
          note = /^/u,
          sender = 0,
          options = {},
          drifts = false,
          ...set
        } = more;
        it(`${engine} predicts ${status} for a vault that ${title}`, async () => {
          const { vault, token } = await deploy(name, set);
          const as = await accountOf(sender);
          const asked = {
            as,
            orders: [1, 2, 3],
            tokens: [token],
            ...options,
          };
          const simulation = await simulate(vault, asked);
          const { notes, transfers, gasUsed } = simulation;
          expect(simulation.engine).to.equal(engine);
          expect(simulation.status, String(simulation.reason)).to.equal(status);
          expect(simulation.reason ?? "").to.match(reason);
          expect(notes.join(" ")).to.match(note);
          const time = options.atTime === undefined ? undefined : set.endTime;
          const real = await settleReally(vault, { as, token, time });
          expect(real.succeeded).to.equal(status !== "reverted");
          expectReality(simulation, real, drifts);
          expect(gasUsed).to.equal(real.gasUsed);
          expect(
            transfers?.filter(({ token: of }) => of !== "native"),
          ).to.deep.equal(real.transfers);
        });
      }

      it(`${engine} predicts every reading and every transfer of a vault that is a token itself`, async () => {
        const { vault, token, contract } = await deploy("MixedVault", {
          orders: 2,
        });
        const as = await accountOf(0);
        await mined(
          await contract.getFunction("give").send(as, 4n * 10n ** 18n),
        );
        const asked = { as, orders: [1, 2, 3, 2], tokens: [token] };
        const simulation = await simulate(vault, asked);
        const real = await settleReally(vault, { as, token, time: undefined });
        expect(simulation.status).to.equal("settled");
        expectReality(simulation, real, false);
        expect(
          simulation.transfers?.filter(({ token: of }) => of !== "native"),
        ).to.deep.equal(real.transfers);
      });

      it(`${engine} sees the block's own base fee, or notes that the node ignores it`, async () => {
        const { vault } = await deploy("FeeVault");
        const { changes, notes } = await simulate(vault);
        const predicted = changes.find(({ field }) => field === "settledPrice");
        await vault.settleAll({ pollingInterval: 20 });
        const { settledPrice } = await vault.getLatestRoundInfo();
        const isSeen = predicted?.after === settledPrice;
        expect(isSeen, "anvil ignores it in eth_simulateV1 alone").to.equal(
          engine !== "simulateV1",
        );
        expect(notes.join(" ").includes("base fee of 0 wei")).to.equal(!isSeen);
        // It has to be raised for the readings in the same block.
        expect(notes.join(" ").includes("block.gaslimit")).to.equal(
          engine === "simulateV1",
        );
      });

      it(`${engine} sees native currency move between any accounts`, async () => {
        const { vault, address: from } = await deploy("NativeVault");
        const as = await accountOf(4);
        const { transfers } = await simulate(vault, { as });
        const to = (tail: string): string =>
          getAddress(`0x${tail.padStart(40, "0")}`);
        expect(transfers).to.deep.equal(
          [
            { to: as, amount: 1_000n },
            { to: to("beef0001"), amount: 3n * 10n ** 18n },
            { to: to("beef0002"), amount: 5n },
          ].map((moved) => ({ token: "native", from, ...moved })),
        );
      });

      it(`${engine} lists what a contract that destroys itself gives away`, async () => {
        const { vault } = await deploy("PurseVault");
        const { transfers, notes } = await simulate(vault);
        expect(transfers?.map(({ amount }) => amount)).to.deep.equal([7n, 7n]);
        expect(notes.join(" ")).not.to.include("transfers is not right");
      });

      it(`${engine} predicts reverted with VAULT_CALL_REVERTED for a vault with an assert of before Solidity 0.8`, async () => {
        const { vault } = await deploy("InvalidVault");
        const { status, code, reason } = await simulate(vault);
        expect([status, code]).to.deep.equal([
          "reverted",
          "VAULT_CALL_REVERTED",
        ]);
        expect(reason).to.match(/^invalid opcode, as of an assert/u);
      });

      it(`${engine} lists no payment that fails inside`, async () => {
        const { vault } = await deploy("FailingPaymentVault");
        const { status, transfers, notes } = await simulate(vault);
        expect({ status, transfers }).to.deep.equal({
          status: "settled",
          transfers: [],
        });
        expect(notes.join(" ")).not.to.include("transfers is not right");
      });

      it(`${engine} predicts settled for a vault that writes when it was settled into its end`, async () => {
        const { vault } = await deploy("EndWritingVault");
        const { status, changes } = await simulate(vault);
        expect(status).to.equal("settled");
        expect(changes.map(({ field }) => field)).to.include("endTime");
      });

      it(`${engine} lists no change of what only the clock moves`, async () => {
        const { vault } = await deploy("TickingVault");
        const { changes } = await simulate(vault, { atTime: "+1h" });
        const readings = changes.map(({ reading }) => reading);
        expect(readings).to.include("round").and.not.include("volume");
      });

      it(`${engine} leaves the balance of a sender without money as it is, and notes the fee that it cannot pay`, async () => {
        const { vault } = await deploy("SilentVault");
        const as = getAddress(`0x${"00".repeat(18)}beef`);
        const set =
          engine === "in-process" ? "hardhat_setBalance" : "anvil_setBalance";
        await send(set, as, "0x3e8");
        const { status, balances, notes } = await simulate(vault, { as });
        expect({ status, balances }).to.deep.equal({
          status: "settled",
          balances: [],
        });
        expect(notes.join(" ")).to.match(
          /cannot pay for gas: it has 1000 wei, and the fee is \d+ wei/u,
        );
      });

      it(`${engine} notes for a sender with code, not for one that delegates, that another account sends the transaction`, async () => {
        const { vault } = await deploy("OriginVault");
        const [safe, delegating] = ["5afe", "7702"].map((tail) =>
          getAddress(`0x${tail.padStart(40, "0")}`),
        );
        const set =
          engine === "in-process" ? "hardhat_setCode" : "anvil_setCode";
        await send(set, safe, "0x00");
        await send(set, delegating, `0xef0100${"11".repeat(20)}`);
        for (const [as, isNoted] of [
          [safe, true],
          [delegating, false],
        ] as const) {
          const { status, notes } = await simulate(vault, { as });
          expect(status).to.equal("settled");
          expect(notes.join(" ").includes("tx.origin"), as).to.equal(isNoted);
        }
      });

      const scenarios = isFull ? 5_000 : scenariosOf[engine];
      it(`${engine} predicts ${scenarios} random vaults`, async () => {
        const mocks = await connected.deployMocks();
        const { vault } = mocks;
        let number = 0;
        const counts = {
          ...{ settled: 0, "not-settled": 0, reverted: 0, "nothing-to-do": 0 },
        };
        await fc.assert(
          fc.asyncProperty(scenario, async (drawn) => {
            const turn = turns[number++ % turns.length] ?? "open";
            const { delay, changes, reason } = drawn;
            const settled = turn === "settled";
            const round = { ...changes.round, settled };
            await mocks.set({
              ...changes,
              round: settled
                ? round
                : { ...round, settledPrice: 0n, settledAmount: 0n },
            });
            await (turn === "refused"
              ? mocks.fail("settleAll", reason)
              : mocks.succeed("settleAll"));
            const as = await accountOf(drawn.sender);
            const { timestamp } = await vault.block();
            const predicted = await simulate(vault, {
              as,
              orders: [1],
              ...(delay === null ? {} : { atTime: `+${delay}s` }),
            });
            counts[predicted.status] += 1;
            if (turn === "settled") {
              expect(predicted.status).to.equal("nothing-to-do");
              return;
            }
            const time = delay === null ? undefined : timestamp + delay;
            const real = await settleReally(vault, { as, time });
            expect(predicted.status).to.equal(
              real.succeeded ? "settled" : "reverted",
            );
            expect(predicted.reason).to.equal(real.reason);
            expectReality(predicted, real, false);
            expect(predicted.gasUsed).to.equal(real.gasUsed);
            expect(predicted.block?.number).to.equal(real.block.number);
            if (delay !== null) {
              expect(predicted.block).to.deep.equal(real.block);
            }
          }),
          {
            seed,
            numRuns: scenarios,
            endOnFailure: true,
            includeErrorInReport: true,
          },
        );
        for (const status of [
          "settled",
          "reverted",
          "nothing-to-do",
        ] as const) {
          expect(counts[status], status).to.be.greaterThan(scenarios / 20);
        }
      });
    });
  }

  async function connect(engine: Engine): Promise<HardhatVault> {
    if (engine !== "in-process") {
      return (await connectTo(anvil.url)).vault;
    }
    const network = {
      type: "edr-simulated",
      throwOnTransactionFailures: false,
      // Without the gas cap of a transaction, as on anvil.
      hardfork: "prague",
    } as const;
    const hre = await createTestHre({ networks: { default: network } });
    return (await hre.network.create()).vault;
  }

  async function send(method: string, ...params: unknown[]): Promise<unknown> {
    const result: unknown = await connected.provider.request({
      method,
      params,
    });
    return result;
  }

  async function accountOf(index: number): Promise<string> {
    const { provider } = connected.connection.ethers;
    return (await provider.getSigner(index)).address;
  }

  async function deploy(
    name: SettlingVaultName,
    set: Parameters<typeof deploySettlingVault>[2] = {},
  ) {
    const { provider } = connected.connection.ethers;
    const { contract, token, contracts } = await deploySettlingVault(
      await provider.getSigner(0),
      name,
      set,
    );
    return {
      vault: connected.at(contracts),
      contract,
      address: await contract.getAddress(),
      token: await token.getAddress(),
    };
  }

  /** Compares what an engine said with what then happened. */
  function expectReality(
    { changes, balances, gasUsed }: Simulation,
    real: Awaited<ReturnType<typeof settleReally>>,
    drifts: boolean,
  ): void {
    const said = new Map<string, readonly [unknown, unknown]>(
      changes.map(({ reading, field, before, after }) => [
        pathOf(reading, field),
        [before, after],
      ]),
    );
    const happened = new Map(real.changes);
    if (drifts) {
      // The clock goes on between the simulation and the settlement.
      const [one = 0n, other = 0n] = [said, happened].map((map) => {
        const [, price] = map.get("round.settledPrice") ?? [];
        map.delete("round.settledPrice");
        return BigInt(String(price));
      });
      expect(Number(one - other)).to.be.within(-60, 60);
    }
    expect(said).to.deep.equal(happened);
    const [sender] = balances;
    expect(balances).to.have.lengthOf(real.balances.size);
    expect(
      new Map(
        balances.map(({ account, token, before, after }) => [
          `${account} ${token}`,
          [
            before,
            // The same fee at another price of gas.
            account === sender?.account && token === "native"
              ? after + (gasUsed ?? 0n) * real.gasPrice - real.fee
              : after,
          ],
        ]),
      ),
    ).to.deep.equal(real.balances);
  }

  /** Settles past everything of ours that could be wrong. */
  async function settleReally(
    vault: HardhatVault,
    {
      as,
      token,
      time,
    }: {
      readonly as: string;
      readonly token?: string;
      readonly time: number | undefined;
    },
  ) {
    const { address: to } = await vault.addressOf("vault");
    const read = async () => await readAll(vault, [as, to], token);
    const call = { from: as, to, data: "0xa015aefe" };
    const before = await read();
    if (time !== undefined) {
      await send("evm_setNextBlockTimestamp", time);
    }
    const called = await vault.rpc.requestOrRevert("eth_call", [
      call,
      "latest",
    ]);
    const hash = await send("eth_sendTransaction", {
      ...call,
      gas: token === undefined ? "0xf4240" : "0x1c9c380",
      maxFeePerGas: "0x174876e800",
      maxPriorityFeePerGas: await send("eth_maxPriorityFeePerGas"),
    });
    const { provider } = connected.connection.ethers;
    const receipt = await untilFound(
      async () => await provider.getTransactionReceipt(String(hash)),
    );
    const after = await read();
    const { gasUsed, gasPrice, status, logs } = receipt;
    return {
      succeeded: status === 1,
      reason:
        "reverted" in called
          ? (await explainRefusal(vault, called.reverted)).reason
          : null,
      gasUsed,
      gasPrice,
      fee: gasUsed * gasPrice,
      transfers: logs
        .filter(({ topics }) => topics[0] === TRANSFER)
        .map(({ address: of, topics, data }) => ({
          token: of,
          from: addressOf(topics[1]),
          to: addressOf(topics[2]),
          amount: BigInt(data),
        })),
      changes: differences(before.values, after.values),
      balances: differences(before.balances, after.balances),
      block: after.block,
    };
  }

  /** Readings, three orders, and balances of native currency and a token. */
  async function readAll(
    vault: HardhatVault,
    accounts: readonly string[],
    token = "",
  ) {
    const { block, chainId: _chain, ...readings } = await vault.snapshot();
    const values = flatten(readings);
    const ids = token === "" ? [1n] : [1n, 2n, 3n];
    for (const { orderID, ...order } of await Array.fromAsync(
      vault.orders({ ids }),
    )) {
      for (const [path, value] of flatten(order, `orders.${orderID}.`)) {
        values.set(path, value);
      }
    }
    const balances = new Map<string, unknown>();
    for (const account of accounts) {
      const native = await send("eth_getBalance", account, "latest");
      balances.set(`${account} native`, BigInt(String(native)));
      if (token !== "") {
        const data = `0x70a08231${account.slice(2).padStart(64, "0")}`;
        const call = { to: token, data };
        const owned = await send("eth_call", call, "latest");
        balances.set(`${account} ${token}`, BigInt(String(owned)));
      }
    }
    return { values, balances, block };
  }
});

function differences(before: Values, after: Values): Differences {
  return new Map(
    [...before].flatMap(([key, value]) =>
      value === after.get(key) ? [] : [[key, [value, after.get(key)]]],
    ),
  );
}

function pathOf(reading: string, field: string): string {
  return ["volume", "minXMargin"].includes(reading) ||
    reading.startsWith("fundingFeeRate")
    ? reading
    : `${reading}.${field}`;
}

function addressOf(topic = "0x"): string {
  return getAddress(`0x${topic.slice(-40)}`);
}
