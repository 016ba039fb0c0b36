import { EventEmitter, once } from "node:events";
import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { MockTrading__factory } from "../../src/bindings/factories/MockTrading__factory.js";
import { generatedOrder } from "../../src/mocks/state.js";
import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat, startHardhat } from "../helpers/cli.js";
import type { CommandResult } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../helpers/trading.js";
import { sendTransaction } from "../helpers/transactions.js";

const LAST_ID = 200_000n;
/** All zero. */
const EMPTY_ID = 5n;
/** Has a pair that is a formula, moves the cursor and needs quotes. */
const NASTY_ID = 8n;
const NASTY_PAIR = '=HYPERLINK("http://x"),\u001b[2J\u202e';

const mock = MockTrading__factory.createInterface();

/** An order as it stands in JSON. */
function orderJson(id: bigint): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({ orderID: id, ...generatedOrder(id) }).map(
      ([name, value]) => [
        name,
        typeof value === "bigint" ? value.toString() : value,
      ],
    ),
  );
}

function parseLines(text: string): Array<Record<string, unknown>> {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => {
      const parsed: unknown = JSON.parse(line);
      return { ...(typeof parsed === "object" ? parsed : {}) };
    });
}

describe("tasks - orders", () => {
  let anvil: ServerProcess;
  let provider: Eip1193Provider;
  let hre: HardhatRuntimeEnvironment;
  let trading: string;
  let project: FixtureProject;

  before(async () => {
    anvil = await startAnvil();
    hre = await createTestHre(
      { networks: { remote: httpNetwork(anvil.url) } },
      { network: "remote" },
    );
    ({ provider } = await hre.network.create("remote"));
    trading = await deployGeneratedOrders(provider, 1n, LAST_ID);
    for (const data of [
      mock.encodeFunctionData("removeOrder", [EMPTY_ID]),
      mock.encodeFunctionData("setOrder", [
        NASTY_ID,
        {
          ...generatedOrder(NASTY_ID),
          exType: Buffer.from(NASTY_PAIR),
        },
      ]),
    ]) {
      await sendTransaction(provider, { to: trading, data });
    }
    project = await useFixtureProject("plain");
  });

  after(async () => {
    await anvil.stop();
    await project.remove();
  });

  const environment = (url = anvil.url): Record<string, string> => ({
    TEST_URL: url,
    TEST_VAULT: JSON.stringify({ contracts: { trading } }),
  });

  const commandLine = (args: readonly string[]): string[] => [
    "vault",
    "orders",
    "--network",
    "test",
    ...args,
  ];

  async function orders(...args: string[]): Promise<CommandResult> {
    return await runHardhat(commandLine(args), {
      cwd: project.path,
      env: environment(),
    });
  }

  it("should print a table of the orders, escaped, and count what is empty", async () => {
    const { stdout, stderr, exitCode } = await orders(...["--ids", "1-9"]);
    expect(stderr).to.equal("");
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/^Orders {2}test \(chain 31337\), block \d+/u);
    expect(
      [...stdout.matchAll(/^ *(\d) {2}/gmu)].map(([, id]) => id).join(),
    ).to.equal("1,2,3,4,6,7,8,9");
    expect(stdout).to.include(
      generatedOrder(1n).openPrice.toLocaleString("en"),
      "raw integers: the scale is not documented",
    );
    expect(stdout).to.include("call (1)");
    expect(stdout).to.include("8 orders.");
    expect(stdout).to.include("Empty, with every value zero: 1 id.");
    // eslint-disable-next-line no-control-regex -- there must be none
    expect(stdout).to.not.match(/[\u001b\u202e]/u);
  });

  it("should print one JSON document", async () => {
    const { stdout, stderr, exitCode } = await orders(
      ...["--ids", "3-5", "--json"],
    );
    expect(stderr).to.equal("");
    expect(exitCode).to.equal(0);
    const [document] = parseLines(stdout);
    expect(document).to.have.keys(["network", "chainId", "block", "orders"]);
    expect(document?.["orders"]).to.deep.equal([
      orderJson(3n),
      orderJson(4n),
      {
        ...Object.fromEntries(
          Object.entries(orderJson(1n)).map(([name, value]) => [
            name,
            typeof value === "number" ? 0 : "0",
          ]),
        ),
        orderID: "5",
        exType: "",
        holder: "0x0000000000000000000000000000000000000000",
        empty: true,
      },
    ]);
  });

  it("should list every order where no range is given", async () => {
    const few = await deployGeneratedOrders(provider, 2n, 4n);
    const at = ["--at", `trading=${few}`];
    const ids = ["2", "3", "4"];

    const json = await orders(...at, "--json");
    expect(json.stderr).to.equal("");
    const [document] = parseLines(json.stdout);
    expect(document?.["orders"]).to.deep.equal([2n, 3n, 4n].map(orderJson));

    const ndjson = await orders(...at, "--format", "ndjson");
    expect(parseLines(ndjson.stdout).map(({ orderID }) => orderID)).to.eql(ids);

    const table = await orders(...at);
    expect(table.stdout).to.match(/\n3 orders\.\n/u);
    expect(table.stdout.replaceAll(/\s+/gu, " ")).to.include(
      "Stopped after 500 empty ids in a row.",
    );
    for (const { exitCode } of [json, ndjson, table]) {
      expect(exitCode).to.equal(0);
    }
  });

  it("should list the orders that are named", async () => {
    const { stdout, exitCode } = await orders("--ids", "9,1-3", "--json");
    expect(exitCode).to.equal(0);
    expect(parseLines(stdout)[0]?.["orders"]).to.deep.equal(
      [9n, 1n, 2n, 3n].map(orderJson),
    );
  });

  it("should stream NDJSON, filtered, without an envelope", async () => {
    const { stdout, exitCode } = await orders(
      ...["--ids", "1-9", "--state", "closed"],
      ...["--skip-empty", "--format", "ndjson"],
    );
    expect(exitCode).to.equal(0);
    expect(parseLines(stdout)).to.deep.equal([
      orderJson(3n),
      orderJson(6n),
      orderJson(9n),
    ]);
  });

  it("should write CSV that is safe to open in a spreadsheet", async () => {
    const { stdout, stderr, exitCode } = await orders(
      ...["--ids", "4-8", "--format", "csv"],
    );
    expect(exitCode).to.equal(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).to.equal(
      "orderID,exType,holder,number,exFee,lockFee,newLockFee,openPrice,marginAmount,marginFee,startTime,closePrice,contractType,state,status,error",
    );
    expect(lines).to.have.length(6);
    expect(lines[1]).to.equal(`${Object.values(orderJson(4n)).join(",")},ok,`);
    expect(lines[2]).to.match(/^5,,0x0{40},(?:0,){11}empty,$/u);
    expect(lines[5]).to.include(
      `8,"'=HYPERLINK(""http://x""),\\u{1b}[2J\\u{202e}",`,
    );
    expect(stderr).to.include("Empty, with every value zero: 1 id.");
  });

  it("should report failed orders in their place and exit with 1", async () => {
    const reverting = await deployGeneratedOrders(provider, 1n, 3n);
    await sendTransaction(provider, {
      to: reverting,
      data: mock.encodeFunctionData("setMissingOrdersRevert", [true]),
    });
    const range = ["--ids", "2-5"];
    const at = ["--at", `trading=${reverting}`];

    const ndjson = await orders(...range, ...at, "--format", "ndjson");
    expect(ndjson.exitCode).to.equal(1);
    const lines = parseLines(ndjson.stdout);
    expect(lines.map(({ orderID }) => orderID)).to.deep.equal([
      ...["2", "3", "4", "5"],
    ]);
    expect(lines[2]).to.have.nested.property(
      "error.code",
      "VAULT_CALL_REVERTED",
    );
    expect(ndjson.stderr).to.include("Failed: 2 ids.");

    const table = await orders(...range, ...at);
    expect(table.exitCode).to.equal(1);
    expect(table.stdout).to.match(/^The first of these, 4: .*OrderNotFound/mu);
  });

  describe("--out", () => {
    it("vault orders --out leaves the file as it was, and no other, when it is interrupted", async () => {
      const out = path.join(project.path, "out.ndjson");
      await writeFile(out, "earlier");
      const node = new EventEmitter();
      const reached = once(node, "stalled");
      const server = await startRpcServer({
        upstream: anvil.url,
        handler: ({ request, occurrence }) => {
          if (request.method !== "eth_call" || occurrence < 5) {
            return undefined;
          }
          // Answers no more.
          node.emit("stalled");
          return "handled";
        },
      });
      try {
        const child = startHardhat(
          commandLine([
            ...["--ids", "1-9000"],
            ...["--format", "ndjson", "--out", "out.ndjson"],
          ]),
          { cwd: project.path, env: environment(server.url) },
        );
        const closed = once(child, "close");
        await reached;
        child.kill("SIGINT");
        await closed;
        expect(child.signalCode).to.equal("SIGINT");
      } finally {
        await server.stop();
      }
      expect(
        (await readdir(project.path)).filter((file) => file.startsWith("out")),
      ).to.deep.equal(["out.ndjson"]);
      expect(await readFile(out, "utf8")).to.equal("earlier");
    });

    it("vault orders --out writes shards that join to the whole listing", async () => {
      const block = String(
        (await new VaultClient(provider, {}).block()).number,
      );
      for (const format of ["ndjson", "csv"]) {
        const [whole = "", first = "", second = ""] = await Promise.all(
          ["1-1400", "1-700", "701-1400"].map(async (ids) => {
            const out = path.join(project.path, ids);
            await runVaultTask(hre, "orders", {
              ...{ ids, skipEmpty: true, block, format, out },
              at: `trading=${trading}`,
            });
            return await readFile(out, "utf8");
          }),
        );
        // As docs/reading-many-orders.md says it: CSV without the second header.
        expect(
          first + (format === "csv" ? second.replace(/^.*\n/u, "") : second),
        ).to.equal(whole);
      }
    });

    it("vault orders --out writes the form that the file's name asks for, and reports it on stderr", async () => {
      for (const [file, start] of [
        ["out.csv", /^orderID,/u],
        ["out.jsonl", /^\{"orderID":"1",/u],
        ["out.json", /^\{"network":/u],
        ["out.txt", /^Orders/u],
      ] as const) {
        const out = path.join(project.path, file);
        expect(
          await runVaultTask(hre, "orders", {
            ...{ ids: "1-3", out },
            at: `trading=${trading}`,
          }),
        ).to.deep.equal({
          stdout: "",
          stderr: `3 orders written to ${out}.\n`,
          exitCode: 0,
        });
        expect(await readFile(out, "utf8")).to.match(start);
      }
    });
  });

  it("should end quietly when the reader has enough", async () => {
    const child = startHardhat(
      commandLine([...["--ids", `1-${LAST_ID}`], ...["--format", "ndjson"]]),
      { cwd: project.path, env: environment() },
    );
    let stderr = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdout?.once("data", () => {
      child.stdout?.destroy();
    });
    await once(child, "close");
    expect(stderr).to.equal("");
    expect(child.exitCode).to.equal(0);
  });
});
