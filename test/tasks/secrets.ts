import { Buffer } from "node:buffer";
import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import path from "node:path";

import { expect } from "chai";
import { AbiCoder, HDNodeWallet, JsonRpcProvider, Wallet } from "ethers";
import { configVariable } from "hardhat/config";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { keysOf } from "../../src/protocol/keys-of.js";
import type { VaultNetworkUserConfig } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { sample } from "../helpers/sample.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcReply, RpcServer } from "../helpers/rpc-server.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { runInTerminal } from "../helpers/terminal.js";

/** What is planted in every place that may hold a secret. */
const planted = {
  user: "cnry-us@r",
  password: "cnry-p#ss/w?rd",
  host: "cnry-h0st-label",
  path: "cnry-p4th",
  query: "cnry=query+k3y",
  header: "cnry-hea/der",
  bearer: "cnry-bearer+t0ken",
  fragment: "cnry-fr4gment",
  key: "c0ffee11c0ffee22c0ffee33c0ffee44c0ffee55c0ffee66c0ffee77c0ffee88",
  mnemonic:
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
  passphrase: "cnry-passphrase",
  variable: "cnry-badly-configured",
} as const;

/**
 * The same in other words, for another network: what is hidden for one is hidden
 * for all of this process.
 */
const reworded = (text: string): string => text.replaceAll("cnry", "frkd");

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const basic = base64("cnry-basic:cnry:secret");

/** What the node has been told, and may repeat. */
const sent = [
  planted.user,
  planted.password,
  planted.host,
  planted.path,
  planted.query,
  planted.header,
  planted.bearer,
  planted.fragment,
  basic,
] as const;

/** What the upstream of a fork has been told. */
const sentToUpstream = [
  planted.user,
  planted.password,
  planted.path,
  planted.query,
  planted.header,
].map(reworded);

/** What the node that is asked now has been told. */
let told: readonly string[] = sent;

/** The ways in which a node writes what it repeats. */
const spellings: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  (text) => encodeURIComponent(text),
  (text) => encodeURIComponent(text).toLowerCase(),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
];

const keyHeaders = {
  "x-api-key": planted.header,
  "x-token": `Bearer ${planted.bearer}`,
};
/** In place of the user and the password of the URL. */
const httpHeaders = { ...keyHeaders, authorization: `Basic ${basic}` };

/** Whatever the spelling, none of it may be found. */
const forbidden = [
  ...new Set(
    [...sent, ...sentToUpstream, ...Object.values(planted)].flatMap((text) =>
      spellings.map((spell) => spell(text).toLowerCase()),
    ),
  ),
];

let turn = 0;
/** What came first in an echo. */
const echoed = new Set<string>();

/** Repeats all of it in one spelling, the next one each time. */
function echo(): string {
  turn += 1;
  const spell = spellings[turn % spellings.length] ?? String;
  const between = [" ", '"', "/", "', "][turn % 4] ?? " ";
  // Nothing but so much of a node's words is shown.
  const first = turn % told.length;
  echoed.add(told[first] ?? "");
  const rotated = [...told.slice(first), ...told.slice(0, first)];
  return rotated.map(spell).join(between);
}

const headerMethods = /^eth_(?:chainId|blockNumber|getBlockByNumber)$/u;

const echoError = (): RpcReply => ({
  error: {
    code: -32000,
    message: `denied: ${echo()}`,
    data: { message: echo(), errors: [{ message: echo() }] },
  },
});
const echoRevert = (): RpcReply => ({
  error: {
    code: 3,
    message: `execution reverted: ${echo()}`,
    data: `0x08c379a0${AbiCoder.defaultAbiCoder().encode(["string"], [echo()]).slice(2)}`,
  },
});

const firstOfEachKind =
  (answer: (response: ServerResponse) => void): RpcHandler =>
  ({ occurrence, response }) => {
    if (occurrence > 0) {
      return undefined;
    }
    answer(response);
    return "handled";
  };

const notSent = "a refusal of whatever is sent";

/** What can happen to the requests of a task. */
const behaviours = {
  success: () => undefined,
  "a refusal of everything": echoError,
  "a refusal of all but the block": ({ request: { method } }) =>
    headerMethods.test(method) ? undefined : echoError(),
  [notSent]: ({ request: { method } }) =>
    /^eth_send|Transaction(?:Receipt|ByHash)$/u.test(method)
      ? echoError()
      : undefined,
  "a refusal of the second request of each kind": ({ occurrence }) =>
    occurrence === 1 ? echoError() : undefined,
  "a revert of every call": ({ request: { method } }) =>
    /^eth_(?:call|estimateGas|sendRawTransaction|simulateV1)$/u.test(method)
      ? echoRevert()
      : undefined,
  "a name that repeats it": ({ request: { method } }) =>
    method === "web3_clientVersion" ? { result: echo() } : undefined,
  "answers that are no answers": ({ request: { method } }) =>
    headerMethods.test(method) ? undefined : { result: echo() },
  "HTTP 403": ({ response }) => {
    response.writeHead(403, { "x-echo": encodeURIComponent(echo()) });
    response.end(echo());
    return "handled";
  },
  "too many requests, the first of each kind": firstOfEachKind((response) => {
    response.writeHead(429, { "retry-after": "0" });
    response.end(echo());
  }),
  "a page in place of the first answer of each kind": firstOfEachKind(
    (response) => {
      response.end(`<html>${echo()}</html>`);
    },
  ),
  "a connection that breaks at the first request of each kind": firstOfEachKind(
    (response) => {
      response.destroy();
    },
  ),
  "another chain": ({ request: { method } }) =>
    method === "eth_chainId" ? { result: "0x1" } : undefined,
} satisfies Readonly<Record<string, RpcHandler>>;
type Behaviour = keyof typeof behaviours;

/** How tasks show the node's words, where they show any. */
const wordsShown: { readonly [Name in Behaviour]?: RegExp } = {
  "a refusal of everything": /denied: [^\n]*<hidden>/u,
  "a refusal of all but the block": /denied: [^\n]*<hidden>/u,
  [notSent]: /denied: [^\n]*<hidden>/u,
  "a refusal of the second request of each kind": /denied: [^\n]*<hidden>/u,
  "a revert of every call": /reverted: [^\n]*<hidden>/u,
};

describe("secrets", function () {
  let anvil: ServerProcess;
  let node: JsonRpcProvider;
  let server: RpcServer;
  let project: FixtureProject;
  let contracts: Readonly<Record<string, string>>;
  const environment = {
    http_proxy: "",
    TEST_CANARY_URL: "",
    TEST_CANARY_KEY: `0x${planted.key}`,
    TEST_CANARY_MNEMONIC: planted.mnemonic,
    TEST_CANARY_PASSPHRASE: planted.passphrase,
    TEST_CANARY_BAD: planted.variable,
  };

  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    project = await useFixtureProject("plain");
    const { user, password, host, path: key, query } = planted;
    const [name, secret, segment, value] = [user, password, key, query].map(
      encodeURIComponent,
    );
    Object.assign(process.env, environment, {
      http_proxy: server.url,
      TEST_CANARY_URL: `http://${name}:${secret}@${host}.rpc.test/v3/${segment}?key=${value}#${planted.fragment}`,
    });
    node = new JsonRpcProvider(anvil.url, undefined, { cacheTimeout: -1 });
    const wallets = [
      new Wallet(planted.key),
      HDNodeWallet.fromPhrase(planted.mnemonic, planted.passphrase),
    ];
    for (const { address } of wallets) {
      await node.send("anvil_setBalance", [
        address,
        `0x${(10n ** 20n).toString(16)}`,
      ]);
    }
    const connection = await connectTo(anvil.url);
    const { addresses } = await connection.vault.deployMocks({
      scenario: "expired-round",
      overrides: {
        orders: { 2: { exType: echo() }, 4: { exType: `=${planted.path}` } },
      },
    });
    contracts = addresses;
    blockOfMocks = String(await node.getBlockNumber());
    await node.send("evm_mine", []);
    await connection.close();
  });
  after(async () => {
    Object.keys(environment).forEach((name) => {
      Reflect.deleteProperty(process.env, name);
    });
    node.destroy();
    await server.stop();
    await anvil.stop();
    await project.remove();
  });

  const hreWith = async (
    settings: Partial<Omit<HttpNetworkUserConfig, "type">>,
  ): Promise<HardhatRuntimeEnvironment> =>
    await createTestHre(
      {
        networks: {
          live: {
            ...httpNetwork("", {
              httpHeaders,
              chainId: 31337,
              vault: { contracts, tokenDecimals: 18 },
            }),
            url: configVariable("TEST_CANARY_URL"),
            ...settings,
          },
        },
      },
      { network: "live", projectRoot: project.path },
    );

  const key = { accounts: [configVariable("TEST_CANARY_KEY")] };
  const mnemonic = {
    httpHeaders: keyHeaders,
    accounts: {
      count: 1,
      mnemonic: configVariable("TEST_CANARY_MNEMONIC"),
      passphrase: configVariable("TEST_CANARY_PASSPHRASE"),
    },
  };
  const bad = configVariable("TEST_CANARY_BAD");
  /**
   * What opens the network without its accounts: deriving one from a mnemonic
   * takes a tenth of a second. A new task is none of these.
   */
  const usesNoKey = new Set([
    ...readOperationNames.map((name) => operationEntry(name).task),
    ...["status", "orders", "rounds", "report", "watch", "capture"],
    ...["request", "decode"],
  ]);
  /** What it remembers of the chain stays. */
  let blockOfMocks = "";

  /** Configurations, and what a node does that they are tried against. */
  const cases: ReadonlyArray<
    readonly [
      name: string,
      settings: Partial<Omit<HttpNetworkUserConfig, "type">>,
      behaviour: Behaviour,
    ]
  > = [
    ...keysOf(behaviours).map(
      (behaviour) => ["a private key", key, behaviour] as const,
    ),
    ...(
      [
        "success",
        notSent,
        "a refusal of everything",
        "a revert of every call",
        "another chain",
        "HTTP 403",
      ] as const
    ).map((behaviour) => ["a mnemonic", mnemonic, behaviour] as const),
    ["a bad key", { accounts: [bad] }, "success"],
    ["a bad mnemonic", { accounts: { mnemonic: bad } }, "success"],
    ["a bad URL", { url: bad }, "success"],
    ["a bad address", { vault: { contracts: { vault: bad } } }, "success"],
  ];

  for (const [index, [accounts, settings, behaviour]] of cases.entries()) {
    it(`no task writes a secret with ${accounts} and ${behaviour}`, async () => {
      const snapshot: unknown = await node.send("evm_snapshot", []);
      const hre = await hreWith(settings);
      const pastFork: TaskRun = {
        task: "simulate",
        args: { fork: true, block: blockOfMocks },
      };
      const possible = [pastFork, ...everyTaskRun()].filter(
        ({ task, args }) =>
          (settings !== mnemonic || !usesNoKey.has(task)) &&
          // A fork takes as long as ten other tasks.
          (args["fork"] !== true || index === 0 || behaviour === "HTTP 403"),
      );
      const runs =
        index === 0
          ? possible
          : [
              ...sample(possible, 5, index),
              // They meet what is refused.
              ...possible.filter(
                ({ task, args }) =>
                  args["yes"] === true ||
                  (args["fork"] !== true &&
                    /^(?:volume|status|simulate)$/u.test(task)),
              ),
            ];
      const { leaks, said, failed } = await runAll(
        hre,
        project,
        server,
        behaviour,
        // What was sent will not be seen, however long it is looked for.
        behaviour === notSent
          ? runs.map(({ task, args }) => ({
              task,
              args: "timeout" in args ? { ...args, timeout: "1" } : args,
            }))
          : runs,
      );
      await node.send("evm_revert", [snapshot]);
      expect(leaks).to.deep.equal([]);
      expect(said).to.match(wordsShown[behaviour] ?? /./u);
      if (settings === key && behaviour === "success") {
        expect(failed).to.deep.equal(
          runs
            .filter(({ args }) => args["assert"] === true)
            .map(({ task }) => task),
        );
      }
    });
  }

  it("the node was told every secret of the URL and the headers but its fragment, and repeated each first in an error", () => {
    const received = server.httpRequests
      .flatMap(({ url, headers }) => [
        url,
        ...Object.values(headers),
        // The user and the password of the URL.
        Buffer.from(headers.authorization?.slice(6) ?? "", "base64"),
      ])
      .join("\n");
    for (const secret of sent) {
      const isSeen = [secret, encodeURIComponent(secret)].some((text) =>
        received.includes(text),
      );
      expect([secret, isSeen]).to.deep.equal([
        secret,
        secret !== planted.fragment,
      ]);
      expect([...echoed]).to.include(secret);
    }
  });

  it("a key and a mnemonic that stand in the configuration are hidden before they are used", async () => {
    const [literal, phrase] = [
      `0x${"1e7e4a1".repeat(9)}7`,
      "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong",
    ];
    const hre = await hreWith({ accounts: [literal] });
    await createTestHre({
      networks: {
        other: httpNetwork("http://127.0.0.1:1", {
          accounts: { mnemonic: phrase },
        }),
      },
    });
    server.handler = () => ({
      error: {
        code: -32000,
        message: `no <${literal}>, <${literal.slice(2)}>, <${phrase}>`,
      },
    });
    const { stderr } = await runVaultTask(hre, "volume");
    expect(stderr).to.contain("no <<hidden>>, <<hidden>>, <<hidden>>");
  });

  it("no task shows a secret on a terminal, or with --show-stack-traces", async () => {
    const env = {
      TEST_URL: process.env["TEST_CANARY_URL"] ?? "",
      TEST_VAULT: JSON.stringify({ contracts }),
      TEST_NETWORK: JSON.stringify({
        accounts: [environment.TEST_CANARY_KEY],
        httpHeaders,
      }),
    };
    for (const [args, behaviour] of [
      [["status"], "too many requests, the first of each kind"],
      [["doctor"], "a name that repeats it"],
      [["settle", "--yes", "--timeout", "1"], notSent],
    ] as const) {
      server.requests.length = 0;
      server.handler = behaviours[behaviour];
      const { lines } = await runInTerminal(
        ["vault", ...args, "--network", "test", "--show-stack-traces"],
        { cwd: project.path, columns: 1_000, env },
      );
      const shown = lines.map(({ text }) => text).join("\n");
      expect(shown).to.contain("test (chain 31337)");
      expect(leaksIn(shown, args.join(" "))).to.deep.equal([]);
    }
    expect(await leaksInFiles(project)).to.deep.equal([]);
  });
});

describe("secrets of a network that forks", function () {
  let anvil: ServerProcess;
  let server: RpcServer;
  let project: FixtureProject;
  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    project = await useFixtureProject("plain");
    told = sentToUpstream;
  });
  after(async () => {
    told = sent;
    await server.stop();
    await anvil.stop();
    await project.remove();
  });

  const forkOf = async (
    forking: { url: string; httpHeaders: Record<string, string> },
    vault: VaultNetworkUserConfig,
    accounts: { mnemonic: string; passphrase?: string } | undefined,
  ): Promise<HardhatRuntimeEnvironment> =>
    await createTestHre(
      {
        networks: {
          forked: {
            type: "edr-simulated",
            forking,
            vault,
            ...(accounts === undefined ? {} : { accounts }),
          },
        },
      },
      { network: "forked", projectRoot: project.path },
    );

  const run = async (urlKey: string, headerKey: string, isUp: boolean) => {
    const denied = {
      error: {
        code: -32000,
        message: `no more for <${urlKey}>/<${headerKey}>`,
      },
    };
    server.handler = ({ request: { method } }) =>
      isUp && headerMethods.test(method) ? undefined : denied;
    const hre = await forkOf(
      {
        url: `${server.url}/v3/${urlKey}`,
        httpHeaders: { "x-api-key": headerKey },
      },
      { contracts: { vault: `0x${"ab".repeat(20)}` } },
      undefined,
    );
    const { stdout, stderr } = await runVaultTask(hre, "volume");
    const said = stdout + stderr;
    expect(said).to.contain("no more for");
    expect(said).not.to.contain(urlKey);
    expect(said).not.to.contain(headerKey);
  };

  it("no task shows a secret that the upstream of a fork repeats, while the fork is made or later", async () => {
    await run("m4dekey", "m4dehdr", false);
    await run("l8terkey", "l8terhdr", true);
  });

  for (const [index, behaviour] of (
    ["success", "a refusal of all but the block", "HTTP 403"] as const
  ).entries()) {
    it(`no task on a fork writes a secret of its upstream with ${behaviour}`, async () => {
      const { vault } = await connectTo(anvil.url);
      const { addresses: contracts } = await vault.deployMocks({
        scenario: "expired-round",
      });
      const [name, secret, place, value] =
        sentToUpstream.map(encodeURIComponent);
      const url = new URL(
        `/v3/${place}?key=${value}`,
        server.url.replace("//", `//${name}:${secret}@`),
      );
      const hre = await forkOf(
        {
          url: url.href,
          httpHeaders: { "x-api-key": reworded(planted.header) },
        },
        { contracts, tokenDecimals: 18 },
        { mnemonic: planted.mnemonic, passphrase: planted.passphrase },
      );
      const runs = everyTaskRun()
        // Those that execute much take seconds, on a fork of a fork.
        .filter(({ args }) => args["safe"] !== true)
        .map(({ task, args }) => ({
          task,
          args: "simulate" in args ? { ...args, simulate: false } : args,
        }));
      const { leaks, said } = await runAll(
        hre,
        project,
        server,
        behaviour,
        behaviour === "success" ? runs : sample(runs, 5, index),
      );
      expect(leaks).to.deep.equal([]);
      // The rest has come to what is asked of its upstream.
      expect(server.requests.length).to.be.above(0);
      expect(said).to.match(
        behaviour === "success" ? /Mocks scripted/u : /VAULT_/u,
      );
    });
  }
});

/** Runs tasks, every other one with `--json`, and looks for secrets in all that is written. */
async function runAll(
  hre: HardhatRuntimeEnvironment,
  project: FixtureProject,
  server: RpcServer,
  behaviour: Behaviour,
  runs: readonly TaskRun[],
): Promise<{
  readonly leaks: readonly string[];
  readonly said: string;
  readonly failed: readonly string[];
}> {
  const written = path.join(project.path, "written");
  await mkdir(written);
  const [leaks, failed]: [string[], string[]] = [[], []];
  let said = "";
  for (const [place, { task, args }] of runs.entries()) {
    const { out } = args;
    const json = place % 2 === 0 && args["format"] === undefined;
    server.requests.length = 0;
    server.handler = behaviours[behaviour];
    const { stdout, stderr, exitCode } = await runVaultTask(hre, task, {
      ...args,
      ...(typeof out === "string" ? { out: path.join(written, out) } : {}),
      json,
    });
    said += stdout + stderr;
    if (exitCode !== 0) {
      failed.push(task);
    }
    const name = `vault ${task} ${JSON.stringify({ ...args, json })}`;
    leaks.push(
      ...leaksIn(stdout, `${name}: stdout`),
      ...leaksIn(stderr, `${name}: stderr`),
    );
  }
  leaks.push(...(await leaksInFiles(project)));
  await Promise.all(
    [written, path.join(project.path, "vault-deployments")].map(
      async (folder) => {
        await rm(folder, { recursive: true, force: true });
      },
    ),
  );
  return { leaks, said, failed };
}

function leaksIn(text: string, where: string): string[] {
  const lower = text.toLowerCase();
  return forbidden
    .filter((secret) => lower.includes(secret))
    .map((secret) => {
      const at = lower.indexOf(secret);
      return `${where}: ${text.slice(Math.max(0, at - 40), at + secret.length + 20)}`;
    });
}

async function leaksInFiles({
  path: folder,
}: FixtureProject): Promise<string[]> {
  const leaks: string[] = [];
  for (const entry of await readdir(folder, {
    recursive: true,
    withFileTypes: true,
  })) {
    if (entry.isFile()) {
      const file = path.join(entry.parentPath, entry.name);
      leaks.push(...leaksIn(await readFile(file, "latin1"), file));
    }
  }
  return leaks;
}
