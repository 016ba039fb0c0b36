import { expect } from "chai";
import { Wallet } from "ethers";
import { HardhatPluginError } from "hardhat/plugins";
import type { NetworkHooks } from "hardhat/types/hooks";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { HardhatPlugin } from "hardhat/types/plugins";

import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { runHardhat } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
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

  it("a read names Hardhat if Hardhat refuses a parameter of a request", async () => {
    const key = new Wallet(`0x${"1".repeat(64)}`);
    const hre = await createTestHre({
      networks: {
        live: httpNetwork(anvil.url, {
          accounts: [key.privateKey],
        }),
      },
    });
    const { vault } = await hre.network.create("live");
    const { message } = await expectVaultError(
      vault.rpc.request("eth_sign", [key.address]),
      "VAULT_HARDHAT_ERROR",
    );
    expect(message).to.match(/^Hardhat failed: /u);
  });

  it("a task tells Hardhat's own error, with its link, if Hardhat lacks its native package", async () => {
    const project = await useFixtureProject("plain");
    const { stderr, exitCode } = await runHardhat(
      ["vault", "volume", "--network", "test"],
      {
        cwd: project.path,
        // In its place, Hardhat's simulator loads this.
        env: { NAPI_RS_NATIVE_LIBRARY_PATH: "missing.node" },
      },
    );
    await project.remove();
    expect(stderr.replaceAll(/\s+/gu, " "))
      .to.match(
        /^Error Hardhat or one of its plugins failed: Cannot find native binding\. .*https:\/\/github\.com\/npm\/cli\/issues\/4828/u,
      )
      .and.include("This message is not from the node")
      .and.include("(VAULT_HARDHAT_ERROR)");
    expect(exitCode).to.equal(1);
  });
});
