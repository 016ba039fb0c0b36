import { readFile, readdir } from "node:fs/promises";

import { expect } from "chai";
import { AbiCoder, Interface, Wallet, concat, id } from "ethers";
import { configVariable } from "hardhat/config";
import type { NetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import * as bindings from "../../src/bindings/index.js";
import type { MockOverrides } from "../../src/mocks/types.js";
import type { VaultNetworkUserConfig } from "../../src/plugin/config-types.js";
import { startDatedAnvil } from "../helpers/anvil.js";
import { ORDER_ID, distinctState } from "../helpers/distinct-state.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import {
  connectTo,
  createTestHre,
  hreOnLive,
  httpNetwork,
} from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { expectScreen, readScreen, steady } from "../helpers/screens.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { DEV_KEYS, directProvider } from "../helpers/world.js";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const NOBODY = "0x00000000000000000000000000000000000000AA";
/** A pair that is a formula, moves the cursor and needs quotes. */
const NASTY = '=HYPERLINK("http://x"),\u001b[2J\u202e';

type Name =
  | "UnderlyingAsset"
  | "LiquidityPool"
  | "Trading"
  | "VaultFactory"
  | "Vault";
const codec = (role: Name): Interface =>
  bindings[`${role}__factory`].createInterface();
const errors = new Interface([
  "error Error(string)",
  "error Panic(uint256)",
  "error OrderNotFound(uint256 id)",
]);
const [call, answer] = [
  (role: Name, name: string, ...args: unknown[]) =>
    codec(role).encodeFunctionData(name, args),
  (role: Name, name: string, ...values: unknown[]) =>
    codec(role).encodeFunctionResult(name, values),
];
const MARGINS = [1500n * 10n ** 18n, 125n * 10n ** 15n, 1_795_250_890n];
const order = [NASTY, HOLDER, ...[1, 2, 3, 4, 5, 6, 7, 8, 9], 1, 2];

/** A command for a person, and for a program. */
const both = (...commands: readonly string[]): string[] =>
  commands.flatMap((command) => [command, `${command} --json`]);
const three = (...commands: readonly string[]): string[] =>
  commands.flatMap((command) => [...both(command), `${command} --raw`]);
const each = (start: string, ...ends: readonly string[]): string[] =>
  ends.map((end) => `${start} ${end}`);

interface Session {
  /** What the test claims; the recorded file shows it. */
  readonly title: string;
  /** The state of mocks that the configuration names. */
  readonly mocks?: MockOverrides;
  readonly commands: readonly string[];
}

/** By the file in `test/tasks/screens/` that has all that they print. */
const sessions: Readonly<Record<string, Session>> = {
  reads: {
    title:
      "read tasks and request print each value under its own label and key, and each call with its own address and bytes",
    mocks: distinctState,
    commands: [
      ...three("funding-rate", "round", "pools", "volume", "margin-balance"),
      ...three("min-margin", "status", `order ${ORDER_ID}`),
      ...three("margins --max-volume 1 --apy 12 --end-time +7d"),
      `order 0x${ORDER_ID.toString(16)} --json`,
      ...both("funding-rate --type call", "funding-rate --type put"),
      ...each("request", "getLatestRoundInfo", "getLatestRoundInfo --json"),
      ...each("request getFundingFeeRate", "1", "call", "put"),
      ...each("request", "getOrderInfo 0x1f", "calMargins 1 2 3"),
      ...each("request getLPAmountInfo --pool", "private", "public"),
      ...each("request", "queryVolume", "queryMarginBalance", "minXMargin"),
      `request queryVolume --from ${NOBODY.toLowerCase()}`,
      ...both("request settleAll"),
      "request settleAll --curl",
    ],
  },
  unconfigured: {
    title:
      "tasks that find no address exit with 1 and name the setting and --at, once",
    commands: both("status", "doctor", "volume", "settle --yes"),
  },
  scripting: {
    title:
      "mock and capture print what they wrote, status and report what reverts, and each refusal its code",
    commands: [
      "deploy-mocks --json",
      "mock set round.strikePrice=70_000e18 round.endTime=+2d fundingFeeRate.put=9 pools.private.locked=0x10 volume=5 orders.7.exType=DOGE-USDT orders.7.state=closed orders.7.contractType=put orders.2=none margins.xMarginAmount=65.5e18",
      "mock set volume=6 --json",
      ...each("order", "7 --json", "2"),
      "margins --max-volume 1 --apy 1 --end-time +7d --json",
      "mock next-round strikePrice=66000e18",
      "mock next-round --json",
      "status --json",
      "mock fail queryVolume 'closed\u001b[2J for today'",
      "mock fail getLPAmountInfo 0x --pool public --json",
      ...both("status", "volume", "pools", "report --out report.html"),
      "mock succeed queryVolume --json",
      "mock succeed getLPAmountInfo --pool private",
      "pools",
      "mock succeed getLPAmountInfo",
      "pools --json",
      ...each("mock set", "", "volume", "round.price=1", "orders.7.price=1"),
      ...each("mock set", "volume=1 volume=2", "volume=1.5"),
      "mock set orders.7=none orders.7.state=closed",
      "mock set orders.7.state=closed orders.07.state=open",
      "mock set orders.7.state=closed orders.7=none",
      ...each("mock set", "round.settled=yes", "settlement.settledPrice=1"),
      ...each("mock", "next-round settled=true", "fail settle no"),
      "mock succeed settleAll --pool public",
      `mock set volume=1 --at vault=${NOBODY}`,
      "capture --out fixture.json --ids 1-2,9 --json",
      ...both("capture --out fixture.json"),
      ...each("capture --out", "none/fixture.json", "."),
    ],
  },
  settling: {
    title:
      "simulate and settle print the preview on stderr, the outcome on stdout, and exit with 1 unless settled or nothing to do",
    commands: [
      ...both("deploy-mocks --scenario open-round", "simulate --ids 1-2"),
      ...both("doctor", "settle", "settle --assert", "settle --calldata"),
      `settle --calldata --from ${HOLDER} --json`,
      "settle --calldata --safe",
      ...both("settle --if-expired --yes", "settle --resume"),
      "mock fail settleAll 'not\u001b[2J yet'",
      ...both("simulate", "settle --yes", "settle --calldata"),
      "mock succeed settleAll",
      "settle --yes --json",
      ...both("settle --yes", "settle --resume", "settle --assert"),
      ...both("simulate", "settle --calldata", "rounds"),
      ...both("watch --until settled"),
      "mock next-round",
      "settle --yes",
    ],
  },
  listings: {
    title:
      "orders prints a table, JSON, NDJSON and CSV with hostile texts escaped, and rounds its four forms",
    mocks: {
      orders: {
        2: { exType: NASTY, state: "closed" },
        3: { state: "closed", contractType: "put" },
      },
    },
    commands: [
      ...both("orders --ids 1-9", "orders"),
      "orders --ids 9,1-3 --json",
      ...each("orders --ids 1-9 --format", "ndjson", "csv"),
      "orders --ids 1-9 --state closed --skip-empty --format ndjson",
      `orders --holder ${HOLDER} --raw`,
      ...each("orders --ids 1-3 --out", "a.csv", "a.jsonl", "a.json", "a.txt"),
      ...each("rounds --format", "ndjson", "csv"),
      "rounds --out rounds.csv",
    ],
  },
  decode: {
    title:
      "decode names operations, arguments, results and errors, and refuses with VAULT_NOT_DECODABLE what several operations return",
    commands: [
      ...both(
        ...each(
          "decode",
          call("Trading", "getOrderInfo", 5),
          call("Vault", "calMargins", ...MARGINS),
          concat([
            call("UnderlyingAsset", "getFundingFeeRate", 2),
            "0xdeadbeef",
          ]),
          answer(
            "VaultFactory",
            "getLatestRoundInfo",
            ...[1, 2, 3, 4, 5, 6, 7, 8, 9],
            true,
          ),
          answer("Trading", "getOrderInfo", ...order),
          answer("LiquidityPool", "getLPAmountInfo", 1, 2, 3),
          errors.encodeErrorResult("Error", ["not\u202e yet"]),
          errors.encodeErrorResult("Panic", [0x11]),
          errors.encodeErrorResult("OrderNotFound", [7]),
          // Not UTF-8.
          concat([
            "0x08c379a0",
            AbiCoder.defaultAbiCoder().encode(["bytes"], ["0xff41"]),
          ]),
          answer("Vault", "queryMarginBalance", 1, 2),
          "0x789F4B5A",
        ),
      ),
      ...each("decode", ...["0x", "0x1234", "''", "12", "0x1", "0xzz"]),
      `decode 0xd311636b${"00".repeat(31)}`,
      // A bool of 2 in a round.
      `decode 0x${"00".repeat(319)}02`,
    ],
  },
};

/** Addresses by vault, then by contract: `$usdc.vault` in a command is one. */
type Places = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** The configuration of networks; the one named live is selected. */
type Networks = Readonly<Record<string, NetworkUserConfig>>;
type Instances = NonNullable<VaultNetworkUserConfig["instances"]>;

/** Sessions whose recorded files have their commands, too, after each `$`. */
const recorded: Readonly<
  Record<
    string,
    {
      readonly title: string;
      /** Deployed for it, by the name of their instances. */
      readonly vaults?: Readonly<
        Record<
          string,
          readonly [
            SettlingVaultName,
            Parameters<typeof deploySettlingVault>[2]?,
          ]
        >
      >;
      readonly networks: (
        url: string,
        at: Places,
        instances: Instances,
      ) => Networks;
    }
  >
> = {
  history: {
    title:
      "rounds, orders, report and watch show what was settled late, early, at once or never, in every form and file",
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
    title:
      "tasks take each address from --at, the instance, the network or the deployed mocks, in this order, and name what is wrong with it",
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
    title:
      "simulate and settle show what each of a dozen vaults changes, pays and refuses, in its token's decimals",
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
    title:
      "doctor, simulate and settle say what is wrong with the node, the chain, the contracts' code and the signer",
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
  work: (url: string, folder: string) => Promise<void>,
): Promise<void> {
  const node = await startDatedAnvil(1_795_219_200);
  const project = await useFixtureProject("plain");
  const folder = process.cwd();
  // The files of --out are named from here.
  process.chdir(project.path);
  try {
    await work(node.url, project.path);
  } finally {
    process.chdir(folder);
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

describe("sessions of a script", () => {
  for (const [name, { title, mocks, commands }] of Object.entries(sessions)) {
    it(title, async () => {
      await inProject(async (url, folder) => {
        const { vault, provider } = await connectTo(url);
        await provider.request({ method: "evm_mine" });
        const contracts =
          mocks === undefined
            ? undefined
            : (await vault.deployMocks({ overrides: mocks })).addresses;
        const settings = {
          tokenDecimals: 18,
          ...(contracts === undefined ? {} : { contracts }),
        };
        const network = { from: HOLDER, vault: settings };
        const hre = await hreOnLive(url, network, folder);
        let text = "";
        for (const typed of commands) {
          text += `$ npx hardhat vault ${typed.replaceAll("\u001b", "␛")}\n`;
          text += `${await show(hre, typed)}\n`;
        }
        await expectScreen(`piped-${name}`, steady(text));
      });
    });
  }

  for (const [name, session] of Object.entries(recorded)) {
    it(session.title, async () => {
      await inProject(async (url, projectRoot) => {
        const { vault, provider } = await connectTo(url);
        const deployer = new Wallet(DEV_KEYS[0], directProvider(url));
        const instances: Instances = {};
        const many = { generatedOrders: { firstId: 1, lastId: 501 } };
        const at: Record<string, Readonly<Record<string, string>>> = {
          mocks: (await vault.deployMocks()).addresses,
          many: (await vault.deployMocks({ overrides: many })).addresses,
        };
        for (const [place, kind] of Object.entries(session.vaults ?? {})) {
          const deployed = await deploySettlingVault(deployer, ...kind);
          const { token, contracts } = deployed;
          instances[place] = { contracts };
          at[place] = { ...contracts, token: await token.getAddress() };
        }
        const networks = session.networks(url, at, instances);
        const run = async (line: string): Promise<string> => {
          const filled = line.replaceAll(
            /\$(\w+)\.(\w+)/gu,
            (_, place: string, role: string) => at[place]?.[role] ?? "",
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
        for (const [line] of (await readScreen(`piped-${name}`)).matchAll(
          /^[$#] .+$/gmu,
        )) {
          text += `${line}\n`;
          text += line.startsWith("#")
            ? ""
            : `${await run(line.slice(2).replaceAll("␛", "\u001b"))}\n`;
        }
        await expectScreen(`piped-${name}`, steady(text));
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
