import { setImmediate } from "node:timers/promises";

import { expect } from "chai";
import { Transaction, Wallet } from "ethers";
import networkHelpers from "@nomicfoundation/hardhat-network-helpers";
import type { EdrNetworkUserConfig } from "hardhat/types/config";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient } from "../../src/client/index.js";
import { connectMocks, deployMocks } from "../../src/mocks/index.js";
import { getTransactions } from "../../src/rpc/transactions.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts as places } from "../helpers/distinct-state.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { generatedOrder } from "../helpers/generated-order.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { startAnvil, useAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { startFaultyRpcServer } from "../helpers/faulty-rpc-server.js";
import type { FaultyRpcServer } from "../helpers/faulty-rpc-server.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { devKey } from "../helpers/world.js";

for (const { name, start } of differentNodes) {
  describe(`mocks - scripting on ${name}`, () => {
    let node: TestNode;
    let vault: HardhatVault;
    let provider: Eip1193Provider;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      ({ vault } = await connectTo(node.url));
      provider =
        node.url === undefined ? vault.provider : fetchProvider(node.url);
    });

    beforeEach(async () => {
      mocks = await vault.deployMocks();
    });

    after(async () => {
      await node.stop();
    });

    it("deployMocks() over a bare EIP-1193 provider deploys a scenario that connectMocks() scripts, too", async () => {
      const deployed = await deployMocks(provider, {
        scenario: "expired-round",
      });
      expect(deployed.scenario).to.equal("expired-round");
      const client = deployed.vault;
      expect(client).to.be.instanceOf(VaultClient);
      const again = await connectMocks(provider, deployed.addresses);
      await again.set({ round: { APY: 7n }, orders: { 5: { state: 2 } } });
      await again.fail("queryVolume", "closed");
      const { round } = await client.snapshot();
      expect(round).to.include({ APY: 7n, settled: false });
      expect((await client.getOrderInfo(5)).state).to.equal(2);
      await expectVaultError(client.queryVolume(), "VAULT_CALL_REVERTED");
      await again.succeed("queryVolume");
      expect(await again.contracts.vault.queryVolume()).to.equal(
        420n * 10n ** 18n,
      );
    });

    it("deployMocks({ at }) places new mocks at the addresses each time, and resets their storage", async () => {
      for (const volume of [3n, 4n]) {
        for (const address of Object.values(places)) {
          const params = [address, "0x0", `0x${"ff".repeat(32)}`];
          await provider.request({ method: "hardhat_setStorageAt", params });
        }
        const placed = await deployMocks(provider, {
          at: places,
          overrides: { volume },
        });
        expect(placed.addresses).to.deep.equal(places);
        expect(await placed.settlements()).to.deep.equal([]);
        expect(await placed.vault.queryVolume()).to.equal(volume);
      }
    });

    it("set() without changes sends nothing", async () => {
      const { number } = await vault.block();
      await mocks.set({});
      expect((await vault.block()).number).to.equal(number);
    });

    it("set() adds more orders than a transaction holds", async () => {
      const orders = Object.fromEntries(
        Array.from({ length: 90 }, (_, index) => [
          index * 7,
          generatedOrder(BigInt(index)),
        ]),
      );
      await mocks.set({ orders });
      for (const orderID of [0, 7, 45 * 7, 89 * 7]) {
        expect(await vault.getOrderInfo(orderID)).to.deep.equal(
          orders[orderID],
        );
      }
    });

    it("set() loses no change when two handles script at the same time", async () => {
      const other = await connectMocks(vault);
      for (let value = 1n; value <= 5n; value += 1n) {
        await Promise.all([
          mocks.set({ round: { strikePrice: value } }),
          other.set({ round: { APY: value } }),
          mocks.set({ round: { minDeposit: value }, volume: value }),
          other.set({ volume: 9n }),
        ]);
        expect(await vault.getLatestRoundInfo()).to.include({
          strikePrice: value,
          APY: value,
          minDeposit: value,
        });
        expect(await vault.queryVolume()).to.equal(9n);
      }
    });
  });
}

describe("mocks - scripting", () => {
  let vault: HardhatVault;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
  });

  /** The provider of the network, with other answers to a method. */
  const answering = (
    method: string,
    answer: (answered: unknown) => unknown,
  ): Eip1193Provider => ({
    request: async (call) => {
      const answered: unknown = await vault.provider.request(call);
      return call.method === method ? answer(answered) : answered;
    },
  });
  const revert = (): never => {
    throw Object.assign(new Error("execution reverted"), { code: 3 });
  };

  it("deployMocks() fails with VAULT_MOCK_SCRIPT_FAILED when the node reverts a script or mines it as failed", async () => {
    for (const [method, answer, problem] of [
      ["eth_estimateGas", revert, /no reason given/u],
      [
        "eth_getTransactionReceipt",
        (receipt: unknown) => ({ ...fieldsOf(receipt), status: "0x0" }),
        /^transaction 0x\w{64} was mined and failed; sent: /u,
      ],
    ] as const) {
      const { details } = await expectVaultError(
        deployMocks(answering(method, answer)),
        "VAULT_MOCK_SCRIPT_FAILED",
      );
      expect(details["problem"]).to.match(problem);
    }
  });

  it("deployMocks() finds what the node mined, though it answered each send with an error", async () => {
    const mocks = await deployMocks(answering("eth_sendTransaction", revert));
    expect(await mocks.vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });
});

describe("stacks of transactions that revert in a mock", () => {
  it("Hardhat names the mock, its function, its line and its error, on every connection", async () => {
    const hre = await createTestHre();
    for (const connection of [
      await hre.network.create(),
      await hre.network.create(),
    ]) {
      const { contracts } = await connection.vault.deployMocks({
        scenario: "settled-round",
      });
      const signer = await connection.ethers.provider.getSigner(0);
      const error: unknown = await contracts.vault
        .connect(signer)
        .settleAll()
        .catch((thrown: unknown) => thrown);
      expect(error)
        .to.have.property("message")
        .which.contains("custom error 'RoundAlreadySettled(");
      expect(error)
        .to.have.property("stack")
        .which.matches(
          /at MockVaultFactory\.settleLatestRound \(hardhat-vault\/contracts\/mocks\/MockVaultFactory\.sol:\d+\)\n\s+at MockVault\.settleAll \(hardhat-vault/u,
        );
      await connection.close();
    }
  });

  it("deployMocks() does without the names if Hardhat refuses them", async () => {
    const { vault } = await (await createTestHre()).network.create();
    let isAsked = false;
    Reflect.set(vault.connection.provider, "addCompilationResult", () => {
      isAsked = true;
      throw new Error("another form is needed");
    });
    await vault.deployMocks();
    expect(isAsked).to.equal(true);
    expect((await vault.settleAll()).status).to.equal("settled");
    await vault.connection.close();
  });

  it("Hardhat measures no gas of the mocks for --gas-stats", async () => {
    const hre = await createTestHre();
    const measured = new Set<string>();
    hre.hooks.registerHandlers("network", {
      onGasMeasurement: (_context, { contractFqn }) => {
        measured.add(contractFqn);
      },
    });
    const { vault } = await hre.network.create();
    const mocks = await vault.deployMocks();
    await mocks.set({ volume: 5n });
    await vault.settleAll();
    expect([...measured]).to.deep.equal([]);
    await vault.connection.close();
  });
});

async function connect(
  settings: Partial<EdrNetworkUserConfig> = {},
): Promise<NetworkConnection> {
  const hre = await createTestHre({
    plugins: [networkHelpers],
    networks: { test: { type: "edr-simulated", ...settings } },
  });
  return await hre.network.create("test");
}

describe("mocks - in process", () => {
  const awkward: ReadonlyArray<[string, Partial<EdrNetworkUserConfig>]> = [
    ["a huge base fee", { initialBaseFeePerGas: 10n ** 18n }],
    ["another sender", { from: "0x0000000000000000000000000000000000000bad" }],
    ["mining off", { mining: { auto: false, interval: 0 } }],
    ["failures not thrown", { throwOnTransactionFailures: false }],
    ["no accounts", { accounts: [] }],
    ["rules of Osaka", { hardfork: "osaka" }],
    ["a rollup", { chainType: "op" }],
  ];
  for (const [what, settings] of awkward) {
    it(`deployMocks() and set() work with ${what}, and leave the accounts as they are`, async () => {
      const { vault, ethers } = await connect(settings);
      const accounts = async (): Promise<unknown> =>
        await Promise.all(
          (await ethers.getSigners())
            .slice(0, 1)
            .flatMap(({ address }) => [
              ethers.provider.getBalance(address),
              ethers.provider.getTransactionCount(address),
            ]),
        );
      const before = await accounts();
      const mocks = await vault.deployMocks();
      await mocks.set({ volume: 7n });
      expect(await mocks.contracts.vault.queryVolume()).to.equal(7n);
      expect(await vault.getLatestRoundInfo()).to.include({ settled: false });
      expect(await accounts()).to.deep.equal(before);
    });
  }

  it("deployMocks() and set() leave pending transactions, the block and the time set for the next one as they are", async () => {
    const { vault, ethers, provider } = await connect({
      mining: { auto: false, interval: 0 },
    });
    const [signer] = await ethers.getSigners();
    const pending = await signer?.sendTransaction({ to: signer.address });
    const time = (await vault.block()).timestamp + 1_000;
    await provider.request({
      method: "evm_setNextBlockTimestamp",
      params: [time],
    });
    const mocks = await vault.deployMocks();
    await mocks.set({ volume: 0n, round: { APY: 5n }, orders: { 9: {} } });
    await mocks.startNextRound();
    expect(await vault.queryVolume()).to.equal(0n);
    expect(await vault.getLatestRoundInfo()).to.include({ APY: 5n });
    expect(await vault.block()).to.include({ number: 0 });
    await provider.request({ method: "evm_mine" });
    expect(await vault.block()).to.include({ number: 1, timestamp: time });
    const { hash = "" } = pending ?? {};
    const receipt = await ethers.provider.getTransactionReceipt(hash);
    expect(receipt?.blockNumber).to.equal(1);
  });

  it("loadFixture() restores the mocks of each fixture, in any order", async () => {
    const { vault, networkHelpers: helpers } = await connect();
    const nothing = async (): Promise<void> => {
      await Promise.resolve();
    };
    const openRound = async (): Promise<MockVaultHandle> =>
      await vault.deployMocks();
    const settledRound = async (): Promise<MockVaultHandle> =>
      await vault.deployMocks({ scenario: "settled-round" });
    await helpers.loadFixture(nothing);
    for (const fixture of [
      ...[openRound, settledRound, openRound, openRound],
      ...[settledRound, settledRound, openRound],
    ]) {
      const mocks = await helpers.loadFixture(fixture);
      const settled = fixture === settledRound;
      expect(await vault.getLatestRoundInfo()).to.include({ settled });
      // The next fixture must not keep it.
      await mocks.set({ round: { settled: !settled } });
      expect(await vault.getLatestRoundInfo()).to.include({
        settled: !settled,
      });
    }
  });
});

const KEY = devKey(5);
const LIMIT = 10n ** 12n;

describe("mocks on a live chain", () => {
  let node: ServerProcess;
  let server: FaultyRpcServer;

  before(async () => {
    node = await startAnvil();
    server = await startFaultyRpcServer(node.url, 100);
    // What shows that a node is for development.
    server.hide("hardhat_metadata", "anvil_nodeInfo");
  });
  beforeEach(() => {
    server.reset();
  });
  after(async () => {
    await server.stop();
    await node.stop();
  });

  const connectWith = async (maxFeePerGasLimit: bigint | undefined) =>
    (
      await connectTo(server.url, {
        accounts: [KEY],
        vault: { maxFeePerGasLimit },
      })
    ).vault;
  const deploy = async (
    maxFeePerGasLimit: bigint | undefined = LIMIT,
  ): Promise<MockVaultHandle> => {
    const vault = await connectWith(maxFeePerGasLimit);
    return await vault.deployMocks({ allowLiveNetwork: true });
  };
  const sent = (): readonly string[] =>
    server.requests
      .filter(({ method }) => method.startsWith("eth_send"))
      .map(({ params }) => String(params[0]));

  for (const [limit, code] of [
    [undefined, "VAULT_FEE_LIMIT_NEEDED"],
    [1n, "VAULT_FEE_ABOVE_LIMIT"],
  ] as const) {
    it(`deployMocks({ allowLiveNetwork }) and set() send nothing with the limit ${limit}: ${code}`, async () => {
      const { addresses } = await deploy();
      server.reset();
      const vault = await connectWith(limit);
      const deploying = vault.deployMocks({ allowLiveNetwork: true });
      await expectVaultError(deploying, code);
      const mocks = await connectMocks(vault.at(addresses));
      await expectVaultError(mocks.set({ volume: 5n }), code);
      expect(sent()).to.deep.equal([]);
    });
  }

  it("deployMocks({ allowLiveNetwork }) signs with the configured key, at most at the limit of the fee", async () => {
    const { vault } = await deploy();
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
    const signed = sent().map((raw) => Transaction.from(raw));
    expect(signed).to.have.length(7);
    for (const { from, maxFeePerGas } of signed) {
      expect(from).to.equal(new Wallet(KEY).address);
      expect(Number(maxFeePerGas)).to.be.within(1, Number(LIMIT));
    }
  });

  it("deployMocks() finds what it sent if an answer is lost, and signs nothing again", async () => {
    const method = "eth_sendRawTransaction";
    server.inject({ kind: "drop after forwarding", method, occurrence: 1 });
    server.inject({ kind: "drop before forwarding", method, occurrence: 3 });
    const { vault } = await deploy();
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
    // The one that was lost on its way is sent again, as it was signed.
    const all = sent();
    expect([all.length, new Set(all).size]).to.deep.equal([8, 7]);
    expect(server.unused).to.deep.equal([]);
  });
});

describe("mocks on a chain whose blocks hold many transactions", () => {
  const anvil = useAnvil("--no-mining");

  it("deployMocks() deploys all six in one block, also behind what the account has sent before", async () => {
    const { address } = new Wallet(KEY);
    const connection = await connectTo(anvil.url, { from: address });
    const { vault, provider } = connection;
    const params: readonly unknown[] = [{ from: address, to: address }];
    await provider.request({ method: "eth_sendTransaction", params });
    const state = { isDone: false };
    const deploying = vault.deployMocks().finally(() => {
      state.isDone = true;
    });
    // Once all wait; the script comes after them.
    let least = 7;
    while (!state.isDone) {
      const pool: unknown = await provider.request({
        method: "txpool_status",
      });
      if (Number(fieldsOf(pool)["pending"]) >= least) {
        await provider.request({ method: "evm_mine" });
        least = 1;
      }
      await setImmediate();
    }
    const { addresses } = await deploying;
    const sizes: number[] = [];
    for (let { number } = await vault.block(); number > 0; number -= 1) {
      sizes.push((await getTransactions(vault.rpc, number)).length);
    }
    expect(Object.values(addresses)).to.have.length(6);
    expect(sizes, "newest first").to.deep.equal([1, 7]);
    await connection.close();
  });
});
