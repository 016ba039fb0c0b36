import { expect } from "chai";

import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";

describe("the gas of a settlement of a vault that stores more if somebody pays for gas", () => {
  let keeper: KeeperWithNode;
  before(async () => {
    keeper = await startKeeper();
  });
  after(async () => {
    await keeper.close();
  });

  for (const [title, settings, hidden] of [
    ["with a gasMultiplier", { gasMultiplier: 1.2 }, []],
    [
      "if no engine works on the node",
      {},
      [
        ...["eth_simulateV1", "eth_getStorageAt"],
        ...["eth_getProof", "eth_createAccessList"],
      ],
    ],
  ] as const) {
    it(`is enough ${title}`, async () => {
      const deployer = await keeper.chain.provider.getSigner(4);
      const deployed = await deploySettlingVault(deployer, "PricedVault");
      const { contracts } = deployed;
      const vault = await keeper.connect({ vault: { contracts }, ...settings });
      keeper.server.reset();
      keeper.server.hide(...hidden);
      const { status, reason, preview } = await vault.settleAll({
        pollingInterval: 20,
      });
      keeper.server.show();
      expect(status, String(reason)).to.equal("settled");
      expect(preview === null).to.equal(hidden.length > 0);
    });
  }
});
