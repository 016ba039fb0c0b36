import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";

import createConfigHooks from "../../src/plugin/config.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { expectVaultError } from "../helpers/assertions.js";
import { documentedContracts } from "../helpers/scripted-node.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** A configuration as a user may write it who does not use TypeScript. */
function userConfig(vault: unknown, type = "http"): HardhatUserConfig {
  const network =
    type === "http"
      ? { type, url: "http://127.0.0.1:1", vault }
      : { type, vault };
  // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- wrong on purpose
  return { networks: { live: network } } as HardhatUserConfig;
}

async function validate(
  config: HardhatUserConfig,
): Promise<ReadonlyArray<readonly [path: string, message: string]>> {
  const { validateUserConfig } = await createConfigHooks();
  if (validateUserConfig === undefined) {
    throw new Error("there is no validateUserConfig hook");
  }
  const errors = await validateUserConfig(config);
  return errors.map(({ path, message }) => [path.join("."), message]);
}

const MISTYPED = ADDRESS.replace("C8", "c8");
const root = "networks.live.vault";
const contracts = `${root}.contracts`;
const mistakes: ReadonlyArray<
  readonly [name: string, vault: unknown, path: string, message: RegExp]
> = [
  ["null", null, root, /object/u],
  [
    "an unknown setting",
    { contract: {} },
    root,
    /unknown setting "contract"; the settings are contracts, tokenDecimals, displayDecimals, instances/u,
  ],
  [
    "an unknown contract",
    { contracts: { pool: ADDRESS } },
    contracts,
    /unknown contract "pool"; the contracts are .*publicPool/u,
  ],
  [
    "an address that is too short",
    { contracts: { vault: "0x12" } },
    `${contracts}.vault`,
    /40 hex digits/u,
  ],
  [
    "an address with a wrong checksum",
    { contracts: { vault: MISTYPED } },
    `${contracts}.vault`,
    /checksum of 0x70997970C51812dc3A010C7d01b50e0d17dc79c8 is wrong/u,
  ],
  [
    "an instance's address with a wrong checksum",
    { instances: { usdc: { contracts: { vault: MISTYPED } } } },
    `${root}.instances.usdc.contracts.vault`,
    /checksum of .* is wrong/u,
  ],
  [
    "a number for an address",
    { contracts: { vault: 12 } },
    `${contracts}.vault`,
    /address .* or a configuration variable/u,
  ],
  [
    "an object that is no configuration variable",
    { contracts: { vault: { name: "SOME_ADDRESS" } } },
    `${contracts}.vault`,
    /address .* or a configuration variable/u,
  ],
  ["a list of contracts", { contracts: [] }, contracts, /object/u],
  [
    "instances that are a text",
    { instances: "" },
    `${root}.instances`,
    /object/u,
  ],
  ["half a decimal", { tokenDecimals: 1.5 }, `${root}.tokenDecimals`, /whole/u],
  ["negative decimals", { tokenDecimals: -1 }, `${root}.tokenDecimals`, /0/u],
  [
    "more decimals than uint256 has",
    { tokenDecimals: 78 },
    `${root}.tokenDecimals`,
    /77/u,
  ],
  [
    "decimals of a value whose scale the protocol gives",
    { displayDecimals: { "round.strikePrice": 18 } },
    `${root}.displayDecimals`,
    /unknown value of unknown scale "round.strikePrice"; .*round\.settledAmount, order, order\.number/u,
  ],
  [
    "decimals for display as text",
    { displayDecimals: { pools: "18" } },
    `${root}.displayDecimals.pools`,
    /whole number/u,
  ],
  [
    "an instance whose name is no part of a file's name",
    { instances: { "../usdc": {} } },
    `${root}.instances.../usdc`,
    /name of an instance: lower-case/u,
  ],
  [
    "an unknown setting of an instance",
    { instances: { usdc: { instances: {} } } },
    `${root}.instances.usdc`,
    /unknown setting "instances"; the settings are contracts, tokenDecimals, displayDecimals/u,
  ],
];

describe("configuration", () => {
  for (const [name, vault, path, message] of mistakes) {
    for (const type of ["http", "edr-simulated"]) {
      it(`should refuse ${name} on a network of type ${type}, and say where`, async () => {
        const errors = await validate(userConfig(vault, type));
        expect(errors).to.have.lengthOf(1);
        expect(errors[0]?.[0]).to.equal(path);
        expect(errors[0]?.[1]).to.match(message);
      });
    }
  }

  it("should accept what is right, and nothing at all", async () => {
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
      { instances: {} },
      { instances: { usdc: {}, "usdt-2": { contracts: { vault: ADDRESS } } } },
    ]) {
      expect(await validate(userConfig(vault))).to.deep.equal([]);
    }
  });

  it("should leave to Hardhat what is no network at all", async () => {
    for (const networks of [null, 12, { live: null }, { live: "x" }]) {
      // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- wrong on purpose
      const config = { networks } as unknown as HardhatUserConfig;
      expect(await validate(config)).to.deep.equal([]);
    }
  });

  it("should resolve settings for networks of both types", async () => {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork("http://127.0.0.1:1", {
          vault: { contracts: { vault: ADDRESS }, tokenDecimals: 6 },
        }),
        local: { type: "edr-simulated", vault: { tokenDecimals: 8 } },
        bare: httpNetwork("http://127.0.0.1:1"),
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

  it("should read a configuration variable when it is needed, not before", async () => {
    delete process.env["TEST_LATE_ADDRESS"];
    const hre = await createTestHre({
      networks: {
        live: httpNetwork("http://127.0.0.1:1", {
          vault: { contracts: { vault: configVariable("TEST_LATE_ADDRESS") } },
        }),
      },
    });
    const { vault } = await hre.network.create("live");
    const { message } = await expectVaultError(
      vault.addressOf("vault"),
      "VAULT_CONFIG_VARIABLE",
    );
    expect(message).to.contain(`${contracts}.vault`);
    expect(message).to.contain("TEST_LATE_ADDRESS");
    process.env["TEST_LATE_ADDRESS"] = ADDRESS.toLowerCase();
    try {
      expect(await vault.addressOf("vault")).to.deep.equal({
        address: ADDRESS,
        source: `${contracts}.vault`,
      });
    } finally {
      delete process.env["TEST_LATE_ADDRESS"];
    }
  });

  it("should refuse the wrong checksum of a variable where the address is first used, and show it", async () => {
    const settings = {
      contracts: { vault: configVariable("TEST_MISTYPED_ADDRESS") },
    };
    const hre = await createTestHre({
      networks: {
        live: httpNetwork("http://127.0.0.1:1", {
          vault: { ...settings, instances: { usdc: settings } },
        }),
      },
    });
    const { vault } = await hre.network.create("live");
    process.env["TEST_MISTYPED_ADDRESS"] = MISTYPED;
    try {
      for (const [of, path] of [
        [vault, contracts],
        [vault.instance("usdc"), `${root}.instances.usdc.contracts`],
      ] as const) {
        const { message } = await expectVaultError(
          of.addressOf("vault"),
          "VAULT_INVALID_ADDRESS",
        );
        expect(message).to.contain(
          `${path}.vault is not a valid address: "${MISTYPED}" (its checksum is wrong)`,
        );
      }
    } finally {
      delete process.env["TEST_MISTYPED_ADDRESS"];
    }
  });

  it("should keep the settings under an override of something else", async () => {
    const hre = await createTestHre({
      networks: {
        live: httpNetwork("http://127.0.0.1:1", {
          accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")],
          vault: { contracts: documentedContracts, tokenDecimals: 6 },
        }),
        local: {
          type: "edr-simulated",
          vault: { contracts: documentedContracts, tokenDecimals: 8 },
        },
      },
    });
    const live = await hre.network.create({
      network: "live",
      override: { accounts: "remote" },
    });
    expect(live.networkConfig.vault.tokenDecimals).to.equal(6);
    const local = await hre.network.create({
      network: "local",
      override: { allowUnlimitedContractSize: true },
    });
    expect(local.networkConfig.vault.tokenDecimals).to.equal(8);
    for (const { vault, networkName } of [live, local]) {
      expect(await vault.addressOf("trading")).to.deep.equal({
        address: documentedContracts.trading,
        source: `networks.${networkName}.vault.contracts.trading`,
      });
    }
    await local.close();
  });

  it("should take an override of the settings themselves", async () => {
    const hre = await createTestHre({
      networks: { local: { type: "edr-simulated" } },
    });
    const connection = await hre.network.create({
      network: "local",
      override: { vault: { contracts: { vault: ADDRESS } } },
    });
    expect((await connection.vault.addressOf("vault")).address).to.equal(
      ADDRESS,
    );
    await connection.close();
  });
});
