import { inspect } from "node:util";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";

import hardhatVault from "../../src/index.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { expectVaultError } from "../helpers/assertions.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { documentedContracts } from "../helpers/documented-node.js";

const NOWHERE = "http://127.0.0.1:1";
const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

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

const MISTYPED = ADDRESS.replace("C8", "c8");
const root = "networks.live.vault";
const contracts = `${root}.contracts`;
const usdc = <Settings>(settings: Settings) => ({
  instances: { usdc: settings },
});

const mistakes = [
  [null, root, /object/u],
  [
    { contract: {} },
    root,
    /unknown setting "contract"; the settings are contracts, guard, .*, tokenDecimals, displayDecimals, instances/u,
  ],
  [
    { contracts: { pool: ADDRESS } },
    contracts,
    /unknown contract "pool"; the contracts are .*publicPool/u,
  ],
  [{ contracts: { vault: "0x12" } }, `${contracts}.vault`, /40 hex digits/u],
  ...[
    12,
    { name: "SOME_ADDRESS" },
    { _type: "ConfigurationVariable", name: 12 },
    [ADDRESS],
    `x${ADDRESS}`,
    `${ADDRESS}0`,
    ADDRESS.replace("x", "X"),
  ].map(
    (vault) =>
      [
        { contracts: { vault } },
        `${contracts}.vault`,
        /address .* or a configuration variable/u,
      ] as const,
  ),
  [{ contracts: [] }, contracts, /object/u],
  [{ instances: "" }, `${root}.instances`, /object/u],
  [{ tokenDecimals: 1.5 }, `${root}.tokenDecimals`, /whole/u],
  [{ tokenDecimals: -1 }, `${root}.tokenDecimals`, /0/u],
  [{ tokenDecimals: 78 }, `${root}.tokenDecimals`, /77/u],
  [
    { displayDecimals: { "round.strikePrice": 18 } },
    `${root}.displayDecimals`,
    /unknown value of unknown scale "round.strikePrice"; .*round\.settledAmount, order, order\.number/u,
  ],
  [
    { displayDecimals: { volume: -1 } },
    `${root}.displayDecimals.volume`,
    /77/u,
  ],
  [
    { displayDecimals: { "order.openPrice": null } },
    `${root}.displayDecimals.order.openPrice`,
    /whole number/u,
  ],
  [
    { displayDecimals: { pools: "18" } },
    `${root}.displayDecimals.pools`,
    /whole number/u,
  ],
  ...[12, true, "0x12"].map(
    (guard) =>
      [
        { guard },
        `${root}.guard`,
        /configuration variable, or false/u,
      ] as const,
  ),
  ...[0n, 1].flatMap((limit) =>
    ["maxFeePerGasLimit", "maxPriorityFeePerGasLimit"].map(
      (name) =>
        [
          { [name]: limit },
          `${root}.${name}`,
          /positive bigint in wei/u,
        ] as const,
    ),
  ),
  [
    { timeBeforeBumpingFees: 0, maxFeePerGasLimit: 1n },
    `${root}.timeBeforeBumpingFees`,
    /from 1 up/u,
  ],
  [
    { timeBeforeBumpingFees: 1 },
    `${root}.timeBeforeBumpingFees`,
    /needs maxFeePerGasLimit/u,
  ],
  [
    usdc({ timeBeforeBumpingFees: 1 }),
    `${root}.instances.usdc.timeBeforeBumpingFees`,
    /needs maxFeePerGasLimit/u,
  ],
  [{ maxFeeBumps: -1 }, `${root}.maxFeeBumps`, /from 0 up/u],
  ...[0, true, 1.5].map(
    (maxHeadAge) =>
      [{ maxHeadAge }, `${root}.maxHeadAge`, /from 1 up, or false/u] as const,
  ),
  [
    { maxFeePerGasLimit: 2n, maxPriorityFeePerGasLimit: 3n },
    `${root}.maxPriorityFeePerGasLimit`,
    /may not exceed maxFeePerGasLimit/u,
  ],
  [
    usdc({ maxFeePerGasLimit: 2n, maxPriorityFeePerGasLimit: 3n }),
    `${root}.instances.usdc.maxPriorityFeePerGasLimit`,
    /may not exceed maxFeePerGasLimit/u,
  ],
  [{ toString: 1 }, root, /unknown setting "toString"/u],
  [{ contracts: { constructor: ADDRESS } }, contracts, /unknown contract/u],
  ...["../usdc", "Daily", "_", "", "toString", "a".repeat(65)].map(
    (name) =>
      [
        { instances: { [name]: {} } },
        `${root}.instances.${name}`,
        /name of an instance: lower-case/u,
      ] as const,
  ),
  [usdc(null), `${root}.instances.usdc`, /object/u],
  [
    usdc({ tokenDecimals: "6" }),
    `${root}.instances.usdc.tokenDecimals`,
    /whole number/u,
  ],
  [
    usdc({ instances: {} }),
    `${root}.instances.usdc`,
    /unknown setting "instances"; the settings are contracts, guard, .*, tokenDecimals, displayDecimals$/u,
  ],
] as const;

describe("configuration", () => {
  for (const [vault, path, message] of mistakes) {
    it(`Hardhat refuses vault: ${inspect(vault, { breakLength: Infinity })} of a network of either type, and names ${path}`, async () => {
      for (const type of ["http", "edr-simulated"]) {
        const [error, ...more] = await validate(userConfig(vault, type));
        expect(more).to.deep.equal([]);
        expect(error?.[0]).to.equal(path);
        expect(error?.[1]).to.match(message);
      }
    });
  }

  it("Hardhat lists every mistake of a network's vault", async () => {
    const found = await validate(
      userConfig({
        contract: 1,
        tokenDecimals: 78,
        contracts: { vaults: ADDRESS, vault: "0x12" },
        instances: { Daily: {} },
      }),
    );
    expect(found.map(([path]) => path)).to.have.members([
      root,
      contracts,
      `${contracts}.vault`,
      `${root}.tokenDecimals`,
      `${root}.instances.Daily`,
    ]);
  });

  it("Hardhat lists the mistakes of every network", async () => {
    const network = {
      type: "http",
      url: NOWHERE,
      vault: { tokenDecimals: 78 },
    };
    const networks = { one: network, two: network };
    // wrong on purpose
    const found = await validate({ networks } as unknown as HardhatUserConfig);
    expect(found.map(([path]) => path)).to.deep.equal([
      "networks.one.vault.tokenDecimals",
      "networks.two.vault.tokenDecimals",
    ]);
  });

  it("Hardhat accepts settings that are right, or absent", async () => {
    for (const vault of [
      undefined,
      {},
      { contracts: {} },
      { contracts: { vault: undefined } },
      { contracts: { vault: ADDRESS } },
      { contracts: { vault: ADDRESS.toLowerCase() } },
      { contracts: { vault: `0x${ADDRESS.slice(2).toUpperCase()}` } },
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
      { instances: { usdc: {}, "usdt-2": { contracts: { vault: ADDRESS } } } },
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
          vault: { contracts: { vault: ADDRESS }, tokenDecimals: 6 },
        }),
        local: { type: "edr-simulated", vault: { tokenDecimals: 8 } },
        bare: httpNetwork(NOWHERE),
      },
    });
    const { live, local, bare } = hre.config.networks;
    expect(await live?.vault.contracts.vault?.get()).to.equal(ADDRESS);
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
    process.env["TEST_LATE_ADDRESS"] = ADDRESS.toLowerCase();
    expect(await vault.addressOf("vault")).to.deep.equal({
      address: ADDRESS,
      source: `${contracts}.vault`,
    });
    delete process.env["TEST_LATE_ADDRESS"];
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
        override: { vault: { contracts: { vault: ADDRESS } } },
      });
      expect((await other.vault.addressOf("vault")).address).to.equal(ADDRESS);
      await other.close();
    }
  });
});
