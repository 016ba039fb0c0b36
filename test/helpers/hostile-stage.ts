import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { HDNodeWallet, Wallet, toQuantity } from "ethers";
import { configVariable } from "hardhat/config";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { useAnvil } from "./anvil.js";
import type { TaskRun } from "./every-vault-task.js";
import { useFixtureProject } from "./fixture-project.js";
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

const texts = Object.values(hostileTexts);
/** With those that repeat secrets. */
const range = { ids: `1-${texts.length + 2}` };

export type Settings = Partial<Omit<HttpNetworkUserConfig, "type">>;

export const key: Settings = {
  accounts: [configVariable("TEST_CANARY_KEY")],
};
export const mnemonic: Settings = {
  // Under another name: the node receives the user and the password of the URL, too.
  httpHeaders: { ...keyHeaders, "x-auth": httpHeaders.authorization },
  accounts: {
    count: 1,
    mnemonic: configVariable("TEST_CANARY_MNEMONIC"),
    passphrase: configVariable("TEST_CANARY_PASSPHRASE"),
  },
};
const environment = {
  http_proxy: "",
  TEST_CANARY_URL: "",
  TEST_CANARY_KEY: `0x${planted.key}`,
  TEST_CANARY_MNEMONIC: planted.mnemonic,
  TEST_CANARY_PASSPHRASE: planted.passphrase,
  TEST_CANARY_BAD: planted.variable,
};

/** Opens a project whose secrets are planted, on a node that hears them, with hostile mocks. */
async function openStage(node: string) {
  const server = await startRpcServer({ upstream: node });
  const project = await useFixtureProject("plain");
  const written = path.join(project.path, "written");
  const deployments = path.join(project.path, "vault-deployments");
  await mkdir(written);
  const direct = await connectTo(node);
  const rpc = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await direct.provider.request({ method, params });
  const { user, password, host, query, path: place } = planted;
  const [name, secret, segment, value] = [user, password, place, query].map(
    encodeURIComponent,
  );
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
  const pairs = [...texts, echo(), `=${planted.path}`];
  const mocks = await direct.vault.deployMocks({
    scenario: "expired-round",
    overrides: {
      orders: Object.fromEntries(
        pairs.map((exType, index) => [index + 1, { exType }]),
      ),
    },
  });
  const { number } = await direct.vault.block();
  await rpc("evm_mine");
  const vault = { contracts: mocks.addresses, tokenDecimals: 18 };
  return {
    ...{ server, mocks, written, deployments },
    blockOfMocks: String(number),
    hreWith: async (settings: Settings): Promise<HardhatRuntimeEnvironment> => {
      const live = {
        ...httpNetwork("", { httpHeaders, chainId: 31337, vault }),
        ...{ url: configVariable("TEST_CANARY_URL"), ...settings },
      };
      const options = { network: "live", projectRoot: project.path };
      return await createTestHre({ networks: { live } }, options);
    },
    onFork: async (): Promise<HardhatRuntimeEnvironment> => {
      const secrets = sentToUpstream.map(encodeURIComponent);
      const [ofUser, ofPassword, ofPath, ofQuery] = secrets;
      const at = server.url.replace("//", `//${ofUser}:${ofPassword}@`);
      const forking = {
        url: `${at}/v3/${ofPath}?key=${ofQuery}`,
        httpHeaders: { "x-api-key": sentToUpstream[4] ?? "" },
      };
      const { mnemonic: phrase, passphrase } = planted;
      const accounts = { mnemonic: phrase, passphrase };
      const type = "edr-simulated";
      return await createTestHre(
        { networks: { forked: { type, forking, accounts, vault } } },
        { network: "forked", projectRoot: project.path },
      );
    },
    /** Does something, and sets the chain and the project's files back. */
    andBack: async (work: () => Promise<void>): Promise<void> => {
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
    },
    refuseWithWords: async (): Promise<void> => {
      await mocks.fail("settleAll", echo());
      await mocks.fail("queryVolume", echo());
      const customError = "Odd(string why)";
      await mocks.fail("getFundingFeeRate", { customError, args: [echo()] });
    },
    /** The arguments with files in the folder of the project. */
    argsOf: (
      { task, args }: TaskRun,
      timeout: string | undefined,
    ): TaskRun["args"] => ({
      ...args,
      ...(/^(?:settle|deploy-(?:guard|mocks)|mock .*)$/u.test(task) &&
      timeout !== undefined
        ? { timeout }
        : {}),
      ...("ids" in args ? range : {}),
      ...("out" in args
        ? { out: path.join(written, String(args["out"])) }
        : {}),
    }),
    wrongInFiles: async (): Promise<string[]> => {
      const entries = await readdir(project.path, {
        ...{ recursive: true, withFileTypes: true },
      });
      const wrong: string[] = [];
      for (const entry of entries.filter((one) => one.isFile())) {
        const file = path.join(entry.parentPath, entry.name);
        wrong.push(...wrongIn(await readFile(file, "utf8"), file));
      }
      return wrong;
    },
    close: async (): Promise<void> => {
      Object.keys(environment).forEach((variable) => {
        Reflect.deleteProperty(process.env, variable);
      });
      await direct.close();
      await server.stop();
      await project.remove();
    },
  };
}

type HostileStage = Awaited<ReturnType<typeof openStage>>;

/** Opens the stage before the tests of a suite, and closes it after them. */
export function useHostileStage(): { readonly open: HostileStage } {
  const anvil = useAnvil();
  let stage: HostileStage | undefined;
  before(async () => {
    stage = await openStage(anvil.url);
  });
  after(async () => {
    await stage?.close();
  });
  return {
    get open() {
      return stage ?? expect.fail("used before the suite has begun");
    },
  };
}
