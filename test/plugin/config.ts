import { inspect } from "node:util";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";

import hardhatVault from "../../src/index.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { documentedContracts } from "../helpers/documented-node.js";

const NOWHERE = "http://127.0.0.1:1";

/** A configuration as a user may write it who does not use TypeScript. */
function userConfig(vault: unknown, type = "http"): HardhatUserConfig {
  const network =
    type === "http" ? { type, url: NOWHERE, vault } : { type, vault };
  // wrong on purpose
  return { networks: { live: network } } as HardhatUserConfig;
}

async function validate(
  config: HardhatUserConfig,
): Promise<ReadonlyArray<readonly [path: string, message: string]>> {
  const hooks = await hardhatVault.hookHandlers?.config?.();
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
const ofVault = (vault: unknown) => ({ contracts: { vault } });
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
  ["", /unknown setting "toString"/u, { toString: 1 }],
  [
    "contracts",
    /unknown contract "pool"; the contracts are .*publicPool/u,
    { contracts: { pool: SECOND } },
  ],
  ["contracts", /unknown contract/u, { contracts: { constructor: SECOND } }],
  ["contracts", /object/u, { contracts: [] }],
  ["contracts.vault", /40 hex digits/u, ofVault("0x12")],
  [
    "contracts.vault",
    /address .* or a configuration variable/u,
    ofVault(12),
    ofVault({ name: "SOME_ADDRESS" }),
    ofVault({ _type: "ConfigurationVariable", name: 12 }),
    ofVault([SECOND]),
    ofVault(`x${SECOND}`),
    ofVault(`${SECOND}0`),
    ofVault(SECOND.replace("x", "X")),
  ],
  ["tokenDecimals", /whole/u, { tokenDecimals: 1.5 }],
  ["tokenDecimals", /0/u, { tokenDecimals: -1 }],
  ["tokenDecimals", /77/u, { tokenDecimals: 78 }],
  [
    "displayDecimals",
    /unknown value of unknown scale "round.strikePrice"; .*round\.settledAmount, order, order\.number/u,
    { displayDecimals: { "round.strikePrice": 18 } },
  ],
  ["displayDecimals.volume", /77/u, { displayDecimals: { volume: -1 } }],
  [
    "displayDecimals.order.openPrice",
    /whole number/u,
    { displayDecimals: { "order.openPrice": null } },
  ],
  ["displayDecimals.pools", /whole/u, { displayDecimals: { pools: "18" } }],
  [
    "guard",
    /configuration variable, or false/u,
    ...[{ guard: 12 }, { guard: true }, { guard: "0x12" }],
  ],
  [
    "maxFeePerGasLimit",
    /positive bigint in wei/u,
    ...[{ maxFeePerGasLimit: 0n }, { maxFeePerGasLimit: 1 }],
  ],
  [
    "maxPriorityFeePerGasLimit",
    /positive bigint in wei/u,
    { maxPriorityFeePerGasLimit: 0n },
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
    ...[{ maxHeadAge: 0 }, { maxHeadAge: true }, { maxHeadAge: 1.5 }],
  ],
  ["instances", /object/u, { instances: "" }],
  ...["../usdc", "Daily", "_", "", "toString", "a".repeat(65)].map(
    (name) =>
      [
        `instances.${name}`,
        /name of an instance: lower-case/u,
        { instances: { [name]: {} } },
      ] as const,
  ),
  ["instances.usdc", /object/u, usdc(null)],
  [
    "instances.usdc",
    /unknown setting "instances"; the settings are contracts, guard, .*, tokenDecimals, displayDecimals$/u,
    usdc({ instances: {} }),
  ],
  [
    "instances.usdc.tokenDecimals",
    /whole number/u,
    usdc({ tokenDecimals: "6" }),
  ],
];

describe("configuration", () => {
  for (const [where, says, ...settings] of mistakes) {
    it(`Hardhat names ${where === "" ? root : where} of ${settings.map((one) => inspect(one, { breakLength: Infinity })).join(", ")}, of a network of either type: ${says.source}`, async () => {
      for (const vault of settings) {
        for (const type of ["http", "edr-simulated"]) {
          const [[path, message] = ["", ""], ...more] = await validate(
            userConfig(vault, type),
          );
          expect(more).to.deep.equal([]);
          expect(path).to.equal([root, where].filter(Boolean).join("."));
          expect(message).to.match(says);
        }
      }
    });
  }

  it("Hardhat lists every mistake of every network", async () => {
    const vault = {
      ...{ contract: 1, tokenDecimals: 78 },
      contracts: { vaults: SECOND, vault: "0x12" },
      instances: { Daily: {} },
    };
    const network = { type: "http", url: NOWHERE, vault };
    const other = { ...network, vault: { tokenDecimals: 78 } };
    const networks: unknown = { live: network, other };
    // wrong on purpose
    const config = { networks } as HardhatUserConfig;
    expect((await validate(config)).map(([path]) => path)).to.have.members([
      ...[root, contracts, `${contracts}.vault`, `${root}.tokenDecimals`],
      ...[`${root}.instances.Daily`, "networks.other.vault.tokenDecimals"],
    ]);
  });

  it("Hardhat accepts settings that are right, or absent", async () => {
    for (const vault of [
      undefined,
      {},
      { contracts: {} },
      { contracts: { vault: undefined } },
      { contracts: { vault: SECOND } },
      { contracts: { vault: SECOND.toLowerCase() } },
      { contracts: { vault: `0x${SECOND.slice(2).toUpperCase()}` } },
      { contracts: { vault: configVariable("SOME_ADDRESS") } },
      { tokenDecimals: 0 },
      { tokenDecimals: 77 },
      { displayDecimals: { pools: 18, volume: 0, "order.openPrice": 77 } },
      { guard: false },
      { maxFeePerGasLimit: 1n, maxPriorityFeePerGasLimit: 1n },
      { timeBeforeBumpingFees: 1, maxFeePerGasLimit: 1n },
      {
        maxFeePerGasLimit: 1n,
        instances: { usdc: { timeBeforeBumpingFees: 1 } },
      },
      { maxFeeBumps: 0, maxHeadAge: 1 },
      { maxHeadAge: false },
      { instances: {} },
      { instances: { "9-_": {}, ["a".repeat(64)]: {} } },
      { instances: { usdc: {}, "usdt-2": { contracts: { vault: SECOND } } } },
    ]) {
      expect(await validate(userConfig(vault))).to.deep.equal([]);
    }
  });

  it("the plugin leaves networks that are none to Hardhat", async () => {
    for (const networks of [null, 12, { live: null }, { live: "x" }]) {
      // wrong on purpose
      const config = { networks } as unknown as HardhatUserConfig;
      expect(await validate(config)).to.deep.equal([]);
    }
  });

  it("settings are resolved for networks of both types", async () => {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(NOWHERE, {
          vault: { contracts: { vault: SECOND }, tokenDecimals: 6 },
        }),
        local: { type: "edr-simulated", vault: { tokenDecimals: 8 } },
        bare: httpNetwork(NOWHERE),
      },
    });
    const { live, local, bare } = hre.config.networks;
    expect(await live?.vault.contracts.vault?.get()).to.equal(SECOND);
    expect(live?.vault.tokenDecimals).to.equal(6);
    expect(Object.keys(live?.vault.contracts ?? {})).to.deep.equal(["vault"]);
    expect(local?.vault).to.deep.equal({
      contracts: {},
      tokenDecimals: 8,
      instances: {},
    });
    const nothing = { contracts: {}, instances: {} };
    expect(bare?.vault).to.deep.equal(nothing);
    expect(hre.config.networks["default"]?.vault).to.deep.equal(nothing);
  });

  for (const [where, vault] of [
    ["contracts.vault", { contracts: { vault: MISTYPED } }],
    ["guard", { guard: MISTYPED }],
    [
      "instances.usdc.contracts.vault",
      usdc({ contracts: { vault: MISTYPED } }),
    ],
  ] as const) {
    it(`a connection fails with VAULT_INVALID_ADDRESS, asks for nothing, and leaves other networks alone, if the checksum of ${where} is wrong; a start does not`, async () => {
      const server = await startRpcServer({});
      const networks = {
        live: httpNetwork(server.url, { vault }),
        other: httpNetwork(server.url),
      };
      const hre = await createTestHre({ networks });
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
        `networks.live.vault.${where} is not a valid address: "${MISTYPED}" (its checksum is wrong)`,
      );
      expect(closed).to.deep.equal(["live"]);
      expect(server.requests).to.deep.equal([]);
      await server.stop();
    });
  }

  it("a configuration variable is read when an address is needed, and fails with VAULT_CONFIG_VARIABLE until it is set", async () => {
    delete process.env["TEST_LATE_ADDRESS"];
    const { vault } = await connectTo(NOWHERE, {
      vault: { contracts: { vault: configVariable("TEST_LATE_ADDRESS") } },
    });
    const { message } = await expectVaultError(
      vault.addressOf("vault"),
      "VAULT_CONFIG_VARIABLE",
    );
    expect(message).to.contain(`${contracts}.vault`);
    expect(message).to.contain("TEST_LATE_ADDRESS");
    process.env["TEST_LATE_ADDRESS"] = SECOND.toLowerCase();
    expect(await vault.addressOf("vault")).to.deep.equal({
      address: SECOND,
      source: `${contracts}.vault`,
    });
    delete process.env["TEST_LATE_ADDRESS"];
  });

  it("a task prints that the environment lacks the variable of a URL, and names cron", async () => {
    const url = configVariable("TEST_NOT_IN_CRON");
    const hre = await createTestHre(
      { networks: { live: { ...httpNetwork(""), url } } },
      { network: "live" },
    );
    const { stderr, exitCode } = await runTyped(hre, "volume");
    expect(exitCode).to.equal(1);
    expect(stderr.replaceAll(/\s+/gu, " "))
      .to.contain(
        "the configuration variable TEST_NOT_IN_CRON is missing from the environment of this process",
      )
      .and.contain("cron");
  });

  for (const [value, shown] of [
    [MISTYPED, `"${MISTYPED}" (its checksum is wrong)`],
    ["pass-phr4se", "the configured value (not 0x and 40 hex digits)"],
  ] as const) {
    it(`a variable with ${value} fails with VAULT_INVALID_ADDRESS, which shows ${shown}, when the address is first used`, async () => {
      const settings = {
        contracts: { vault: configVariable("TEST_WRONG_ADDRESS") },
      };
      process.env["TEST_WRONG_ADDRESS"] = value;
      const { vault } = await connectTo(NOWHERE, {
        vault: { ...settings, instances: { usdc: settings } },
      });
      for (const [of, path] of [
        [vault, contracts],
        [vault.instance("usdc"), `${root}.instances.usdc.contracts`],
      ] as const) {
        const { message } = await expectVaultError(
          of.addressOf("vault"),
          "VAULT_INVALID_ADDRESS",
        );
        expect(message).to.contain(
          `${path}.vault is not a valid address: ${shown}`,
        );
      }
      delete process.env["TEST_WRONG_ADDRESS"];
    });
  }

  it("an override of another setting keeps the vault's settings, and one of the vault's is used", async () => {
    const vault = { contracts: documentedContracts, tokenDecimals: 6 };
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(NOWHERE, {
          accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")],
          vault,
        }),
        local: { type: "edr-simulated", vault },
      },
    });
    for (const [network, override] of [
      ["live", { accounts: "remote" }],
      ["local", { allowUnlimitedContractSize: true }],
    ] as const) {
      const connection = await hre.network.create({ network, override });
      expect(connection.networkConfig.vault.tokenDecimals).to.equal(6);
      expect(await connection.vault.addressOf("trading")).to.deep.equal({
        address: documentedContracts.trading,
        source: `networks.${network}.vault.contracts.trading`,
      });
      await connection.close();
      const other = await hre.network.create({
        network,
        override: { vault: { contracts: { vault: SECOND } } },
      });
      expect((await other.vault.addressOf("vault")).address).to.equal(SECOND);
      await other.close();
    }
  });
});
