import { expect } from "chai";
import type { HardhatUserConfig } from "hardhat/types/config";

import createConfigHooks from "../../src/plugin/config.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";

async function extend(userConfig: HardhatUserConfig): Promise<unknown> {
  const { extendUserConfig } = await createConfigHooks();
  return await extendUserConfig?.(
    userConfig,
    async (next) => await Promise.resolve(next),
  );
}

describe("the network vaultFork, on which forks run", () => {
  it("vaultFork is added beside the user's networks, and changes none", async () => {
    const live = httpNetwork("http://127.0.0.1:1", { chainId: 5 });
    const userConfig = Object.freeze({
      networks: Object.freeze({ default: live, live }),
    });
    expect(await extend(userConfig)).to.deep.equal({
      networks: { vaultFork: { type: "edr-simulated" }, default: live, live },
    });
    expect(await extend({})).to.deep.equal({
      networks: { vaultFork: { type: "edr-simulated" } },
    });
  });

  it("vaultFork is the user's own if the configuration has one", async () => {
    const networks = {
      vaultFork: { type: "edr-simulated", hardfork: "prague" },
    } as const;
    expect(await extend({ networks })).to.deep.equal({ networks });
    const hre = await createTestHre({ networks });
    expect(hre.config.networks["vaultFork"]).to.include({ hardfork: "prague" });
  });

  it("overrides of other networks work beside vaultFork", async () => {
    const hre = await createTestHre({
      networks: { live: httpNetwork("http://127.0.0.1:1") },
    });
    const [live, local] = [
      await hre.network.create({
        network: "live",
        override: { timeout: 1_234 },
      }),
      await hre.network.create({ override: { chainId: 77 } }),
    ];
    expect(live.networkConfig).to.include({ type: "http", timeout: 1_234 });
    expect(await local.vault.chainId()).to.equal(77);
    await local.close();
  });
});
