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
} from "../helpers/scripted-node.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const GENESIS = `0x${"ab".repeat(32)}`;

const deployment = {
  version: 1,
  chainId: 1,
  genesisHash: GENESIS,
  block: 7,
  scenario: "open-round",
  contracts: documentedContracts,
} as const;

describe("addresses that deploy-mocks left behind", () => {
  let server: RpcServer;
  let project: FixtureProject;
  let projectRoot: string;
  /** What the node has for a genesis and for code. */
  let genesis: unknown;
  let code: string;

  before(async () => {
    server = await startRpcServer({
      handler: async (exchange) => {
        const { request } = exchange;
        const [first] = request.params;
        if (request.method === "eth_getBlockByNumber" && first === "0x0") {
          return { result: genesis };
        }
        return request.method === "eth_getCode"
          ? { result: code }
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
    const hre = await createTestHre(
      {
        networks: { local: httpNetwork(server.url, { vault: { contracts } }) },
      },
      { projectRoot },
    );
    return (await hre.network.create("local")).vault;
  };

  it("should be used where the configuration names none", async () => {
    await leave(deployment);
    const vault = await open();
    expect(await vault.addressOf("trading")).to.deep.equal({
      address: documentedContracts.trading,
      source: "vault-deployments/1-abababab.json",
    });
    expect(await vault.queryVolume()).to.equal(1n);
  });

  it("should be written in any case, but in none that is wrong", async () => {
    await leave({
      ...deployment,
      contracts: {
        ...documentedContracts,
        trading: OTHER.toLowerCase(),
        vault: OTHER.replace("C8", "c8"),
      },
    });
    const vault = await open();
    expect((await vault.addressOf("trading")).address).to.equal(OTHER);
    const { message } = await expectVaultError(
      vault.addressOf("vault"),
      "VAULT_INVALID_ADDRESS",
    );
    expect(message).to.contain("vault-deployments/1-abababab.json");
  });

  it("should be kept apart from those of other chains with the same id", async () => {
    const vault = await open();
    await (await vault.deployments?.())?.save(deployment);
    genesis = { hash: `0x${"cd".repeat(32)}` };
    const other = await open();
    await (
      await other.deployments?.()
    )?.save({
      ...deployment,
      contracts: { ...documentedContracts, trading: OTHER },
    });
    expect(
      await readdir(path.join(projectRoot, "vault-deployments")),
    ).to.have.members(["1-abababab.json", "1-cdcdcdcd.json"]);
    expect((await (await open()).addressOf("trading")).address).to.equal(OTHER);
    genesis = { hash: GENESIS };
    expect((await (await open()).addressOf("trading")).address).to.equal(
      documentedContracts.trading,
    );
  });

  it("should come after the configuration, which is not even compared", async () => {
    await leave(deployment);
    const vault = await open({ vault: documentedContracts.trading });
    expect((await vault.addressOf("vault")).source).to.equal(
      "networks.local.vault.contracts.vault",
    );
    expect(server.requests).to.deep.equal([]);
    expect((await vault.addressOf("trading")).source).to.equal(
      "vault-deployments/1-abababab.json",
    );
  });

  it("should be checked against the chain once, however many are needed", async () => {
    await leave(deployment);
    const vault = await open();
    await Promise.all([
      vault.addressOf("vault"),
      vault.addressOf("trading"),
      vault.at({ vault: OTHER }).addressOf("publicPool"),
    ]);
    const methods = server.requests.map(({ method }) => method);
    expect(
      methods.filter((method) => method === "eth_chainId"),
    ).to.have.lengthOf(1);
    expect(
      methods.filter((method) => method === "eth_getCode"),
    ).to.have.lengthOf(6);
  });

  it("a read with a timeout throws VAULT_RPC_TIMEOUT while the node does not answer which chain it is", async () => {
    await leave(deployment);
    const vault = await open();
    const { handler } = server;
    server.handler = (exchange) =>
      exchange.request.method === "eth_chainId" ? "handled" : handler(exchange);
    for (const read of [
      vault.queryVolume({ timeout: 50 }),
      vault.snapshot({ timeout: 50 }),
      vault.orders({ firstId: 1, lastId: 2, timeout: 50 }).next(),
      vault.rounds({ timeout: 50 }).next(),
    ]) {
      await expectVaultError(read, "VAULT_RPC_TIMEOUT");
    }
    server.handler = handler;
  });

  const mismatches: ReadonlyArray<
    readonly [name: string, arrange: () => void, says: string]
  > = [
    [
      "another chain with the same id",
      () => {
        genesis = { hash: `0x${"cd".repeat(32)}` };
      },
      "belongs to another chain",
    ],
    [
      "a chain without its first block",
      () => {
        genesis = null;
      },
      "belongs to another chain",
    ],
    [
      "a chain that was reset",
      () => {
        code = "0x";
      },
      "not on the chain any more",
    ],
  ];
  it("an error no longer names a deployment file that was removed", async () => {
    await leave(deployment);
    code = "0x";
    const vault = await open();
    const reading = async (): Promise<unknown> => await vault.queryVolume();
    const first = await expectVaultError(
      reading,
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(first.message).to.contain("not on the chain any more");
    await rm(path.join(projectRoot, "vault-deployments"), { recursive: true });
    const second = await expectVaultError(
      reading,
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(second.message).not.to.contain("1-abababab.json");
  });

  for (const [name, arrange, says] of mismatches) {
    it(`should not be used on ${name}, and the error says why`, async () => {
      await leave(deployment);
      arrange();
      const { message } = await expectVaultError(
        (await open()).queryVolume(),
        "VAULT_CONTRACT_NOT_CONFIGURED",
      );
      expect(message).to.contain("vault-deployments/1-abababab.json");
      expect(message).to.contain(says);
      expect(message).to.contain(
        "run `npx hardhat vault deploy-mocks --network local` again",
      );
    });
  }

  it("should not take an odd first block for that of another chain", async () => {
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

  it("should not be used where no genesis was ever known", async () => {
    genesis = null;
    const vault = await open();
    await (await vault.deployments?.())?.save(deployment);
    expect(
      await readdir(path.join(projectRoot, "vault-deployments")),
    ).to.deep.equal(["1-unknown.json"]);
    await expectVaultError(
      (await open()).queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  const broken: ReadonlyArray<
    readonly [name: string, content: unknown, says: string]
  > = [
    ["that is not JSON", "{", "not JSON"],
    ["of another version", { ...deployment, version: 2 }, "version"],
    [
      "with a contract missing",
      { ...deployment, contracts: { vault: OTHER } },
      "contracts",
    ],
  ];
  for (const [name, content, says] of broken) {
    it(`should be refused in a file ${name}`, async () => {
      await leave(content);
      const { message } = await expectVaultError(
        (await open()).queryVolume(),
        "VAULT_INVALID_DEPLOYMENT_FILE",
      );
      expect(message)
        .to.contain("vault-deployments/1-abababab.json")
        .and.contain("deploy-mocks --network ")
        .and.contain(says);
    });
  }

  for (const [what, lead] of [
    [
      "the file",
      async (outside: string) => {
        await symlink(
          path.join(outside, "1-abababab.json"),
          path.join(projectRoot, "vault-deployments/1-abababab.json"),
        );
      },
    ],
    [
      "its folder",
      async (outside: string) => {
        await rm(path.join(projectRoot, "vault-deployments"), {
          recursive: true,
        });
        await symlink(outside, path.join(projectRoot, "vault-deployments"));
      },
    ],
  ] as const) {
    it(`should be neither read nor written where a link leads ${what} out of the project`, async () => {
      const outside = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
      const victim = path.join(outside, "1-abababab.json");
      try {
        await writeFile(victim, JSON.stringify(deployment));
        await lead(outside);
        const vault = await open();
        const { message } = await expectVaultError(
          vault.queryVolume(),
          "VAULT_INVALID_DEPLOYMENT_FILE",
        );
        expect(message).to.contain("a symbolic link leads out of the project");
        await expectVaultError(async () => {
          await (
            await vault.deployments?.()
          )?.save({ ...deployment, block: 8 });
        }, "VAULT_INVALID_DEPLOYMENT_FILE");
        expect(JSON.parse(await readFile(victim, "utf8"))).to.deep.equal(
          deployment,
        );
      } finally {
        await rm(outside, { recursive: true });
      }
    });
  }

  it("should never be waited for where the file is a pipe", async () => {
    await runCommand(
      "mkfifo",
      [path.join(projectRoot, "vault-deployments/1-abababab.json")],
      { cwd: projectRoot },
    );
    const { message } = await expectVaultError(
      (await open()).queryVolume(),
      "VAULT_INVALID_DEPLOYMENT_FILE",
    );
    expect(message).to.contain("it is not a regular file");
  });

  it("should be ignored for another chain id, and by in-process networks", async () => {
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

  it("should be written whole, and be in use at once", async () => {
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
    expect(await vault.queryVolume()).to.equal(1n);
    expect(await (await open()).queryVolume()).to.equal(1n);
  });
});
