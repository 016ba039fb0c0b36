import { mock } from "node:test";

import { expect } from "chai";
import { configVariable } from "hardhat/config";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import type { HttpNetworkConfig } from "hardhat/types/config";

import { useAnvil } from "../../helpers/anvil.js";
import { endDeadlines } from "../../helpers/deadlines.js";
import {
  documentedContracts,
  documentedHandler,
} from "../../helpers/documented-node.js";
import { fieldsOf } from "../../helpers/fields.js";
import { useFixtureProject } from "../../helpers/fixture-project.js";
import type { FixtureProject } from "../../helpers/fixture-project.js";
import { createTestHre, hreOnLive, httpNetwork } from "../../helpers/hre.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type {
  RecordedRequest,
  RpcHandler,
  RpcServer,
} from "../../helpers/rpc-server.js";
import { runTyped } from "../../helpers/run-vault-task.js";
import { KEY } from "../../helpers/scripted-contracts.js";

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

  /** Runs a task, and returns the connections that it opened and how many it closed. */
  const connectionsOf = async (typed: string, on = hre) => {
    const opened: Array<Partial<HttpNetworkConfig>> = [];
    let closed = 0;
    const handlers: Parameters<typeof on.hooks.registerHandlers<"network">>[1] =
      {
        newConnection: async (context, next) => {
          const connection = await next(context);
          opened.push(fieldsOf(connection.networkConfig));
          return connection;
        },
        closeConnection: async (context, connection, next) => {
          closed += 1;
          await next(context, connection);
          // A task does not depend on it.
          throw new Error("it fails to close");
        },
      };
    on.hooks.registerHandlers("network", handlers);
    await runTyped(on, typed);
    on.hooks.unregisterHandlers("network", handlers);
    return { opened, closed };
  };

  for (const [typed, timeout] of [
    ["volume", 20_000],
    ["volume --timeout 3", 3_000],
    ["watch --until settled", 10_000],
    ["settle --yes --timeout 3", 3_000],
  ] as const) {
    it(`vault ${typed} gives each request ${timeout} ms, and closes its connection`, async () => {
      const clock = mock.method(performance, "now", () => 0);
      const { opened, closed } = await connectionsOf(typed).finally(() => {
        clock.mock.restore();
      });
      expect(opened.map((config) => config.timeout)).to.deep.equal([timeout]);
      expect(closed).to.equal(1);
    });
  }

  for (const [typed, ...hasKeys] of [
    ["status", false],
    ["watch --until settled", false],
    ["settle --assert", false],
    ["settle --calldata", false],
    ["settle --resume", false],
    ["settle --resume --bump", true],
    ["settle --resume --cancel", true],
    ["deploy-guard", true],
    ["doctor", false, true],
  ] as const) {
    it(`vault ${typed} opens the network ${hasKeys.map((has) => (has ? "with" : "without")).join(" and then ")} its keys`, async () => {
      const { opened } = await connectionsOf(typed);
      expect(opened.map(({ accounts }) => accounts !== "remote")).to.deep.equal(
        hasKeys,
      );
    });
  }

  it("a task in process uses the connection of hre.vault, and leaves it open", async () => {
    const inProcess = await createTestHre();
    await inProcess.vault.deployMocks();
    expect(await connectionsOf("volume", inProcess)).to.deep.equal({
      ...{ opened: [], closed: 0 },
    });
  });

  it("a task refuses an instance that is not configured before it opens a connection", async () => {
    const { opened } = await connectionsOf("volume --instance usdt");
    expect(opened).to.deep.equal([]);
  });

  it("a task that fails closes its connection", async () => {
    const { closed } = await connectionsOf("volume --block 99999");
    expect(closed).to.equal(1);
  });

  for (const typed of [
    "volume",
    "settle --yes",
    "deploy-guard --yes",
    "deploy-mocks",
  ]) {
    it(`vault ${typed} --timeout 1 ends if a plugin does not open the connection, which is closed if it comes later: VAULT_RPC_TIMEOUT`, async () => {
      const slow = await hreOnLive(server.url);
      let open = (): void => undefined;
      const closed = new Promise<void>((resolve) => {
        slow.hooks.registerHandlers("network", {
          newConnection: async (context, next) => {
            await new Promise<void>((opened) => {
              open = opened;
            });
            return await next(context);
          },
          closeConnection: async (context, connection, next) => {
            await next(context, connection);
            resolve();
          },
        });
      });
      const { stdout, exitCode } = await runTyped(
        slow,
        `${typed} --timeout 1 --json`,
      );
      expect(exitCode).to.equal(1);
      const error = fieldsOf(fieldsOf(JSON.parse(stdout))["error"]);
      expect(error["code"]).to.equal("VAULT_RPC_TIMEOUT");
      expect(error["message"]).to.match(
        /^Network live did not answer the attempt to connect \(1 s\) in time\./u,
      );
      open();
      await closed;
    });
  }

  it("a task hides its node's URL, from a variable, in an error of a plugin that connects", async () => {
    process.env["TEST_SECRET_URL"] = "http://node.test/v1/5ecret-path";
    const url = configVariable("TEST_SECRET_URL");
    const live = { type: "http", url } as const;
    const networks = { networks: { live } };
    const secretive = await createTestHre(networks, { network: "live" });
    secretive.hooks.registerHandlers("network", {
      newConnection: async () =>
        await Promise.reject(new Error("no <5ecret-path>")),
    });
    const { stderr, exitCode } = await runTyped(secretive, "volume");
    delete process.env["TEST_SECRET_URL"];
    expect(exitCode).to.equal(1);
    expect(stderr).to.include("no <<hidden>>").and.not.include("5ecret");
  });
});

describe("a task whose configuration a keystore has, which asks for its password", () => {
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({ handler: documentedHandler });
  });
  after(async () => {
    await server.stop();
  });

  /** @param answer What the keystore does in place of asking. */
  const run = async (typed: string, answer?: () => Promise<string>) => {
    const variable = configVariable("TEST_OF_KEYSTORE");
    const isKey = typed.startsWith("settle");
    const isUrl = typed.startsWith("volume");
    const live = httpNetwork(server.url, {
      ...(isUrl && { url: variable }),
      ...(isKey && { accounts: [variable] }),
      vault: {
        contracts: {
          ...documentedContracts,
          ...(!isKey && !isUrl && { vaultFactory: variable }),
        },
      },
    });
    const networks = { networks: { live } };
    const hre = await createTestHre(networks, { network: "live" });
    hre.hooks.registerHandlers("configurationVariables", {
      fetchValue: async (context, { name }, next) =>
        name !== "TEST_OF_KEYSTORE"
          ? await next(context, { name, _type: "ConfigurationVariable" })
          : answer === undefined
            ? await context.interruptions.requestSecretInput(
                "hardhat-keystore",
                "Enter the password",
              )
            : await answer(),
    });
    return await runTyped(hre, typed);
  };
  const errorOf = (stdout: string) =>
    fieldsOf(
      fieldsOf(JSON.parse(stdout))["error"] ??
        // Of a settlement, which was refused.
        fieldsOf(JSON.parse(stdout))["settlement"],
    );

  for (const typed of [
    "volume --json",
    "settle --yes --json",
    "round --json",
  ]) {
    it(`vault ${typed} without a terminal asks nothing, and names the variable to set`, async () => {
      const { stdout, exitCode } = await run(typed);
      const error = errorOf(stdout);
      expect(exitCode).to.equal(1);
      expect(error).to.include({ code: "VAULT_CONFIG_VARIABLE" });
      expect(JSON.stringify(error)).to.match(
        /TEST_OF_KEYSTORE.*hardhat-keystore.*Enter the password.*no terminal.*environment/u,
      );
    });
  }

  for (const [typed, code] of [
    ["volume --timeout 1 --json", "VAULT_CONFIG_VARIABLE"],
    // Of an address, which the deadline of the reads ends, too.
    ["round --timeout 1 --json", "VAULT_CONFIG_VARIABLE"],
    ["settle --yes --timeout 1 --json", "VAULT_CONFIG_VARIABLE"],
  ] as const) {
    it(`vault ${typed} does not wait longer for a variable: ${code}`, async () => {
      const never = async (): Promise<string> =>
        await new Promise(() => undefined);
      const { stdout, exitCode } = await run(typed, never);
      expect(exitCode).to.equal(1);
      expect(errorOf(stdout)).to.include({ code });
      expect(JSON.stringify(errorOf(stdout))).to.match(
        /TEST_OF_KEYSTORE.* within 1 s/u,
      );
    });
  }
});

describe("a task on a node and with plugins that take their time", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let project: FixtureProject;
  before(async () => {
    project = await useFixtureProject("plain");
    server = await startRpcServer({ upstream: anvil.url });
    const hre = await hreOnLive(server.url, {}, project.path);
    expect(await runTyped(hre, "deploy-mocks")).to.include({ exitCode: 0 });
  });
  after(async () => {
    await server.stop();
    await project.remove();
  });

  const isLookup = ({ method, params }: RecordedRequest): boolean =>
    method === "eth_getBlockByNumber" && params[0] === "0x0";
  const is =
    (name: string) =>
    ({ method }: RecordedRequest): boolean =>
      method === name;
  for (const [typed, isRefused, shown, exitCode = 1, connections = 1] of [
    ["round", is("eth_call"), "slow down"],
    ["mock set volume=1", is("eth_accounts"), "slow down"],
    // The look-up for the instance.
    ["status --all", isLookup, "did not answer"],
    ["doctor --strict", is("eth_call"), "slow down", 1, 2],
    // Each step has the time.
    ["settle --yes", is("eth_call"), '"status":"settled"', 0],
  ] satisfies ReadonlyArray<
    [string, (request: RecordedRequest) => boolean, string, number?, number?]
  >) {
    it(`vault ${typed} --timeout 60 prints ${shown} if the connections, the look-up of mocks and a request that is refused once take 25 s each`, async () => {
      const vault = { instances: { usdc: {} } };
      const hre = await hreOnLive(server.url, { vault }, project.path);
      let [connected, lookedUp, refused] = [0, 0, 0];
      hre.hooks.registerHandlers("network", {
        newConnection: async (context, next) => {
          connected += 1;
          endDeadlines(25_000 / connections);
          return await next(context);
        },
      });
      server.handler = ({ request }) => {
        if (lookedUp === 0 && isLookup(request)) {
          lookedUp += 1;
          endDeadlines(25_000);
        } else if (connected === connections && isRefused(request)) {
          refused += 1;
          if (refused === 1) {
            endDeadlines(25_000);
            return { error: { code: -32_005, message: "slow down" } };
          }
        }
        return undefined;
      };
      const result = await runTyped(hre, `${typed} --timeout 60 --json`);
      expect(result.stdout).to.include(shown);
      expect(result.exitCode).to.equal(exitCode);
    });
  }
});

describe("a task that looks up mocks on a node that limits its rate for ever", () => {
  const anvil = useAnvil();

  it("ends within --timeout, and names the node's answer", async () => {
    const project = await useFixtureProject("plain");
    let isLimited = false;
    const handler: RpcHandler = ({ response }) => {
      if (!isLimited) {
        return undefined;
      }
      response.writeHead(429, { "retry-after": "0" }).end();
      return "handled";
    };
    const server = await startRpcServer({ upstream: anvil.url, handler });
    try {
      const hre = await hreOnLive(server.url, {}, project.path);
      const deployed = await runTyped(hre, "deploy-mocks --json");
      expect(deployed.exitCode).to.equal(0);
      isLimited = true;
      const before = server.requests.length;
      const { stdout, exitCode } = await runTyped(
        await hreOnLive(server.url, {}, project.path),
        "round --timeout 2 --json",
      );
      expect(exitCode).to.equal(1);
      expect(JSON.parse(stdout))
        .to.have.nested.property("error.message")
        .that.includes("429");
      // Hardhat repeats each of ours seven times.
      expect(server.requests.length - before).to.be.lessThan(40);
    } finally {
      await server.stop();
      await project.remove();
    }
  });
});
