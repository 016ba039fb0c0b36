import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import { useAnvil } from "../helpers/anvil.js";
import { connectTo } from "../helpers/hre.js";

describe("simulateSettleAll without a readable round", () => {
  const anvil = useAnvil();
  let direct: NetworkConnection;
  before(async () => {
    direct = await connectTo(anvil.url);
  });
  after(async () => {
    await direct.close();
  });

  for (const engine of ["simulateV1", "fork"] as const) {
    it(`simulateSettleAll with ${engine} returns not-settled if the factory has no address`, async () => {
      const { addresses } = await direct.vault.deployMocks({
        scenario: "expired-round",
      });
      const { vault } = addresses;
      const other = await connectTo(anvil.url, {
        vault: { contracts: { vault } },
      });
      const { status, code, reason } = await other.vault.simulateSettleAll({
        engine,
      });
      expect({ status, code, reason }).to.deep.equal({
        status: "not-settled",
        code: "VAULT_NOT_SETTLED",
        reason: "The round cannot be read before or after the call.",
      });
      await other.close();
    });
  }
});
