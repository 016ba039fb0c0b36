import { writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { ZeroAddress, toQuantity } from "ethers";

import { fieldsOf } from "../helpers/fields.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { hreOnLive } from "../helpers/hre.js";
import { useKeeper } from "../helpers/keeper.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";
import {
  documentedAnswer,
  documentedContracts,
  documentedNode,
} from "../helpers/documented-node.js";
import {
  FACTORY,
  KEY,
  SETTLE,
  SETTLER,
  VAULT,
} from "../helpers/scripted-contracts.js";
import { handlerOf } from "../helpers/scripted-node.js";
import { squeezed } from "../helpers/use-tasks.js";

const contracts = { vault: VAULT, vaultFactory: FACTORY } as const;
/** The time of the newest block, which is block 5. */
const HEAD_TIME = 1_700_000_005;

// What is read: status/state.ts. What is shown: goldens.ts, output/values.ts, status/metrics.ts.
describe("vault status", () => {
  const keeper = useKeeper();
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({});
    // Hardhat asks for one.
    await writeFile(path.join(keeper.projectRoot, "package.json"), "{}");
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.handler = handlerOf(keeper.chain);
  });

  const run = async (
    options: string,
    vault: NonNullable<NetworkSettings["vault"]> = { contracts },
    { url = server.url, ...settings }: NetworkSettings & { url?: string } = {},
  ) =>
    await runTyped(
      await hreOnLive(
        url,
        { vault, chainId: 31_337, ...settings },
        keeper.projectRoot,
      ),
      `status ${options}`,
    );
  const documentOf = async (
    options: string,
    vault?: Parameters<typeof run>[1],
    more?: Parameters<typeof run>[2],
  ) => fieldsOf(parseDocument(await run(`${options} --json`, vault, more)));

  for (const [options, expired, shown, reason] of [
    ["", false, "in 1s", /^The newest block/u],
    ["--block 3", false, "in 3s", /at the newest block only$/u],
  ] as const) {
    it(`status ${options} counts by the time of ${options === "" ? "the newest block, as a settlement on a live chain" : "that block"}`, async () => {
      keeper.chain.rounds = keeper.chain.rounds.map((round) => ({
        ...round,
        endTime: BigInt(HEAD_TIME + 1),
      }));
      const { instances } = await documentOf(`--all ${options}`, {
        ...{ contracts, instances: { usdc: {} } },
      });
      expect(instances).to.have.nested.property("usdc.expired", expired);
      expect(instances)
        .to.have.nested.property("usdc.reason")
        .that.matches(reason);
      const { stdout } = await run(options);
      expect(squeezed(stdout)).to.match(
        new RegExp(`^End · \\S+ · ${shown}$`, "mu"),
      );
    });
  }

  for (const [settings, options, canBeSettled, canBeSettledBy] of [
    [{}, `--from ${SETTLER}`, true, SETTLER],
    // The task does not resolve the key.
    [{ accounts: [KEY] }, "", null, ZeroAddress],
    [{ accounts: [KEY], from: SETTLER }, "", true, SETTLER],
  ] satisfies ReadonlyArray<
    readonly [NetworkSettings, string, boolean | null, string]
  >) {
    it(`status ${options} finds that ${canBeSettledBy} can settle: ${canBeSettled}`, async () => {
      keeper.chain.overrides = false;
      keeper.chain.on("eth_call", async ([call], answer) => {
        const { data, from } = fieldsOf(call);
        if (data === SETTLE && from !== SETTLER) {
          throw Object.assign(new Error("no"), { code: 3, data: "0x" });
        }
        return await answer();
      });
      const vault = { contracts, maxHeadAge: 4_000_000_000 };
      const { status } = await documentOf(options, vault, settings);
      expect(status).to.include({ canBeSettled, canBeSettledBy });
    });
  }

  it("status --all shows the network's own contracts first, then each instance with its own scales", async () => {
    const { stdout } = await run("--all", {
      ...{ contracts, tokenDecimals: 0 },
      instances: { usdc: { tokenDecimals: 2 } },
    });
    expect(
      squeezed(stdout)
        .split("\n")
        .filter((line) => /^(?:Contracts|Instance|=|.* tokens$)/u.test(line))
        .map((line) => line.split(" · ").at(-1)),
    ).to.deep.equal([
      ...["Contracts of the network itself", "=".repeat(31)],
      ...["1,000 tokens", "400 tokens", "10 tokens"],
      ...["Instance usdc", "=".repeat(13)],
      ...["10 tokens", "4 tokens", "0.1 tokens"],
    ]);
  });

  it("status --all scales an instance by its own recorded mocks", async () => {
    keeper.chain.on("eth_getCode", () => "0x01");
    const vault = { instances: { usdc: {} } };
    const settings = { vault, chainId: 31_337 };
    const hre = await hreOnLive(server.url, settings, keeper.projectRoot);
    const connection = await hre.network.create();
    await connection.vault.instance("usdc").deployments?.save({
      ...{ block: 5, scenario: "open-round" },
      contracts: { ...documentedContracts, ...contracts },
    });
    const { stdout } = await run("--all", vault);
    expect(squeezed(stdout)).to.include(
      "\nMaximum volume · 0.000000000000001 tokens\n",
    );
  });

  it("status --all reads the instances as --from names, and at the block of the network's own readings", async () => {
    const seen = new Set<string>();
    keeper.chain.overrides = false;
    keeper.chain.on("eth_call", async ([call, block], answer) => {
      const answered = await answer();
      seen.add(JSON.stringify([fieldsOf(call)["from"], block]));
      return answered;
    });
    const vault = { contracts, instances: { usdc: {} } };
    const { block } = await documentOf(`--all --from ${SETTLER}`, vault);
    const { hash: blockHash } = fieldsOf(
      await keeper.chain.answerTo("eth_getBlockByNumber", [
        ...[toQuantity(Number(fieldsOf(block)["number"])), false],
      ]),
    );
    const pinned = [SETTLER, { blockHash, requireCanonical: true }];
    expect([...seen]).to.deep.equal([JSON.stringify(pinned)]);
  });

  for (const form of ["", "--format prometheus"]) {
    it(`status --all ${form} exits with 1 if one instance fails, and without --all with 0`, async () => {
      const gone = "0x00000000000000000000000000000000000000ff";
      const node = documentedNode({
        chainId: 31_337,
        answerOf: (call) =>
          call.to === gone
            ? { reverted: true, data: "0x" }
            : documentedAnswer(call),
      });
      server.handler = handlerOf(node);
      const vault = {
        contracts: documentedContracts,
        instances: { gone: { contracts: { publicPool: gone } } },
      };
      expect((await run(form, vault)).exitCode).to.equal(0);
      expect((await run(`--all ${form}`, vault)).exitCode).to.equal(1);
    });
  }

  for (const [own, exists] of [
    [{}, false],
    [contracts, true],
  ] as const) {
    it(`status --all shows ${exists ? "the network's own contracts" : "only instances, without own contracts"}`, async () => {
      const instances = { usdc: { contracts } };
      const vault = { contracts: own, instances };
      const { status } = await documentOf("--all", vault);
      expect(status !== null).to.equal(exists);
      // Without instances, it shows what is missing.
      const alone = await documentOf("--all", { contracts: own });
      expect(alone["status"]).to.not.equal(null);
    });
  }

  it("status --format prometheus writes that an instance is down, and fails, if the node does not answer", async () => {
    const vault = { contracts, instances: { usdc: {} } };
    const { stdout, stderr, exitCode } = await run(
      "--instance usdc --format prometheus --timeout 1",
      ...[vault, { url: "http://127.0.0.1:9" }],
    );
    expect(stdout).to.match(/^vault_up\{.*,instance="usdc"\} 0\n$/mu);
    expect(stderr).to.match(/^Error .* cannot be reached/u);
    expect(exitCode).to.equal(1);
  });

  it("status and metrics say that a node that is 4,000 s behind would refuse each run", async () => {
    const { status } = await documentOf(`--from ${SETTLER}`);
    expect(status).to.include({
      ...{ canBeSettled: false, code: "VAULT_STALE_HEAD" },
    });
    const { stdout } = await run(`--from ${SETTLER} --format prometheus`);
    expect(stdout).to.match(/code="VAULT_STALE_HEAD"\} 1$/mu);
  });

  it("status on a development node, at a block before the round's end with the next one past it, is expired and can be settled at once", async () => {
    const { chain } = keeper;
    chain.makeDevelopmentNode();
    // It simulates nothing: a call decides.
    chain.overrides = false;
    // As that of Hardhat, its pending block has no number.
    chain.on("eth_getBlockByNumber", async ([at], answer) => ({
      ...fieldsOf(await answer()),
      ...(at === "pending" && { number: null, hash: null }),
    }));
    const end = HEAD_TIME + 1;
    chain.rounds = chain.rounds.map((round) => ({
      ...round,
      endTime: BigInt(end),
    }));
    chain.on("eth_call", async ([call, at], answer) => {
      const { data } = fieldsOf(call);
      if (data === SETTLE && at !== "pending") {
        throw Object.assign(new Error("not yet"), { code: 3, data: "0x" });
      }
      return await answer();
    });
    const { status } = await documentOf(`--from ${SETTLER}`);
    expect(status).to.include({ expired: true, canBeSettled: true });
  });

  it("status shows a settlement under way with its age", async () => {
    const { hash } = await keeper.interrupt();
    server.handler = handlerOf(keeper.chain);
    const { stdout } = await run("");
    expect(squeezed(stdout)).to.match(
      new RegExp(`^Under way · ${String(hash)}, since `, "mu"),
    );
  });

  it("status shows that the journal of a settlement cannot be read, and exits with 1", async () => {
    await keeper.writeJournal("{");
    const { stdout, exitCode } = await run("");
    expect(squeezed(stdout)).to.match(/^Under way · failed: /mu);
    expect(exitCode).to.equal(1);
    expect(await documentOf("")).to.have.nested.property(
      "status.openSettlement.error.code",
      "VAULT_INVALID_JOURNAL",
    );
    // The node is up: it is no fault of its own.
    const vault = { contracts, maxHeadAge: 4_000_000_000 };
    const metrics = await run("--format prometheus", vault);
    expect(metrics.exitCode).to.equal(1);
    expect(metrics.stdout)
      .to.match(/^vault_up\{.*\} 1$/mu)
      .and.match(/code="VAULT_INVALID_JOURNAL"\} 1$/mu);
  });
});
