import { readFile, readdir } from "node:fs/promises";

import { expect } from "chai";
import { Wallet, id } from "ethers";
import { configVariable } from "hardhat/config";
import type { NetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import type { MockOverrides } from "../../src/mocks/types.js";
import type { VaultNetworkUserConfig } from "../../src/plugin/config-types.js";
import { startDatedAnvil } from "../helpers/anvil.js";
import { distinctState } from "../helpers/distinct-state.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { itShows, steady } from "../helpers/screens.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { DEV_KEYS, directProvider } from "../helpers/world.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NOBODY = "0x00000000000000000000000000000000000000AA";
/** A pair that is a formula, moves the cursor and needs quotes. */
const NASTY = '=HYPERLINK("http://x"),\u001b[2J\u202e';

/** Addresses by mocks or vault, then by contract: `$usdc.vault` in a command is one. */
type Places = Readonly<Record<string, Readonly<Record<string, string>>>>;
type Instances = NonNullable<VaultNetworkUserConfig["instances"]>;

interface Session {
  /** Mocks that are deployed first, by the names of their places. */
  readonly mocks?: Readonly<Record<string, MockOverrides>>;
  /** Vaults that are deployed then, by the names of their instances. */
  readonly vaults?: Readonly<
    Record<
      string,
      readonly [SettlingVaultName, Parameters<typeof deploySettlingVault>[2]?]
    >
  >;
  /** The configuration; the network live is selected. */
  readonly networks?: (
    url: string,
    at: Places,
    instances: Instances,
  ) => Readonly<Record<string, NetworkUserConfig>>;
}

const justLive: NonNullable<Session["networks"]> = (url, { mocks }) => {
  const contracts = mocks === undefined ? {} : { contracts: mocks };
  const vault = { tokenDecimals: 18, ...contracts };
  return { live: httpNetwork(url, { from: HOLDER, vault }) };
};
const twoSets = {
  mocks: {},
  many: { generatedOrders: { firstId: 1, lastId: 501 } },
};

/**
 * By the file in `test/tasks/screens/` that has the commands, each after a `$`,
 * and all that they print.
 */
const sessions: Readonly<Record<string, Session>> = {
  reads: {
    mocks: { mocks: distinctState },
  },
  unconfigured: {},
  scripting: {},
  settling: {},
  listings: {
    mocks: {
      mocks: {
        orders: {
          2: { exType: NASTY, state: "closed" },
          3: { state: "closed", contractType: "put" },
        },
      },
    },
  },
  decode: {},
  history: {
    mocks: twoSets,
    networks: (url, { mocks: contracts = {} }) => ({
      live: httpNetwork(url, { from: HOLDER, vault: { contracts } }),
      scaled: httpNetwork(url, {
        vault: {
          contracts,
          tokenDecimals: 18,
          displayDecimals: { pools: 18, volume: 17, "order.openPrice": 16 },
        },
      }),
    }),
  },
  instances: {
    mocks: twoSets,
    networks: (url, { mocks = {}, many = {} }) => ({
      live: httpNetwork(url, {
        from: HOLDER,
        vault: {
          contracts: mocks,
          tokenDecimals: 18,
          displayDecimals: { pools: 18, volume: 17 },
          instances: {
            usdc: {
              contracts: {
                vault: many["vault"],
                publicPool: many["publicPool"],
              },
              tokenDecimals: 6,
              displayDecimals: { volume: 5 },
            },
            dai: { contracts: { vault: configVariable("SESSION_VAULT") } },
            nowhere: { contracts: { vault: NOBODY, trading: HOLDER } },
            same: {},
          },
        },
      }),
      apart: httpNetwork(url, {
        vault: { instances: { own: { contracts: many } } },
      }),
      bare: httpNetwork(url, {
        accounts: [DEV_KEYS[1]],
        vault: { instances: { own: {} } },
      }),
      malformed: httpNetwork(url, {
        vault: {
          contracts: { vaultFactory: configVariable("SESSION_FACTORY") },
        },
      }),
      half: httpNetwork(url, {
        vault: { contracts: { vaultFactory: mocks["vaultFactory"] } },
      }),
      gone: httpNetwork("http://127.0.0.1:1"),
      unset: httpNetwork(url, {
        accounts: [configVariable("SESSION_KEY")],
        vault: { contracts: mocks },
      }),
      local: { type: "edr-simulated" },
    }),
  },
  vaults: {
    vaults: {
      paying: ["PayingVault", { isProxied: true }],
      native: ["NativeVault"],
      keeper: ["KeeperVault", { orders: 1 }],
      clock: ["ClockVault", { endTime: 1_795_300_000 }],
      rolling: ["RollingVault"],
      batch: ["BatchVault", { orders: 21 }],
      idle: ["IdleVault"],
      swallowing: ["SwallowingVault", { orders: 2 }],
      purse: ["PurseVault"],
      refunding: ["RefundingVault", { orders: 40 }],
      eoas: ["NoContractsVault"],
      contracts: ["ContractsOnlyVault"],
    },
    networks: (url, _at, instances) => ({
      live: httpNetwork(url, { vault: { tokenDecimals: 1, instances } }),
      other: httpNetwork(url, {
        accounts: [DEV_KEYS[1]],
        vault: { instances },
      }),
    }),
  },
  apart: {
    mocks: twoSets,
    networks: (url, { mocks: contracts = {} }) => {
      const vault = { contracts, tokenDecimals: 18 };
      return {
        live: httpNetwork(url, { from: HOLDER, vault }),
        pinned: httpNetwork(url, { from: HOLDER, chainId: 1, vault }),
        keyed: httpNetwork(url, { accounts: [DEV_KEYS[2]], vault }),
        poor: httpNetwork(url, { accounts: [id("nothing")], vault }),
        nobody: httpNetwork(url, { from: NOBODY, vault }),
      };
    },
  },
};

/** Runs tasks on a new node in a folder of its own. */
async function inProject(
  work: (url: string, folder: string) => Promise<string>,
): Promise<string> {
  const node = await startDatedAnvil(1_795_219_200);
  const project = await useFixtureProject("plain");
  const folder = process.cwd();
  const environment = { ...process.env };
  // The files of --out are named from here.
  process.chdir(project.path);
  try {
    return await work(node.url, project.path);
  } finally {
    process.chdir(folder);
    process.env = environment;
    await project.remove();
    await node.stop();
  }
}

async function show(
  hre: HardhatRuntimeEnvironment,
  typed: string,
): Promise<string> {
  const { stdout, stderr, exitCode } = await runTyped(hre, typed);
  // eslint-disable-next-line no-control-regex -- there must be none
  expect(stdout + stderr, typed).to.not.match(/\u001b| \n/u);
  const shown = `${stderr.replaceAll(/^(?=.|\n)/gmu, "2> ")}${stdout}`;
  return `${shown}${exitCode === 0 ? "" : `exit ${exitCode}\n`}`;
}

describe("tasks of a script, command by command", () => {
  for (const [name, session] of Object.entries(sessions)) {
    itShows(`piped-${name}`, async (recorded) => {
      return await inProject(async (url, projectRoot) => {
        const { vault, provider } = await connectTo(url);
        const deployer = new Wallet(DEV_KEYS[0], directProvider(url));
        await provider.request({ method: "evm_mine" });
        const instances: Instances = {};
        const at: Record<string, Readonly<Record<string, string>>> = {};
        for (const [place, overrides] of Object.entries(session.mocks ?? {})) {
          at[place] = (await vault.deployMocks({ overrides })).addresses;
        }
        for (const [place, kind] of Object.entries(session.vaults ?? {})) {
          const deployed = await deploySettlingVault(deployer, ...kind);
          const { token, contracts } = deployed;
          instances[place] = { contracts };
          at[place] = { ...contracts, token: await token.getAddress() };
        }
        const networks = (session.networks ?? justLive)(url, at, instances);
        const run = async (line: string): Promise<string> => {
          const filled = line.replaceAll(
            /\$(\w+)\.(\w+)/gu,
            (typed, place: string, role: string) =>
              at[place]?.[role] ?? expect.fail(typed),
          );
          const [program, first = "", second = "", ...more] = Array.from(
            filled.matchAll(/'([^']*)'|\S+/gu),
            ([word, quoted]) => quoted ?? word,
          );
          switch (program) {
            case "cast": {
              const params = more.map(parseParameter);
              const result: unknown = await provider.request({
                method: second,
                params,
              });
              return `${JSON.stringify(result)}\n`;
            }
            case "cat":
              return await readFile(first, "utf8");
            case "grep":
              return (await readFile(second, "utf8"))
                .split("\n")
                .map((text, index) => `${index + 1}:${text}\n`)
                .filter((text) => text.includes(first))
                .join("");
            case "ls":
              return `${(await readdir(first)).toSorted().join("\n")}\n`;
            case "export": {
              const [variable = "", value = ""] = first.split("=");
              process.env[variable] = value;
              return "";
            }
            default: {
              const [, network = "live"] =
                / --network (\S+)/u.exec(filled) ?? [];
              const typed = filled
                .replace(/^npx hardhat vault /u, "")
                .replace(/ --network \S+/u, "");
              const options = { network, projectRoot };
              return await show(
                await createTestHre({ networks }, options),
                typed,
              );
            }
          }
        };
        let text = "";
        for (const [line] of recorded.matchAll(/^[$#] .+$/gmu)) {
          text += `${line}\n`;
          text += line.startsWith("#")
            ? ""
            : `${await run(line.slice(2).replaceAll("␛", "\u001b"))}\n`;
        }
        return steady(text);
      });
    });
  }
});

function parseParameter(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
