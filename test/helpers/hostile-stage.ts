import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import path from "node:path";

import { HDNodeWallet, Wallet, toQuantity } from "ethers";
import { configVariable } from "hardhat/config";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { useAnvil } from "./anvil.js";
import type { TaskRun } from "./every-vault-task.js";
import { useFixtureProject } from "./fixture-project.js";
import type { FixtureProject } from "./fixture-project.js";
import {
  echo,
  httpHeaders,
  keyHeaders,
  planted,
  sentToUpstream,
  wrongIn,
} from "./hostile-node.js";
import { hostileTexts } from "./hostile-text.js";
import { connectTo, createTestHre, httpNetwork } from "./hre.js";
import { startRpcServer } from "./rpc-server.js";
import type { RpcServer } from "./rpc-server.js";

const texts = Object.values(hostileTexts);
/** With those that repeat secrets. */
const range = { ids: `1-${texts.length + 2}` };

export type Settings = Partial<Omit<HttpNetworkUserConfig, "type">>;

export const key: Settings = {
  accounts: [configVariable("TEST_CANARY_KEY")],
};
export const mnemonic: Settings = {
  httpHeaders: keyHeaders,
  accounts: {
    count: 1,
    mnemonic: configVariable("TEST_CANARY_MNEMONIC"),
    passphrase: configVariable("TEST_CANARY_PASSPHRASE"),
  },
};

/** A project whose secrets are planted, a node that hears them, and hostile mocks. */
export interface HostileStage {
  readonly server: RpcServer;
  readonly project: FixtureProject;
  readonly mocks: MockVaultHandle;
  /** The folder that tasks write into. */
  readonly written: string;
  readonly deployments: string;
  /** Block after which the mocks are there. */
  readonly blockOfMocks: string;
  /** The variables of the environment that hold secrets. */
  readonly environment: Readonly<Record<string, string>>;
  hreWith(settings: Settings): Promise<HardhatRuntimeEnvironment>;
  onFork(): Promise<HardhatRuntimeEnvironment>;
  /** Does something, and sets the chain and the project's files back. */
  andBack(work: () => Promise<void>): Promise<void>;
  refuseWithWords(): Promise<void>;
  /** The arguments with files in the folder of the project. */
  argsOf(
    task: string,
    args: TaskRun["args"],
    timeout?: string,
  ): TaskRun["args"];
  wrongInFiles(): Promise<string[]>;
}

/** Sets the stage up before the tests of a suite, and removes it after them. */
export function useHostileStage(): HostileStage {
  const anvil = useAnvil();
  let direct: NetworkConnection;
  let mocks: MockVaultHandle;
  let server: RpcServer;
  let project: FixtureProject;
  let written: string;
  let deployments: string;
  let blockOfMocks = "";
  const environment = {
    http_proxy: "",
    TEST_CANARY_URL: "",
    TEST_CANARY_KEY: `0x${planted.key}`,
    TEST_CANARY_MNEMONIC: planted.mnemonic,
    TEST_CANARY_PASSPHRASE: planted.passphrase,
    TEST_CANARY_BAD: planted.variable,
  };

  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await direct.provider.request({ method, params });

  before(async () => {
    server = await startRpcServer({ upstream: anvil.url });
    project = await useFixtureProject("plain");
    written = path.join(project.path, "written");
    deployments = path.join(project.path, "vault-deployments");
    await mkdir(written);
    const { user, password, host, query, path: place } = planted;
    const [name, secret, segment, value] = [user, password, place, query].map(
      encodeURIComponent,
    );
    direct = await connectTo(anvil.url);
    Object.assign(process.env, environment, {
      http_proxy: server.url,
      TEST_CANARY_URL: `http://${name}:${secret}@${host}.rpc.test/v3/${segment}?key=${value}#${planted.fragment}`,
    });
    for (const { address } of [
      new Wallet(planted.key),
      HDNodeWallet.fromPhrase(planted.mnemonic, planted.passphrase),
    ]) {
      await rpc("anvil_setBalance", address, toQuantity(10n ** 20n));
    }
    mocks = await direct.vault.deployMocks({
      scenario: "expired-round",
      overrides: {
        orders: Object.fromEntries(
          [...texts, echo(), `=${planted.path}`].map((exType, index) => [
            index + 1,
            { exType },
          ]),
        ),
      },
    });
    blockOfMocks = String((await direct.vault.block()).number);
    await rpc("evm_mine");
  });
  after(async () => {
    Object.keys(environment).forEach((name) => {
      Reflect.deleteProperty(process.env, name);
    });
    await direct.close();
    await server.stop();
    await project.remove();
  });

  async function andBack(work: () => Promise<void>): Promise<void> {
    const snapshot: unknown = await rpc("evm_snapshot");
    try {
      await work();
    } finally {
      await rpc("evm_revert", snapshot);
      for (const folder of [written, deployments]) {
        await rm(folder, { recursive: true, force: true });
      }
      await mkdir(written);
    }
  }

  async function refuseWithWords(): Promise<void> {
    await mocks.fail("settleAll", echo());
    await mocks.fail("queryVolume", echo());
    await mocks.fail("getFundingFeeRate", {
      customError: "Odd(string why)",
      args: [echo()],
    });
  }

  const hreWith = async (
    settings: Settings,
  ): Promise<HardhatRuntimeEnvironment> =>
    await createTestHre(
      {
        networks: {
          live: {
            ...httpNetwork("", {
              httpHeaders,
              chainId: 31337,
              vault: { contracts: mocks.addresses, tokenDecimals: 18 },
            }),
            url: configVariable("TEST_CANARY_URL"),
            ...settings,
          },
        },
      },
      { network: "live", projectRoot: project.path },
    );
  const onFork = async (): Promise<HardhatRuntimeEnvironment> => {
    const [name, password, place, query] =
      sentToUpstream.map(encodeURIComponent);
    const host = server.url.replace("//", `//${name}:${password}@`);
    const forking = {
      url: `${host}/v3/${place}?key=${query}`,
      httpHeaders: { "x-api-key": sentToUpstream[4] ?? "" },
    };
    const { mnemonic: phrase, passphrase } = planted;
    const forked = {
      type: "edr-simulated",
      forking,
      accounts: { mnemonic: phrase, passphrase },
      vault: { contracts: mocks.addresses, tokenDecimals: 18 },
    } as const;
    const options = { network: "forked", projectRoot: project.path };
    return await createTestHre({ networks: { forked } }, options);
  };

  function argsOf(
    task: string,
    args: TaskRun["args"],
    timeout?: string,
  ): TaskRun["args"] {
    const { out } = args;
    return {
      ...args,
      ...(/^(?:settle|deploy-guard)$/u.test(task) && timeout !== undefined
        ? { timeout }
        : {}),
      ...("ids" in args ? range : {}),
      ...(typeof out === "string" ? { out: path.join(written, out) } : {}),
    };
  }

  async function wrongInFiles(): Promise<string[]> {
    const wrong: string[] = [];
    for (const entry of await readdir(project.path, {
      recursive: true,
      withFileTypes: true,
    })) {
      if (entry.isFile()) {
        const file = path.join(entry.parentPath, entry.name);
        wrong.push(...wrongIn(await readFile(file, "utf8"), file));
      }
    }
    return wrong;
  }

  return {
    get server() {
      return server;
    },
    get project() {
      return project;
    },
    get mocks() {
      return mocks;
    },
    get written() {
      return written;
    },
    get deployments() {
      return deployments;
    },
    get blockOfMocks() {
      return blockOfMocks;
    },
    environment,
    hreWith,
    onFork,
    andBack,
    refuseWithWords,
    argsOf,
    wrongInFiles,
  };
}
