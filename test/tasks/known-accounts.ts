import { expect } from "chai";

import { findKnownAccounts } from "../../tasks/known-accounts.js";
import { configVariable } from "hardhat/config";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { documentedContracts } from "../helpers/documented-answers.js";
import { startRpcServer } from "../helpers/rpc-server.js";

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
