import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { isFailedOrder } from "../../src/client/index.js";
import { startAnvil } from "../helpers/anvil.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import { hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../helpers/trading.js";

const DEPTH = 3;
const ORDERS = 8_000n;

describe("tasks while the chain replaces blocks", () => {
  let hre: HardhatRuntimeEnvironment;
  let server: RpcServer;
  let folder: string;
  /** Calls before which the chain replaces its newest blocks, counted from 1. */
  let reorganisedAt: readonly number[] = [];
  let calls = 0;
  let takesHashes = true;
  const stops: Array<() => Promise<unknown>> = [];

  before(async () => {
    const anvil = await startAnvil();
    const project = await useFixtureProject("plain");
    const node = fetchProvider(anvil.url);
    const near = await hreOnLive(anvil.url);
    const { vault, provider } = await near.network.create();
    const { addresses } = await vault.deployMocks();
    const trading = await deployGeneratedOrders(provider, 1n, ORDERS);
    await node.request({ method: "anvil_mine", params: ["0x14"] });
    server = await startRpcServer({
      upstream: anvil.url,
      handler: async ({ request: { method, params } }) => {
        if (method !== "eth_call") {
          return undefined;
        }
        if (!takesHashes && typeof params[1] === "object") {
          return {
            error: { code: -32_000, message: "invalid block parameter" },
          };
        }
        calls += 1;
        if (reorganisedAt.includes(calls)) {
          await node.request({ method: "anvil_reorg", params: [DEPTH, []] });
        }
        return undefined;
      },
    });
    folder = project.path;
    const contracts = { ...addresses, trading };
    hre = await hreOnLive(server.url, { vault: { contracts } }, folder);
    stops.push(
      async () => {
        await server.stop();
      },
      async () => {
        await anvil.stop();
      },
      async () => {
        await project.remove();
      },
    );
  });
  after(async () => {
    for (const stop of stops) {
      await stop();
    }
  });
  beforeEach(() => {
    calls = 0;
    takesHashes = true;
  });

  for (const hashes of [true, false]) {
    const node = hashes ? "a node" : "a node that takes no hashes";
    for (const [typed, call] of [
      ["orders --ids 1-8000 --json", 5],
      ["rounds --json", 3],
      ["status --json", 2],
      ["watch --until +1s --interval 1 --json", 2],
      ["report --out FILE --ids 1-50 --rounds --json", 3],
      ["capture --out FILE --ids 1-50 --json", 3],
    ] as const) {
      it(`vault ${typed} starts again once, says so and succeeds on ${node}`, async () => {
        takesHashes = hashes;
        reorganisedAt = [call];
        const { stdout, stderr, exitCode } = await runTyped(
          hre,
          typed.replace("FILE", path.join(folder, "out")),
        );
        expect(stderr).to.match(
          /replaced block \d+ while it was read.*Starting again/su,
        );
        expect(exitCode).to.equal(0);
        expect(stdout).to.match(/^\{.*\}\n$/u);
      });
    }

    it(`vault orders --format csv ends with VAULT_REORGED and exit code 1 once rows are written, on ${node}`, async () => {
      takesHashes = hashes;
      reorganisedAt = [10];
      const { stdout, stderr, exitCode } = await runTyped(
        hre,
        "orders --ids 1-8000 --format csv",
      );
      expect(stdout.split("\n").length).to.be.greaterThan(100);
      expect(stderr).to.include("VAULT_REORGED");
      expect(exitCode).to.equal(1);
    });

    it(`orders() throws VAULT_REORGED, and has listed orders of one branch only, on ${node}`, async () => {
      takesHashes = hashes;
      reorganisedAt = [10];
      const { vault } = await hre.network.create();
      let listed = 0;
      let thrown: unknown;
      try {
        for await (const order of vault.orders({ lastId: 8_000 })) {
          expect(isFailedOrder(order)).to.equal(false);
          listed += 1;
        }
      } catch (error) {
        thrown = error;
      }
      expect(fieldsOf(thrown)["code"]).to.equal("VAULT_REORGED");
      expect(listed).to.be.greaterThan(100);
    });
  }

  it("vault orders --out keeps no file of two attempts, both of which met another branch", async () => {
    reorganisedAt = [10, 20];
    const file = path.join(folder, "orders.csv");
    const { stderr, exitCode } = await runTyped(
      hre,
      `orders --ids 1-8000 --out ${file}`,
    );
    expect(stderr).to.include("VAULT_REORGED").and.include("Starting again");
    expect(exitCode).to.equal(1);
    expect(await readFile(file).catch(() => "none")).to.equal("none");
  });
});
