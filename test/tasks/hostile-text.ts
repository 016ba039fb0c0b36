import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { AbiCoder, Interface, id } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/plugin/hardhat-vault.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import {
  everythingHostile,
  harmfulIn,
  hostileTexts,
} from "../helpers/hostile-text.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../helpers/rpc-server.js";
import { runTyped, runVaultTask } from "../helpers/run-vault-task.js";
import { runInTerminal } from "../helpers/terminal.js";

const texts = Object.values(hostileTexts);
const range = { ids: `1-${texts.length}` };
const ESCAPED = /\\u(?:\{(?:1b|202e)\}|001b|202e)/u;

const errors = new Interface(["error Error(string)", "error Odd(string why)"]);
const TOKEN = "0x7070707070707070707070707070707070707070";
const LIVE = /^eth_(?:chainId|blockNumber|getBlockByNumber|getCode)$/u;

function codeThatAnswers(text: string): string {
  const answer = AbiCoder.defaultAbiCoder().encode(["string"], [text]).slice(2);
  const length = (answer.length / 2).toString(16).padStart(4, "0");
  return `0x61${length}80600c6000396000f3${answer}`;
}

const refusal = (text: string) => ({
  error: { code: -32000, message: text, data: { message: text } },
});

const nodes = {
  "an honest node": () => undefined,
  "a node with a name": ({ request: { method } }) =>
    method === "web3_clientVersion" ? { result: everythingHostile } : undefined,
  "a node that refuses with words": ({ request: { method } }) =>
    LIVE.test(method) ? undefined : refusal(`${everythingHostile}\ud800`),
  "a node that refuses all": () => refusal(everythingHostile),
  "a node that makes calls revert": ({ request: { method } }) =>
    /^eth_(?:call|estimateGas|simulateV1|sendRawTransaction)$/u.test(method)
      ? {
          error: {
            code: 3,
            message: everythingHostile,
            data: errors.encodeErrorResult("Error", [everythingHostile]),
          },
        }
      : undefined,
  "a node that answers with words": ({ request: { method } }) =>
    LIVE.test(method) ? undefined : { result: everythingHostile },
  "a node that answers with objects": ({ request: { method } }) =>
    LIVE.test(method)
      ? undefined
      : { result: { toString: 1, [everythingHostile]: everythingHostile } },
  "a node whose tokens have names": async ({ request, forward }) => {
    if (request.method !== "eth_simulateV1") {
      return undefined;
    }
    const answer = await forward();
    const log = {
      address: TOKEN,
      topics: [
        id("Transfer(address,address,uint256)"),
        `0x${"11".repeat(20).padStart(64, "0")}`,
        `0x${"22".repeat(20).padStart(64, "0")}`,
      ],
      data: `0x${"1".padStart(64, "0")}`,
      logIndex: "0x0",
      transactionIndex: "0x0",
      removed: false,
    };
    const logs = `"logs":[${JSON.stringify(log)}]`;
    const { result } = parseObject(answer.replaceAll('"logs":[]', logs));
    return { result };
  },
} satisfies Readonly<Record<string, RpcHandler>>;

describe("hostile text", function () {
  let anvil: ServerProcess;
  let server: RpcServer;
  let project: FixtureProject;
  let written: string;
  let deployments: string;
  let hre: HardhatRuntimeEnvironment;
  let direct: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    anvil = await startAnvil();
    server = await startRpcServer({ upstream: anvil.url });
    project = await useFixtureProject("plain");
    written = path.join(project.path, "written");
    await mkdir(written);
    deployments = path.join(project.path, "vault-deployments");
    direct = await connectTo(anvil.url);
    mocks = await direct.vault.deployMocks({
      scenario: "expired-round",
      overrides: {
        orders: Object.fromEntries(
          texts.map((exType, index) => [index + 1, { exType }]),
        ),
      },
    });
    await direct.provider.request({
      method: "anvil_setCode",
      params: [TOKEN, codeThatAnswers(everythingHostile)],
    });
    hre = await createTestHre(
      {
        networks: {
          test: httpNetwork(server.url, {
            vault: { contracts: mocks.addresses, tokenDecimals: 18 },
          }),
        },
      },
      { network: "test", projectRoot: project.path },
    );
  });
  after(async () => {
    await direct.close();
    await server.stop();
    await anvil.stop();
    await project.remove();
  });
  beforeEach(() => {
    server.handler = () => undefined;
  });

  /** Does something, and sets the chain and the project's files back. */
  async function andBack<T>(work: () => Promise<T>): Promise<T> {
    const { provider } = direct;
    const snapshot: unknown = await provider.request({
      method: "evm_snapshot",
    });
    const result = await work();
    await provider.request({ method: "evm_revert", params: [snapshot] });
    await rm(deployments, { recursive: true, force: true });
    return result;
  }

  async function refuseWithWords(): Promise<void> {
    await mocks.fail("settleAll", everythingHostile);
    await mocks.fail("queryVolume", everythingHostile);
    await mocks.fail("getFundingFeeRate", {
      customError: "Odd(string why)",
      args: [everythingHostile],
    });
  }

  /** Odd runs print JSON where even ones print text. */
  let turn = 0;

  async function harmOfEveryTask(): Promise<{
    readonly found: readonly string[];
    readonly isShown: boolean;
  }> {
    const found: string[] = [];
    let isShown = false;
    turn += 1;
    // A fork takes as long as ten other tasks.
    const runs = everyTaskRun().filter(
      ({ args }) => args["fork"] !== true || turn === 1,
    );
    for (const [place, { task, args }] of runs.entries()) {
      const out: unknown = args["out"];
      const json = (turn + place) % 2 === 0;
      const { stdout, stderr } = await runVaultTask(hre, task, {
        ...args,
        // A transaction that was refused never appears.
        ...(task === "settle" ? { timeout: "1" } : {}),
        ...("skipEmpty" in args ? range : {}),
        ...(typeof out === "string" ? { out: path.join(written, out) } : {}),
        json: json && args["format"] === undefined,
      });
      const text = stdout + stderr;
      isShown ||= ESCAPED.test(text);
      const harm = [...new Set(harmfulIn(text))].join(" ");
      if (harm !== "" || text.includes("VAULT_INTERNAL")) {
        found.push(
          `${task} ${JSON.stringify({ ...args, json })}: ${harm} in ${JSON.stringify(text)}`,
        );
      }
    }
    for (const name of await readdir(written)) {
      const harm = harmfulIn(await readFile(path.join(written, name), "utf8"));
      if (harm.length > 0) {
        found.push(`${name}: ${harm.join(" ")}`);
      }
    }
    return { found, isShown };
  }

  for (const [name, handler] of Object.entries(nodes)) {
    it(`no task writes a hostile text raw: ${name}`, async () => {
      server.handler = handler;
      expect(await andBack(harmOfEveryTask)).to.deep.equal({
        found: [],
        // Tasks repeat nothing of an object.
        isShown: name !== "a node that answers with objects",
      });
    });
  }

  it("no task writes a hostile text raw: contracts that refuse with words", async () => {
    await andBack(async () => {
      await refuseWithWords();
      const harm = await harmOfEveryTask();
      expect(harm).to.deep.equal({ found: [], isShown: true });
    });
  });

  describe("in files of the project", () => {
    const tampered = (
      document: Readonly<Record<string, unknown>>,
    ): ReadonlyArray<Readonly<Record<string, unknown>>> => [
      { ...document, [everythingHostile]: 1 },
      ...Object.keys(document).flatMap((key) => [
        { ...document, [key]: everythingHostile },
        { ...document, [key]: { [everythingHostile]: everythingHostile } },
      ]),
    ];

    afterEach(async () => {
      await rm(deployments, { recursive: true, force: true });
    });

    const expectNoHarm = async (
      hreOf: HardhatRuntimeEnvironment,
      typed: string,
      ...parts: readonly string[]
    ): Promise<void> => {
      const [name = "", ...more] = await readdir(deployments);
      expect(more).to.deep.equal([]);
      const file = path.join(deployments, name);
      const whole = parseObject(await readFile(file, "utf8"));
      for (const document of [
        ...tampered(whole),
        ...parts.flatMap((part) =>
          tampered(fieldsOf(whole[part])).map((changed) => ({
            ...whole,
            [part]: changed,
          })),
        ),
      ]) {
        await writeFile(file, JSON.stringify(document));
        const { stdout, stderr } = await runTyped(hreOf, typed);
        expect(harmfulIn(stdout + stderr)).to.deep.equal([]);
        expect(stdout + stderr).to.not.contain("VAULT_INTERNAL");
      }
    };

    it("settle --resume escapes what a journal holds", async () => {
      server.handler = ({ request: { method } }) =>
        method === "eth_sendRawTransaction" || method === "eth_sendTransaction"
          ? { error: { code: -32603, message: "upstream timed out" } }
          : undefined;
      await runTyped(hre, "settle --yes --timeout 2");
      const resume = "settle --resume --timeout 0.2";
      await expectNoHarm(hre, resume, "transaction", "round");
    });

    it("a read task escapes what a deployment file holds", async () => {
      const bare = await createTestHre(
        { networks: { test: httpNetwork(anvil.url) } },
        { network: "test", projectRoot: project.path },
      );
      await andBack(async () => {
        await runTyped(bare, "deploy-mocks");
        await expectNoHarm(bare, "volume", "contracts");
      });
    });

    it("deployMocks refuses a tampered fixture with VAULT_INVALID_FIXTURE, and escapes what it holds", async () => {
      const out = path.join(written, "tampered.json");
      await runVaultTask(hre, "capture", { out, ids: "1" });
      const fixture = parseObject(await readFile(out, "utf8"));
      const order = fieldsOf(fieldsOf(fixture["orders"])["1"]);
      const { vault } = await (await createTestHre()).network.create();
      for (const document of [
        ...tampered(fixture).filter(
          // Nobody reads where it was captured.
          ({ chainId, block }) =>
            chainId === fixture["chainId"] && block === fixture["block"],
        ),
        { ...fixture, orders: { [everythingHostile]: order } },
        { ...fixture, orders: { [String(2n ** 256n)]: order } },
        ...tampered(order)
          // Any text is a pair.
          .filter(({ exType }) => exType !== everythingHostile)
          .map((changed) => ({ ...fixture, orders: { 1: changed } })),
      ]) {
        await writeFile(out, JSON.stringify(document));
        const { message } = await expectVaultError(
          vault.deployMocks({ fixture: out }),
          "VAULT_INVALID_FIXTURE",
        );
        expect(harmfulIn(message)).to.deep.equal([]);
      }
    });
  });

  it("no task sends a hostile text to a terminal raw", async () => {
    server.handler = nodes["a node with a name"];
    const runs = everyTaskRun()
      .filter(({ args }) => args["fork"] !== true)
      .map(({ task, args }) => [
        task,
        {
          ...args,
          ...("skipEmpty" in args ? range : {}),
          ...("out" in args ? { out: path.join(written, "shown") } : {}),
          ...("timeout" in args ? { timeout: "5" } : {}),
        },
      ]);
    const { output } = await andBack(async () => {
      await refuseWithWords();
      return await runInTerminal(
        ["run", "--no-compile", "every-task.ts", "--network", "test"],
        {
          cwd: project.path,
          columns: 120,
          env: {
            TEST_URL: server.url,
            TEST_VAULT: JSON.stringify({
              contracts: mocks.addresses,
              tokenDecimals: 18,
            }),
            TEST_RUNS: JSON.stringify(runs),
            TEST_ENDS: path.join(written, "ends"),
          },
        },
      );
    });
    for (const raw of ["\u001b[31;45;7m", "\u001b]", "\u009b"]) {
      expect(output).to.not.contain(raw);
    }
    const shown = output
      // eslint-disable-next-line no-control-regex -- they are controls
      .replaceAll(/\u001b(?:\[[\d;?]*[a-z]|[78])/giu, "")
      .replaceAll("\r", "");
    expect(harmfulIn(shown)).to.deep.equal([]);
    const ofTasks = shown.split(/^\$ vault /mu).slice(1);
    expect(ofTasks).to.have.lengthOf(runs.length);
    const repeating = new Set(
      ofTasks
        .filter((text) => ESCAPED.test(text))
        .map((text) => text.split("\n")[0]),
    );
    expect([...repeating]).to.include.members([
      ...["order", "volume", "status", "orders"],
      ...["settle", "simulate", "watch", "doctor"],
    ]);
  });
});

function parseObject(text: string): Readonly<Record<string, unknown>> {
  return fieldsOf(JSON.parse(text));
}
