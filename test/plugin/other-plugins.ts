import { expect } from "chai";
import { HardhatPluginError } from "hardhat/plugins";
import type { NetworkHooks } from "hardhat/types/hooks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { HardhatPlugin } from "hardhat/types/plugins";

import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";

const SECRET = "its-own-secret-1";

// How other errors are told: test/rpc/errors.ts.
const failure = async (): Promise<never> => {
  const error = `no key ${SECRET} found`;
  return await Promise.reject(new HardhatPluginError("hardhat-other", error));
};
const SAID = "The plugin hardhat-other failed: no key <hidden> found";

describe("errors of other plugins", () => {
  const anvil = useAnvil();

  const hreWith = async (
    hooks: Partial<NetworkHooks>,
  ): Promise<HardhatRuntimeEnvironment> => {
    const other: HardhatPlugin = {
      id: "hardhat-other",
      hookHandlers: {
        network: async () =>
          await Promise.resolve({
            default: async () => await Promise.resolve(hooks),
          }),
      },
    };
    const direct = await connectTo(anvil.url);
    const { addresses } = await direct.vault.deployMocks();
    await direct.close();
    return await createTestHre(
      {
        plugins: [other],
        networks: {
          live: httpNetwork(`${anvil.url}/${SECRET}`, {
            vault: { contracts: addresses },
          }),
        },
      },
      { network: "live" },
    );
  };

  it("a task says that it is not the node's if another plugin's hook for connections fails", async () => {
    const hre = await hreWith({ newConnection: failure });
    const { stderr } = await runTyped(hre, "volume");
    const text = stderr.replaceAll(/\s+/gu, " ");
    expect(text).to.contain(SAID).and.contain("VAULT_HARDHAT_ERROR");
    expect(text).to.not.contain("is from the node");
  });

  it("a read fails with VAULT_HARDHAT_ERROR at once if another plugin's hook for requests fails", async () => {
    let requests = 0;
    const hre = await hreWith({
      onRequest: async () => {
        requests += 1;
        return await failure();
      },
    });
    const { vault } = await hre.network.create("live");
    const { message } = await expectVaultError(
      vault.queryVolume(),
      "VAULT_HARDHAT_ERROR",
    );
    expect(message).to.contain(SAID);
    expect(requests).to.equal(1);
  });
});
