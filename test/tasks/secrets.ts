import { Buffer } from "node:buffer";
import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import path from "node:path";

import { expect } from "chai";
import { AbiCoder, HDNodeWallet, JsonRpcProvider, Wallet } from "ethers";
import { configVariable } from "hardhat/config";
import type {
  EdrNetworkUserConfig,
  HttpNetworkUserConfig,
} from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { keysOf } from "../../src/protocol/keys-of.js";
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

/** The secrets of the fork's upstream: no other network of this process has them. */
const reworded = (text: string): string => text.replaceAll("cnry", "frkd");

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const basic = base64("cnry-basic:cnry:secret");

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

const sentToUpstream = [
  planted.user,
  planted.password,
  planted.path,
  planted.query,
  planted.header,
].map(reworded);

/** The secrets that the node in use has received, and may repeat. */
let told: readonly string[] = sent;

const spellings: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  encodeURIComponent,
  (text) => encodeURIComponent(text).toLowerCase(),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
];

const keyHeaders = {
  "x-api-key": planted.header,
  "x-token": `Bearer ${planted.bearer}`,
};
const httpHeaders = { ...keyHeaders, authorization: `Basic ${basic}` };

const forbidden = [
  ...new Set(
    [...sent, ...sentToUpstream, ...Object.values(planted)].flatMap((text) =>
      spellings.map((spell) => spell(text).toLowerCase()),
    ),
  ),
];

let turn = 0;
/** The secrets that came first in an echo: tasks show the start of an error. */
const echoed = new Set<string>();

function echo(): string {
  turn += 1;
  const spell = spellings[turn % spellings.length] ?? String;
  const between = [" ", '"', "/", "', "][turn % 4] ?? " ";
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

  type Settings = Partial<Omit<HttpNetworkUserConfig, "type">>;
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
  let blockOfMocks = "";

  const cases: ReadonlyArray<
    readonly [accounts: string, Settings, behaviour: Behaviour]
  > = [
    ...keysOf(behaviours).map(
      (behaviour) => ["a private key", key, behaviour] as const,
    ),
    ["a mnemonic", mnemonic, "success"],
    ["a mnemonic", mnemonic, notSent],
    ["a mnemonic", mnemonic, "a refusal of everything"],
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
        // A fork takes as long as ten other tasks.
        ({ args }) =>
          args["fork"] !== true || index === 0 || behaviour === "HTTP 403",
      );
      const runs =
        index === 0
          ? possible
          : [
              ...sample(possible, 5, index),
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
        // A transaction that was refused never appears.
        behaviour === notSent
          ? runs.map(({ task, args }) => ({
              task,
              args: "timeout" in args ? { ...args, timeout: "1" } : args,
            }))
          : runs,
      );
      await node.send("evm_revert", [snapshot]);
      expect(leaks).to.deep.equal([]);
      expect(said).to.match(
        /refus|revert/u.test(behaviour)
          ? /(?:denied|reverted): [^\n]*<hidden>/u
          : /./u,
      );
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

  it("a key, a mnemonic and a passphrase that stand in the configuration are hidden before they are used", async () => {
    const literal = `0x${"1e7e4a1".repeat(9)}7`;
    const phrase = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";
    const hre = await hreWith({ accounts: [literal] });
    const passphrase = "a word of its own";
    await hreWith({ accounts: { mnemonic: phrase, passphrase } });
    server.handler = () => ({
      error: {
        code: -32000,
        message: `no <${literal}>, <${literal.slice(2)}>, <${phrase}>, <${passphrase}>`,
      },
    });
    const { stderr } = await runVaultTask(hre, "volume");
    expect(stderr).to.contain(
      "no <<hidden>>, <<hidden>>, <<hidden>>, <<hidden>>",
    );
  });

  it("no task shows a secret on a terminal, or with --show-stack-traces", async () => {
    server.requests.length = 0;
    server.handler = (exchange) =>
      behaviours[notSent](exchange) ??
      behaviours["a name that repeats it"](exchange) ??
      behaviours["too many requests, the first of each kind"](exchange);
    const { lines } = await runInTerminal(
      ["run", "--no-compile", "every-task.ts"].concat(
        ...["--network", "test", "--show-stack-traces"],
      ),
      {
        cwd: project.path,
        columns: 1_000,
        env: {
          TEST_URL: process.env["TEST_CANARY_URL"] ?? "",
          TEST_VAULT: JSON.stringify({ contracts }),
          TEST_NETWORK: JSON.stringify({
            accounts: [environment.TEST_CANARY_KEY],
            httpHeaders,
          }),
          TEST_RUNS: JSON.stringify([
            ["status", {}],
            ["doctor", {}],
            ["settle", { yes: true, timeout: "1" }],
          ]),
        },
      },
    );
    const shown = lines.map(({ text }) => text).join("\n");
    expect(shown.split("test (chain 31337)")).to.have.lengthOf.above(3);
    expect(shown).to.match(/denied: [^\n]*<hidden>/u);
    expect(leaksIn(shown, "a terminal")).to.deep.equal([]);
    expect(await leaksInFiles(project)).to.deep.equal([]);
  });

  describe("on a network that forks", () => {
    before(() => {
      told = sentToUpstream;
    });
    after(() => {
      told = sent;
    });

    const forkOf = async (
      place: string,
      header: string,
      settings: Partial<EdrNetworkUserConfig> = {},
    ): Promise<HardhatRuntimeEnvironment> => {
      const [name, password] = sentToUpstream.map(encodeURIComponent);
      const host = server.url.replace("//", `//${name}:${password}@`);
      const forking = {
        url: `${host}/v3/${place}`,
        httpHeaders: { "x-api-key": header },
      };
      const forked = { ...settings, type: "edr-simulated", forking } as const;
      const options = { network: "forked", projectRoot: project.path };
      return await createTestHre({ networks: { forked } }, options);
    };

    for (const [when, isUp] of [
      ["while the fork is made", false],
      ["later", true],
    ] as const) {
      it(`no task shows a secret that the upstream of a fork repeats ${when}`, async () => {
        const [place, header] = [`k${isUp}-key`, `h${isUp}-header`];
        server.handler = ({ request: { method } }) =>
          isUp && headerMethods.test(method)
            ? undefined
            : { error: { code: -32000, message: `no ${place} ${header}` } };
        const hre = await forkOf(place, header, { vault: { contracts } });
        const { stderr } = await runVaultTask(hre, "volume");
        expect(stderr).to.contain("no <hidden> <hidden>");
      });
    }

    for (const [index, behaviour] of (
      ["success", "a refusal of all but the block", "HTTP 403"] as const
    ).entries()) {
      it(`no task on a fork writes a secret of its upstream with ${behaviour}`, async () => {
        const [, , place, query, header = ""] = sentToUpstream;
        const { mnemonic: phrase, passphrase } = planted;
        const hre = await forkOf(
          `${encodeURIComponent(place ?? "")}?key=${encodeURIComponent(query ?? "")}`,
          header,
          {
            accounts: { mnemonic: phrase, passphrase },
            vault: { contracts, tokenDecimals: 18 },
          },
        );
        const runs = everyTaskRun()
          // Simulations take seconds on a fork of a fork.
          .filter(({ args }) => args["safe"] !== true)
          .map(({ task, args }) => ({
            task,
            args: "simulate" in args ? { ...args, simulate: false } : args,
          }));
        const { leaks, said, asked } = await runAll(
          hre,
          project,
          server,
          behaviour,
          behaviour === "success" ? runs : sample(runs, 5, index),
        );
        expect(leaks).to.deep.equal([]);
        expect(asked).to.be.above(0);
        expect(said).to.match(
          behaviour === "success" ? /Mocks scripted/u : /VAULT_/u,
        );
      });
    }
  });
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
  /** Number of requests. */
  readonly asked: number;
  readonly failed: readonly string[];
}> {
  const written = path.join(project.path, "written");
  await mkdir(written);
  const [leaks, failed]: [string[], string[]] = [[], []];
  let [said, asked] = ["", 0];
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
    asked += server.requests.length;
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
  return { leaks, said, failed, asked };
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
