import { join } from "node:path";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { ContractAddresses } from "../../src/client/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { ContractRole } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { contracts } from "../helpers/distinct-state.js";
import {
  documentedHandler,
  documentedContracts,
} from "../helpers/documented-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork, hreOnLive } from "../helpers/hre.js";
import { SECOND, THIRD } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

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

  for (const name of ["Daily", "constructor"]) {
    it(`instance("${name}") throws VAULT_INVALID_ARGUMENT with the names that there are`, async () => {
      const { details } = await expectVaultError(
        () => named.instance(name),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details).to.include({
        where: "instance",
        problem: `network named has no instance "${name}"`,
      });
      expect(details["remedy"]).to.include("(daily, none)");
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

const GENESIS = `0x${"ab".repeat(32)}`;

const deployment = {
  version: 1,
  chainId: 1,
  genesisHash: GENESIS,
  block: 7,
  scenario: "open-round",
  contracts: documentedContracts,
} as const;

/** The pool may be without code. */
const withPool = { ...documentedContracts, publicPool: SECOND };

describe("vault-deployments: addresses that deploy-mocks wrote", () => {
  let server: RpcServer;
  let project: FixtureProject;
  let projectRoot: string;
  let genesis: unknown;
  /** The address without code. */
  let codeless: string;

  before(async () => {
    server = await startRpcServer({
      handler: async (exchange) => {
        const { request } = exchange;
        const [first] = request.params;
        if (request.method === "eth_getBlockByNumber" && first === "0x0") {
          return { result: genesis };
        }
        return request.method === "eth_getCode"
          ? { result: first === codeless ? "0x" : "0x60" }
          : await documentedHandler(exchange);
      },
    });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    genesis = { hash: GENESIS };
    codeless = "";
    server.requests.length = 0;
    project = await useFixtureProject("plain");
    projectRoot = project.path;
    await mkdir(join(projectRoot, "vault-deployments"));
  });
  afterEach(async () => {
    await project.remove();
  });

  const file = (): string =>
    join(projectRoot, "vault-deployments", "1-abababab.json");
  const leave = async (
    content: unknown,
    name = "1-abababab.json",
  ): Promise<void> => {
    await writeFile(
      join(projectRoot, "vault-deployments", name),
      typeof content === "string" ? content : JSON.stringify(content),
    );
  };
  const open = async (
    configured: ContractAddresses = {},
  ): Promise<HardhatVault> => {
    const settings = { vault: { contracts: configured } };
    const hre = await hreOnLive(server.url, settings, projectRoot);
    return (await hre.network.create()).vault;
  };

  /** What the error of a missing address advises. */
  const hintOf = async (vault: HardhatVault): Promise<unknown> => {
    const { details } = await expectVaultError(
      vault.queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    return details["hint"];
  };

  it("a configured address is used before a deployment file, without a request", async () => {
    await leave(deployment);
    const vault = await open({ vault: documentedContracts.trading });
    expect((await vault.addressOf("vault")).source).to.equal(
      "networks.live.vault.contracts.vault",
    );
    expect(server.requests).to.deep.equal([]);
    expect((await vault.addressOf("trading")).source).to.equal(
      "vault-deployments/1-abababab.json",
    );
  });

  const none =
    /^No mocks are recorded for this chain\..*`npx hardhat vault deploy-mocks --network live` deploys/u;
  const foreign = { ...deployment, genesisHash: `0x${"ee".repeat(32)}` };
  for (const [name, arrange] of [
    [
      "another chain has the same id, and a genesis that begins like this one's",
      () => (genesis = { hash: `0xabababab${"cd".repeat(28)}` }),
    ],
    [
      "the chain has no first block, though another one without had mocks",
      async () => {
        genesis = null;
        const unknown = { ...deployment, genesisHash: "unknown" };
        await leave(unknown, "1-unknown.json");
      },
    ],
    [
      "the chain has no code of one of its contracts",
      () => (codeless = SECOND),
    ],
    [
      "it has another chain's id",
      async () => await leave({ ...deployment, chainId: 2 }),
    ],
    [
      "the node was restarted, which is another chain",
      async () => {
        genesis = { hash: foreign.genesisHash };
        await Promise.resolve();
      },
    ],
  ] as const) {
    it(`a deployment file is not used if ${name}`, async () => {
      await leave({ ...deployment, contracts: withPool });
      await arrange();
      expect(await hintOf(await open())).to.match(none);
    });
  }

  for (const [content, says] of [
    ["{", "not JSON"],
    [{ ...deployment, more: 1 }, "'more'"],
  ] as const) {
    it(`a read fails with VAULT_INVALID_DEPLOYMENT_FILE and names the file and the command if it is ${JSON.stringify(content).slice(0, 20)}`, async () => {
      await leave(content);
      const { message } = await expectVaultError(
        (await open()).queryVolume(),
        "VAULT_INVALID_DEPLOYMENT_FILE",
      );
      expect(message)
        .to.contain("vault-deployments/1-abababab.json")
        .and.contain(says)
        .and.contain("deploy-mocks --network ");
    });
  }

  for (const [title, content, name] of [
    ["is of another chain", { ...foreign, contracts: withPool }, "1-eeeeeeee"],
    ["is not JSON", "{", "13-abababab"],
    ["is a copy of it", { ...deployment, contracts: withPool }, "1-cccccccc"],
  ] as const) {
    it(`a deployment file of this chain is used though the newest file ${title}`, async () => {
      await leave(deployment);
      await utimes(file(), 1, 1);
      await leave(content, `${name}.json`);
      codeless = SECOND;
      expect(await (await open()).queryVolume()).to.equal(1n);
    });
  }

  it("each instance has the deployment file of its own name, and saves it", async () => {
    await leave(foreign, "1-eeeeeeee-b.json");
    await leave({ ...deployment, contracts: withPool }, "1-abababab-a.json");
    codeless = SECOND;
    const instances = { a: {}, b: {}, c: {}, "a-b": {} };
    const settings = { vault: { instances } };
    const hre = await hreOnLive(server.url, settings, projectRoot);
    const { vault } = await hre.network.create();
    const own = vault.instance("a-b");
    const saved = await own.deployments?.save(deployment);
    expect(saved).to.equal("vault-deployments/1-abababab-a-b.json");
    const text = await readFile(join(projectRoot, `${saved}`), "utf8");
    expect(JSON.parse(text)).to.include({ instance: "a-b" });
    expect((await own.addressOf("vault")).source).to.equal(saved);
    for (const [name, hint] of [
      ["a", "`npx hardhat vault deploy-mocks --instance a"],
      ["b", "`npx hardhat vault deploy-mocks --instance b"],
      ["c", "`npx hardhat vault deploy-mocks --instance c"],
    ] as const) {
      expect(await hintOf(vault.instance(name))).to.contain(hint);
    }
  });

  it("a deployment is saved whole, and used at once by the same vault and by one that found none before", async () => {
    const [vault, other] = [await open(), await open()];
    await hintOf(vault);
    await hintOf(other);
    expect(await vault.deployments?.save(deployment)).to.equal(
      "vault-deployments/1-abababab.json",
    );
    expect(JSON.parse(await readFile(file(), "utf8"))).to.deep.equal(
      deployment,
    );
    for (const using of [vault, other]) {
      expect(await using.queryVolume()).to.equal(1n);
    }
    const others = { ...documentedContracts, vault: SECOND } as const;
    await vault.deployments?.save({ ...deployment, contracts: others });
    expect((await vault.addressOf("vault")).address).to.equal(SECOND);
  });
});
