import { readFile, rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { Wallet } from "ethers";
import type { HttpNetworkUserConfig } from "hardhat/types/config";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { startAnvil } from "./anvil.js";
import type { ServerProcess } from "./child-process.js";
import { keysOf, startFaultyRpcServer } from "./faulty-rpc-server.js";
import type { RequestKey } from "./faulty-rpc-server.js";
import { fetchProvider } from "./fetch-provider.js";
import { useFixtureProject } from "./fixture-project.js";
import type { FixtureProject } from "./fixture-project.js";
import { hreOnLive } from "./hre.js";
import { SENDS } from "./keeper.js";
import { openChain, devKey } from "./world.js";

/**
 * One vault on a node, a server in front of that node that fails as told, and
 * a connection through the server. Keepers do not get into each other's way.
 */
export type KeeperOnNode = Awaited<ReturnType<typeof openKeeper>>;

interface Keepers {
  readonly keepers: readonly KeeperOnNode[];
  readonly node: ServerProcess;
  readonly project: FixtureProject;
  readonly close: () => Promise<void>;
}

/** The only keeper of its node and its project, which end with it. */
export type KeeperWithNode = KeeperOnNode & Omit<Keepers, "keepers">;

interface KeeperOptions {
  /** Network settings, beside URL and addresses. */
  readonly settings?: Partial<HttpNetworkUserConfig>;
  /** Milliseconds of the server's "delay past the timeout". */
  readonly delay?: number;
  readonly hidden?: readonly string[];
}

/** Opens a keeper with an open round; the accounts are of the node's mnemonic. */
async function openKeeper(
  node: string,
  projectRoot: string,
  accounts: readonly [settler: number, other: number],
  known: ReadonlyMap<string, unknown>,
  { settings = {}, delay = 1_000, hidden = [] }: KeeperOptions,
) {
  const key = devKey(accounts[0]);
  const chain = await openChain(node, devKey(accounts[1]));
  const server = await startFaultyRpcServer(node, delay, known);
  server.hide(...hidden);
  const connections: Array<HardhatVault["connection"]> = [];
  /** Another connection through the same server, from another configuration. */
  const connect = async (
    ownSettings: Partial<HttpNetworkUserConfig>,
  ): Promise<HardhatVault> => {
    const { contracts } = chain;
    const all = { accounts: [key], vault: { contracts }, ...ownSettings };
    const hre = await hreOnLive(server.url, all, projectRoot);
    const connection = await hre.network.create();
    connections.push(connection);
    return connection.vault;
  };
  const journal = path.join(
    projectRoot,
    "vault-deployments",
    `settlement-development-31337-${chain.contracts.vault.toLowerCase()}.json`,
  );
  return {
    chain,
    server,
    vault: await connect(settings),
    settler: new Wallet(key).address,
    /** The vault's journal file, whether or not it exists. */
    journal,
    /** The journal of the next settlement, read when it has just sent its transaction. */
    journalWhenSent: async (look?: () => Promise<void>): Promise<string> =>
      await new Promise((resolve, reject) => {
        const request = { method: "eth_getTransactionReceipt", occurrence: 0 };
        server.before(request, async () => {
          await look?.();
          await readFile(journal, "utf8").then(resolve, reject);
        });
      }),
    removeJournals: async () => {
      await rm(journal, { force: true });
    },
    connect,
    close: async () => {
      chain.close();
      await Promise.all(connections.map(async (one) => await one.close()));
      await server.stop();
    },
  };
}

/**
 * What a node says of itself, asked before anything is mined: anvil 1.7.1 locks up for ever if
 * it is asked that while it mines a block, as for another keeper.
 */
async function askAboutItself(
  node: string,
): Promise<ReadonlyMap<string, unknown>> {
  const known = new Map<string, unknown>();
  for (const method of ["hardhat_metadata", "anvil_nodeInfo"]) {
    const answer = await fetchProvider(node)
      .request({ method })
      .catch(() => undefined);
    if (answer !== undefined) {
      known.set(method, answer);
    }
  }
  return known;
}

/** Opens keepers on one node that settle side by side, each with its own accounts. */
export async function startKeepers(
  count: number,
  options: KeeperOptions = {},
  startNode: () => Promise<ServerProcess> = async () =>
    await startAnvil({ args: ["--accounts", String(2 * count + 1)] }),
): Promise<Keepers> {
  const node = await startNode();
  const project = await useFixtureProject("plain");
  const known = await askAboutItself(node.url);
  const keepers = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const accounts = [index, count + 1 + index] as const;
      return await openKeeper(node.url, project.path, accounts, known, options);
    }),
  );
  return {
    ...{ keepers, node, project },
    close: async () => {
      await Promise.all(keepers.map(async (keeper) => await keeper.close()));
      await node.stop();
      await project.remove();
    },
  };
}

/** Starts a node, anvil unless told, and opens a keeper on it in a new project. */
export async function startKeeper(
  startNode: () => Promise<ServerProcess> = startAnvil,
): Promise<KeeperWithNode> {
  const { keepers, ...others } = await startKeepers(1, {}, startNode);
  return { ...(keepers[0] ?? expect.fail()), ...others };
}

/** The requests of a settlement without any fault, in order: all, or from the nonce on. */
export async function requestsOfSettlement(
  keepers: readonly KeeperOnNode[],
  areAll: boolean,
): Promise<readonly RequestKey[]> {
  const keeper = keepers[0] ?? expect.fail();
  await startCase(keeper);
  for (const method of SENDS) {
    // Mined when it is answered, so that the first look finds the receipt and
    // every case comes by all of these requests, however slow the machine.
    keeper.server.afterwards({ method, occurrence: 0 }, keeper.chain.mine);
  }
  const { status } = await keeper.vault.settleAll({
    from: keeper.settler,
    pollingInterval: 1_000,
  });
  expect(status).to.equal("settled");
  const keys = keysOf(keeper.server);
  const nonce = keys.findIndex(
    ({ method }) => method === "eth_getTransactionCount",
  );
  return areAll ? keys : keys.slice(nonce);
}

/** A new round, nothing injected, no journal. */
export async function startCase({
  chain,
  server,
  removeJournals,
}: KeeperOnNode): Promise<void> {
  await server.idle();
  server.reset();
  await chain.openNextRound();
  await removeJournals();
}

/** Runs all cases, as many at a time as there are keepers, and prints how many. */
export async function runCases<Case>(
  title: string,
  keepers: readonly KeeperOnNode[],
  cases: readonly Case[],
  check: (keeper: KeeperOnNode, one: Case, index: number) => Promise<void>,
): Promise<void> {
  const queue = [...cases];
  const failures: string[] = [];
  await Promise.all(
    keepers.map(async (keeper, index) => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        try {
          await startCase(keeper);
          await check(keeper, one, index);
        } catch (error) {
          failures.push(`${JSON.stringify(one)}: ${String(error)}`);
        }
      }
    }),
  );
  process.stdout.write(
    `        ${title}: ${cases.length} cases, ${cases.length - failures.length} right, ${failures.length} wrong\n`,
  );
  expect(failures).to.deep.equal([]);
}
