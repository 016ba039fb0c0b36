import { expect } from "chai";
import { ZeroAddress } from "ethers";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { configuredFrom } from "../../src/plugin/hardhat-vault.js";
import type { ContractRole, HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts } from "../helpers/distinct-state.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { SECOND, THIRD } from "../helpers/names.js";

/** Nothing listens there: no address needs a request. */
const NOWHERE = "http://127.0.0.1:1";

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
      role: ContractRole,
      source: string,
    ]
  > = [
    ["the network", (vault) => vault, "trading", "contracts.trading"],
    [
      "an instance",
      (vault) => vault.instance("daily"),
      ...(["vaultFactory", `${ofDaily}.vaultFactory`] as const),
    ],
    [
      "an instance that omits it",
      (vault) => vault.instance("daily"),
      ...(["publicPool", "contracts.publicPool"] as const),
    ],
    [
      "at() after at() of another contract",
      (vault) => vault.at({ vault: SECOND }).at({ trading: THIRD }),
      ...(["vault", "at()"] as const),
    ],
  ];
  for (const [title, of, role, wanted] of cases) {
    it(`addressOf() finds the ${role} of ${title} in ${wanted}`, async () => {
      const { source } = await of(named).addressOf(role);
      expect(source.replace("networks.named.vault.", "")).to.equal(wanted);
    });
  }

  it("at() after at() of the same contract has the later address, with its checksum", async () => {
    const vault = named
      .at({ vault: SECOND })
      .at({ vault: THIRD.toLowerCase() });
    expect(await vault.addressOf("vault")).to.deep.equal({
      ...{ address: THIRD, source: "at()" },
    });
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
    expect(await read.catch((reason: unknown) => reason)).to.equal("enough");
  });

  for (const name of ["Daily", "constructor"]) {
    it(`instance("${name}") throws VAULT_UNKNOWN_INSTANCE with the names that there are`, async () => {
      const { details } = await expectVaultError(
        () => named.instance(name),
        "VAULT_UNKNOWN_INSTANCE",
      );
      expect(details).to.deep.include({
        ...{ network: "named", instance: `"${name}"`, known: "daily, none" },
      });
    });
  }

  it("at() of hre.vault and of connection.vault refuses a wrong address: VAULT_INVALID_ADDRESS", async () => {
    const address = THIRD.replace("3C", "3c");
    for (const vault of [hre.vault, plain]) {
      const { details } = await expectVaultError(
        async () => await vault.at({ vault: address }).queryVolume(),
        "VAULT_INVALID_ADDRESS",
      );
      expect(details).to.include({
        where: "The address of the vault contract (at())",
        problem: "its checksum is wrong",
      });
    }
  });

  it("configuredFrom() is the zero address, or that of the network with its checksum, which has to be right", async () => {
    expect(configuredFrom("live", {})).to.equal(ZeroAddress);
    const from = THIRD.toLowerCase();
    expect(configuredFrom("live", { from })).to.equal(THIRD);
    const { details } = await expectVaultError(
      () => configuredFrom("live", { from: THIRD.replace("3C", "3c") }),
      "VAULT_INVALID_ADDRESS",
    );
    expect(details).to.include({ where: "networks.live.from" });
  });

  it("a connection that was closed sends nothing more", async () => {
    const connection = await hre.network.create("plain");
    await connection.close();
    const failure: unknown = await connection.provider
      .request({ method: "eth_chainId" })
      .catch(String);
    expect(failure).to.match(/closed/u);
  });

  for (const [instance, path, command] of [
    [undefined, "", ""],
    ["none", ".instances.none", "--instance none "],
  ] as const) {
    it(`a read without an address of ${instance ?? "the network"} throws VAULT_CONTRACT_NOT_CONFIGURED with its setting and its command`, async () => {
      const vault = instance === undefined ? plain : plain.instance(instance);
      const { details } = await expectVaultError(
        vault.getLPAmountInfo("private"),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
      expect(details).to.include({
        ...{ operation: "getLPAmountInfo", role: "privatePool" },
        ...{ network: "plain" },
        path: `networks.plain.vault${path}.contracts.privatePool`,
      });
      expect(details["hint"]).to.contain(
        `\`npx hardhat vault deploy-mocks ${command}--network plain\``,
      );
    });
  }

  it("bind() comes before the configuration, for the roles that it binds last", async () => {
    const { vault } = await hre.network.create("named");
    for (const role of ["trading", "vault"] as const) {
      vault.bind(
        async (asked) =>
          await Promise.resolve(
            asked === role
              ? { address: SECOND, source: `the mock ${role}` }
              : { path: "", hint: "" },
          ),
      );
    }
    expect((await vault.addressOf("vault")).source).to.equal("the mock vault");
    expect((await vault.addressOf("trading")).source).to.equal(
      "networks.named.vault.contracts.trading",
    );
    await vault.connection.close();
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
    expect(vault.deployments, "as nothing persists").to.equal(undefined);
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
});
