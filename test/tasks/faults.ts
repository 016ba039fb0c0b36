import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { EthereumProvider } from "hardhat/types/providers";

import { useAnvil } from "../helpers/anvil.js";
import { distinctState } from "../helpers/distinct-state.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { isFull, sample } from "../helpers/sample.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";

/** Tasks that change the chain. */
const changes = ({ task, args }: TaskRun): boolean =>
  /^(?:deploy-mocks|mock .*)$/u.test(task) ||
  args["yes"] === true ||
  args["resume"] === true;
const nameOf = ({ task, args }: TaskRun): string =>
  `vault ${task} ${JSON.stringify(args)}`;

/** Every task that sends requests. */
const asking = everyTaskRun().filter(
  ({ task }) => !/^(?:request|decode)$/u.test(task),
);
const reading = asking.filter(
  (run) => !changes(run) && (isFull || run.args["fork"] !== true),
);

// The faults of single requests: test/client/faults.ts and test/settlement/fault-matrix.ts.
describe("tasks under faults", () => {
  const anvil = useAnvil();
  let node: EthereumProvider;
  let project: FixtureProject;
  let written: string;
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    project = await useFixtureProject("plain");
    written = path.join(project.path, "written");
    await mkdir(written);
    const { vault, provider } = await connectTo(anvil.url);
    node = provider;
    const { addresses: contracts } = await vault.deployMocks({
      scenario: "expired-round",
      overrides: { orders: distinctState.orders },
    });
    server = await startRpcServer({ upstream: anvil.url });
    const settings: NetworkSettings = {
      ...{ timeout: 60_000, vault: { contracts, tokenDecimals: 18 } },
    };
    hre = await hreOnLive(server.url, settings, project.path);
  });
  after(async () => {
    await server.stop();
    await project.remove();
  });
  beforeEach(() => {
    server.handler = () => undefined;
  });

  /** All that a task printed and wrote, without the clock and the gas that depends on the engine. */
  const outcomeOf = async ({ task, args }: TaskRun) => {
    const { out } = args;
    const file = path.join(written, String(out));
    const json = args["format"] === undefined;
    const result = await runVaultTask(hre, task, {
      ...{ ...args, json, ...(out === undefined ? {} : { out: file }) },
    });
    const text = await readFile(file, "utf8").catch(() => "");
    await rm(file, { force: true });
    const stdout = result.stdout
      .replaceAll(/(?<=a settlement may cost )[\d.]+/gu, "some ether")
      .replaceAll(/(?<="maxCost":")\d+/gu, "some wei")
      .replaceAll(/(?<="secondsToEnd":)-?\d+/gu, "0")
      .replaceAll(/(?<=[":])1[7-9][0-9]{8}\b/gu, "0")
      .replaceAll(/(?<=, )[^,"]+(?= old")/gu, "some time");
    return { ...result, stdout, text };
  };

  it("every task prints the right output if the node answers with HTTP 429 to two of three requests", async () => {
    let [asked, refused] = [0, 0];
    const snapshot: unknown = await node.request({ method: "evm_snapshot" });
    const runs = [
      ...sample(reading, 6),
      // All of them: a settlement comes before the one that resumes it.
      ...asking.filter(changes),
    ];
    for (const run of runs) {
      server.handler = () => undefined;
      const right = changes(run) ? undefined : await outcomeOf(run);
      const times = new Map<string, number>();
      server.handler = ({ request: { method, params }, response }) => {
        const key = JSON.stringify([method, params]);
        times.set(key, (times.get(key) ?? 0) + 1);
        asked += 1;
        if ((times.get(key) ?? 0) > 2) {
          return undefined;
        }
        refused += 1;
        response.writeHead(429, { "retry-after": "0" }).end();
        return "handled";
      };
      const outcome = await outcomeOf(run);
      expect(outcome, nameOf(run)).to.include({ exitCode: 0 });
      if (right !== undefined) {
        expect(outcome, nameOf(run)).to.deep.equal(right);
      }
    }
    process.stdout.write(
      `    tasks at a limit: ${runs.length}, ${refused} of ${asked} requests refused\n`,
    );
    expect(refused).to.be.above(runs.length);
    await node.request({ method: "evm_revert", params: [snapshot] });
  });

  const REFUSAL = "exceeds block gas limit";
  /** Requests that a task can do without: another engine, or no account. */
  const isSpare =
    /^(?:eth_simulateV1|eth_accounts|\w+_(?:metadata|nodeInfo))$/u;

  it("every task that reads prints the right output, or what failed, if the node refuses one of its requests", async () => {
    let refused = 0;
    for (const [index, run] of sample(reading, 10).entries()) {
      server.handler = () => undefined;
      server.requests.length = 0;
      const right = await outcomeOf(run);
      const { length } = server.requests;
      const turns = isFull ? [...Array(length).keys()] : [index % length];
      for (const turn of turns) {
        server.requests.length = 0;
        let method = "";
        server.handler = ({ request }) => {
          if (server.requests.indexOf(request) !== turn) {
            return undefined;
          }
          ({ method } = request);
          return { error: { code: -32_000, message: REFUSAL } };
        };
        const outcome = await outcomeOf(run);
        const all = outcome.stdout + outcome.stderr + outcome.text;
        expect(
          JSON.stringify(outcome) === JSON.stringify(right) ||
            all.includes(REFUSAL) ||
            isSpare.test(method),
          `${nameOf(run)}, refused ${method} at ${turn}: ${all}`,
        ).to.equal(true);
        refused += 1;
      }
    }
    process.stdout.write(`    tasks × refusals: ${refused} cases\n`);
    expect(refused).to.be.at.least(10);
  });

  it("simulate --fork prints the right outcome if a request of the fork fails once", async () => {
    const run = { task: "simulate", args: { fork: true } };
    const right = await outcomeOf(run);
    let failed = 0;
    server.handler = ({ request, response }) => {
      if (request.method !== "eth_getStorageAt" || failed > 0) {
        return undefined;
      }
      failed += 1;
      response.writeHead(503).end();
      return "handled";
    };
    expect(await outcomeOf(run)).to.deep.equal(right);
    expect(failed).to.equal(1);
  });

  for (const [typed, hangs] of [
    ["simulate", "eth_simulateV1"],
    ["capture --out FILE", "eth_call"],
    // The simulator sends this by itself.
    ["simulate --fork", "eth_getStorageAt"],
    // To find the sender.
    ["report --simulate --out FILE", "eth_accounts"],
  ] as const) {
    const inFolder = (): string =>
      typed.replace("FILE", path.join(written, "late"));

    it(`vault ${typed} ends with VAULT_RPC_TIMEOUT at --timeout if ${hangs} hangs`, async () => {
      server.handler = ({ request: { method } }) =>
        method === hangs ? "handled" : undefined;
      const typedIn = `${inFolder()} --json --timeout 0.5`;
      const document = parseDocument(await runTyped(hre, typedIn));
      const code = "VAULT_RPC_TIMEOUT";
      expect(document).to.have.nested.property("error.code", code);
    });
  }

  for (const [typed, limited] of [
    ["simulate", "eth_simulateV1"],
    ["capture --out FILE", "eth_call"],
  ] as const) {
    it(`vault ${typed} sends ${limited} ten times at most within its --timeout`, async () => {
      let asked = 0;
      server.handler = ({ request: { method } }) => {
        if (method !== limited) {
          return undefined;
        }
        asked += 1;
        return { error: { code: -32_005, message: "limit exceeded" } };
      };
      const file = path.join(written, "late");
      const typedIn = `${typed.replace("FILE", file)} --json --timeout 3`;
      const document = parseDocument(await runTyped(hre, typedIn));
      expect(document).to.have.property("error");
      expect(asked).to.be.within(1, 10);
    });
  }

  it("doctor prints at --timeout what did not answer", async () => {
    server.handler = ({ request: { method } }) =>
      method === "eth_call" ? "handled" : undefined;
    const result = await runTyped(hre, "doctor --json --timeout 3");
    expect(result.exitCode).to.equal(1);
    expect(result.stdout).to.include("did not answer");
  });

  // The first ones end before the connection is there.
  for (const timeout of ["0.003", "0.01", "0.5"]) {
    it(`volume --timeout ${timeout} ends with VAULT_RPC_TIMEOUT if a body arrives blank by blank`, async () => {
      const drips: NodeJS.Timeout[] = [];
      server.handler = ({ response }) => {
        drips.push(setInterval(() => response.write(" "), 50));
        return "handled";
      };
      const { stderr } = await runTyped(hre, `volume --timeout ${timeout}`);
      expect(stderr).to.include("VAULT_RPC_TIMEOUT");
      // The requests outlive the task.
      drips.forEach(clearInterval);
    });
  }
});
