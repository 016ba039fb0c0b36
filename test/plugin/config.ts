import { inspect } from "node:util";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";

import hardhatVault from "../../src/index.js";
import { FORK_NETWORK } from "../../src/simulation/fork-network.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND, THIRD } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { documentedContracts } from "../helpers/documented-node.js";

const NOWHERE = "http://127.0.0.1:1";

/** What the plugin says of a configuration, as its user may write it without TypeScript. */
async function validate(
  networks: unknown,
): Promise<ReadonlyArray<readonly [path: string, message: string]>> {
  const hooks = await hardhatVault.hookHandlers?.config?.();
  // wrong on purpose
  const config = { networks } as HardhatUserConfig;
  const errors = await hooks
    ?.default()
    .then(async ({ validateUserConfig }) => await validateUserConfig?.(config));
  return (errors ?? []).map(({ path, message }) => [path.join("."), message]);
}

const MISTYPED = SECOND.replace("C8", "c8");
const root = "networks.live.vault";
const contracts = `${root}.contracts`;
const usdc = <Settings>(settings: Settings) => ({
  instances: { usdc: settings },
});
const ofVault = <Address>(vault: Address) => ({ contracts: { vault } });
const raised = { maxFeePerGasLimit: 2n, maxPriorityFeePerGasLimit: 3n };

/** Where a mistake is, what is said of it, and settings with it. */
const mistakes: ReadonlyArray<
  readonly [where: string, says: RegExp, ...settings: unknown[]]
> = [
  ["", /object/u, null],
  [
    "",
    /unknown setting "contract"; the settings are contracts, guard, .*, tokenDecimals, displayDecimals, instances/u,
    { contract: {} },
  ],
  [
    "contracts",
    /unknown contract "pool"; the contracts are .*publicPool/u,
    { contracts: { pool: SECOND } },
  ],
  [
    "contracts.vault",
    /address .*40 hex digits.* or a configuration variable/u,
    ofVault({ name: "SOME_ADDRESS" }),
    ofVault({ _type: "ConfigurationVariable", name: 12 }),
    ofVault(`x${SECOND}`),
    ofVault(`${SECOND}0`),
  ],
  ["tokenDecimals", /0 to 77/u, { tokenDecimals: -1 }, { tokenDecimals: 78 }],
  [
    "displayDecimals",
    /unknown value of unknown scale "round.strikePrice"; .*round\.settledAmount, order, order\.number/u,
    { displayDecimals: { "round.strikePrice": 18 } },
  ],
  ["displayDecimals.volume", /77/u, { displayDecimals: { volume: 1.5 } }],
  [
    "guard",
    /configuration variable, or false/u,
    ...[{ guard: true }, { guard: "0x12" }],
  ],
  [
    "maxFeePerGasLimit",
    /positive bigint in wei/u,
    ...[{ maxFeePerGasLimit: 0n }, { maxFeePerGasLimit: 1 }],
  ],
  ["maxPriorityFeePerGasLimit", /may not exceed maxFeePerGasLimit/u, raised],
  [
    "instances.usdc.maxPriorityFeePerGasLimit",
    /may not exceed maxFeePerGasLimit/u,
    usdc(raised),
  ],
  [
    "timeBeforeBumpingFees",
    /from 1 up/u,
    { timeBeforeBumpingFees: 0, maxFeePerGasLimit: 1n },
  ],
  [
    "timeBeforeBumpingFees",
    /needs maxFeePerGasLimit/u,
    { timeBeforeBumpingFees: 1 },
  ],
  [
    "instances.usdc.timeBeforeBumpingFees",
    /needs maxFeePerGasLimit/u,
    usdc({ timeBeforeBumpingFees: 1 }),
  ],
  ["maxFeeBumps", /from 0 up/u, { maxFeeBumps: -1 }],
  [
    "maxHeadAge",
    /from 1 up, or false/u,
    ...[{ maxHeadAge: 0 }, { maxHeadAge: true }],
  ],
  ["instances", /object/u, { instances: "" }],
  ...["../usdc", "Daily", "_", "a".repeat(65)].map(
    (name) =>
      [
        `instances.${name}`,
        /name of an instance: lower-case/u,
        { instances: { [name]: {} } },
      ] as const,
  ),
  [
    "instances.usdc",
    /unknown setting "instances"; the settings are contracts, guard, .*, tokenDecimals, displayDecimals$/u,
    usdc({ instances: {} }),
  ],
];

describe("configuration", () => {
  for (const [where, says, ...settings] of mistakes) {
    it(`Hardhat names ${where === "" ? root : where} of ${settings.map((one) => inspect(one, { breakLength: Infinity })).join(", ")}: ${says.source}`, async () => {
      for (const vault of settings) {
        const [[path, message] = ["", ""], ...more] = await validate({
          live: httpNetwork(NOWHERE, {
            // @ts-expect-error -- wrong on purpose
            vault,
          }),
        });
        expect(more).to.deep.equal([]);
        expect(path).to.equal([root, where].filter(Boolean).join("."));
        expect(message).to.match(says);
      }
    });
  }

  it("Hardhat lists every mistake of every network, of either type", async () => {
    const networks = {
      live: {
        type: "http",
        vault: { contract: 1, contracts: { vault: "0x12" } },
      },
      local: { type: "edr-simulated", vault: { tokenDecimals: 78 } },
    };
    expect((await validate(networks)).map(([path]) => path)).to.have.members([
      ...[root, `${contracts}.vault`, "networks.local.vault.tokenDecimals"],
    ]);
  });

  for (const vault of [
    undefined,
    ofVault(undefined),
    ofVault(SECOND.toLowerCase()),
    ofVault(configVariable("SOME_ADDRESS")),
    { tokenDecimals: 0, displayDecimals: { "order.openPrice": 77 } },
    { guard: false, maxFeeBumps: 0, maxHeadAge: 1 },
    { maxFeePerGasLimit: 1n, maxPriorityFeePerGasLimit: 1n },
    { timeBeforeBumpingFees: 1, maxFeePerGasLimit: 1n },
    { maxFeePerGasLimit: 1n, ...usdc({ timeBeforeBumpingFees: 1 }) },
    { maxHeadAge: false, instances: { "9-_": {}, ["a".repeat(64)]: {} } },
  ]) {
    it(`Hardhat accepts the settings ${inspect(vault, { breakLength: Infinity })}`, async () => {
      expect(await validate({ live: { vault } })).to.deep.equal([]);
    });
  }

  it("the plugin leaves networks that are none to Hardhat", async () => {
    for (const networks of [null, { live: null }]) {
      expect(await validate(networks)).to.deep.equal([]);
    }
  });

  it("settings are resolved for networks of both types, and are empty by default", async () => {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(NOWHERE, {
          vault: { contracts: { vault: SECOND, trading: undefined } },
        }),
        local: { type: "edr-simulated", vault: { tokenDecimals: 8 } },
      },
    });
    const { live, local } = hre.config.networks;
    expect(await live?.vault.contracts.vault?.get()).to.equal(SECOND);
    expect(live?.vault.contracts).to.have.all.keys("vault");
    const nothing = { contracts: {}, instances: {} };
    expect(local?.vault).to.deep.equal({ ...nothing, tokenDecimals: 8 });
    expect(hre.config.networks["default"]?.vault).to.deep.equal(nothing);
  });

  it("an instance inherits the settings that it omits, and displayDecimals only with the same tokenDecimals", async () => {
    const connection = await connectTo(NOWHERE, {
      vault: {
        tokenDecimals: 77,
        displayDecimals: { pools: 0, volume: 5 },
        guard: THIRD,
        instances: {
          same: { tokenDecimals: 77, displayDecimals: { volume: 6 } },
          tokens: { tokenDecimals: 0, guard: false },
          unset: {
            ...{ tokenDecimals: undefined, guard: undefined },
            displayDecimals: { volume: undefined },
          },
          guarded: { guard: SECOND },
        },
      },
    });
    const of = (name: string) => connection.vault.instance(name);
    const inherited = { pools: 0, volume: 5 };
    for (const [name, tokenDecimals, displayDecimals] of [
      ["same", 77, { ...inherited, volume: 6 }],
      ["tokens", 0, {}],
      ["unset", 77, inherited],
    ] as const) {
      expect(of(name).settings).to.deep.equal({
        ...{ tokenDecimals, displayDecimals },
      });
    }
    expect(await of("unset").guardAddress()).to.deep.equal({
      ...{ address: THIRD, source: `${root}.instances.unset.guard` },
    });
    expect(await of("tokens").guardAddress()).to.equal(undefined);
    expect((await of("guarded").guardAddress())?.address).to.equal(SECOND);
  });

  it("the folder of a fork's cache is kept, which Hardhat drops, for the network of forks alone", async () => {
    const network = {
      type: "edr-simulated",
      forking: { url: NOWHERE, cacheDir: "/kept" },
    } as const;
    const hre = await createTestHre({
      networks: { [FORK_NETWORK]: network, other: network },
    });
    const folderOf = (name: string): unknown =>
      Reflect.get(
        Object(Reflect.get(Object(hre.config.networks[name]), "forking")),
        "cacheDir",
      );
    expect(folderOf(FORK_NETWORK)).to.equal("/kept");
    expect(folderOf("other")).to.not.equal("/kept");
  });

  for (const [where, vault] of [
    ["guard", { guard: MISTYPED }],
    ["instances.usdc.contracts.vault", usdc(ofVault(MISTYPED))],
  ] as const) {
    it(`a connection fails with VAULT_INVALID_ADDRESS, asks for nothing, and leaves other networks alone, if the checksum of ${where} is wrong; a start does not`, async () => {
      const server = await startRpcServer({});
      const hre = await createTestHre({
        networks: {
          live: httpNetwork(server.url, { vault }),
          other: httpNetwork(server.url),
        },
      });
      await (await hre.network.create("other")).close();
      const closed: string[] = [];
      hre.hooks.registerHandlers("network", {
        closeConnection: async (context, connection, next) => {
          closed.push(connection.networkName);
          await next(context, connection);
        },
      });
      const { message } = await expectVaultError(
        hre.network.create("live"),
        "VAULT_INVALID_ADDRESS",
      );
      expect(message).to.contain(
        `${root}.${where} is not a valid address: "${MISTYPED}" (its checksum is wrong)`,
      );
      expect(closed).to.deep.equal(["live"]);
      expect(server.requests).to.deep.equal([]);
      await server.stop();
    });
  }

  describe("a configuration variable", () => {
    const settings = ofVault(configVariable("TEST_ADDRESS"));
    afterEach(() => {
      delete process.env["TEST_ADDRESS"];
    });

    it("a variable is read when an address is needed, and fails with VAULT_CONFIG_VARIABLE until it is set", async () => {
      const { vault } = await connectTo(NOWHERE, { vault: settings });
      const { message } = await expectVaultError(
        vault.addressOf("vault"),
        "VAULT_CONFIG_VARIABLE",
      );
      expect(message).to.contain(`${contracts}.vault`);
      expect(message).to.contain("TEST_ADDRESS");
      process.env["TEST_ADDRESS"] = SECOND.toLowerCase();
      expect(await vault.addressOf("vault")).to.deep.equal({
        address: SECOND,
        source: `${contracts}.vault`,
      });
    });

    for (const [value, shown] of [
      [MISTYPED, `"${MISTYPED}" (its checksum is wrong)`],
      ["pass-phr4se", "the configured value (not 0x and 40 hex digits)"],
    ] as const) {
      it(`a variable with ${value} fails with VAULT_INVALID_ADDRESS, which shows ${shown}, when the address is first used`, async () => {
        process.env["TEST_ADDRESS"] = value;
        const { vault } = await connectTo(NOWHERE, { vault: usdc(settings) });
        const { message } = await expectVaultError(
          vault.instance("usdc").addressOf("vault"),
          "VAULT_INVALID_ADDRESS",
        );
        expect(message).to.contain(
          `${root}.instances.usdc.contracts.vault is not a valid address: ${shown}`,
        );
      });
    }
  });

  it("an override of another setting keeps the vault's settings, and one of the vault's is used", async () => {
    const vault = { contracts: documentedContracts, tokenDecimals: 6 };
    const hre = await createTestHre({
      networks: { live: httpNetwork(NOWHERE, { vault }) },
    });
    const create = async (override: object) =>
      await hre.network.create({ network: "live", override });
    const connection = await create({ timeout: 5 });
    expect(connection.networkConfig.vault.tokenDecimals).to.equal(6);
    expect((await connection.vault.addressOf("trading")).address).to.equal(
      documentedContracts.trading,
    );
    const other = await create({ vault: ofVault(SECOND) });
    expect((await other.vault.addressOf("vault")).address).to.equal(SECOND);
  });
});
