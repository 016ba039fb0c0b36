import { inspect } from "node:util";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatUserConfig } from "hardhat/types/config";

import hardhatVault from "../../src/index.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND, THIRD } from "../helpers/names.js";

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

/** A setting, what is said of it, and values that it may not have. */
const wrongValues: ReadonlyArray<
  readonly [where: string, says: RegExp, ...values: unknown[]]
> = [
  [
    "contracts.vault",
    /address .*40 hex digits.* or a configuration variable/u,
    ...[`x${SECOND}`, `${SECOND}0`, { name: "SOME_ADDRESS" }],
    { _type: "ConfigurationVariable", name: 12 },
  ],
  ["guard", /configuration variable, or false/u, true, "0x12"],
  ["tokenDecimals", /than or equal to (?:0|77)/u, -1, 78],
  ["displayDecimals.volume", /Expected integer/u, 1.5],
  ["maxFeePerGasLimit", /greater than 0|Expected bigint/u, 0n, 1],
  ["timeBeforeBumpingFees", /needs maxFeePerGasLimit/u, 1],
  ["instances.usdc.timeBeforeBumpingFees", /needs maxFeePerGasLimit/u, 1],
  ["maxHeadAge", /from 1 up, or false/u, 0, true],
  ["confirmations", /than or equal to 1|Expected integer/u, 0, 1.5],
  ["tokens", /Expected array/u, "0x12"],
  ["instances.Daily", /name of an instance: lower-case/u, {}],
  [`instances.${"a".repeat(65)}`, /name of an instance/u, {}],
];

/** Where a mistake is, what is said of it, and settings with it. */
const mistakes: ReadonlyArray<
  readonly [where: string, says: RegExp, settings: unknown]
> = [
  ...wrongValues.flatMap(([where, says, ...values]) =>
    values.map((value) => {
      const settings = where
        .split(".")
        .reduceRight((inner: unknown, key) => ({ [key]: inner }), value);
      return [where, says, settings] as const;
    }),
  ),
  ["", /object/u, null],
  ["", /Unrecognized key.*'contract'/u, { contract: {} }],
  ["contracts", /Unrecognized key.*'pool'/u, { contracts: { pool: SECOND } }],
  [
    "displayDecimals",
    /Unrecognized key.*'round.strikePrice'/u,
    { displayDecimals: { "round.strikePrice": 18 } },
  ],
  ["tokens.0", /40 hex digits/u, { tokens: ["0x12"] }],
  ["tokens.1", /40 hex digits/u, { tokens: [SECOND, 7] }],
  ["maxPriorityFeePerGasLimit", /may not exceed maxFeePerGasLimit/u, raised],
  [
    "instances.usdc.maxPriorityFeePerGasLimit",
    /may not exceed maxFeePerGasLimit/u,
    usdc(raised),
  ],
  [
    "timeBeforeBumpingFees",
    /than or equal to 1/u,
    { timeBeforeBumpingFees: 0, maxFeePerGasLimit: 1n },
  ],
  ["instances.usdc", /Unrecognized key.*'instances'/u, usdc({ instances: {} })],
];

describe("configuration", () => {
  for (const [where, says, settings] of mistakes) {
    it(`Hardhat names ${where === "" ? root : where} of ${inspect(settings, { breakLength: Infinity })}: ${says.source}`, async () => {
      const [[path, message] = ["", ""], ...more] = await validate({
        live: { type: "http", vault: settings },
      });
      expect(more).to.deep.equal([]);
      expect(path).to.equal([root, where].filter(Boolean).join("."));
      expect(message).to.match(says);
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
    ofVault(configVariable("SOME_ADDRESS")),
    { tokenDecimals: 0, displayDecimals: { "order.openPrice": 77 } },
    { guard: false, maxFeeBumps: 0, maxHeadAge: 1, confirmations: 1 },
    { maxFeePerGasLimit: 1n, ...usdc({ timeBeforeBumpingFees: 1 }) },
    { maxFeePerGasLimit: 2n, maxPriorityFeePerGasLimit: 2n },
    { tokens: [], ...usdc({ tokens: [`0x${"a".repeat(40)}`] }) },
    { maxHeadAge: false, instances: { "9-_": {}, ["a".repeat(64)]: {} } },
  ]) {
    it(`Hardhat accepts the settings ${inspect(vault, { breakLength: Infinity })}`, async () => {
      expect(await validate({ live: { vault } })).to.deep.equal([]);
    });
  }

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
        tokens: [SECOND],
        instances: {
          same: { tokenDecimals: 77, displayDecimals: { volume: 6 } },
          tokens: { tokenDecimals: 0, guard: false },
          unset: {
            ...{ tokenDecimals: undefined, guard: undefined },
            displayDecimals: { volume: undefined },
          },
          guarded: { guard: SECOND, tokens: [] },
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
      expect(of(name).display).to.deep.equal({
        ...{ tokenDecimals, displayDecimals },
      });
    }
    expect(await of("unset").guardAddress()).to.deep.equal({
      ...{ address: THIRD, source: `${root}.instances.unset.guard` },
    });
    expect(await of("tokens").guardAddress()).to.equal(undefined);
    expect((await of("guarded").guardAddress())?.address).to.equal(SECOND);
    expect(of("unset").settings.tokens).to.deep.equal([SECOND]);
    expect(of("guarded").settings.tokens).to.deep.equal([]);
  });

  it("an address whose checksum is wrong fails with VAULT_INVALID_ADDRESS and its setting, before any request", async () => {
    const { vault } = await connectTo(NOWHERE, {
      vault: { ...usdc(ofVault(MISTYPED)), guard: MISTYPED },
    });
    for (const [read, setting] of [
      [
        async () => await vault.instance("usdc").queryVolume(),
        "instances.usdc.contracts.vault",
      ],
      [async () => await vault.guardAddress(), "guard"],
    ] as const) {
      const { message } = await expectVaultError(
        read(),
        "VAULT_INVALID_ADDRESS",
      );
      expect(message).to.contain(
        `${root}.${setting} is not a valid address: "${MISTYPED}" (its checksum is wrong)`,
      );
    }
  });

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
});
