import { inspect } from "node:util";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { isFailedReading } from "../../src/client/failed-reading.js";
import {
  contractRoleNames,
  get,
  standaloneQueries,
} from "../../src/protocol/index.js";
import type { ContractRole, HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts } from "../helpers/distinct-state.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { SECOND, THIRD } from "../helpers/names.js";

/** Nothing listens there: no address needs a request. */
const NOWHERE = "http://127.0.0.1:1";

/** Where an address comes from, without the beginning that all share. */
async function sourceOf(
  vault: { addressOf: HardhatVault["addressOf"] },
  role: ContractRole,
): Promise<string> {
  const { address, source } = await vault.addressOf(role);
  return `${address} ${source.replace("networks.named.vault.", "")}`;
}

describe("addresses of a vault", () => {
  let hre: HardhatRuntimeEnvironment;
  let named: HardhatVault;
  let plain: HardhatVault;

  before(async () => {
    hre = await createTestHre(
      {
        networks: {
          named: httpNetwork(NOWHERE, {
            vault: {
              contracts: {
                ...ofNetwork,
                vaultFactory: configVariable("TEST_UNSET_FACTORY"),
              },
              instances: {
                daily: {
                  contracts: { vault: contracts.trading, vaultFactory },
                },
                none: {},
              },
            },
          }),
          plain: httpNetwork(NOWHERE, { vault: { instances: { none: {} } } }),
        },
      },
      { network: "plain" },
    );
    named = (await hre.network.create("named")).vault;
    plain = (await hre.network.create("plain")).vault;
  });

  const { vaultFactory, ...ofNetwork } = contracts;
  const ofDaily = "instances.daily.contracts";
  const cases: ReadonlyArray<
    readonly [
      title: string,
      of: (vault: HardhatVault) => HardhatVault,
      addresses: Partial<Record<ContractRole, string>>,
    ]
  > = [
    [
      "the network",
      (vault) => vault,
      Object.fromEntries(
        Object.entries(ofNetwork).map(([role, address]) => [
          ...[role, `${address} contracts.${role}`],
        ]),
      ),
    ],
    [
      "an instance",
      (vault) => vault.instance("daily"),
      {
        vault: `${contracts.trading} ${ofDaily}.vault`,
        vaultFactory: `${vaultFactory} ${ofDaily}.vaultFactory`,
        publicPool: `${contracts.publicPool} contracts.publicPool`,
      },
    ],
    [
      "an instance without contracts",
      (vault) => vault.instance("none"),
      { vault: `${contracts.vault} contracts.vault` },
    ],
    [
      "an instance of a vault with other addresses",
      (vault) => vault.at({ vault: SECOND }).instance("daily"),
      { vault: `${contracts.trading} ${ofDaily}.vault` },
    ],
    [
      "at() with a lower-case address, and one that is undefined",
      (vault) => vault.at({ vault: SECOND.toLowerCase(), trading: undefined }),
      {
        vault: `${SECOND} at()`,
        trading: `${contracts.trading} contracts.trading`,
      },
    ],
    [
      "at() after at() of another contract",
      (vault) => vault.at({ vault: SECOND }).at({ trading: THIRD }),
      { vault: `${SECOND} at()` },
    ],
    [
      "at() after at() of the same contract",
      (vault) => vault.at({ vault: SECOND }).at({ vault: THIRD }),
      { vault: `${THIRD} at()` },
    ],
    [
      "at() of an instance",
      (vault) => vault.instance("daily").at({ vault: SECOND }),
      { vaultFactory: `${vaultFactory} ${ofDaily}.vaultFactory` },
    ],
  ];
  for (const [title, of, addresses] of cases) {
    it(`addressOf() of ${title} has the addresses of ${Object.keys(addresses).join()}, and where they come from`, async () => {
      for (const role of contractRoleNames.filter(
        (each) => each in addresses,
      )) {
        expect(await sourceOf(of(named), role)).to.equal(addresses[role]);
      }
    });
  }

  it("hre.vault has the addresses of connection.vault", async () => {
    for (const vault of [
      hre.vault.at({ vault: SECOND }).at({ trading: THIRD }),
      await hre.vault.at({ vault: SECOND }).connect(),
      plain.at({ vault: SECOND }),
    ]) {
      expect(await sourceOf(vault, "vault")).to.equal(`${SECOND} at()`);
    }
  });

  it("an instance names itself, and is the same object each time", async () => {
    const daily = named.instance("daily");
    expect(named.instance("daily")).to.equal(daily);
    expect(daily.instance("daily")).to.equal(daily);
    expect([
      named.networkName,
      named.instanceName,
      daily.at({}).instanceName,
      daily.instance("none").instanceName,
    ]).to.deep.equal(["named", undefined, "daily", "none"]);
  });

  it("an instance of a vault whose operation has ended sends nothing more", async () => {
    const signal = AbortSignal.abort("enough");
    const read = named.withOptions({ signal }).instance("daily").queryVolume();
    const [end] = await Promise.allSettled([read]);
    expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
  });

  for (const name of ["Daily", "constructor", ""]) {
    it(`instance("${name}") throws VAULT_UNKNOWN_INSTANCE with the names that there are`, async () => {
      for (const [work, network, known] of [
        [() => named.instance(name), "named", "daily, none"],
        [
          async () => await hre.vault.instance(name).queryVolume(),
          ...["plain", "none"],
        ],
      ] as const) {
        const { details } = await expectVaultError(
          work,
          "VAULT_UNKNOWN_INSTANCE",
        );
        expect(details).to.deep.include({
          network,
          instance: `"${name}"`,
          known,
        });
      }
    });
  }

  for (const [address, problem] of [
    ["0x12", "not 0x and 40 hex digits"],
    [THIRD.replace("3C", "3c"), "its checksum is wrong"],
    [1, "not a string"],
  ] as const) {
    it(`at() of hre.vault and of connection.vault refuses the address ${inspect(address)}: VAULT_INVALID_ADDRESS`, async () => {
      for (const vault of [hre.vault, plain]) {
        const { details } = await expectVaultError(
          // @ts-expect-error -- one is no string
          async () => await vault.at({ vault: address }).queryVolume(),
          "VAULT_INVALID_ADDRESS",
        );
        expect(details).to.include({
          where: "The address of the vault contract (at())",
          problem,
        });
      }
    });
  }

  const missing: ReadonlyArray<
    readonly [
      operation: string,
      role: ContractRole,
      read: (vault: HardhatVault) => Promise<unknown>,
    ]
  > = [
    ["queryVolume", "vault", (vault) => vault.queryVolume()],
    [
      "getLatestRoundInfo",
      "vaultFactory",
      (vault) => vault.getLatestRoundInfo(),
    ],
    [
      "getLPAmountInfo",
      "privatePool",
      (vault) => vault.getLPAmountInfo("private"),
    ],
    [
      "getLPAmountInfo",
      "publicPool",
      (vault) => vault.getLPAmountInfo("public"),
    ],
    [
      "getFundingFeeRate",
      "underlyingAsset",
      (vault) => vault.getFundingFeeRate("call"),
    ],
    [
      "orders",
      "trading",
      (vault) => Array.fromAsync(vault.orders({ ids: [1] })),
    ],
    ["a report", "vault", (vault) => vault.addressOf("vault", "a report")],
    ["the vault", "vault", (vault) => vault.contracts.vault.queryVolume()],
  ];
  for (const [operation, role, read] of missing) {
    it(`${operation} without an address of ${role} throws VAULT_CONTRACT_NOT_CONFIGURED, which names the setting of the network or of the instance`, async () => {
      for (const [vault, settings] of [
        [plain, "networks.plain.vault"],
        [plain.instance("none"), "networks.plain.vault.instances.none"],
      ] as const) {
        const { details } = await expectVaultError(
          async () => await read(vault),
          "VAULT_CONTRACT_NOT_CONFIGURED",
        );
        expect(details).to.include({
          ...{ operation, role, network: "plain" },
          path: `${settings}.contracts.${role}`,
        });
        expect(details["hint"]).to.contain(
          vault === plain
            ? "`npx hardhat vault deploy-mocks --network plain`"
            : "`npx hardhat vault deploy-mocks --instance none --network plain`",
        );
      }
    });
  }

  it("an instance inherits the settings that it omits, and adds its displayDecimals to those of the network, unless it has other tokenDecimals", async () => {
    const { vault } = await hre.network.create({
      network: "plain",
      override: {
        vault: {
          tokenDecimals: 77,
          displayDecimals: { pools: 0, volume: 5 },
          guard: THIRD,
          contracts: { vault: THIRD },
          instances: {
            volume: { displayDecimals: { volume: 6 } },
            same: { tokenDecimals: 77 },
            tokens: { tokenDecimals: 0, contracts: { vault: undefined } },
            unset: {
              ...{ tokenDecimals: undefined, guard: undefined },
              displayDecimals: { volume: undefined },
            },
            direct: { guard: false },
            guarded: { guard: SECOND },
          },
        },
      },
    });
    const inherited = { pools: 0, volume: 5 };
    expect(vault.settings).to.deep.equal({
      ...{ tokenDecimals: 77, displayDecimals: inherited },
    });
    expect(vault.instance("volume").settings).to.deep.equal({
      ...{ tokenDecimals: 77, displayDecimals: { pools: 0, volume: 6 } },
    });
    expect(vault.instance("tokens").settings).to.deep.equal({
      ...{ tokenDecimals: 0, displayDecimals: {} },
    });
    expect(vault.instance("same").settings).to.deep.equal({
      ...{ tokenDecimals: 77, displayDecimals: inherited },
    });
    expect(vault.instance("unset").settings).to.deep.equal(vault.settings);
    const guards = ["unset", "direct", "guarded"].map(
      async (name) => await vault.instance(name).guardAddress(),
    );
    const instances = "networks.plain.vault.instances";
    expect(await Promise.all(guards)).to.deep.equal([
      { address: THIRD, source: `${instances}.unset.guard` },
      undefined,
      { address: SECOND, source: `${instances}.guarded.guard` },
    ]);
    expect(await vault.instance("tokens").addressOf("vault")).to.deep.equal({
      ...{ address: THIRD, source: "networks.plain.vault.contracts.vault" },
    });
  });

  it("deployMocks() comes before the configuration, but not before what at() or an instance names itself", async () => {
    const own = await createTestHre({
      networks: {
        default: {
          type: "edr-simulated",
          vault: {
            contracts,
            instances: { daily: { contracts: { vault: SECOND } }, none: {} },
          },
        },
      },
    });
    const { vault } = await own.network.create();
    const [daily, none] = [vault.instance("daily"), vault.instance("none")];
    await vault.deployMocks({ overrides: { volume: 5n } });
    const sources = async (): Promise<readonly string[]> =>
      await Promise.all(
        [vault, daily, none, vault.at({ vault: THIRD })].map(
          async (each) => (await each.addressOf("vault")).source,
        ),
      );
    expect(await sources()).to.deep.equal([
      "deployMocks()",
      "networks.default.vault.instances.daily.contracts.vault",
      ...["deployMocks()", "at()"],
    ]);
    expect((await daily.addressOf("trading")).source).to.equal("deployMocks()");
    await daily.deployMocks({ overrides: { volume: 6n } });
    expect((await daily.addressOf("vault")).source).to.equal("deployMocks()");
    expect([
      await vault.queryVolume(),
      await daily.queryVolume(),
      await none.queryVolume(),
    ]).to.deep.equal([5n, 6n, 5n]);
    await vault.connection.close();
  });

  it("a snapshot without any address holds VAULT_CONTRACT_NOT_CONFIGURED for each reading", async () => {
    const connection = await (await createTestHre()).network.create();
    const { chainId, block, ...readings } = await connection.vault.snapshot();
    expect([chainId, block.number]).to.deep.equal([31_337, 0]);
    for (const { path } of standaloneQueries) {
      const value = get(readings, path);
      expect(isFailedReading(value) && value.error.code).to.equal(
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
    }
    await connection.close();
  });
});
