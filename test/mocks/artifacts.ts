import { expect } from "chai";
import { Interface } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import { mockArtifacts } from "../../src/mocks/mock-contracts.js";
import { contractRoleNames } from "../../src/protocol/index.js";
import { createTestHre } from "../helpers/hre.js";

/**
 * Code is placed, not deployed, in process and by `mockAt()`: what a constructor
 * or the deployment of a library would have added is not there.
 */
describe("mocks - artifacts", () => {
  let connection: NetworkConnection;

  before(async () => {
    const hre = await createTestHre();
    connection = await hre.network.create();
  });

  for (const role of contractRoleNames) {
    it(`should have the whole ${role} in its runtime code`, async () => {
      const { abi, bytecode, deployedBytecode } = mockArtifacts[role];
      expect(new Interface(abi).deploy.inputs).to.deep.equal([]);
      // A library's address would be a name in underscores.
      expect(deployedBytecode).to.match(/^0x(?:[0-9a-f]{2})+$/u);

      const { ethers, provider } = connection;
      const [signer] = await ethers.getSigners();
      const deployment = await signer?.sendTransaction({ data: bytecode });
      const receipt = await deployment?.wait();
      const address = receipt?.contractAddress ?? "";
      // Immutables are written into the code when it is deployed.
      expect(await ethers.provider.getCode(address)).to.equal(deployedBytecode);
      // The only variable that is not a mapping.
      expect(
        await provider.request({
          method: "eth_getStorageAt",
          params: [address, "0x0", "latest"],
        }),
      ).to.equal(`0x${"00".repeat(32)}`);
    });
  }
});
