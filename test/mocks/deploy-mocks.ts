import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { RequestArguments } from "hardhat/types/providers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient } from "../../src/client/index.js";
import { mockAt } from "../../src/mocks/deploy-mocks.js";
import {
  connectMocks,
  deployMocks,
  inProcessMockAddresses,
} from "../../src/mocks/index.js";
import type { Eip1193Provider } from "../../src/rpc/rpc-client.js";
import type { HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts, distinctState } from "../helpers/distinct-state.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { extremes } from "../helpers/extremes.js";
import { connectTo, createTestHre } from "../helpers/hre.js";
import { useAnvil } from "../helpers/anvil.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { SECOND } from "../helpers/names.js";

describe("places of the mocks", () => {
  let hre: HardhatRuntimeEnvironment;
  let connection: NetworkConnection;
  let vault: HardhatVault;

  before(async () => {
    hre = await createTestHre({
      networks: {
        default: {
          type: "edr-simulated",
          vault: {
            instances: {
              weekly: {},
              daily: {},
              broken: {
                contracts: {
                  publicPool: SECOND,
                  trading: configVariable("TRADING_IS_NOT_SET"),
                },
              },
            },
          },
        },
      },
    });
  });
  beforeEach(async () => {
    connection = await hre.network.create();
    ({ vault } = connection);
  });
  afterEach(async () => {
    await connection.close();
  });

  describe("in process", () => {
    it("hold the whole scenario on a network whose transactions have a lower cap of gas", async () => {
      const low = await createTestHre({
        networks: {
          low: { type: "edr-simulated", transactionGasCap: 16_000_000n },
        },
      });
      const other = await low.network.create("low");
      await other.vault.deployMocks({ overrides: extremes });
      await vault.deployMocks({ overrides: extremes });
      const [there, here] = await Promise.all(
        [other.vault, vault].map(async (each) => {
          const { pools, volume } = await each.snapshot();
          const orders = [];
          for await (const order of each.orders()) {
            orders.push(order.orderID);
          }
          return { pools, volume, orders };
        }),
      );
      expect(there).to.deep.equal(here);
      await other.close();
    });

    it("are fixed addresses, which the vault of the connection reads", async () => {
      const mocks = await vault.deployMocks();
      expect(mocks.addresses).to.deep.equal(inProcessMockAddresses);
      expect(mocks.addresses.vault).to.equal(
        "0x7661756C74000000000000000000000000000006",
      );
      expect(await vault.addressOf("vault")).to.deep.equal({
        ...{ address: mocks.addresses.vault, source: "deployMocks()" },
      });
    });

    it("are others for each instance, whose values and rounds are its own", async () => {
      const mocks = await vault.deployMocks();
      const weekly = await vault
        .instance("weekly")
        .deployMocks({ overrides: { volume: 151n } });
      expect(weekly.addresses.vault).to.not.equal(mocks.addresses.vault);
      await weekly.vault.settleAll();
      expect((await vault.getLatestRoundInfo()).settled).to.equal(false);
      expect(await vault.instance("weekly").queryVolume()).to.equal(151n);
      // An instance without its own reads those of the network.
      expect(await vault.instance("daily").queryVolume()).to.equal(
        await vault.queryVolume(),
      );
    });

    it("of deployMocks({ at }) are those of the vault since, and a handle of before keeps its own", async () => {
      await vault.deployMocks({ overrides: { volume: 1n } });
      const before = await connectMocks(vault);
      await vault.deployMocks({ at: contracts, overrides: { volume: 2n } });
      expect(await vault.queryVolume()).to.equal(2n);
      expect(await before.vault.queryVolume()).to.equal(1n);
    });

    it("are not those of the vault if the node refuses their state", async () => {
      const { provider } = connection;
      const request = provider.request.bind(provider);
      Reflect.set(provider, "request", async (given: RequestArguments) => {
        if (given.method === "hardhat_setStorageAt") {
          throw new Error("full");
        }
        const answer: unknown = await request(given);
        return answer;
      });
      await expectVaultError(vault.deployMocks(), "VAULT_HARDHAT_ERROR");
      await expectVaultError(
        vault.addressOf("vault"),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
    });

    it("are lost with evm_revert, and a handle says so: VAULT_NOT_A_MOCK", async () => {
      const { provider } = connection;
      const params: readonly unknown[] = [
        await provider.request({ method: "evm_snapshot" }),
      ];
      const lost = await vault.deployMocks();
      await provider.request({ method: "evm_revert", params });
      const { details } = await expectVaultError(
        lost.set({ volume: 1n }),
        "VAULT_NOT_A_MOCK",
      );
      expect(details).to.include({ address: lost.addresses.vault });
    });
  });

  describe("of mockAt()", () => {
    it("keep what the contract answers, and have the scenario's value of what fails", async () => {
      await vault.deployMocks({
        scenario: "expired-round",
        overrides: {
          ...distinctState,
          round: { strikePrice: 5n, settled: false },
          failures: [{ operation: "queryVolume", reason: "closed" }],
        },
      });
      const { scenario } = await vault.mockAt("vault", {
        overrides: { marginBalance: { xMarginAmount: 9n } },
      });
      expect(scenario).to.equal(null);
      const { volume, marginBalance } = await vault.snapshot();
      expect(volume).to.equal(420n * 10n ** 18n);
      expect(marginBalance).to.deep.equal({
        ...{ baseMarginAmount: 43n, xMarginAmount: 9n },
      });
      const { after } = await vault.settleAll();
      expect(after).to.include({
        ...{ strikePrice: 5n, settledPrice: 66_250n * 10n ** 18n },
      });
    });

    it("of one contract change another one with it only if that is a mock, too: VAULT_NOT_A_MOCK", async () => {
      await vault.deployMocks({ overrides: distinctState });
      const before = await vault.snapshot();
      await vault.mockAt("privatePool");
      expect(await vault.snapshot()).to.deep.equal(before);
      const overrides = {
        pools: { public: { deposit: 7n, availabe: 8n, locked: 9n } },
      };
      await vault.mockAt("privatePool", { overrides });
      expect(await vault.getLPAmountInfo("public")).to.include({ locked: 9n });
      const mixed = vault.at({ publicPool: SECOND });
      const { details } = await expectVaultError(
        mixed.mockAt("privatePool", { overrides }),
        "VAULT_NOT_A_MOCK",
      );
      expect(details).to.include({ address: SECOND });
    });

    it("are scripted alone: the other contracts are no mocks, VAULT_NOT_A_MOCK", async () => {
      await vault.deployMocks();
      const mixed = vault.at({ vault: SECOND });
      const single = await mixed.mockAt("publicPool");
      await single.set({ pools: { public: { locked: 9n } } });
      expect(await vault.getLPAmountInfo("public")).to.include({ locked: 9n });
      for (const call of [
        async () => {
          await single.set({ volume: 1n });
        },
        async () => await single.settlements(),
        async () => await connectMocks(mixed),
      ]) {
        const { details } = await expectVaultError(call, "VAULT_NOT_A_MOCK");
        expect(details).to.include({ address: SECOND });
      }
    });
  });

  for (const [title, instance, code] of [
    ["no address", "daily", "VAULT_CONTRACT_NOT_CONFIGURED"],
    ["another address that is not set", "broken", "VAULT_CONFIG_VARIABLE"],
  ] as const) {
    it(`mockAt() of an instance with ${title} replaces nothing: ${code}`, async () => {
      const at = vault.instance(instance);
      await expectVaultError(at.mockAt("publicPool"), code);
    });
  }

  describe("of connectMocks()", () => {
    it("are those of a vault", async () => {
      await vault.deployMocks();
      const connected = await connectMocks(vault);
      expect(connected.scenario).to.equal(null);
      await connected.set({ volume: 134n });
      await connectMocks(vault.provider, connected.addresses);
      expect(await vault.queryVolume()).to.equal(134n);
    });

    it("are refused if one is missing, or the mock of another role", async () => {
      const { addresses } = await vault.deployMocks();
      const { vault: _, ...five } = addresses;
      for (const [places, code] of [
        [five, "VAULT_CONTRACT_NOT_CONFIGURED"],
        [{ ...addresses, vault: addresses.trading }, "VAULT_NOT_A_MOCK"],
      ] as const) {
        await expectVaultError(
          // @ts-expect-error -- all six
          connectMocks(vault.provider, places),
          code,
        );
      }
    });
  });
});

describe("mocks on anvil", () => {
  const anvil = useAnvil();
  let provider: Eip1193Provider;
  before(() => {
    provider = fetchProvider(anvil.url);
  });

  /** The provider, with another answer to a method. */
  const instead = (method: string, answer: () => unknown): Eip1193Provider => ({
    request: async (given) =>
      given.method === method ? answer() : await provider.request(given),
  });
  /** Refuses what only a development node answers. */
  const production = (client: string): Eip1193Provider => ({
    request: async (given) => {
      if (/nodeInfo|metadata/u.test(given.method)) {
        throw Object.assign(new Error("no such method"), { code: -32_601 });
      }
      return given.method === "web3_clientVersion"
        ? client
        : await provider.request(given);
    },
  });

  for (const [title, from] of [
    ["the node's first account", undefined],
    ["the network's from", SECOND],
  ] as const) {
    it(`deployMocks() sends from ${title}, and leaves mocks of before`, async () => {
      const settings = from === undefined ? {} : { from };
      const connection = await connectTo(anvil.url, settings);
      const one = await connection.vault.deployMocks({
        overrides: { volume: 1n },
      });
      const two = await connection.vault.deployMocks({
        overrides: { volume: 2n },
      });
      expect(await one.vault.queryVolume()).to.equal(1n);
      expect(await two.vault.queryVolume()).to.equal(2n);
      const block = await provider.request({
        method: "eth_getBlockByNumber",
        params: ["latest", true],
      });
      const [sent] = listOf(fieldsOf(block)["transactions"]);
      const [first] = listOf(
        await provider.request({ method: "eth_accounts" }),
      );
      expect(fieldsOf(sent)["from"]).to.equal(from?.toLowerCase() ?? first);
      await connection.close();
    });
  }

  it("deployMocks() and connectMocks() refuse a vault of another copy of the package, and name the command that shows it: VAULT_INVALID_ARGUMENT", async () => {
    // It has the methods, but another class.
    const other = { getLatestRoundInfo: async () => await Promise.resolve() };
    const { vault: lazy } = await createTestHre();
    for (const vault of [other, lazy]) {
      for (const use of [deployMocks, connectMocks]) {
        const using = async (): Promise<unknown> => {
          const used: unknown = Reflect.apply(use, undefined, [vault]);
          return await used;
        };
        const { message } = await expectVaultError(
          using,
          "VAULT_INVALID_ARGUMENT",
        );
        expect(message)
          .to.contain("another copy of the package (`npm ls hardhat-vault`)")
          .and.contain("hre.vault.connect()");
      }
    }
  });

  it("deployMocks() needs an account that can send: VAULT_NO_SIGNER", async () => {
    await expectVaultError(
      deployMocks(instead("eth_accounts", () => [])),
      "VAULT_NO_SIGNER",
    );
  });

  it("deployMocks() deploys to a live network only with allowLiveNetwork, and replaces no code there", async () => {
    const live = production("Live\u202e/1.0");
    const client = "Live\\u{202e}/1.0";
    const bound = new VaultClient(live, contracts);
    const at = { at: contracts, allowLiveNetwork: true };
    for (const place of [
      async () => await deployMocks(live),
      async () => await deployMocks(live, { allowLiveNetwork: false }),
      async () => await deployMocks(live, at),
      async () => await mockAt(bound, "vault", {}),
    ]) {
      const { details } = await expectVaultError(place, "VAULT_LIVE_NETWORK");
      expect(details).to.include({ client, chainId: 31_337 });
    }
    const { vault } = await deployMocks(live, { allowLiveNetwork: true });
    expect(await vault.queryVolume()).to.equal(420n * 10n ** 18n);
  });
});
