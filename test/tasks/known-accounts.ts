import { expect } from "chai";

import { writeDeployment } from "../../src/plugin/deployment-file.js";
import { findKnownAccounts } from "../../tasks/known-accounts.js";
import { configVariable } from "hardhat/config";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../helpers/documented-answers.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { startRpcServer } from "../helpers/rpc-server.js";

const OTHER = "0x00000000000000000000000000000000000000AA";
const SENDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

describe("accounts that the project knows", () => {
  it("should be what is written in the configuration, and ask nobody", async () => {
    const server = await startRpcServer({});
    try {
      const hre = await createTestHre(
        {
          networks: {
            live: httpNetwork(server.url, {
              from: SENDER,
              vault: {
                contracts: {
                  vault: documentedContracts.vault.toLowerCase(),
                  trading: configVariable("TEST_UNSET_ADDRESS"),
                },
              },
            }),
          },
        },
        { network: "live" },
      );
      const { vault } = await hre.network.create("live");
      expect([...(await findKnownAccounts(hre, vault))]).to.deep.equal([
        [SENDER, "configured sender"],
        [documentedContracts.vault, "vault contract"],
      ]);
      expect(server.requests).to.deep.equal([]);
    } finally {
      await server.stop();
    }
  });

  it("should be the contracts of the instance in hand, and of --at", async () => {
    const hre = await createTestHre(
      {
        networks: {
          live: httpNetwork("http://127.0.0.1:1", {
            vault: {
              contracts: documentedContracts,
              instances: {
                weekly: {
                  contracts: {
                    vault: SENDER,
                    trading: configVariable("TEST_UNSET_ADDRESS"),
                  },
                },
              },
            },
          }),
        },
      },
      { network: "live" },
    );
    const { vault } = await hre.network.create("live");
    const weekly = vault.instance("weekly");
    const known = await findKnownAccounts(hre, weekly);
    expect(known.get(SENDER)).to.equal("vault contract");
    expect(known.get(documentedContracts.publicPool)).to.equal(
      "public pool contract",
    );
    expect(known.has(documentedContracts.vault)).to.equal(false);
    expect(known.has(documentedContracts.trading)).to.equal(false);
    const given = await findKnownAccounts(hre, weekly.at({ vault: OTHER }));
    expect(given.get(OTHER)).to.equal("vault contract");
    expect(given.has(SENDER)).to.equal(false);
  });

  it("should be the mocks that deploy-mocks left, looked up once", async () => {
    const genesisHash = `0x${"ab".repeat(32)}`;
    const server = await startRpcServer({
      handler: ({ request }) => ({
        result:
          request.method === "eth_getBlockByNumber"
            ? { hash: genesisHash }
            : documentedAnswer(request),
      }),
    });
    const project = await useFixtureProject("plain");
    const projectRoot = project.path;
    try {
      await writeDeployment(projectRoot, {
        version: 1,
        chainId: 1,
        genesisHash,
        block: 7,
        scenario: "open-round",
        contracts: documentedContracts,
      });
      const hre = await createTestHre(
        { networks: { live: httpNetwork(server.url) } },
        { network: "live", projectRoot },
      );
      const { vault } = await hre.network.create("live");
      const known = await findKnownAccounts(hre, vault);
      expect(known.get(documentedContracts.trading)).to.equal(
        "trading contract",
      );
      expect(known.size).to.equal(Object.keys(documentedContracts).length);
      expect(
        server.requests.filter(({ method }) => method === "eth_chainId"),
      ).to.have.lengthOf(1);
    } finally {
      await server.stop();
      await project.remove();
    }
  });

  it("should be accounts and mocks of an in-process network", async () => {
    const hre = await createTestHre();
    const { vault } = await hre.network.getOrCreate();
    const { addresses } = await vault.deployMocks();
    const known = await findKnownAccounts(hre, vault);
    expect(known.get(SENDER)).to.equal("account #1");
    expect(known.get(addresses.publicPool)).to.equal("public pool contract");
    expect(known.get(addresses.vaultFactory)).to.equal(
      "vault factory contract",
    );
  });
});
