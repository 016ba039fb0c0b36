import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";
import { AbiCoder, getAddress, toBeHex } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { isFailedOrder } from "../../src/client/index.js";
import type { ContractRole, Eip1193Provider } from "../../src/client/index.js";
import { toSafeJson } from "../../src/foreign-text.js";
import { toJsonValue } from "../../src/json.js";
import { capture } from "../../src/mocks/capture.js";
import { get } from "../../src/protocol/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { Settlement } from "../../src/types.js";
import { foundryBinary, startAnvil } from "../helpers/anvil.js";
import { deployInstance, sendTo } from "../helpers/deployment/deploy.js";
import type {
  Instance,
  InstanceOptions,
  RoundState,
} from "../helpers/deployment/deploy.js";
import { noNode } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { guardCreationCode } from "../../src/guard/round-guard.js";
import { deployCode } from "../helpers/transactions.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { flatten } from "../helpers/flatten.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { isFull, sample } from "../helpers/sample.js";
import { isSame } from "../helpers/scripted-contracts.js";

const ORDERS = 40;
/** What removed ids have in common (Trading.sol). */
const isRemoved = (id: number): boolean => id % 23 === 11;

interface Stage {
  readonly instance: Instance;
  readonly vault: HardhatVault;
  readonly provider: Eip1193Provider;
  readonly folder: string;
  /** Runs a task of the command line, and returns its last document. */
  readonly run: (typed: string) => Promise<Readonly<Record<string, unknown>>>;
  /** The vault of a configuration with this guard. */
  readonly guardedBy: (guard: string) => Promise<HardhatVault>;
  /** Somebody calls a function of the vault. */
  readonly send: (method: string, ...args: readonly unknown[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Place {
  readonly name: string;
  /** Engines that simulate there; undefined is the only one that there is. */
  readonly engines: ReadonlyArray<"simulateV1" | "fork" | undefined>;
  readonly start: () => Promise<TestNode>;
  /** True for a fork of the chain. */
  readonly isFork?: boolean;
}

const places: readonly Place[] = [
  { name: "anvil", engines: ["simulateV1", "fork"], start: startAnvil },
  { name: "an in-process network", engines: [undefined], start: noNode },
  {
    name: "a fork of anvil",
    engines: [undefined],
    start: startAnvil,
    isFork: true,
  },
  { name: "hardhat node", engines: ["fork"], start: startHardhatNode },
];

async function openStage(
  hre: HardhatRuntimeEnvironment,
  { url = "" }: TestNode,
  folder: string,
  { isFork = false }: Place,
  options: InstanceOptions | undefined,
): Promise<Stage> {
  const connection = await hre.network.getOrCreate();
  const instance = await deployInstance(connection.provider, options);
  const { contracts } = instance;
  const at = Object.entries(contracts).map(([role, to]) => `${role}=${to}`);
  const vault = connection.vault.at(contracts);
  const fork = isFork ? await vault.fork() : undefined;
  const { provider } = fork ?? connection;
  return {
    ...{ instance, provider, folder, vault: fork?.vault ?? vault },
    run: async (typed: string) => {
      const result = await runTyped(hre, `${typed} --json --at ${at.join()}`);
      const { exitCode, stdout, stderr } = result;
      expect(exitCode, stdout + stderr).to.equal(0);
      return fieldsOf(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? ""));
    },
    guardedBy: async (guard: string) => {
      const tokens = [instance.Token];
      const settings = { vault: { contracts, guard, tokens } };
      const guarded = await hreOnLive(url, settings, folder);
      return (await guarded.network.create("live")).vault;
    },
    send: async (method, ...args) => {
      await sendTo(provider, instance, "Vault", method, ...args);
    },
    close: async () => {
      await fork?.close();
    },
  };
}

const runFile = promisify(execFile);

/** What a contract returns to a plain call, 0x hex. */
async function callPlainly(
  { instance, provider }: Stage,
  role: ContractRole,
  data: string,
): Promise<string> {
  const to = instance.contracts[role];
  const params = [{ to, data }, "latest"];
  return String(await provider.request({ method: "eth_call", params }));
}

/** The same, decoded by cast. */
async function readByCast(
  stage: Stage,
  role: ContractRole,
  data: string,
  types: string,
): Promise<readonly unknown[]> {
  const answer = await callPlainly(stage, role, data);
  const { stdout } = await runFile(foundryBinary("cast"), [
    ...["decode-abi", "--json", `read()(${types})`, answer],
  ]);
  const values: unknown = JSON.parse(stdout);
  return Array.isArray(values) ? values.map(String) : [];
}

const word = (value: bigint | number): string => toBeHex(value, 32).slice(2);
const uints = (count: number): string =>
  Array.from({ length: count }, () => "uint256").join();
const ORDER_TYPES = `string,address,${uints(9)},uint8,uint8`;

/** The reads of a snapshot: the path in it, the call, and what it returns. */
const readings: ReadonlyArray<
  readonly [path: string, ContractRole, data: string, types: string]
> = [
  ["fundingFeeRate.call", "underlyingAsset", `0xc138aa5f${word(1)}`, uints(1)],
  ["fundingFeeRate.put", "underlyingAsset", `0xc138aa5f${word(2)}`, uints(1)],
  ["pools.public", "publicPool", "0x53ac2d24", uints(3)],
  ["pools.private", "privatePool", "0x53ac2d24", uints(3)],
  ["round", "vaultFactory", "0x2016e80b", `${uints(9)},bool`],
  ["volume", "vault", "0xa69590a8", uints(1)],
  ["marginBalance", "vault", "0xea17f924", uints(2)],
  ["minXMargin", "vaultFactory", "0x789f4b5a", uints(1)],
];

/** Each run of cast is a process of its own: of many orders, ethers decodes most. */
async function readOrder(
  stage: Stage,
  id: number,
  byCast: boolean,
): Promise<readonly unknown[]> {
  const data = `0xd311636b${word(id)}`;
  if (byCast) {
    return await readByCast(stage, "trading", data, ORDER_TYPES);
  }
  const answer = await callPlainly(stage, "trading", data);
  const types = ORDER_TYPES.split(",");
  return AbiCoder.defaultAbiCoder().decode(types, answer).map(String);
}

/** The values of an answer, in its order, as cast prints them. */
const printed = (value: unknown): readonly string[] =>
  typeof value === "bigint"
    ? [value.toString()]
    : Object.entries(fieldsOf(value))
        .filter(([name]) => name !== "orderID")
        .map(([, inner]) => String(inner));

const rewardOf = async (
  { provider, instance }: Stage,
  account: string,
): Promise<bigint> => {
  const data = `0x70a08231${word(BigInt(account))}`;
  const params = [{ to: instance.Token, data }, "latest"];
  return BigInt(String(await provider.request({ method: "eth_call", params })));
};

const accountOf = async ({ provider }: Stage): Promise<string> => {
  const accounts = await provider.request({ method: "eth_accounts" });
  return String(Reflect.get(Object(accounts), 0));
};

/** The account gets what each engine's simulation has said. */
async function settle(
  stage: Stage,
  { engines }: Place,
  {
    vault,
    status = "settled",
    reason = /^$/u,
  }: { vault: HardhatVault; status?: Settlement["status"]; reason?: RegExp },
): Promise<Settlement> {
  const account = await accountOf(stage);
  const rewards = new Set<bigint>();
  const before = await rewardOf(stage, account);
  for (const engine of engines) {
    const simulation = await vault.simulateSettleAll({
      ...(engine === undefined ? {} : { engine }),
    });
    expect(simulation.status, String(simulation.reason)).to.equal(status);
    expect(simulation.reason ?? "").to.match(reason);
    for (const { token, to, amount } of simulation.transfers ?? []) {
      if (token === stage.instance.Token && isSame(to, account)) {
        rewards.add(amount);
      }
    }
  }
  const settlement = await vault.settleAll();
  expect(settlement.status, String(settlement.reason)).to.equal(status);
  expect(settlement.reason ?? "").to.match(reason);
  const reward = (await rewardOf(stage, account)) - before;
  expect([...rewards]).to.eql(reward === 0n ? [] : [reward]);
  expect(reward === 0n).to.equal(status !== "settled");
  return settlement;
}

/** A job of the README, and how it is seen to be right. */
interface Job {
  readonly title: string;
  readonly options?: InstanceOptions;
  /** True for one that the command line alone does. */
  readonly isTask?: boolean;
  /** True for one that needs a node of its own process. */
  readonly isOnNode?: boolean;
  /** True for one that takes long on some nodes. */
  readonly isLong?: boolean;
  readonly check: (stage: Stage, place: Place) => Promise<void>;
}

/** How a settlement of each round ends. */
const endings: ReadonlyArray<
  readonly [
    RoundState,
    status: "settled" | "nothing-to-do" | "reverted",
    reason: RegExp,
  ]
> = [
  ["priced", "settled", /^$/u],
  ["settled in part", "settled", /^$/u],
  ["open", "reverted", /^no price is set$/u],
  ["ended", "reverted", /^no price is set$/u],
  ["below the strike", "nothing-to-do", /settled/u],
  ["settled", "nothing-to-do", /settled/u],
  ["terminated", "reverted", /^terminated$/u],
];

const jobs: readonly Job[] = [
  {
    title: "snapshot() and each read return what cast decodes",
    check: async (stage) => {
      const snapshot = await stage.vault.snapshot();
      for (const [at, role, data, types] of readings) {
        const value = get(snapshot, at.split("."));
        const expected = await readByCast(stage, role, data, types);
        expect(printed(value), at).to.eql(expected);
      }
      const { vault } = stage;
      const single = {
        "fundingFeeRate.call": await vault.getFundingFeeRate(1),
        "pools.private": await vault.getLPAmountInfo("private"),
        round: await vault.getLatestRoundInfo(),
        volume: await vault.queryVolume(),
        marginBalance: await vault.queryMarginBalance(),
        minXMargin: await vault.minXMargin(),
      };
      for (const [at, value] of flatten(single)) {
        expect(flatten(snapshot).get(at), at).to.equal(value);
      }
    },
  },
  {
    title: "calMargins() returns what cast decodes",
    check: async (stage) => {
      const terms = { maxVolume: 10n ** 21n, APY: 10n ** 17n };
      const endTime = 4_000_000_000n;
      const words = [terms.maxVolume, terms.APY, endTime].map(word);
      const data = `0xb6624fb0${words.join("")}`;
      const block = await stage.vault.block();
      const margins = await stage.vault.calMargins({ ...terms, endTime });
      // Between two calls the clock of some nodes goes on.
      const expected = await readByCast(stage, "vault", data, uints(2));
      const [base = 0n] = expected.map((value) => BigInt(String(value)));
      expect(block.timestamp).to.be.above(0);
      expect(Number(margins.baseMarginAmount - base) / Number(base))
        .to //
        .be.within(-1e-6, 1e-6);
    },
  },
  ...(isFull ? [0, 1, 1_000, 10_000] : [0, 1, 1_000]).map((count): Job => ({
    title: `orders() of ${count} lists every order, whatever its state, and none that was removed`,
    options: { orders: count },
    // A fork fetches each slot of the storage by itself: these would take half an hour.
    isOnNode: count === 10_000,
    check: async (stage) => {
      const orders = await Array.fromAsync(stage.vault.orders());
      expect(orders.map(({ orderID }) => Number(orderID))).to.eql(
        Array.from({ length: count }, (_, id) => id).filter(
          (id) => !isRemoved(id),
        ),
      );
      for (const [index, order] of sample(orders, 5).entries()) {
        const id = Number(order.orderID);
        const expected = await readOrder(stage, id, index % 100 < 5);
        expect(printed(order), `${id}`).to.eql(expected);
      }
      const open = await Array.fromAsync(stage.vault.orders({ state: "open" }));
      expect(open.map(({ orderID }) => Number(orderID))).to.eql(
        orders
          .filter((order) => "state" in order && order.state === 1)
          .map(({ orderID }) => Number(orderID)),
      );
    },
  })),
  {
    title:
      "orders({ ids }) lists orders, and the ids behind the last one as failed",
    options: { orders: ORDERS },
    check: async (stage) => {
      const ids = [38, 39, 40, 41, 11, 0, 1_000].map(BigInt);
      const orders = await Array.fromAsync(stage.vault.orders({ ids }));
      const found = orders.map((order) =>
        isFailedOrder(order)
          ? [order.orderID, order.error.code]
          : [order.orderID, order.exType],
      );
      expect(found).to.eql([
        ...[
          [38n, "ETHDAI"],
          [39n, "ETHDAI"],
        ],
        ...[40n, 41n].map((id) => [id, "VAULT_CALL_REVERTED"]),
        // Removed.
        [11n, ""],
        [0n, "ETHDAI"],
        [1_000n, "VAULT_CALL_REVERTED"],
      ]);
    },
  },
  {
    title: "rounds() ends with the round that cast decodes",
    options: { round: "settled" },
    check: async (stage) => {
      const rounds = await Array.fromAsync(stage.vault.rounds());
      const { firstBlock, settledBlock, lastBlock, ...last } =
        rounds.at(-1) ?? expect.fail("no round");
      const [, role, data, types] =
        readings.find(([at]) => at === "round") ?? expect.fail();
      expect(printed(last)).to.eql(await readByCast(stage, role, data, types));
      expect([firstBlock, settledBlock, lastBlock]).to.satisfy(
        (blocks: readonly unknown[]) =>
          blocks.every((block) => typeof block === "number"),
      );
    },
  },
  {
    title: "capture() and a replay return the same readings and orders",
    // The terms of a round that has ended have no margins.
    options: { orders: ORDERS, round: "open", decimals: 6 },
    check: async ({ vault, folder }) => {
      const orders = [0n, 1n, 4n, 7n];
      const { fixture, failed } = await capture(vault, { orders });
      expect(failed).to.equal(0);
      const {
        block: _then,
        chainId: _there,
        ...before
      } = await vault.snapshot();
      const file = path.join(folder, "fixture.json");
      await writeFile(file, toSafeJson(toJsonValue(fixture)));
      const { network } = await createTestHre({}, { projectRoot: folder });
      const replay = await network.create();
      try {
        await replay.vault.deployMocks({ fixture: "fixture.json" });
        const {
          block: _now,
          chainId: _here,
          ...after
        } = await replay.vault.snapshot();
        expect(after).to.eql(before);
        for (const id of orders) {
          expect(await replay.vault.getOrderInfo(id)).to.eql(
            await vault.getOrderInfo(id),
          );
        }
      } finally {
        await replay.close();
      }
    },
  },
  ...endings.map(([round, status, reason]): Job => ({
    title: `simulateSettleAll() and settleAll() of a round that is ${round} end as ${status}`,
    options: { round, ...(round === "settled in part" && { decimals: 6 }) },
    check: async (stage, place) => {
      const { vault } = stage;
      await settle(stage, place, { vault, status, reason });
      const { settled, settledAmount } = await vault.getLatestRoundInfo();
      expect(settled).to.equal(status !== "reverted");
      expect(settledAmount).to.equal(
        settled && round !== "below the strike" ? 3n : 0n,
      );
    },
  })),
  {
    title:
      "settleAll() through a guard forwards the reward to the account that settles",
    isOnNode: true,
    check: async (stage, place) => {
      const code = guardCreationCode(await accountOf(stage));
      const guard = getAddress(await deployCode(stage.provider, code));
      const vault = await stage.guardedBy(guard);
      const settlement = await settle(stage, place, { vault });
      expect(settlement).to.include({ guard });
      expect(await rewardOf(stage, guard)).to.equal(0n);
    },
  },
  ...(isFull ? [600, 1_500] : [600]).map((vaultOrders): Job => ({
    title: `settleAll() of ${vaultOrders} orders, more than a block has room for, is out of gas until others have settled a part`,
    options: { vaultOrders },
    isLong: true,
    check: async ({ vault, send }) => {
      const refused = await vault.settleAll();
      // Some nodes refuse what the simulation had room for.
      expect(refused.status).to.match(/^(?:reverted|refused)$/u);
      expect(refused.hash).to.equal(null);
      expect(refused.reason).to.match(/\bgas\b/u);
      const AT_ONCE = 100;
      for (let first = 0; first < vaultOrders - 200; first += AT_ONCE) {
        const ids = Array.from({ length: AT_ONCE }, (_, at) => first + at);
        await send("settle", ids);
      }
      const { status, before, after } = await vault.settleAll();
      expect(status).to.equal("settled");
      expect(before).to.include({ settledAmount: BigInt(vaultOrders - 200) });
      expect(after).to.include({ settledAmount: BigInt(vaultOrders) });
    },
  })),
  {
    title:
      "vault watch --until settled ends when somebody has settled the round",
    isTask: true,
    check: async ({ run, send }) => {
      const watching = run("watch --until settled --interval 0.1");
      await send("settleAll");
      const { status } = await watching;
      expect(fieldsOf(fieldsOf(status)["round"])).to.include({
        settled: true,
        settledAmount: "3",
      });
    },
  },
  {
    title: "vault report writes the readings and the orders",
    options: { orders: ORDERS },
    isTask: true,
    check: async ({ run, folder }) => {
      const file = path.join(folder, "report.html");
      await run(`report --out ${file} --ids 0-39 --simulate`);
      const html = await readFile(file, "utf8");
      const shown = html.replaceAll(/<[^>]*>|\s/gu, "");
      for (const text of ["BTCDAI", "Ifthevaultweresettlednow", "SLD"]) {
        expect(shown).to.contain(text);
      }
    },
  },
  {
    title:
      "vault status and vault simulate print documents, and vault doctor finds nothing that fails",
    isTask: true,
    check: async ({ run, vault }) => {
      const { checks } = await run("doctor");
      expect(JSON.stringify(checks)).not.to.contain('"fail"');
      const status = fieldsOf((await run("status"))["status"]);
      const round = await vault.getLatestRoundInfo();
      expect(fieldsOf(status["round"])["settledPrice"]).to.equal(
        String(round.settledPrice),
      );
      const { simulation } = await run("simulate");
      expect(fieldsOf(simulation)["status"]).to.equal("settled");
    },
  },
];

for (const place of places) {
  describe(`the deployed protocol on ${place.name}`, () => {
    let node: TestNode;
    let project: FixtureProject;
    let hre: HardhatRuntimeEnvironment;

    before(async () => {
      node = await place.start();
      project = await useFixtureProject("plain");
      hre =
        node.url === undefined
          ? await createTestHre({}, { projectRoot: project.path })
          : await hreOnLive(node.url, {}, project.path);
    });
    after(async () => {
      await node.stop();
      await project.remove();
    });

    const isNode = !place.name.includes("in-process") && place.isFork !== true;
    const own = jobs.filter(
      ({ isTask = false, isOnNode = false }) =>
        (!isTask || place.isFork !== true) && (!isOnNode || isNode),
    );
    // By day, one place has every job, and the others have some short ones.
    const short = own.filter(({ isLong = false }) => isFull || !isLong);
    const some = place === places[0] ? own : sample(short, 5);
    for (const { title, options, check } of some) {
      it(title, async () => {
        const stage = await openStage(hre, node, project.path, place, options);
        try {
          await check(stage, place);
        } finally {
          await stage.close();
        }
      });
    }
  });
}
