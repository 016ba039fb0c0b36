import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { VaultClient } from "../../src/client/index.js";
import { VaultError } from "../../src/errors.js";
import { readOperationNames } from "../../src/protocol/index.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import type { CommandResult } from "../helpers/cli.js";
import { distinctState } from "../helpers/distinct-state.js";
import {
  readFaultKinds,
  startFaultyRpcServer,
} from "../helpers/faulty-rpc-server.js";
import type { FaultyRpcServer } from "../helpers/faulty-rpc-server.js";
import { callsOf } from "../helpers/fuzz-subjects.js";
import { connectTo, createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import { sample } from "../helpers/sample.js";
import {
  LATE_MS,
  REQUEST_TIMEOUT_MS,
  report,
  tryFault,
} from "../helpers/try-fault.js";
import type { Outcome } from "../helpers/try-fault.js";

const LANES = 8;

interface Read {
  readonly name: string;
  readonly run: (client: VaultClient, timeout?: number) => Promise<unknown>;
}

const reads: readonly Read[] = [
  ...readOperationNames.flatMap((name) =>
    callsOf(name).map(({ role, args }) => ({
      name: `${name} of ${role}`,
      run: async (client: VaultClient, timeout?: number): Promise<unknown> => {
        const method: unknown = Reflect.get(client, name);
        return typeof method === "function"
          ? await Reflect.apply(method, client, [...args, { timeout }])
          : undefined;
      },
    })),
  ),
  {
    name: "snapshot",
    run: async (client, timeout) => await client.snapshot({ timeout }),
  },
  {
    name: "orders",
    run: async (client, timeout) =>
      await Array.fromAsync(client.orders({ firstId: 1, lastId: 3, timeout })),
  },
  {
    name: "rounds",
    run: async (client, timeout) =>
      await Array.fromAsync(client.rounds({ timeout })),
  },
];

describe("reads under faults", () => {
  let anvil: ServerProcess;
  let contracts: Readonly<Record<ContractRole, string>>;
  /** For `--at`: contracts with a round to settle. */
  let openRound: string;
  const servers: FaultyRpcServer[] = [];
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-faults-"));
    anvil = await startAnvil();
    const { vault } = await connectTo(anvil.url);
    const open = await vault.deployMocks();
    // A capture asks for the bytes of what reverts.
    await open.fail("queryVolume", "closed for today");
    openRound = Object.entries(open.addresses)
      .map(([role, address]) => `${role}=${address}`)
      .join();
    const [order] = Object.values(distinctState.orders ?? {});
    ({ addresses: contracts } = await vault.deployMocks({
      overrides: {
        ...distinctState,
        orders: { 1: order ?? {}, 2: { ...order }, 3: { ...order } },
      },
    }));
  });
  after(async () => {
    await Promise.all(servers.map(async (server) => await server.stop()));
    await anvil.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const open = async (
    url?: string,
  ): Promise<{
    server: FaultyRpcServer;
    hre: HardhatRuntimeEnvironment;
  }> => {
    const server = await startFaultyRpcServer({
      upstream: anvil.url,
      delay: LATE_MS,
    });
    servers.push(server);
    const hre = await createTestHre(
      {
        networks: {
          live: httpNetwork(url ?? server.url, {
            timeout: REQUEST_TIMEOUT_MS,
            vault: { contracts, tokenDecimals: 18 },
          }),
        },
      },
      { network: "live" },
    );
    return { server, hre };
  };

  it("every read of the API returns the right value, or throws the code of the fault", async () => {
    const all = reads.flatMap((read) =>
      readFaultKinds.map((kind) => ({ read, kind })),
    );
    const queue = [...sample(all, 50)];
    const failures: string[] = [];
    let cases = 0;
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        const { server, hre } = await open();
        const { provider } = await hre.network.create("live");
        const asked: Array<Promise<unknown>> = [];
        for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
          const { read, kind } = one;
          const run = async (timeout?: number): Promise<Outcome> => {
            // A new provider: nothing is known of its node yet.
            const client = new VaultClient(
              {
                request: async ({ method, params = [] }): Promise<unknown> => {
                  const answer = provider.request({
                    method,
                    params: [...params],
                  });
                  asked.push(answer);
                  return await answer;
                },
              },
              contracts,
            );
            try {
              return { value: await read.run(client, timeout) };
            } catch (error) {
              return {
                code: VaultError.isVaultError(error)
                  ? error.code
                  : String(error),
              };
            } finally {
              // What was given up at a deadline may not have arrived yet, and
              // would meet the fault of the next case.
              await Promise.allSettled(asked.splice(0));
            }
          };
          const tried = await tryFault(server, read.name, kind, run, failures);
          cases += tried;
        }
      }),
    );
    report("operations", cases, failures);
  });

  it("simulate --fork prints the right outcome if a request of the fork fails once", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const { hre } = await open(server.url);
    const typed = `simulate --fork --json --at ${openRound}`;
    const right = await runTyped(hre, typed);
    let failed = 0;
    server.handler = ({ request, response }) => {
      if (request.method !== "eth_getStorageAt" || failed > 0) {
        return undefined;
      }
      failed += 1;
      response.writeHead(503).end();
      return "handled";
    };
    expect(withoutTimes(await runTyped(hre, typed))).to.deep.equal(
      withoutTimes(right),
    );
    expect(failed).to.equal(1);
    await server.stop();
  });

  it("simulate, capture and doctor end with VAULT_RPC_TIMEOUT at --timeout if a request hangs", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const { hre } = await open(server.url);
    const runs = [
      ["simulate", "eth_simulateV1"],
      [`capture --out ${path.join(folder, "late.json")}`, "eth_call"],
      // The simulator sends this by itself.
      [`simulate --fork --at ${openRound}`, "eth_getStorageAt"],
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
    let drips = 0;
    const server = await startRpcServer({
      handler: ({ response }) => {
        // Closed before it was handled: there is no "close" to come.
        if (!response.destroyed) {
          drips += 1;
          const drip = setInterval(() => response.write(" "), 50);
          response.on("close", () => {
            drips -= 1;
            clearInterval(drip);
          });
        }
        return "handled";
      },
    });
    const { hre } = await open(server.url);
    // The first ones end before the connection is there.
    for (const timeout of ["0.003", "0.01", "0.5"]) {
      const { stderr } = await runTyped(hre, `volume --timeout ${timeout}`);
      expect(stderr).to.include("VAULT_RPC_TIMEOUT");
      while (drips > 0) {
        await setImmediate();
      }
    }
    await server.stop();
  });
});

/** Without clocks. */
function withoutTimes(result: CommandResult): unknown {
  return JSON.parse(
    JSON.stringify(parseDocument(result), (key, value: unknown) =>
      key === "timestamp" ? undefined : value,
    ),
  );
}
