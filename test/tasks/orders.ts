import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { MockTrading__factory } from "../../src/bindings/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { useAnvil } from "../helpers/anvil.js";
import { fieldsOf } from "../helpers/fields.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runTyped, runVaultTask } from "../helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../helpers/trading.js";
import { sendTransaction } from "../helpers/transactions.js";

const LAST_ID = 10_000n;
const mock = MockTrading__factory.createInterface();

// What orders prints in each form is recorded: see sessions.ts.
describe("vault orders", () => {
  const anvil = useAnvil();
  let provider: Eip1193Provider;
  let hre: HardhatRuntimeEnvironment;
  let trading: string;
  let project: FixtureProject;

  before(async () => {
    hre = await hreOnLive(anvil.url);
    ({ provider } = await hre.network.create());
    trading = await deployGeneratedOrders(provider, 1n, LAST_ID);
    project = await useFixtureProject("plain");
  });

  after(async () => {
    await project.remove();
  });

  it("orders lists failed orders in their place, and exits with 1", async () => {
    const reverting = await deployGeneratedOrders(provider, 1n, 3n);
    await sendTransaction(provider, {
      to: reverting,
      data: mock.encodeFunctionData("setMissingOrdersRevert", [true]),
    });
    const typed = `orders --ids 2-5 --at trading=${reverting}`;
    const ndjson = await runTyped(hre, `${typed} --format ndjson`);
    expect(ndjson.exitCode).to.equal(1);
    const lines = ndjson.stdout
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(lines.map((line) => fieldsOf(line)["orderID"])).to.deep.equal([
      ...["2", "3", "4", "5"],
    ]);
    expect(lines[2]).to.have.nested.property(
      "error.code",
      "VAULT_CALL_REVERTED",
    );
    expect(ndjson.stderr).to.include("Failed: 2 ids.");
  });

  it("orders --out writes the form that the file's name asks for", async () => {
    for (const [file, start] of [
      ["out.csv", /^orderID,/u],
      ["out.jsonl", /^\{"orderID":"1",/u],
      ["out.json", /^\{"network":/u],
      ["out.txt", /^Orders/u],
    ] as const) {
      const out = path.join(project.path, file);
      const typed = `orders --ids 1-3 --out ${out} --at trading=${trading}`;
      await runTyped(hre, typed);
      expect(await readFile(out, "utf8")).to.match(start);
    }
  });

  it("orders stops reading, ends with exit code 0 and prints nothing if the reader has closed the pipe", async () => {
    const server = await startRpcServer({ upstream: anvil.url });
    const remote = await hreOnLive(server.url);
    const closed = Object.assign(new Error("closed"), { code: "EPIPE" });
    const ids = `1-${LAST_ID}`;
    expect(
      await runVaultTask(
        remote,
        "orders",
        { ids, format: "ndjson", at: `trading=${trading}` },
        closed,
      ),
    ).to.deep.equal({ stdout: "", stderr: "", exitCode: 0 });
    const read = server.requests.length;
    await runVaultTask(remote, "orders", { ids, at: `trading=${trading}` });
    expect(server.requests.length - read).to.be.above(read);
    await server.stop();
  });
});
