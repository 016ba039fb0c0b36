import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { deployGeneratedOrders } from "../helpers/trading.js";
import { squeezed, useTasks } from "../helpers/use-tasks.js";

/** A pair that is a formula, moves the cursor and needs quotes. */
const NASTY = '=HYPERLINK("http://x"),\u001b[2J\u202e';
const CLOSED_BY = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

describe("vault orders", () => {
  const tasks = useTasks({
    overrides: {
      orders: {
        2: { exType: NASTY, state: "closed", contractType: "put" },
        4: { state: 3, contractType: 255 },
      },
    },
  });
  /** The ids of the orders in a document. */
  const idsOf = async (typed: string): Promise<unknown> => {
    const { orders } = await tasks.documentOf(typed);
    return Array.isArray(orders)
      ? orders.map((order: unknown) => fieldsOf(order)["orderID"])
      : orders;
  };
  const lines = async (typed: string): Promise<string[]> =>
    squeezed((await tasks.run(typed)).stdout)
      .trimEnd()
      .split("\n");

  it("orders prints a table with a row for each order, hostile texts escaped, and counts the empty ids", async () => {
    const [, heading, one, two, three, four, ...rest] =
      await lines("orders --ids 1-9");
    expect(heading).to.match(/^ *Id · Pair · Holder · .*Direction · State$/u);
    expect(one).to.match(/^ *1 · BTC-USDT · 0x7099.*call \(1\) · open \(1\)$/u);
    expect(two)
      .to.match(
        /^ *2 · =HYPERLINK\("http:\/\/x"\),\\u\{1b\}\[2J\\u\{202e\} · /u,
      )
      .and.match(/put \(2\) · closed \(2\)$/u);
    expect(three).to.match(/^ *3 · BTC-USDT/u);
    expect(four).to.match(/unknown \(255\) · unknown \(3\)$/u);
    expect(rest.slice(0, 3)).to.deep.equal([
      "",
      "4 orders.",
      "Empty, with every value zero: 5 ids.",
    ]);
  });

  it("orders lists the ids of --ids in their order, each once, empty ones in --json only", async () => {
    expect(await idsOf("orders --ids 9,0x1-3,2")).to.deep.equal([
      "9",
      "1",
      "2",
      "3",
    ]);
    expect(await idsOf("orders --ids 9,1-3 --skip-empty")).to.deep.equal([
      "1",
      "2",
      "3",
    ]);
    expect(await lines("orders --ids 7-9")).to.include.members([
      "0 orders.",
      "Empty, with every value zero: 3 ids.",
    ]);
  });

  it("orders without --ids reads on after 499 empty ids, not after 500, and prints so", async () => {
    await tasks.mocks.set({ orders: { 504: {} } });
    expect(await idsOf("orders")).to.deep.equal(["1", "2", "3", "4", "504"]);
    expect(await idsOf("orders --ids 3-")).to.deep.equal(["3", "4", "504"]);
    await tasks.mocks.set({ orders: { 504: null, 505: {} } });
    expect(await idsOf("orders")).to.deep.equal(["1", "2", "3", "4"]);
    expect((await lines("orders")).at(-1)).to.include(
      "Stopped after 500 empty ids in a row.",
    );
  });

  it("orders adds how it ends to a search only, not to chosen ids or a range", async () => {
    for (const [ids, isSearch] of [
      ["", true],
      ["--ids 3-", true],
      ["--ids 1-3", false],
      ["--ids 1,2", false],
    ] as const) {
      const { stdout } = await tasks.run(`orders ${ids}`);
      expect(stdout.includes(" Stopped after 500 empty ids"), ids).to.equal(
        isSearch,
      );
    }
  });

  it("orders --block lists the orders of that block, and names it", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ orders: { 1: { exType: "LATER" } } });
    const typed = `orders --ids 1 --block ${number}`;
    const { block, orders } = await tasks.documentOf(typed);
    expect(block).to.include({ number });
    expect(orders).to.have.nested.property("[0].exType", "BTC-USDT");
  });

  it("orders scales by displayDecimals, and not with --raw; CSV only with --scaled, as rounds does", async () => {
    const vault = {
      contracts: tasks.mocks.addresses,
      displayDecimals: { "order.openPrice": 18 },
    };
    const hre = await hreOnLive(tasks.url, { vault }, process.cwd());
    const args = { ids: "1" };
    const scaled = await runVaultTask(hre, "orders", args);
    expect(scaled.stdout)
      .to.match(/ {2}64,000 {2}/u)
      .and.include("Scaled as configured: opening price.");
    const raw = await runVaultTask(hre, "orders", { ...args, raw: true });
    expect(raw.stdout)
      .to.match(/ {2}64000000000000000000000 {2}/u)
      .and.include("\nIntegers are unscaled. Fees:");
    for (const [task, price] of [
      ["orders", /,64000,.*ok/u],
      ["rounds", /^65000,/mu],
    ] as const) {
      const csv = { format: "csv", ...(task === "orders" ? args : {}) };
      const decimals = await runVaultTask(hre, task, { ...csv, scaled: true });
      expect(decimals.stdout).to.match(price);
      expect(decimals.stderr).to.match(/Scaled: .*\(18 decimals\)/u);
      const integers = await runVaultTask(hre, task, csv);
      expect(integers.stdout)
        .to.match(/\d{23}/u)
        .and.not.match(price);
    }
  });

  it("--state and --holder select orders, and count no empty ids", async () => {
    expect(await idsOf("orders --ids 1-9 --state closed")).to.deep.equal([
      "2",
      "3",
    ]);
    expect(
      await idsOf(`orders --ids 1-9 --holder ${CLOSED_BY.toLowerCase()}`),
    ).to.deep.equal(["2"]);
    expect(
      await idsOf(`orders --ids 1-9 --state closed --holder ${HOLDER}`),
    ).to.deep.equal(["3"]);
    const [, ...rest] = await lines("orders --ids 7-9 --state open");
    expect(rest).to.deep.equal(["0 orders."]);
  });

  it("--format csv and ndjson print one line an order with its status, and the counts on stderr", async () => {
    const csv = await tasks.run("orders --ids 2,9 --format csv");
    const [heading, two, nine] = csv.stdout.split("\n");
    expect(heading).to.equal(
      "orderID,exType,holder,number,exFee,lockFee,newLockFee,openPrice,marginAmount,marginFee,startTime,closePrice,contractType,state,status,error",
    );
    expect(two).to.match(/^2,"?'?=?.*,2,2,ok,$/u);
    expect(nine).to.match(/^9,,0x0{40},0,.*,0,0,empty,$/u);
    expect(csv.stderr).to.include("Empty, with every value zero: 1 id.");
    const ndjson = await tasks.run("orders --ids 2,3 --format ndjson");
    expect(
      ndjson.stdout
        .trimEnd()
        .split("\n")
        .map((line) => fieldsOf(JSON.parse(line))["exType"]),
    ).to.deep.equal([NASTY, "BTC-USDT"]);
  });

  it("--out writes the form that the file's extension names, and the count to stderr", async () => {
    for (const [file, begins] of [
      ["a.CSV", "orderID,exType,"],
      ["a.jsonl", '{"orderID":"1",'],
      ["a.ndjson", '{"orderID":"1",'],
      ["a.json", '{"network":"live",'],
      ["a.txt", "Orders  live (chain 31337)"],
      ["a", "Orders  live (chain 31337)"],
    ] as const) {
      const { stdout, stderr } = await tasks.run(
        `orders --ids 1-3 --out ${file}`,
      );
      expect({ stdout, stderr }).to.deep.equal({
        stdout: "",
        stderr: `3 orders written to ${file}.\n`,
      });
      expect((await readFile(file, "utf8")).slice(0, begins.length)).to.equal(
        begins,
      );
    }
    for (const [typed, file, begins] of [
      ["--json --out b.csv", "b.csv", '{"network":"live",'],
      ["--format csv --out b.TXT", "b.TXT", "orderID,"],
    ] as const) {
      await tasks.run(`orders --ids 1-3 ${typed}`);
      expect(await readFile(file, "utf8")).to.match(new RegExp(`^${begins}`));
    }
    const { stderr: message, exitCode } = await tasks.run(
      "orders --ids 1-3 --out b.ndjson --format csv",
    );
    expect(exitCode).to.equal(1);
    expect(message).to.include("a file .ndjson does not hold csv");
  });

  it("orders that fail have their id and the first reason, in each form, and exit with 1", async () => {
    await tasks.mocks.set({ unknownOrders: "revert" });
    const reason = /getOrderInfo reverted: OrderNotFound\(orderID: 6\)/u;
    const table = await tasks.run("orders --ids 4-7");
    expect(table.exitCode).to.equal(1);
    expect(table.stdout)
      .to.include("1 order.\nFailed: 3 ids.\nThe first of these, 5: ")
      .and.include("OrderNotFound(orderID: 5)");
    const csv = await tasks.run("orders --ids 4,6 --format csv");
    expect(csv.exitCode).to.equal(1);
    expect(csv.stdout).to.match(
      /^6,{14}failed,VAULT_CALL_REVERTED: getOrderInfo reverted/mu,
    );
    const ndjson = await tasks.run("orders --ids 6 --format ndjson");
    expect(ndjson.exitCode).to.equal(1);
    const failed = fieldsOf(fieldsOf(JSON.parse(ndjson.stdout))["error"]);
    expect(failed).to.include({ code: "VAULT_CALL_REVERTED" });
    expect(failed["message"]).to.match(reason);
    const { orders } = await tasks.documentOf("orders --ids 4,6", 1);
    expect(orders)
      .to.have.nested.property("[1].error.message")
      .that.match(reason);
    // What fails may have the state that is asked for.
    const open = await tasks.run("orders --ids 1,6 --state closed");
    expect(open.exitCode).to.equal(1);
    expect(open.stdout).to.include("0 orders.\nFailed: 1 id.");
  });

  it("orders without --ids asks for the range if there are orders after 2^40 ids", async () => {
    // Each id has an order of whoever asks.
    const { trading } = tasks.mocks.addresses;
    await tasks.rpc("anvil_setCode", trading, "0x6101a05f52336020526101c05ff3");
    const { code, message } = await tasks.errorOf(`orders --from ${HOLDER}`);
    expect(code).to.equal("VAULT_INVALID_ARGUMENT");
    expect(message).to.include("2^40 ids after the first");
  });

  it("orders stops reading, ends with exit code 0 and prints nothing if the reader has closed the pipe", async () => {
    const { provider } = await connectTo(tasks.url);
    const trading = await deployGeneratedOrders(provider, 1n, 10_000n);
    const server = await startRpcServer({ upstream: tasks.url });
    const remote = await hreOnLive(server.url);
    const closed = Object.assign(new Error("closed"), { code: "EPIPE" });
    const args = { ids: "1-10000", at: `trading=${trading}` };
    expect(
      await runVaultTask(
        remote,
        "orders",
        { ...args, format: "ndjson" },
        closed,
      ),
    ).to.deep.equal({ stdout: "", stderr: "", exitCode: 0 });
    // What failed before the pipe was closed is nobody's any more.
    await tasks.mocks.set({ unknownOrders: "revert" });
    expect(
      await runVaultTask(
        remote,
        "orders",
        { ids: "1-9", at: `trading=${tasks.mocks.addresses.trading}` },
        closed,
      ),
    ).to.deep.equal({ stdout: "", stderr: "", exitCode: 0 });
    server.requests.length = 0;
    await runVaultTask(remote, "orders", { ...args, format: "ndjson" }, closed);
    const read = server.requests.length;
    await runVaultTask(remote, "orders", args);
    expect(server.requests.length - read).to.be.above(read);
    await server.stop();
  });
});
