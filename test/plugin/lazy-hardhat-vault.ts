import { expect } from "chai";
import { configVariable } from "hardhat/config";

import { expectVaultError } from "../helpers/assertions.js";
import {
  documentedHandler,
  documentedContracts,
} from "../helpers/scripted-node.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

describe("hre.vault", () => {
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({
      handler: documentedHandler,
    });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.requests.length = 0;
  });

  it("should open one connection for callers that come at once", async () => {
    const hre = await createTestHre();
    const [mocks, byName, addresses] = await Promise.all([
      hre.vault.deployMocks(),
      hre.vault.connect("default"),
      hre.vault.at({ vault: documentedContracts.vault }).addressOf("vault"),
    ]);
    const { vault } = await hre.network.getOrCreate();
    expect(byName).to.equal(vault);
    expect(mocks.vault.connection).to.equal(vault.connection);
    expect(addresses.address).to.equal(documentedContracts.vault);
  });

  it("should try again after a failure", async () => {
    const hre = await createTestHre({
      networks: {
        live: { type: "http", url: configVariable("TEST_LATE_URL") },
      },
    });
    let refusal: unknown;
    try {
      await hre.vault.connect("live");
    } catch (error) {
      refusal = error;
    }
    expect(String(refusal)).to.contain("TEST_LATE_URL");
    process.env["TEST_LATE_URL"] = server.url;
    try {
      expect(await (await hre.vault.connect("live")).chainId()).to.equal(1);
    } finally {
      delete process.env["TEST_LATE_URL"];
    }
  });

  it("should follow --network, and reach another one by its name", async () => {
    const hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(server.url, {
            vault: { contracts: documentedContracts },
          }),
        },
      },
      { network: "live" },
    );
    expect(await (await hre.vault.connect("default")).chainId()).to.equal(
      31337,
    );
    expect(await hre.vault.chainId()).to.equal(1);
    expect(await hre.vault.queryVolume()).to.equal(1n);
    expect(server.requests.map(({ method }) => method)).to.deep.equal([
      "eth_chainId",
      "eth_call",
    ]);
  });

  it("should keep connections apart that have the same network", async () => {
    const hre = await createTestHre();
    const first = await hre.network.create();
    const second = await hre.network.create();
    await first.vault.deployMocks({ overrides: { volume: 5n } });
    expect(await first.vault.queryVolume()).to.equal(5n);
    await expectVaultError(
      second.vault.queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    await expectVaultError(
      hre.vault.queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    await Promise.all([first.close(), second.close()]);
  });

  it("should work with methods that are taken off it", async () => {
    const hre = await createTestHre();
    await hre.vault.deployMocks({ overrides: { volume: 6n } });
    const { queryVolume, snapshot } = hre.vault;
    expect(await queryVolume()).to.equal(6n);
    expect((await snapshot()).volume).to.equal(6n);
  });

  it("should bind what deployMocks() deploys to all vaults of the connection", async () => {
    const hre = await createTestHre();
    const elsewhere = hre.vault.at({ vault: documentedContracts.trading });
    const { addresses } = await hre.vault.deployMocks();
    expect((await hre.vault.addressOf("vault")).address).to.equal(
      addresses.vault,
    );
    expect((await elsewhere.addressOf("trading")).address).to.equal(
      addresses.trading,
    );
    expect(await elsewhere.addressOf("vault")).to.deep.equal({
      address: documentedContracts.trading,
      source: "at()",
    });
  });

  it("should bind what deployMocks() deploys before what is configured", async () => {
    const contracts = documentedContracts;
    const hre = await createTestHre({
      networks: { default: { type: "edr-simulated", vault: { contracts } } },
    });
    const { addresses } = await hre.vault.deployMocks();
    expect((await hre.vault.addressOf("vault")).address).to.equal(
      addresses.vault,
    );
  });
});
