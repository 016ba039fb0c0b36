import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { useAnvil } from "../../helpers/anvil.js";
import { fieldsOf } from "../../helpers/fields.js";
import { useFixtureProject } from "../../helpers/fixture-project.js";
import type { FixtureProject } from "../../helpers/fixture-project.js";
import { connectTo, hreOnLive } from "../../helpers/hre.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import type { RpcHandler, RpcServer } from "../../helpers/rpc-server.js";
import { runTyped } from "../../helpers/run-vault-task.js";

describe("a task while the chain replaces blocks", () => {
  const anvil = useAnvil();
  let server: RpcServer;
  let project: FixtureProject;
  let hre: HardhatRuntimeEnvironment;
  /** Calls before which the chain replaces its newest blocks, counted from 1. */
  let reorganisedAt: readonly number[] = [];
  let calls = 0;
  let takesHashes = true;

  before(async () => {
    project = await useFixtureProject("plain");
    const { vault, provider } = await connectTo(anvil.url);
    const mocks = await vault.deployMocks();
    await mocks.set({ generatedOrders: { firstId: 1n, lastId: 8_000n } });
    await provider.request({ method: "anvil_mine", params: ["0x14"] });
    let header = Promise.resolve("");
    const handler: RpcHandler = async ({ request, forward }) => {
      const { method, params } = request;
      if (method === "eth_getBlockByNumber") {
        header = forward();
        return { result: fieldsOf(JSON.parse(await header))["result"] };
      }
      if (method !== "eth_call") {
        return undefined;
      }
      if (!takesHashes && typeof params[1] === "object") {
        const message = "invalid block parameter";
        return { error: { code: -32_000, message } };
      }
      calls += 1;
      if (reorganisedAt.includes(calls)) {
        // A header that was asked for beside the call is of the branch before.
        await header;
        await provider.request({ method: "anvil_reorg", params: [3, []] });
      }
      return undefined;
    };
    server = await startRpcServer({ upstream: anvil.url, handler });
    const settings = { vault: { contracts: mocks.addresses } };
    hre = await hreOnLive(server.url, settings, project.path);
  });
  after(async () => {
    await server.stop();
    await project.remove();
  });
  beforeEach(() => {
    calls = 0;
  });

  for (const [typed, call, hashes = true] of [
    ["orders --ids 1-8000 --json", 5],
    ["orders --ids 1-8000 --json", 5, false],
    ["status --json", 1],
    // A block that is named, and the only call of the task.
    ["round --block HEAD --json", 1],
    ["round --block HEAD --json", 1, false],
    ["pools --block HEAD --json", 1],
    ["pools --block HEAD --json", 1, false],
    // The header gives the time from which another one counts.
    ["margins --raw --max-volume 1 --apy 2 --end-time +7d --json", 1],
    ["margins --raw --max-volume 1 --apy 2 --end-time +7d --json", 1, false],
    ["capture --out FILE --ids 1-50 --json", 3],
    // The margins, which nothing but the check at the end shows to be of another block.
    ["capture --out FILE --json", 2, false],
  ] as const) {
    it(`vault ${typed} ends with VAULT_REORGED, exit code 1 and one document on a node that ${hashes ? "takes hashes" : "takes no hashes"}`, async () => {
      [takesHashes, reorganisedAt] = [hashes, [call]];
      const file = path.join(project.path, "out");
      const head = await (await hre.network.create()).vault.block();
      const { stdout, exitCode } = await runTyped(
        hre,
        typed.replace("FILE", file).replace("HEAD", String(head.number)),
      );
      expect(exitCode).to.equal(1);
      expect(JSON.parse(stdout)).to.have.nested.property(
        "error.code",
        "VAULT_REORGED",
      );
    });
  }

  it("vault orders --format csv ends with VAULT_REORGED and exit code 1 once rows are written", async () => {
    [takesHashes, reorganisedAt] = [true, [6]];
    const typed = "orders --ids 1-8000 --format csv";
    const { stdout, stderr, exitCode } = await runTyped(hre, typed);
    expect(stdout.split("\n").length).to.be.greaterThan(100);
    expect(stdout, "of another branch").to.not.include("failed");
    expect(stderr).to.include("VAULT_REORGED");
    expect(exitCode).to.equal(1);
  });

  it("vault orders --out keeps no file of an attempt that met another branch", async () => {
    [takesHashes, reorganisedAt] = [true, [6]];
    const file = path.join(project.path, "orders.csv");
    const typed = `orders --ids 1-8000 --out ${file}`;
    const { stderr, exitCode } = await runTyped(hre, typed);
    expect(stderr).to.include("VAULT_REORGED");
    expect(exitCode).to.equal(1);
    expect(await readFile(file).catch(() => "none")).to.equal("none");
  });
});
