import {
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import type { ContractAddresses } from "../../src/client/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { expectVaultError } from "../helpers/assertions.js";
import { runCommand } from "../helpers/consumers/run-command.js";
import {
  documentedHandler,
  documentedContracts,
} from "../helpers/documented-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { SECOND } from "../helpers/names.js";
import { itOnPosix } from "../helpers/posix.js";
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

describe("vault-deployments: addresses that deploy-mocks wrote", () => {
  let server: RpcServer;
  let project: FixtureProject;
  let projectRoot: string;
  /** The node's answers. */
  let genesis: unknown;
  let code: string;
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
          ? { result: first === codeless ? "0x" : code }
          : await documentedHandler(exchange);
      },
    });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    genesis = { hash: GENESIS };
    code = "0x60";
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
  const leave = async (content: unknown): Promise<void> => {
    await writeFile(
      file(),
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
  const save = async (changes: object = {}): Promise<string | undefined> =>
    await (
      await (await open()).deployments?.()
    )?.save({ ...deployment, ...changes });
  const files = async (): Promise<string[]> =>
    await readdir(path.join(projectRoot, "vault-deployments"));

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

  it("a deployment file is checked once for several addresses", async () => {
    await leave(deployment);
    const vault = await open();
    await Promise.all([
      vault.addressOf("vault"),
      vault.addressOf("trading"),
      vault.at({ vault: SECOND }).addressOf("publicPool"),
    ]);
    const methods = server.requests.map(({ method }) => method);
    await vault.addressOf("vault");
    expect(server.requests).to.have.lengthOf(methods.length);
    expect(methods.toSorted()).to.deep.equal([
      ...["eth_chainId", "eth_getBlockByNumber"],
      ...Array.from({ length: 6 }, () => "eth_getCode"),
    ]);
  });

  it("a read with a timeout throws VAULT_RPC_TIMEOUT while the node does not answer which chain it is", async () => {
    await leave(deployment);
    const vault = await open();
    const { handler } = server;
    server.handler = (exchange) =>
      exchange.request.method === "eth_chainId" ? "handled" : handler(exchange);
    const reads = [
      vault.queryVolume({ timeout: 50 }),
      vault.snapshot({ timeout: 50 }),
      vault.orders({ firstId: 1, lastId: 2, timeout: 50 }).next(),
      vault.rounds({ timeout: 50 }).next(),
    ];
    await Promise.all(
      reads.map(async (read) => {
        await expectVaultError(read, "VAULT_RPC_TIMEOUT");
      }),
    );
    server.handler = handler;
  });

  it("VAULT_CONTRACT_NOT_CONFIGURED no longer names a deployment file that was removed", async () => {
    await leave(deployment);
    code = "0x";
    const vault = await open();
    for (const isThere of [true, false]) {
      const { message } = await expectVaultError(
        vault.queryVolume(),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
      expect(message.includes("1-abababab.json")).to.equal(isThere);
      await rm(file(), { force: true });
    }
  });

  const otherChain = "belongs to another chain";
  for (const [name, arrange, says] of [
    [
      "another chain has the same id",
      () => (genesis = { hash: `0x${"cd".repeat(32)}` }),
      otherChain,
    ],
    [
      "another chain has the same id, and a genesis that begins like this one's",
      () => (genesis = { hash: `0xabababab${"cd".repeat(28)}` }),
      otherChain,
    ],
    ["the chain has no first block", () => (genesis = null), otherChain],
    ["the chain was reset", () => (code = "0x"), "not on the chain any more"],
    ["it is not JSON", async () => await leave("{"), "not JSON"],
    [
      "it has another version",
      async () => await leave({ ...deployment, version: 2 }),
      "version",
    ],
    [
      "the chain has no code of one of its contracts",
      () => (codeless = SECOND),
      "not on the chain any more",
    ],
    [
      "it has a setting too many",
      async () => await leave({ ...deployment, more: 1 }),
      "'more'",
    ],
    [
      "it has a block below 0",
      async () => await leave({ ...deployment, block: -1 }),
      "block",
    ],
    [
      "it has no address of a contract",
      async () => await leave({ ...deployment, contracts: { vault: SECOND } }),
      "contracts",
    ],
    [
      "it is a pipe",
      async () => {
        await rm(file());
        await runCommand("mkfifo", [file()], { cwd: projectRoot });
      },
      "it is not a regular file",
    ],
  ] as const) {
    const errorCode = name.startsWith("it ")
      ? "VAULT_INVALID_DEPLOYMENT_FILE"
      : "VAULT_CONTRACT_NOT_CONFIGURED";
    it(`a read fails with ${errorCode} and names the deployment file if ${name}`, async () => {
      await leave({
        ...deployment,
        contracts: { ...documentedContracts, publicPool: SECOND },
      });
      await arrange();
      const { message } = await expectVaultError(
        (await open()).queryVolume(),
        errorCode,
      );
      expect(message)
        .to.contain("vault-deployments/1-abababab.json")
        .and.contain(says)
        .and.contain("deploy-mocks --network ");
    });
  }

  it("an address of a deployment file gets its checksum, and VAULT_INVALID_ADDRESS if it has a wrong one", async () => {
    const withVault = async (vault: string): Promise<void> => {
      await leave({
        ...deployment,
        contracts: { ...documentedContracts, vault },
      });
    };
    await withVault(SECOND.toLowerCase());
    expect(await (await open()).addressOf("vault")).to.deep.equal({
      address: SECOND,
      source: "vault-deployments/1-abababab.json",
    });
    await withVault(SECOND.replace("C8", "c8"));
    const { details } = await expectVaultError(
      (await open()).addressOf("vault"),
      "VAULT_INVALID_ADDRESS",
    );
    expect(details).to.include({
      where:
        "The address of the vault contract (vault-deployments/1-abababab.json)",
      problem: "its checksum is wrong",
    });
  });

  const foreign = { ...deployment, genesisHash: `0x${"ee".repeat(32)}` };
  for (const [title, names, hint] of [
    [
      "of a chain id that begins with this one",
      ["13-abababab.json"],
      /^For a local node/u,
    ],
    ["of an instance", ["1-abababab-daily.json"], /^For a local node/u],
    [
      "of another chain with this id",
      ["1-eeeeeeee.json"],
      /^vault-deployments\/1-eeeeeeee\.json belongs to another chain/u,
    ],
    [
      "of two other chains with this id",
      ["1-eeeeeeee.json", "1-dddddddd.json"],
      /^vault-deployments\/1-dddddddd\.json, vault-deployments\/1-eeeeeeee\.json belong to other chains/u,
    ],
  ] as const) {
    it(`a deployment file ${title} is not used, and the hint names it if it can be meant`, async () => {
      for (const name of names) {
        await writeFile(
          path.join(projectRoot, "vault-deployments", name),
          JSON.stringify(foreign),
        );
      }
      const { details } = await expectVaultError(
        (await open()).addressOf("vault"),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
      expect(details["hint"]).to.match(hint);
    });
  }

  it("each instance has the deployment file of its own name", async () => {
    for (const [name, content] of [
      ["1-abababab-a-b.json", deployment],
      ["1-eeeeeeee-b.json", foreign],
      [
        "1-abababab-a.json",
        {
          ...deployment,
          contracts: { ...documentedContracts, publicPool: SECOND },
        },
      ],
    ] as const) {
      await writeFile(
        path.join(projectRoot, "vault-deployments", name),
        JSON.stringify(content),
      );
    }
    codeless = SECOND;
    const instances = { a: {}, b: {}, c: {}, "a-b": {} };
    const settings = { vault: { instances } };
    const hre = await hreOnLive(server.url, settings, projectRoot);
    const { vault } = await hre.network.create();
    expect((await vault.instance("a-b").addressOf("vault")).source).to.equal(
      "vault-deployments/1-abababab-a-b.json",
    );
    for (const [name, hint] of [
      ["a", "1-abababab-a.json are not on the chain any more"],
      ["b", "1-eeeeeeee-b.json belongs to another chain"],
      ["c", "For a local node, `npx hardhat vault deploy-mocks --instance c"],
    ] as const) {
      const { details } = await expectVaultError(
        vault.instance(name).addressOf("vault"),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
      expect(details["hint"]).to.contain(hint);
    }
  });

  it("the deployment of an instance is saved with the instance's name", async () => {
    const settings = { vault: { instances: { usdc: {} } } };
    const hre = await hreOnLive(server.url, settings, projectRoot);
    const usdc = (await hre.network.create()).vault.instance("usdc");
    await (await usdc.deployments?.())?.save(deployment);
    const [name = ""] = await files();
    expect(name).to.equal("1-abababab-usdc.json");
    const written = path.join(path.dirname(file()), name);
    expect(JSON.parse(await readFile(written, "utf8"))).to.deep.equal({
      ...deployment,
      instance: "usdc",
    });
  });

  it("a read fails with VAULT_RPC_INVALID_RESPONSE if the first block is malformed", async () => {
    await leave(deployment);
    const vault = await open();
    for (const odd of [{}, { hash: null }, { hash: `${GENESIS}ab` }, "0x0"]) {
      genesis = odd;
      await expectVaultError(
        vault.getLatestRoundInfo(),
        "VAULT_RPC_INVALID_RESPONSE",
      );
    }
    genesis = { hash: GENESIS };
    await vault.getLatestRoundInfo();
  });

  it("a read fails with VAULT_CONTRACT_NOT_CONFIGURED if the genesis of a deployment file was never known", async () => {
    genesis = null;
    await save();
    expect(await files()).to.deep.equal(["1-unknown.json"]);
    await expectVaultError(
      (await open()).queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  itOnPosix(
    "a deployment file is read and written through a link, such as to another disk",
    async () => {
      const outside = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
      await rm(path.dirname(file()), { recursive: true });
      await symlink(outside, path.dirname(file()));
      await save({ block: 8 });
      const kept = path.join(outside, path.basename(file()));
      expect(JSON.parse(await readFile(kept, "utf8"))).to.include({ block: 8 });
      await (await open()).queryVolume();
      await rm(outside, { recursive: true });
    },
  );

  it("a read fails with VAULT_CONTRACT_NOT_CONFIGURED if the deployment file is of another chain id, or the network in process", async () => {
    await leave({ ...deployment, chainId: 2 });
    await expectVaultError(
      (await open()).queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    await leave(deployment);
    const hre = await createTestHre(
      { networks: { inProcess: { type: "edr-simulated", chainId: 1 } } },
      { projectRoot },
    );
    const connection = await hre.network.create("inProcess");
    const { message } = await expectVaultError(
      connection.vault.queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(message).to.contain("pass --network to a task");
    await connection.close();
  });

  it("a deployment is saved whole, and used at once by the same vault and by new ones", async () => {
    const vault = await open();
    const { message } = await expectVaultError(
      vault.queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(message).to.contain("pass vault to `vault.at()`");
    expect(await (await vault.deployments?.())?.save(deployment)).to.equal(
      "vault-deployments/1-abababab.json",
    );
    expect(JSON.parse(await readFile(file(), "utf8"))).to.deep.equal(
      deployment,
    );
    for (const using of [vault, await open()]) {
      expect(await using.queryVolume()).to.equal(1n);
    }
    const contracts = { ...documentedContracts, vault: SECOND };
    await (await vault.deployments?.())?.save({ ...deployment, contracts });
    expect((await vault.addressOf("vault")).address).to.equal(SECOND);
  });
});
