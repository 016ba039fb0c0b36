import { mkdir, readFile, rm } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

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
import { runVaultTask } from "../helpers/run-vault-task.js";

/** Tasks that change the chain. */
const changes = ({ task, args }: TaskRun): boolean =>
  /^(?:deploy-mocks|mock .*)$/u.test(task) ||
  args["yes"] === true ||
  args["resume"] === true;
/** Every task that sends requests, and changes nothing. */
const reading = everyTaskRun().filter(
  (run) =>
    run.task !== "request" &&
    !changes(run) &&
    (isFull || run.args["fork"] !== true),
);

// The faults of single requests: test/client/faults.ts and test/settlement/fault-matrix.ts.
describe("tasks under faults", () => {
  const anvil = useAnvil();
  let project: FixtureProject;
  let written: string;
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    project = await useFixtureProject("plain");
    written = path.join(project.path, "written");
    await mkdir(written);
    const { vault } = await connectTo(anvil.url);
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
          `${run.task} ${JSON.stringify(run.args)}, refused ${method} at ${turn}: ${all}`,
        ).to.equal(true);
        refused += 1;
      }
    }
    expect(refused).to.be.at.least(10);
  });
});
