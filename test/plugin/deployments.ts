import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";

import type { ContractAddresses } from "../../src/client/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  documentedHandler,
  documentedContracts,
} from "../helpers/documented-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { hreOnLive } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

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
    await mkdir(path.join(projectRoot, "vault-deployments"));
  });
  afterEach(async () => {
    await project.remove();
  });

  const file = (): string =>
    path.join(projectRoot, "vault-deployments", "1-abababab.json");
  const leave = async (
    content: unknown,
    name = "1-abababab.json",
  ): Promise<void> => {
    await writeFile(
      path.join(projectRoot, "vault-deployments", name),
      typeof content === "string" ? content : JSON.stringify(content),
    );
  };
  const open = async (
    contracts: ContractAddresses = {},
  ): Promise<HardhatVault> => {
    const settings = { vault: { contracts } };
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
  for (const [name, arrange, says] of [
    [
      "another chain has the same id, and a genesis that begins like this one's",
      () => (genesis = { hash: `0xabababab${"cd".repeat(28)}` }),
      none,
    ],
    [
      "the chain has no first block, though another one without had mocks",
      async () => {
        genesis = null;
        const unknown = { ...deployment, genesisHash: "unknown" };
        await leave(unknown, "1-unknown.json");
      },
      none,
    ],
    [
      "the chain has no code of one of its contracts",
      () => (codeless = SECOND),
      /^The mocks of vault-deployments\/1-abababab.json are not on the chain any more/u,
    ],
    [
      "it has another chain's id",
      async () => await leave({ ...deployment, chainId: 2 }),
      none,
    ],
    [
      "the node was restarted, which is another chain",
      async () => {
        genesis = { hash: foreign.genesisHash };
        await Promise.resolve();
      },
      none,
    ],
  ] as const) {
    it(`a deployment file is not used if ${name}`, async () => {
      await leave({ ...deployment, contracts: withPool });
      await arrange();
      expect(await hintOf(await open())).to.match(says);
    });
  }

  it("a missing address does not advise mocks where contracts are configured", async () => {
    const vault = await open({ trading: documentedContracts.trading });
    expect(await hintOf(vault)).to.equal("");
  });

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
    const text = await readFile(path.join(projectRoot, `${saved}`), "utf8");
    expect(JSON.parse(text)).to.include({ instance: "a-b" });
    expect((await own.addressOf("vault")).source).to.equal(saved);
    for (const [name, hint] of [
      ["a", "1-abababab-a.json are not on the chain any more"],
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
    const contracts = { ...documentedContracts, vault: SECOND } as const;
    await vault.deployments?.save({ ...deployment, contracts });
    expect((await vault.addressOf("vault")).address).to.equal(SECOND);
  });
});
