import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { EthereumProvider } from "hardhat/types/providers";

import type { ContractRole } from "../../src/types.js";
import { useAnvil } from "../helpers/anvil.js";
import { distinctState } from "../helpers/distinct-state.js";
import { everyTaskRun } from "../helpers/every-vault-task.js";
import type { TaskRun } from "../helpers/every-vault-task.js";
import {
  readFaultKinds,
  startFaultyRpcServer,
} from "../helpers/faulty-rpc-server.js";
import { fieldsOf, listOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { isFull, sample } from "../helpers/sample.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import {
  parseDocument,
  runTyped,
  runVaultTask,
} from "../helpers/run-vault-task.js";
import {
  LATE_MS,
  REQUEST_TIMEOUT_MS,
  report,
  tryFault,
} from "../helpers/try-fault.js";
import type { Outcome } from "../helpers/try-fault.js";

/** Tasks that change the chain: they have matrices of their own. */
const changes = ({ task, args }: TaskRun): boolean =>
  /^(?:deploy-mocks|mock .*)$/u.test(task) ||
  args["yes"] === true ||
  args["resume"] === true;
/** Tasks that read by the API alone, and retry as that does. */
const isPlain = /^(?!(?:doctor|report|simulate|capture|settle)$)/u;

/** Every task that sends requests. */
const asking = everyTaskRun().filter(
  ({ task }) => !/^(?:request|decode)$/u.test(task),
);

describe("tasks under faults", () => {
  const anvil = useAnvil();
  let contracts: Readonly<Record<ContractRole, string>>;
  let node: EthereumProvider;
  let project: FixtureProject;
  let written: string;

  before(async () => {
    project = await useFixtureProject("plain");
    written = path.join(project.path, "written");
    await mkdir(written);
    const { vault, provider } = await connectTo(anvil.url);
    node = provider;
    ({ addresses: contracts } = await vault.deployMocks({
      scenario: "expired-round",
      overrides: { orders: distinctState.orders },
    }));
  });
  after(async () => {
    await project.remove();
  });

  const open = async (url: string): Promise<HardhatRuntimeEnvironment> =>
    await hreOnLive(
      url,
      {
        timeout: REQUEST_TIMEOUT_MS,
        vault: { contracts, tokenDecimals: 18 },
      },
      project.path,
    );

  /** All that a task printed and wrote, or the code of its error. */
  const outcomeOf = async (
    hre: HardhatRuntimeEnvironment,
    { task, args }: TaskRun,
    timeout?: number,
  ): Promise<Outcome & { readonly stderr: string }> => {
    const { out } = args;
    const file = typeof out === "string" ? path.join(written, out) : undefined;
    const json = args["format"] === undefined;
    const result = await runVaultTask(hre, task, {
      ...args,
      ...(file === undefined ? {} : { out: file }),
      ...(timeout !== undefined && "timeout" in args
        ? { timeout: String(timeout / 1_000) }
        : {}),
      json,
    });
    const { stdout, stderr, exitCode } = result;
    const [, error] =
      /^\{"error":\{"code":"(VAULT_[A-Z_]+)"/u.exec(stdout) ??
      /\((VAULT_[A-Z_]+)\)/u.exec(stderr) ??
      [];
    if (error !== undefined) {
      return { code: error, stderr };
    }
    const text =
      file === undefined ? "" : await readFile(file, "utf8").catch(String);
    if (file !== undefined) {
      await rm(file, { force: true });
    }
    return {
      value: [
        exitCode,
        /^(?:simulate|doctor|status|watch)$/u.test(task)
          ? still(stdout)
          : stdout,
        text,
      ],
      stderr,
    };
  };

  it("every task prints the right output if the node answers with HTTP 429 to two of three requests", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const hre = await open(server.url);
    let [asked, refused] = [0, 0];
    const snapshot: unknown = await node.request({ method: "evm_snapshot" });
    const runs = [
      ...sample(
        asking.filter(
          (run) => !changes(run) && (isFull || run.args["fork"] !== true),
        ),
        6,
      ),
      // All of them: a settlement comes before the one that resumes it.
      ...asking.filter(changes),
    ];
    for (const run of runs) {
      const name = `vault ${run.task} ${JSON.stringify(run.args)}`;
      server.handler = () => undefined;
      const right = changes(run) ? undefined : await outcomeOf(hre, run);
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
      const { stderr, ...outcome } = await outcomeOf(hre, run);
      if (right === undefined) {
        expect(outcome, name).to.have.nested.property("value.0", 0);
      } else {
        expect({ ...outcome, stderr }, name).to.deep.equal(right);
      }
    }
    process.stdout.write(
      `    tasks at a limit: ${runs.length}, ${refused} of ${asked} requests refused\n`,
    );
    expect(refused).to.be.above(runs.length);
    await node.request({ method: "evm_revert", params: [snapshot] });
    await server.stop();
  });

  it("every task that reads prints the right output, or an error with the code of the fault", async () => {
    const server = await startFaultyRpcServer(anvil.url, LATE_MS);
    const hre = await open(server.url);
    const failures: string[] = [];
    let cases = 0;
    const all = asking
      .filter((run) => !changes(run) && (isFull || run.args["fork"] !== true))
      .flatMap((run) => readFaultKinds.map((kind) => ({ run, kind })));
    const rights = new Map<TaskRun, Outcome>();
    for (const { run, kind } of sample(all, 10)) {
      cases += await tryFault(
        server,
        `vault ${run.task} ${JSON.stringify(run.args)}`,
        kind,
        async (timeout) => {
          const { stderr: _said, ...outcome } = await outcomeOf(
            hre,
            run,
            timeout,
          );
          // Without a fault first.
          const right = rights.get(run) ?? outcome;
          rights.set(run, right);
          return codeOfQuestion(outcome, right) ?? outcome;
        },
        failures,
        isPlain.test(run.task) ? undefined : saysWhatIsWrong,
      );
    }
    await server.stop();
    report("tasks", cases, failures);
  });

  it("simulate --fork prints the right outcome if a request of the fork fails once", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const hre = await open(server.url);
    const run = { task: "simulate", args: { fork: true } };
    const right = await outcomeOf(hre, run);
    let failed = 0;
    server.handler = ({ request, response }) => {
      if (request.method !== "eth_getStorageAt" || failed > 0) {
        return undefined;
      }
      failed += 1;
      response.writeHead(503).end();
      return "handled";
    };
    expect(await outcomeOf(hre, run)).to.deep.equal(right);
    expect(failed).to.equal(1);
    await server.stop();
  });

  it("simulate, capture, report and doctor end with VAULT_RPC_TIMEOUT at --timeout if a request hangs", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const hre = await open(server.url);
    const runs = [
      ["simulate", "eth_simulateV1"],
      [`capture --out ${path.join(written, "late.json")}`, "eth_call"],
      // The simulator sends this by itself.
      ["simulate --fork", "eth_getStorageAt"],
      // To find the sender.
      [
        `report --simulate --out ${path.join(written, "late.html")}`,
        "eth_accounts",
      ],
    ] as const;
    for (const [typed, hangs] of runs) {
      server.handler = ({ request: { method } }) =>
        method === hangs ? "handled" : undefined;
      const result = await runTyped(hre, `${typed} --json --timeout 0.5`);
      expect(parseDocument(result), typed).to.have.nested.property(
        "error.code",
        "VAULT_RPC_TIMEOUT",
      );
    }
    // Without a deadline, they send it fifteen times.
    for (const [typed, limited] of runs.slice(0, 2)) {
      let asked = 0;
      server.handler = ({ request: { method } }) => {
        asked += method === limited ? 1 : 0;
        return method === limited
          ? { error: { code: -32_005, message: "limit exceeded" } }
          : undefined;
      };
      const result = await runTyped(hre, `${typed} --json --timeout 3`);
      expect(parseDocument(result), typed).to.have.property("error");
      expect(asked, typed).to.be.within(1, 10);
    }
    server.handler = ({ request: { method } }) =>
      method === "eth_call" ? "handled" : undefined;
    const examined = await runTyped(hre, "doctor --json --timeout 3");
    expect(examined.exitCode).to.equal(1);
    expect(examined.stdout).to.include("did not answer");
    await server.stop();
  });

  it("a read task ends with VAULT_RPC_TIMEOUT at --timeout if a body arrives blank by blank", async () => {
    const drips: NodeJS.Timeout[] = [];
    const server = await startRpcServer({
      handler: ({ response }) => {
        drips.push(setInterval(() => response.write(" "), 50));
        return "handled";
      },
    });
    const hre = await open(server.url);
    // The first ones end before the connection is there.
    for (const timeout of ["0.003", "0.01", "0.5"]) {
      const { stderr } = await runTyped(hre, `volume --timeout ${timeout}`);
      expect(stderr).to.include("VAULT_RPC_TIMEOUT");
    }
    // The requests outlive the tasks.
    drips.forEach(clearInterval);
    await server.stop();
  });
});

/**
 * True if another outcome than the right one names what failed: each check of
 * doctor that is new. Another engine changes gas and fees of a simulation only.
 */
function saysWhatIsWrong(outcome: Outcome, right: Outcome): boolean {
  const contracts = contractsIn(outcome);
  if (contracts !== undefined) {
    return contracts === contractsIn(right);
  }
  const known = checksOf(right);
  const checks = checksOf(outcome);
  return (
    checks.length > 0 &&
    checks.every(
      (check) =>
        known.includes(check) ||
        !check.includes('"status":"ok"') ||
        // What a check that passes could not find out.
        /cannot be estimated now|"name":"engine"/u.test(check),
    )
  );
}

/**
 * Returns the error of the question if the round can be settled: `status` shows it next to
 * its readings, if these are right.
 */
function codeOfQuestion(
  outcome: Outcome,
  right: Outcome,
): { readonly code: string } | undefined {
  const [shown, wanted] = [outcome, right].map((one) =>
    fieldsOf(documentOf(one)["status"]),
  );
  const { canBeSettled, ...readings } = shown ?? {};
  const { canBeSettled: _answer, ...known } = wanted ?? {};
  const { code } = fieldsOf(fieldsOf(canBeSettled)["error"]);
  return typeof code === "string" &&
    JSON.stringify(readings) === JSON.stringify(known)
    ? { code }
    : undefined;
}

/** What a simulation shows of contracts. */
function contractsIn(outcome: Outcome): string | undefined {
  const { simulation } = documentOf(outcome);
  const { status, reason, changes: changed } = fieldsOf(simulation);
  return simulation === undefined
    ? undefined
    : JSON.stringify([status, reason, changed]);
}

/** Without the clock, and without the gas that depends on the engine. */
function still(said: string): string {
  return said
    .replaceAll(/(?<=a settlement may cost )[\d.]+/gu, "some ether")
    .replaceAll(/(?<="maxCost":")\d+/gu, "some wei")
    .replaceAll(/(?<="secondsToEnd":)-?\d+/gu, "0")
    .replaceAll(/(?<=[":])1[7-9][0-9]{8}\b/gu, "0")
    .replaceAll(/(?<=, )[^,"]+(?= old")/gu, "some time");
}

function checksOf(outcome: Outcome): readonly string[] {
  return listOf(documentOf(outcome)["checks"]).map((check) =>
    JSON.stringify(check),
  );
}

function documentOf(outcome: Outcome): Readonly<Record<string, unknown>> {
  const [, said] = listOf("value" in outcome ? outcome.value : undefined);
  return typeof said === "string" && said.startsWith("{")
    ? fieldsOf(JSON.parse(said))
    : {};
}
