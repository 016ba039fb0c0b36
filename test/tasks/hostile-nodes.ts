import { Buffer } from "node:buffer";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import path from "node:path";

import { expect } from "chai";
import { AbiCoder, HDNodeWallet, Wallet, toQuantity } from "ethers";
import { configVariable } from "hardhat/config";
import type { HttpNetworkUserConfig } from "hardhat/types/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import {
  everythingHostile,
  harmfulIn,
  hostileTexts,
} from "../helpers/hostile-text.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcReply, RpcServer } from "../helpers/rpc-server.js";
import { runTyped, runVaultTask } from "../helpers/run-vault-task.js";
import { isFull, sample } from "../helpers/sample.js";
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
const basic = Buffer.from("cnry-basic:cnry:secret").toString("base64");

const sent = [
  ...[planted.user, planted.password, planted.host, planted.path],
  ...[planted.query, planted.header, planted.bearer, planted.fragment, basic],
] as const;
/** The secrets of the fork's upstream: no other network of this process has them. */
const sentToUpstream = [
  ...[planted.user, planted.password, planted.path],
  ...[planted.query, planted.header],
].map((text) => text.replaceAll("cnry", "frkd"));

const spellings: ReadonlyArray<(text: string) => string> = [
  (text) => text,
  encodeURIComponent,
  (text) => encodeURIComponent(text).toLowerCase(),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
];
const forbidden = [
  ...new Set(
    [...sent, ...sentToUpstream, ...Object.values(planted)].flatMap((text) =>
      spellings.map((spell) => spell(text).toLowerCase()),
    ),
  ),
];

const keyHeaders = {
  "x-api-key": planted.header,
  "x-token": `Bearer ${planted.bearer}`,
};
const httpHeaders = { ...keyHeaders, authorization: `Basic ${basic}` };

/** The secrets that the node in use has received, and may repeat. */
let told: readonly string[] = sent;
let turn = 0;
/** The secrets that came first in an echo: tasks show the start of an error. */
const echoed = new Set<string>();

/** The secrets and a hostile text. */
function echo(): string {
  turn += 1;
  const spell = spellings[turn % spellings.length] ?? String;
  const between = [" ", '"', "/", "', "][turn % 4] ?? " ";
  const first = turn % told.length;
  echoed.add(told[first] ?? "");
  const rotated = [...told.slice(first), ...told.slice(0, first)];
  const [start = "", ...rest] = rotated.map(spell);
  return [start, everythingHostile, ...rest].join(between);
}

const ESCAPED = /\\u(?:\{(?:1b|202e)\}|001b|202e)/u;
const headerMethods = /^eth_(?:chainId|blockNumber|getBlockByNumber)$/u;

const echoError = (): RpcReply => ({
  error: {
    code: -32000,
    message: `denied: ${echo()}\ud800`,
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
const refusingContracts = "contracts that refuse";

const behaviours = {
  success: () => undefined,
  [refusingContracts]: () => undefined,
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
  "answers that are objects": ({ request: { method } }) =>
    headerMethods.test(method)
      ? undefined
      : { result: { toString: 1, [echo()]: echo() } },
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

const texts = Object.values(hostileTexts);
/** With those that repeat secrets. */
const range = { ids: `1-${texts.length + 2}` };

/** Those that show what a node or a contract said, each in a way of its own. */
const repeatingTasks = [
  ...["order", "volume", "status", "orders"],
  ...["settle", "simulate", "watch", "doctor"],
];

describe("secrets and hostile text", function () {
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
    const { user, password, host, path: key, query } = planted;
    const [name, secret, segment, value] = [user, password, key, query].map(
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

  /** Does something, and sets the chain and the project's files back. */
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

  const cases: ReadonlyArray<
    readonly [network: string, Settings | "a fork", behaviour: Behaviour]
  > = [
    ["a private key", key, "success"],
    ...Object.keys(behaviours)
      .filter((name): name is Behaviour => name !== "success")
      .map((name) => ["a private key", key, name] as const),
    ["a mnemonic", mnemonic, "success"],
    ["a mnemonic", mnemonic, notSent],
    ["a mnemonic", mnemonic, "a refusal of everything"],
    ["a bad key", { accounts: [bad] }, "success"],
    ["a bad mnemonic", { accounts: { mnemonic: bad } }, "success"],
    ["a bad URL", { url: bad }, "success"],
    ["a bad address", { vault: { contracts: { vault: bad } } }, "success"],
    ["a fork", "a fork", "success"],
    ["a fork", "a fork", "a refusal of everything"],
    ["a fork", "a fork", "a refusal of all but the block"],
    ["a fork", "a fork", "HTTP 403"],
  ];

  for (const [index, [network, settings, behaviour]] of cases.entries()) {
    it(`no task writes a secret or a hostile text raw with ${network} and ${behaviour}`, async () => {
      const isFork = settings === "a fork";
      told = isFork ? sentToUpstream : sent;
      server.handler = behaviours[behaviour];
      const hre = await (isFork ? onFork() : hreWith(settings));
      const pastFork: TaskRun = {
        task: "simulate",
        args: { fork: true, block: blockOfMocks },
      };
      const possible = [pastFork, ...everyTaskRun()].filter(
        // A fork takes as long as ten other tasks.
        ({ task, args }) =>
          (args["fork"] !== true &&
            !(isFork && (task === "simulate" || "simulate" in args))) ||
          index === 0 ||
          (behaviour === "HTTP 403" && !isFork),
      );
      const runs =
        index === 0 || behaviour === refusingContracts
          ? possible
          : [
              ...sample(possible, 3, index),
              ...possible.filter(
                ({ task, args }) =>
                  args["yes"] === true ||
                  /^(?:volume|status|simulate)$/u.test(task),
              ),
            ];
      await andBack(async () => {
        if (behaviour === refusingContracts) {
          await refuseWithWords();
        }
        const { wrong, said, failed } = await runAll(hre, behaviour, runs);
        expect(wrong.join("\n")).to.equal("");
        if (/refus|revert/u.test(behaviour)) {
          expect(said)
            .to.match(/(?:denied|reverted|Odd).*<hidden>/u)
            .and.match(ESCAPED);
        }
        if (settings === key && behaviour === "success") {
          expect(failed).to.deep.equal(
            runs
              .filter(({ args }) => args["assert"] === true)
              .map(({ task }) => task),
          );
        }
      });
      told = sent;
    });
  }

  it("the node received every secret of the URL and the headers but its fragment, and repeated each first in an error", () => {
    const received = server.httpRequests
      .flatMap(({ url, headers }) => [
        url,
        ...Object.values(headers),
        // The user and the password of the URL.
        Buffer.from(headers.authorization?.slice(6) ?? "", "base64"),
      ])
      .join("\n");
    const unseen = sent.filter((secret) =>
      [secret, encodeURIComponent(secret)].every(
        (text) => !received.includes(text),
      ),
    );
    expect(unseen).to.deep.equal([planted.fragment]);
    expect([...echoed]).to.include.members([...sent, ...sentToUpstream]);
  });

  it("a key, a mnemonic and a passphrase that stand in the configuration are hidden before they are used", async () => {
    const literal = `0x${"1e7e4a1".repeat(9)}7`;
    const phrase = "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong";
    const passphrase = "a word of its own";
    server.handler = () => ({
      error: {
        code: -32000,
        message: `no <${literal}>, <${literal.slice(2)}>, <${phrase}>, <${passphrase}>`,
      },
    });
    const inText: ReadonlyArray<
      readonly [accounts: HttpNetworkUserConfig["accounts"], shown: string]
    > = [
      [[literal], `no <<hidden>>, <<hidden>>, <${phrase}>`],
      [{ mnemonic: phrase, passphrase }, "<<hidden>>, <<hidden>>"],
    ];
    for (const [accounts, shown] of inText) {
      const hre = await hreWith(accounts === undefined ? {} : { accounts });
      const { stderr } = await runVaultTask(hre, "volume");
      expect(stderr).to.contain(shown);
    }
  });

  it("no task sends a secret or a hostile text to a terminal raw, also with --show-stack-traces", async () => {
    server.requests.length = 0;
    server.handler = (exchange) =>
      behaviours[notSent](exchange) ??
      behaviours["a name that repeats it"](exchange) ??
      behaviours["too many requests, the first of each kind"](exchange);
    const runs = everyTaskRun()
      .filter(({ args }) => args["fork"] !== true)
      .filter(
        ({ task }, index, all) =>
          isFull ||
          ([...repeatingTasks, "deploy-guard"].includes(task) &&
            (task === "settle" ||
              all.findIndex((other) => other.task === task) === index)),
      )
      .map(({ task, args }) => [task, argsOf(task, args, "1")]);
    await andBack(async () => {
      await refuseWithWords();
      const { output } = await runInTerminal(
        ["run", "--no-compile", "every-task.ts"].concat(
          ...["--network", "test", "--show-stack-traces"],
        ),
        {
          cwd: project.path,
          columns: 1_000,
          env: {
            TEST_URL: process.env["TEST_CANARY_URL"] ?? "",
            TEST_VAULT: JSON.stringify({
              contracts: mocks.addresses,
              tokenDecimals: 18,
            }),
            TEST_NETWORK: JSON.stringify({
              accounts: [environment.TEST_CANARY_KEY],
              httpHeaders,
            }),
            TEST_RUNS: JSON.stringify(runs),
          },
        },
      );
      const raws = ["\u001b[31;45;7m", "\u001b]", "\u009b"];
      const rawLines = output.split("$ vault ").flatMap((ofTask) => {
        const [typed = "", ...lines] = ofTask.split(/\r?\n/u);
        return lines
          .filter((line) => raws.some((raw) => line.includes(raw)))
          .map((line) => `${typed}: ${JSON.stringify(line)}`);
      });
      expect(rawLines, "raw on the terminal").to.deep.equal([]);
      const shown = output
        // eslint-disable-next-line no-control-regex -- they are controls
        .replaceAll(/\u001b(?:\[[\d;?]*[a-z]|[78])/giu, "")
        .replaceAll("\r", "");
      expect(wrongIn(shown, "a terminal")).to.deep.equal([]);
      expect(shown).to.match(/(?:denied|Odd).*<hidden>/u);
      expect(await wrongInFiles()).to.deep.equal([]);
      const ofTasks = shown.split(/^\$ vault /mu).slice(1);
      expect(ofTasks).to.have.lengthOf(runs.length);
      const repeating = ofTasks
        .filter((text) => ESCAPED.test(text))
        .map((text) => text.split("\n")[0]);
      expect(repeating).to.include.members(repeatingTasks);
    });
  });

  describe("in files of the project", () => {
    const tampered = (
      document: Readonly<Record<string, unknown>>,
    ): ReadonlyArray<Readonly<Record<string, unknown>>> => [
      { ...document, [everythingHostile]: 1 },
      ...Object.keys(document).flatMap((name) => [
        { ...document, [name]: everythingHostile },
        { ...document, [name]: { [everythingHostile]: everythingHostile } },
      ]),
    ];

    for (const [title, preparing, typed, parts] of [
      [
        "settle --resume escapes a hostile text of a journal",
        "settle --yes --timeout 2",
        "settle --resume --timeout 0.2",
        ["transactions", "round"],
      ],
      [
        "a read task escapes a hostile text of a deployment file",
        "deploy-mocks",
        "volume",
        ["contracts"],
      ],
    ] as const) {
      it(title, async () => {
        const isRead = typed === "volume";
        server.handler = ({ request: { method } }) =>
          method === "eth_sendRawTransaction" && !isRead
            ? { result: null }
            : undefined;
        const hre = await hreWith({ ...key, ...(isRead ? { vault: {} } : {}) });
        await andBack(async () => {
          await runTyped(hre, preparing);
          const [name = "", ...more] = await readdir(deployments);
          expect(more).to.deep.equal([]);
          const file = path.join(deployments, name);
          const whole = parseObject(await readFile(file, "utf8"));
          let said = "";
          for (const document of [
            ...tampered(whole),
            ...parts.flatMap((part) => {
              const value = whole[part];
              const first = listOf(value)[0] ?? value;
              return tampered(fieldsOf(first)).map((changed) => ({
                ...whole,
                [part]: Array.isArray(value) ? [changed] : changed,
              }));
            }),
          ]) {
            await writeFile(file, JSON.stringify(document));
            const { stdout, stderr } = await runTyped(hre, typed);
            expect(wrongIn(stdout + stderr, typed)).to.deep.equal([]);
            said += stdout + stderr;
          }
          expect(said).to.match(ESCAPED);
        });
      });
    }

    it("deployMocks refuses a tampered fixture with VAULT_INVALID_FIXTURE, and escapes its hostile text", async () => {
      server.handler = behaviours.success;
      const out = path.join(written, "tampered.json");
      await runVaultTask(await hreWith(key), "capture", { out, ids: "1" });
      const fixture = parseObject(await readFile(out, "utf8"));
      const { vault } = await (await createTestHre()).network.create();
      for (const document of tampered(fixture).filter(
        // Nobody reads where it was captured.
        ({ chainId, block }) =>
          chainId === fixture["chainId"] && block === fixture["block"],
      )) {
        await writeFile(out, JSON.stringify(document));
        const { message } = await expectVaultError(
          vault.deployMocks({ fixture: out }),
          "VAULT_INVALID_FIXTURE",
        );
        expect(harmfulIn(message)).to.deep.equal([]);
      }
    });
  });

  /** Runs tasks, every other one with `--json`, and searches all that they write. */
  async function runAll(
    hre: HardhatRuntimeEnvironment,
    behaviour: Behaviour,
    runs: readonly TaskRun[],
  ): Promise<{
    readonly wrong: readonly string[];
    readonly said: string;
    readonly failed: readonly string[];
  }> {
    const [wrong, failed]: [string[], string[]] = [[], []];
    let said = "";
    for (const [place, { task, args }] of runs.entries()) {
      const json = place % 2 === 0 && args["format"] === undefined;
      server.requests.length = 0;
      server.handler = behaviours[behaviour];
      const result = await runVaultTask(hre, task, {
        // A transaction that was refused never appears.
        ...argsOf(task, args, behaviour.includes("refus") ? "1" : undefined),
        json,
      });
      const text = result.stdout + result.stderr;
      said += text;
      if (result.exitCode !== 0) {
        failed.push(task);
      }
      const name = `vault ${task} ${JSON.stringify({ ...args, json })}`;
      wrong.push(...wrongIn(text, name));
    }
    wrong.push(...(await wrongInFiles()));
    return { wrong, said, failed };
  }

  /** The arguments with files in the folder of the project. */
  function argsOf(
    task: string,
    args: TaskRun["args"],
    timeout?: string,
  ): TaskRun["args"] {
    const { out } = args;
    return {
      ...args,
      ...(task === "settle" && timeout !== undefined ? { timeout } : {}),
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
});

function wrongIn(text: string, where: string): string[] {
  const lower = text.toLowerCase();
  const harm = [...new Set(harmfulIn(text))].join(" ");
  return [
    ...forbidden.filter((secret) => lower.includes(secret)),
    ...(harm === "" ? [] : [harm]),
    ...(text.includes("VAULT_INTERNAL") ? ["VAULT_INTERNAL"] : []),
  ].map((what) => {
    const at = Math.max(0, lower.indexOf(what) - 40);
    return `${where}: ${what} in ${JSON.stringify(text.slice(at, at + 500))}`;
  });
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  return fieldsOf(JSON.parse(text));
}
