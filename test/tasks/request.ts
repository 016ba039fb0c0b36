import { spawnSync } from "node:child_process";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import {
  documentedHandler,
  documentedContracts,
} from "../helpers/scripted-node.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import { runTyped } from "../helpers/run-vault-task.js";

// What request prints of each operation is recorded: see sessions.ts.
describe("vault request", () => {
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    server = await startRpcServer({ handler: documentedHandler });
    const contracts = documentedContracts;
    hre = await hreOnLive(server.url, { vault: { contracts } });
  });
  after(async () => {
    await server.stop();
  });
  afterEach(() => {
    expect(server.requests, "a request must not be sent").to.deep.equal([]);
  });

  it("request finds the mocks of an in-process network", async () => {
    const inProcess = await createTestHre();
    const { addresses } = await inProcess.vault.deployMocks();
    const { stdout } = await runTyped(inProcess, "request queryVolume");
    expect(stdout).to.contain(addresses.vault);
  });

  it("request --curl prints a command that a shell can run, without the URL", async () => {
    const typed = "request calMargins 1 2 3 --curl";
    const { stdout } = await runTyped(hre, typed);
    expect(stdout).to.not.contain(server.url);
    // curl's stand-in prints its arguments; only the shell is under test.
    const { stdout: shown, status } = spawnSync(
      "sh",
      ["-c", `curl() { printf '%s\\n' "$@"; }\n${stdout}`],
      { encoding: "utf8", env: { ...process.env, RPC_URL: "http://node" } },
    );
    expect(status).to.equal(0);
    const args = shown.trimEnd().split("\n");
    expect(args).to.include("Content-Type: application/json");
    expect(args.at(-1)).to.equal("http://node");
    const body = args[args.indexOf("--data") + 1] ?? "";
    expect(JSON.parse(body)).to.have.nested.property(
      "params[0].to",
      documentedContracts.vault,
    );
  });
});
