import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { HttpNetworkConfig } from "hardhat/types/config";

import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";
import { KEY, isSame } from "../helpers/scripted-contracts.js";

/** Runs a task, and returns the connections that it opened and how many it closed. */
async function connectionsOf(
  hre: HardhatRuntimeEnvironment,
  typed: string,
): Promise<{
  readonly opened: ReadonlyArray<Partial<HttpNetworkConfig>>;
  readonly closed: number;
}> {
  const opened: unknown[] = [];
  let closed = 0;
  const handlers: Parameters<typeof hre.hooks.registerHandlers<"network">>[1] =
    {
      newConnection: async (context, next) => {
        const connection = await next(context);
        opened.push(connection.networkConfig);
        return connection;
      },
      closeConnection: async (context, connection, next) => {
        closed += 1;
        await next(context, connection);
      },
    };
  hre.hooks.registerHandlers("network", handlers);
  await runTyped(hre, typed);
  hre.hooks.unregisterHandlers("network", handlers);
  return { opened: opened.map(fieldsOf), closed };
}

describe("the connection of a task", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;
  before(async () => {
    server = await startRpcServer({ handler: documentedHandler });
    hre = await hreOnLive(server.url, {
      ...{ accounts: [KEY], timeout: 20_000 },
      vault: { contracts: documentedContracts },
    });
  });
  after(async () => {
    await server.stop();
  });

  for (const [typed, timeout] of [
    ["volume", 20_000],
    ["volume --timeout 3", 3_000],
    ["volume --timeout 60", 20_000],
    ["settle --assert --timeout 3", 3_000],
    ["settle --yes --timeout 3", 3_000],
    ["watch --until settled", 10_000],
  ] as const) {
    it(`vault ${typed} gives each request ${timeout} ms, and closes its connection`, async () => {
      const { opened, closed } = await connectionsOf(hre, typed);
      expect(opened.map((config) => config.timeout)).to.deep.equal([timeout]);
      expect(closed).to.equal(1);
    });
  }

  it("only a task that signs opens the network with its accounts", async () => {
    for (const [typed, hasKeys] of [
      ["status", [false]],
      ["watch --until settled", [false]],
      ["settle --assert", [false]],
      ["settle --calldata", [false]],
      ["simulate", [false]],
      ["settle --if-expired --yes", [true]],
      ["deploy-guard", [true]],
      // The first pass needs no key.
      ["doctor", [false, true]],
    ] as const) {
      const { opened } = await connectionsOf(hre, typed);
      expect(
        opened.map(({ accounts }) => accounts !== "remote"),
        typed,
      ).to.deep.equal(hasKeys);
    }
  });

  it("a task in process uses the connection of hre.vault, and leaves it open, also if it fails", async () => {
    const inProcess = await createTestHre();
    await inProcess.vault.deployMocks();
    for (const typed of ["volume", "order 1 --block 99"]) {
      expect(await connectionsOf(inProcess, typed)).to.deep.equal({
        ...{ opened: [], closed: 0 },
      });
    }
  });

  it("a task hides its node's URL, from a variable, in an error of a plugin that connects", async () => {
    process.env["TEST_SECRET_URL"] = "http://node.test/v1/5ecret-path";
    const secretive = await createTestHre(
      {
        networks: {
          live: { type: "http", url: configVariable("TEST_SECRET_URL") },
        },
      },
      { network: "live" },
    );
    secretive.hooks.registerHandlers("network", {
      newConnection: async () =>
        await Promise.reject(new Error("no <5ecret-path>")),
    });
    const { stderr, exitCode } = await runTyped(secretive, "volume");
    delete process.env["TEST_SECRET_URL"];
    expect(exitCode).to.equal(1);
    expect(stderr).to.include("no <<hidden>>").and.not.include("5ecret");
  });

  it("a task refuses an instance that is not configured before it opens a connection", async () => {
    const typed = "volume --instance usdt";
    expect((await connectionsOf(hre, typed)).opened).to.deep.equal([]);
  });

  it("a task that fails closes its connection", async () => {
    const typed = "volume --block 99999";
    expect((await connectionsOf(hre, typed)).closed).to.equal(1);
  });

  it("a task that fails ends though a request is never answered", async () => {
    const { privatePool } = documentedContracts;
    let hanging = 0;
    const stuck = await startRpcServer({
      handler: (exchange) => {
        const { request } = exchange;
        const [call] = request.params;
        if (request.method !== "eth_call") {
          return documentedHandler(exchange);
        }
        if (isSame(String(fieldsOf(call)["to"]), privatePool)) {
          hanging += 1;
          return "handled";
        }
        return { error: { code: -32_601, message: "unsupported" } };
      },
    });
    const contracts = documentedContracts;
    const { exitCode } = await runTyped(
      await hreOnLive(stuck.url, { vault: { contracts } }),
      "pools --timeout 600",
    );
    expect(exitCode).to.equal(1);
    expect(hanging).to.equal(1);
    await stuck.stop();
  });
});
