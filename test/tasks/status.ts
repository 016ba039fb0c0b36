import { writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { ZeroAddress } from "ethers";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { fieldsOf } from "../helpers/fields.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { hreOnLive } from "../helpers/hre.js";
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
import { useKeeper } from "../helpers/keeper.js";
import { squeezed } from "../helpers/use-tasks.js";

const contracts = { vault: VAULT, vaultFactory: FACTORY };
/** The time of the newest block, which is block 5. */
const HEAD_TIME = 1_700_000_005;

describe("vault status", () => {
  const stage = useKeeper();
  let server: RpcServer;
  before(async () => {
    server = await startRpcServer({});
    // Hardhat asks for one.
    await writeFile(path.join(stage.projectRoot, "package.json"), "{}");
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.handler = handlerOf(stage.chain);
  });

  const hreWith = async (
    vault: NonNullable<NetworkSettings["vault"]> = { contracts },
    url = server.url,
  ): Promise<HardhatRuntimeEnvironment> =>
    await hreOnLive(url, { vault, chainId: 31_337 }, stage.projectRoot);

  it("status counts by the time of the next block, and with --block by that of the block", async () => {
    stage.chain.rounds = stage.chain.rounds.map((round) => ({
      ...round,
      endTime: BigInt(HEAD_TIME + 1),
    }));
    const hre = await hreWith({ contracts, instances: { usdc: {} } });
    for (const [flags, expired, secondsToEnd, shown] of [
      ["", true, 0, "now"],
      [" --block 5", false, 1, "in 1s"],
      [" --block 3", false, 3, "in 3s"],
    ] as const) {
      const json = parseDocument(await runTyped(hre, `status --json${flags}`));
      expect(json, flags).to.deep.nested.include({
        "status.expired": expired,
        "status.secondsToEnd": secondsToEnd,
      });
      const all = await runTyped(hre, `status --all --json${flags}`);
      expect(parseDocument(all)).to.have.nested.property(
        "instances.usdc.expired",
        expired,
      );
      const { stdout } = await runTyped(hre, `status${flags}`);
      expect(squeezed(stdout)).to.match(
        new RegExp(`^End · \\S+ · ${shown}$`, "mu"),
      );
    }
  });

  it("status asks by the account of --from, and does not know the answer if only a key names the account, which it does not resolve", async () => {
    stage.chain.on("eth_call", async ([call], answer) => {
      const { data, from } = fieldsOf(call);
      if (data === SETTLE && from !== SETTLER) {
        throw Object.assign(new Error("no"), { code: 3, data: "0x" });
      }
      return await answer();
    });
    for (const [settings, flags, expected] of [
      [{}, ` --from ${SETTLER}`, [true, SETTLER]],
      [{}, ` --from ${FACTORY}`, [false, FACTORY]],
      [{ accounts: [KEY] }, "", [null, ZeroAddress]],
    ] satisfies ReadonlyArray<readonly [NetworkSettings, string, unknown[]]>) {
      const hre = await hreOnLive(
        server.url,
        { vault: { contracts }, chainId: 31_337, ...settings },
        stage.projectRoot,
      );
      const json = parseDocument(await runTyped(hre, `status --json${flags}`));
      expect(json).to.deep.nested.include({
        "status.canBeSettled": expected[0],
        "status.canBeSettledBy": expected[1],
      });
    }
  });

  it("status --all shows the network's own contracts first, then each instance with its own scales", async () => {
    const hre = await hreWith({
      ...{ contracts, tokenDecimals: 0 },
      instances: { usdc: { tokenDecimals: 2 } },
    });
    const { stdout } = await runTyped(hre, "status --all");
    expect(
      squeezed(stdout)
        .split("\n")
        .filter((line) => /^(?:Contracts|Instance|Filled vol|=)/u.test(line)),
    ).to.deep.equal([
      ...["Contracts of the network itself", "=".repeat(31)],
      "Filled volume · 400 tokens",
      ...["Instance usdc", "=".repeat(13), "Filled volume · 4 tokens"],
    ]);
    const alone = await runTyped(hre, "status");
    expect(alone.stdout).to.not.match(/^(?:Contracts of|Instance)/mu);
    const document = parseDocument(await runTyped(hre, "status --json"));
    expect(document).to.not.have.property("instances");
  });

  it("status --all leaves out a network's own contracts if only its instances have any, and exits by those", async () => {
    const one = { contracts: { vaultFactory: FACTORY } };
    const hre = await hreWith({ instances: { one, two: one } });
    const result = await runTyped(hre, "status --all --json");
    const document = parseDocument(result);
    expect(document).to.have.property("status", null);
    expect(document).to.have.nested.property("instances.two.round.settled");
    const { stdout } = await runTyped(hre, "status --all");
    expect(stdout).to.not.include("Contracts of the network itself");
    const metrics = await runTyped(hre, "status --all --format prometheus");
    expect(metrics.exitCode).to.equal(0);
    expect(metrics.stdout).to.not.include('instance=""');
    // The network's own contracts are what is asked for.
    expect(parseDocument(await runTyped(hre, "status --json")))
      .to.have.nested.property("status.round.error.code")
      .that.equals("VAULT_CONTRACT_NOT_CONFIGURED");
  });

  it("status --all exits with 1 if one instance fails, also for Prometheus", async () => {
    const gone = "0x00000000000000000000000000000000000000ff";
    const node = documentedNode({
      chainId: 31_337,
      answerOf: (call) =>
        call.to === gone
          ? { reverted: true, data: "0x" }
          : documentedAnswer(call),
    });
    server.handler = handlerOf(node);
    const hre = await hreWith({
      contracts: documentedContracts,
      instances: { gone: { contracts: { publicPool: gone } } },
    });
    for (const flags of ["", " --json", " --format prometheus"]) {
      for (const [all, code] of [
        ["", 0],
        [" --all", 1],
      ] as const) {
        const { exitCode } = await runTyped(hre, `status${all}${flags}`);
        expect(exitCode, all + flags).to.equal(code);
      }
    }
  });

  it("status shows a settlement under way with its age, or that its journal cannot be read", async () => {
    const hre = await hreWith();
    const none = await runTyped(hre, "status");
    expect(none.stdout)
      .to.include("Can be settled")
      .and.not.include("Under way");
    const { hash } = await stage.interrupt();
    server.handler = handlerOf(stage.chain);
    const { stdout } = await runTyped(hre, "status");
    expect(squeezed(stdout)).to.match(
      new RegExp(`^Under way · ${String(hash)}, \\d+ s old, since `, "mu"),
    );
    await stage.writeJournal("{");
    const broken = await runTyped(hre, "status");
    expect(squeezed(broken.stdout)).to.match(/^Under way · failed: /mu);
    expect(broken.exitCode).to.equal(1);
    const document = parseDocument(await runTyped(hre, "status --json"));
    expect(document).to.have.nested.property(
      "status.openSettlement.error.code",
      "VAULT_INVALID_JOURNAL",
    );
  });

  it("status --format prometheus names the instance whose node does not answer", async () => {
    const instances = { usdc: { contracts } };
    const hre = await hreWith({ instances }, "http://127.0.0.1:1");
    const { stdout, exitCode } = await runTyped(
      hre,
      "status --instance usdc --format prometheus",
    );
    expect(exitCode).to.equal(1);
    expect(stdout).to.match(
      /^vault_up\{network="live",chain_id="31337",instance="usdc"\} 0$/mu,
    );
  });
});
