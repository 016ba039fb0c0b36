import { expect } from "chai";
import { getAddress } from "ethers";
import type { JsonRpcSigner } from "ethers";

import type { HttpEngine } from "../../src/simulation/options.js";
import type {
  HardhatVault,
  Simulation,
  SimulateSettleAllOptions,
} from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { collectAll } from "../helpers/collect.js";
import { flatten } from "../helpers/flatten.js";
import { connectTo } from "../helpers/hre.js";
import { directProvider } from "../helpers/world.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type {
  SettlingVault,
  SettlingVaultName,
} from "../helpers/settling-vaults.js";

const TRANSFER =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

const engines = ["simulateV1", "call", "fork"] as const;

interface Case {
  readonly title: string;
  readonly vault: SettlingVaultName;
  readonly orders?: number;
  readonly isProxied?: boolean;
  readonly endTime?: number;
  /** Index of the account that settles. */
  readonly sender?: number;
  readonly options?: SimulateSettleAllOptions;
  readonly status: Simulation["status"];
  readonly reason?: RegExp;
  /** Whether it settles at the time of its block, which goes on meanwhile. */
  readonly drifts?: boolean;
  /** Gas that `call` does not see given back; 4,800 of a settled round. */
  readonly givenBack?: bigint;
  /** Engines that leave it to the next one. */
  readonly passedOn?: readonly HttpEngine[];
}

const cases: readonly Case[] = [
  {
    title: "loops over orders and pays their holders",
    vault: "PayingVault",
    orders: 40,
    status: "settled",
  },
  {
    title: "is behind a proxy",
    vault: "PayingVault",
    orders: 5,
    isProxied: true,
    status: "settled",
  },
  {
    title: "gives gas back",
    vault: "RefundingVault",
    orders: 12,
    status: "settled",
    givenBack: 85_169n,
  },
  {
    title: "is for keepers, asked by one",
    vault: "KeeperVault",
    status: "settled",
  },
  {
    title: "is for keepers, asked by somebody",
    vault: "KeeperVault",
    sender: 3,
    status: "reverted",
    reason: /unknown error 0x|NotKeeper/u,
  },
  {
    title: "reads clock and oracle, after the end",
    vault: "ClockVault",
    drifts: true,
    status: "settled",
  },
  {
    title: "reads clock and oracle, before the end",
    vault: "ClockVault",
    endTime: 2_000_000_000,
    status: "reverted",
    reason: /the round has not ended/u,
  },
  {
    title: "reads clock and oracle, at the end",
    vault: "ClockVault",
    endTime: 2_000_000_000,
    options: { atTime: "end" },
    status: "settled",
  },
  {
    title: "moves native currency",
    vault: "NativeVault",
    sender: 2,
    status: "settled",
    // And 40 of the code that takes the sender's payment.
    givenBack: 4_840n,
  },
  {
    title: "is for accounts without code",
    vault: "NoContractsVault",
    status: "settled",
    passedOn: ["call"],
  },
  {
    title: "is for contracts",
    vault: "ContractsOnlyVault",
    status: "reverted",
    reason: /for contracts only/u,
    passedOn: ["call"],
  },
  {
    title: "opens the next round",
    vault: "RollingVault",
    status: "settled",
    givenBack: 20_654n,
  },
  {
    title: "settles in batches",
    vault: "BatchVault",
    orders: 25,
    status: "not-settled",
    reason: /not settled by it/u,
  },
  {
    title: "settles in one batch",
    vault: "BatchVault",
    orders: 10,
    status: "settled",
  },
  {
    title: "does nothing",
    vault: "IdleVault",
    status: "not-settled",
    reason: /not settled by it/u,
  },
  {
    title: "swallows failures",
    vault: "SwallowingVault",
    orders: 20,
    status: "settled",
  },
];

describe("simulation - every engine against what happens", () => {
  let anvil: ServerProcess;
  let provider: ReturnType<typeof directProvider>;
  let checkpoint: unknown;

  before(async () => {
    anvil = await startAnvil();
    provider = directProvider(anvil.url);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });
  beforeEach(async () => {
    checkpoint = await provider.send("evm_snapshot", []);
  });
  afterEach(async () => {
    await provider.send("evm_revert", [checkpoint]);
  });

  async function open({ contracts }: SettlingVault): Promise<HardhatVault> {
    return (await connectTo(anvil.url, { vault: { contracts } })).vault;
  }

  for (const engine of engines) {
    describe(engine, () => {
      for (const {
        title,
        vault: name,
        status,
        reason,
        sender = 0,
        options = {},
        passedOn = [],
        drifts = false,
        givenBack = status === "settled" ? 4_800n : 0n,
        ...set
      } of cases) {
        it(`should know a vault that ${title}`, async () => {
          const deployed = await deploySettlingVault(
            await provider.getSigner(0),
            name,
            set,
          );
          const vault = await open(deployed);
          const signer = await provider.getSigner(sender);
          const token = await deployed.token.getAddress();
          const asked = {
            as: signer.address,
            orders: [1, 2, 3],
            tokens: [token],
            ...options,
          };
          if (passedOn.includes(engine)) {
            await expectVaultError(
              vault.simulateSettleAll({ ...asked, engine }),
              "VAULT_ENGINE_UNAVAILABLE",
            );
            return;
          }
          const simulation = await vault.simulateSettleAll({
            ...asked,
            engine,
          });
          expect(simulation.engine).to.equal(engine);
          expect(simulation.status, String(simulation.reason)).to.equal(status);
          if (reason === undefined) {
            expect(simulation.reason).to.equal(null);
          } else {
            expect(simulation.reason).to.match(reason);
          }
          const real = await settleReally(
            vault,
            deployed,
            signer,
            [1n, 2n, 3n],
            options.atTime === undefined ? undefined : set.endTime,
          );
          expect(real.succeeded).to.equal(status !== "reverted");
          expectReality(simulation, real, drifts);
          if (engine === "call") {
            expect(simulation.transfers).to.equal(null);
            expect(simulation.notes.join(" ")).to.match(
              /Transfers are not seen/u,
            );
            expect(simulation.gasUsed).to.equal(real.gasUsed + givenBack);
          } else {
            expect(simulation.gasUsed).to.equal(real.gasUsed);
            expect(
              (simulation.transfers ?? []).filter(
                ({ token: of }) => of !== "native",
              ),
            ).to.deep.equal(real.transfers);
          }
        });
      }
    });
  }

  for (const engine of ["simulateV1", "fork"] as const) {
    it(`should see native currency move between any accounts, with ${engine}`, async () => {
      const deployed = await deploySettlingVault(
        await provider.getSigner(0),
        "NativeVault",
      );
      const vault = await open(deployed);
      const { address } = await provider.getSigner(4);
      const { transfers } = await vault.simulateSettleAll({
        engine,
        as: address,
      });
      const from = await deployed.contract.getAddress();
      const to = (tail: string): string =>
        getAddress(`0x${tail.padStart(40, "0")}`);
      expect(transfers).to.deep.equal([
        { token: "native", from, to: address, amount: 1_000n },
        { token: "native", from, to: to("beef0001"), amount: 3n * 10n ** 18n },
        { token: "native", from, to: to("beef0002"), amount: 5n },
      ]);
    });
  }

  for (const engine of engines) {
    it(`should see the block's own base fee, or say that it does not, with ${engine}`, async () => {
      const signer = await provider.getSigner(0);
      const deployed = await deploySettlingVault(signer, "FeeVault");
      const vault = await open(deployed);
      const { changes, notes } = await vault.simulateSettleAll({ engine });
      const predicted = changes.find(({ field }) => field === "settledPrice");
      await vault.settleAll({ pollingInterval: 20 });
      const { settledPrice } = await vault.getLatestRoundInfo();
      const isSeen = predicted?.after === settledPrice;
      expect(isSeen, "anvil ignores it in eth_simulateV1 alone").to.equal(
        engine !== "simulateV1",
      );
      expect(notes.filter((note) => note.includes("base fee"))).to.deep.equal(
        isSeen
          ? []
          : [
              `The node simulates with a base fee of 0 wei instead of ${settledPrice}: a contract that reads block.basefee can do something else when it is mined.`,
            ],
      );
      expect(notes.join(" ")).to.contain("gasleft()");
    });
  }

  for (const [engine, isWhole] of [
    ["simulateV1", false],
    ["fork", true],
  ] as const) {
    it(`should ${isWhole ? "list" : "say that the list lacks"} what a contract that destroys itself gives away, with ${engine}`, async () => {
      const signer = await provider.getSigner(0);
      const vault = await open(await deploySettlingVault(signer, "PurseVault"));
      const { transfers, notes } = await vault.simulateSettleAll({ engine });
      expect(transfers?.map(({ amount }) => amount)).to.deep.equal(
        isWhole ? [7n, 7n] : [7n],
      );
      expect(notes.join(" ").includes("transfers is not whole")).to.equal(
        !isWhole,
      );
    });
  }

  describe("373 orders, more gas than EIP-7825 allows a transaction", () => {
    const orders = Array.from({ length: 373 }, (_, index) => index + 1);
    const simulated = new Map<HttpEngine, Simulation>();
    let vault: HardhatVault;
    let deployed: SettlingVault;
    let real: Reality;

    before(async () => {
      const signer = await provider.getSigner(0);
      deployed = await deploySettlingVault(signer, "PayingVault", {
        orders: orders.length,
      });
      vault = await open(deployed);
      const token = await deployed.token.getAddress();
      for (const engine of engines) {
        simulated.set(
          engine,
          await vault.simulateSettleAll({ engine, orders, tokens: [token] }),
        );
      }
      const unsettled: unknown = await provider.send("evm_snapshot", []);
      real = await settleReally(vault, deployed, signer, orders.map(BigInt));
      await provider.send("evm_revert", [unsettled]);
    });

    it("should be settled by settleAll(), as previewed", async () => {
      const settlement = await vault.settleAll({ pollingInterval: 20 });

      expect(settlement.status, String(settlement.reason)).to.equal("settled");
      expect(settlement.gasUsed).to.equal(real.gasUsed);
      expect(settlement.preview?.gasUsed).to.equal(real.gasUsed);
      expect(settlement.preview?.differences).to.deep.equal([]);
    });

    for (const engine of engines) {
      it(`should come as ${engine} said`, () => {
        const simulation = simulated.get(engine);
        if (simulation === undefined) {
          throw new Error("it was not simulated");
        }
        expect(simulation.status, String(simulation.reason)).to.equal(
          "settled",
        );
        expect(real.succeeded).to.equal(true);
        expect(Number(real.gasUsed)).to.be.greaterThan(16_777_216);
        expect(simulation.notes.join(" ")).to.contain("EIP-7825");
        expectReality(simulation, real, false);
        expect(
          simulation.changes.filter(({ field }) => field === "state"),
        ).to.have.length(orders.length);
        if (engine === "call") {
          expect(simulation.gasUsed).to.equal(real.gasUsed + 4_800n);
        } else {
          expect(simulation.gasUsed).to.equal(real.gasUsed);
          expect(simulation.transfers).to.deep.equal(real.transfers);
        }
      });
    }
  });

  /** Before and after, by account and token, or as in `orders.7.state`. */
  type Differences = ReadonlyMap<string, readonly [unknown, unknown]>;

  interface Reality {
    readonly succeeded: boolean;
    readonly gasUsed: bigint;
    readonly transfers: Simulation["transfers"];
    readonly changes: Differences;
    readonly balances: Differences;
    /** What the sender paid, in wei. */
    readonly fee: bigint;
    readonly gasPrice: bigint;
  }

  /** Compares what an engine said with what then happened. */
  function expectReality(
    { changes, balances, gasUsed }: Simulation,
    real: Reality,
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
      const [one, other] = [said, happened].map((map) => {
        const [, price] = map.get("round.settledPrice") ?? [];
        map.delete("round.settledPrice");
        return Number(price);
      });
      expect(one).to.be.closeTo(other ?? NaN, 60);
    }
    expect(said).to.deep.equal(happened);
    const [sender] = balances;
    expect(
      new Map(
        balances.map(({ account, token, before, after }) => [
          `${account} ${token}`,
          [
            before,
            // The same fee, but for gas that the engine does not see given back.
            account === sender?.account && token === "native"
              ? after + (gasUsed ?? 0n) * real.gasPrice - real.fee
              : after,
          ],
        ]),
      ),
    ).to.deep.equal(real.balances);
  }

  async function settleReally(
    vault: HardhatVault,
    { contract, token }: SettlingVault,
    signer: JsonRpcSigner,
    orders: readonly bigint[],
    time?: number,
  ): Promise<Reality> {
    const address = await contract.getAddress();
    const tokenAddress = await token.getAddress();
    const readAll = async () => {
      const watched = await collectAll(vault.orders({ ids: orders }));
      const { block, chainId, ...readings } = await vault.snapshot();
      const balances = new Map<string, unknown>();
      for (const account of [signer.address, address]) {
        const balance: unknown = await token.getFunction("balanceOf")(account);
        balances.set(`${account} native`, await provider.getBalance(account));
        balances.set(`${account} ${tokenAddress}`, balance);
      }
      const values = flatten(readings);
      for (const { orderID, ...order } of watched) {
        for (const [path, value] of flatten(order, `orders.${orderID}.`)) {
          values.set(path, value);
        }
      }
      return { values, balances, block, chainId };
    };
    const before = await readAll();
    if (time !== undefined) {
      await provider.send("evm_setNextBlockTimestamp", [time]);
    }
    const sent = { from: signer.address, to: address, data: "0xa015aefe" };
    const hash: unknown = await provider.send("eth_sendTransaction", [
      { ...sent, gas: "0x1c9c380" },
    ]);
    const receipt = await provider.getTransactionReceipt(String(hash));
    if (receipt === null) {
      throw new Error("a transaction that was not mined");
    }
    const after = await readAll();
    const { gasUsed, gasPrice, status, logs } = receipt;
    return {
      succeeded: status === 1,
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
    };
  }

  function differences(
    before: ReadonlyMap<string, unknown>,
    after: ReadonlyMap<string, unknown>,
  ): Differences {
    return new Map(
      [...before].flatMap(([key, value]) =>
        value === after.get(key) ? [] : [[key, [value, after.get(key)]]],
      ),
    );
  }
});

function pathOf(reading: string, field: string): string {
  return ["volume", "minXMargin"].includes(reading) ||
    reading.startsWith("fundingFeeRate")
    ? reading
    : `${reading}.${field}`;
}

function addressOf(topic = "0x"): string {
  return getAddress(`0x${topic.slice(-40)}`);
}
