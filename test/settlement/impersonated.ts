import { expect } from "chai";
import { Wallet } from "ethers";

import { startAnvil } from "../helpers/anvil.js";
import { startHardhatNode } from "../helpers/hardhat-node.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";

const start = {
  anvil: async () => await startAnvil({ args: ["--auto-impersonate"] }),
  "hardhat node": startHardhatNode,
} as const;

for (const nodeName of ["anvil", "hardhat node"] as const) {
  describe(`an account that ${nodeName} impersonates`, () => {
    let keeper: KeeperWithNode;
    const account = Wallet.createRandom().address;

    before(async () => {
      keeper = await startKeeper(async () => await start[nodeName]());
      const { provider } = keeper.chain;
      const anvil = nodeName === "anvil";
      const prefix = anvil ? "anvil" : "hardhat";
      const funds = `0x${(10n ** 18n).toString(16)}`;
      await provider.send(`${prefix}_setBalance`, [account, funds]);
    });
    after(async () => {
      await keeper.close();
    });

    it("settles over http", async () => {
      if (nodeName === "hardhat node") {
        // Before, the node refuses, and nothing was sent.
        const vault = await keeper.connect({ accounts: "remote" });
        const refused = await vault.settleAll({ from: account });
        expect(refused.hash).to.equal(null);
        await keeper.removeJournals();
        const { provider } = keeper.chain;
        await provider.send("hardhat_impersonateAccount", [account]);
      }
      const vault = await keeper.connect({ accounts: "remote" });
      const settlement = await vault.settleAll({ from: account });
      expect(settlement, settlement.reason ?? "").to.include({
        status: "settled",
      });
      expect((await keeper.chain.settlers()).at(-1)).to.equal(account);
    });
  });
}
