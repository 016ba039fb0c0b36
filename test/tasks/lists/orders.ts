import { readFile } from "node:fs/promises";

import { expect } from "chai";
import { ZeroAddress } from "ethers";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder, Order } from "../../../src/client/index.js";
import { fieldsOf, listOf } from "../../helpers/fields.js";
import { hreOnLive } from "../../helpers/hre.js";
import { listingEnvelope, writeOrders } from "../../helpers/listings.js";
import { SECOND, THIRD } from "../../helpers/names.js";
import { startRpcServer } from "../../helpers/rpc-server.js";
import { KeptOutput } from "../../helpers/screens.js";
import { runVaultTask } from "../../helpers/run-vault-task.js";
import { useTasks } from "../../helpers/use-tasks.js";
import { zeroAnswer } from "../../helpers/zero-answer.js";
import { createStyle } from "../../../tasks/output/screen.js";

// How a listing is written: ../output/listing.ts.
describe("vault orders", () => {
  const tasks = useTasks({ overrides: { orders: { 2: { state: "closed" } } } });
  /** The ids of the orders in a document. */
  const idsOf = async (options: string): Promise<string> =>
    listOf((await tasks.documentOf(`orders ${options}`))["orders"])
      .map((order) => fieldsOf(order)["orderID"])
      .join(",");

  // Orders 1 to 3: 2 and 3 are closed, and 2 is of another holder.
  for (const [options, ids] of [
    ["--ids 9,0x1-3,2", "9,1,2,3"],
    ["--ids 1-9 --state closed", "2,3"],
    [`--ids 1-9 --holder ${THIRD.toLowerCase()}`, "2"],
    ["--ids 1-9 --skip-empty", "1,2,3"],
    ["--ids 2-", "2,3"],
    ["", "1,2,3"],
    ["--limit 2", "3,2"],
    ["--limit 1 --state open", "1"],
  ] as const) {
    it(`orders ${options} lists ${ids}`, async () => {
      expect(await idsOf(options)).to.equal(ids);
    });
  }

  it("orders --from reads as that account", async () => {
    await tasks.mocks.fail("getOrderInfo", "closed", { from: THIRD });
    const failuresOf = async (options: string, exitCode = 0): Promise<number> =>
      listOf(
        (await tasks.documentOf(`orders --ids 1-3 ${options}`, exitCode))[
          "orders"
        ],
      ).filter((order) => "error" in fieldsOf(order)).length;
    expect(await failuresOf(`--from ${THIRD}`, 1)).to.equal(3);
    expect(await failuresOf("")).to.equal(0);
  });

  it("orders shows the ids in a row that fail before others, and those behind them, and exits with 1", async () => {
    const { mocks } = tasks;
    await mocks.set({ generatedOrders: { firstId: 4n, lastId: 20n } });
    await mocks.set({ unknownOrders: "revert" });
    for (let orderID = 3n; orderID < 18n; ++orderID) {
      await mocks.fail("getOrderInfo", "MarketPaused", { args: [orderID] });
    }
    const listed = Array.from({ length: 21 }, (_, index) => `${index}`);
    const { stdout, stderr, exitCode } = await tasks.run("orders --format csv");
    expect(exitCode).to.equal(1);
    const rows = stdout.trim().split("\n").slice(1);
    expect(rows.map((row) => row.split(",")[0])).to.deep.equal(listed);
    expect(rows.filter((row) => row.includes("MarketPaused"))).to.have.length(
      15,
    );
    expect(stderr).to.match(/^Failed: 16 ids\. The first, 0: /mu);
  });

  it("orders --block lists the orders of that block, and names it", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ orders: { 1: { exType: "LATER" } } });
    const typed = `orders --ids 1 --block ${number}`;
    const { block, orders } = await tasks.documentOf(typed);
    expect(block).to.include({ number });
    expect(orders).to.have.nested.property("[0].exType", "BTC-USDT");
  });

  for (const [options, price] of [
    [{ raw: true }, "  64000000000000000000000  "],
    [{ format: "csv", scaled: true }, ",64000,"],
  ] as const) {
    it(`orders with ${JSON.stringify(options)} shows the opening price as ${price.trim()} if displayDecimals scales it`, async () => {
      const displayDecimals = { "order.openPrice": 18 };
      const contracts = tasks.mocks.addresses;
      const vault = { contracts, displayDecimals };
      const hre = await hreOnLive(tasks.url, { vault });
      const args = { ids: "1", ...options };
      const { stdout } = await runVaultTask(hre, "orders", args);
      expect(stdout).to.include(price);
    });
  }

  for (const [options, file, begins] of [
    ["", "a.CSV", "orderID,exType,"],
    ["", "a", "Orders  live (chain 31337)"],
    ["--json", "b.csv", '{"network":"live",'],
  ] as const) {
    it(`orders ${options} --out ${file} writes a file that begins with ${begins}, and its name to stderr`, async () => {
      const typed = `orders --ids 1-3 ${options} --out ${file}`;
      expect(await tasks.run(typed)).to.deep.equal({
        ...{ stdout: "", exitCode: 0 },
        stderr: `Written to ${file}.\n`,
      });
      const text = await readFile(file, "utf8");
      expect(text.slice(0, begins.length)).to.equal(begins);
    });
  }

  for (const [options, pattern] of [
    ["", /^2 orders\.\nFailed: 1 id\. The first, 6: .*Found\(/mu],
    ["--format ndjson", /^\{"orderID":"6","error":\{"code":"VAULT_CALL_REV/mu],
    // What fails may have the state that is asked for.
    ["--state open", /^1 order\.\nFailed: 1 id\./mu],
  ] as const) {
    it(`orders ${options} shows an order that fails, and exits with 1`, async () => {
      await tasks.mocks.set({ unknownOrders: "revert" });
      const typed = `orders --ids 1,2,6 ${options}`;
      const { stdout, exitCode } = await tasks.run(typed);
      expect(exitCode).to.equal(1);
      expect(stdout).to.match(pattern);
    });
  }

  it("orders stops reading once the reader has closed the pipe, and ends with exit code 0, also if an order failed", async () => {
    await tasks.mocks.set({
      generatedOrders: { firstId: 1n, lastId: 10_000n },
    });
    const server = await startRpcServer({ upstream: tasks.url });
    const vault = { contracts: tasks.mocks.addresses };
    const hre = await hreOnLive(server.url, { vault });
    const args = { ids: "1-10000" };
    const closed = Object.assign(new Error("closed"), { code: "EPIPE" });
    const lines = { ...args, format: "ndjson" };
    expect(await runVaultTask(hre, "orders", lines, closed)).to.deep.equal({
      ...{ stdout: "", stderr: "", exitCode: 0 },
    });
    const read = server.requests.length;
    await runVaultTask(hre, "orders", args);
    expect(server.requests.length - read).to.be.above(read);
    await server.stop();

    await tasks.mocks.set({ unknownOrders: "revert" });
    const failing = await runVaultTask(
      await hreOnLive(tasks.url, { vault }),
      "orders",
      { ids: "0-9" },
      closed,
    );
    expect(failing).to.include({ stdout: "", exitCode: 0 });
  });
});

describe("orders in each form", () => {
  /** No two values are the same. */
  const order: Order = {
    orderID: 12_345n,
    exType: "ETH-USDT",
    holder: SECOND,
    number: 2_100n,
    exFee: 22n,
    lockFee: 23n,
    newLockFee: 24n,
    openPrice: 2_500n,
    marginAmount: 26n,
    marginFee: 27n,
    startTime: 1_699_900_000n,
    closePrice: 29n,
    contractType: 2,
    state: 1,
  };
  const empty: Order = { orderID: 4n, ...zeroAnswer("getOrderInfo") };
  const error = vaultError("VAULT_INTERNAL", { problem: "none" });
  const failed: ListedOrder = { orderID: 5n, error };
  /** On a terminal of so many columns, or in a file or a pipe. */
  const tableOf = async (
    orders: readonly ListedOrder[],
    settings = {},
    width = Infinity,
  ): Promise<readonly string[]> => {
    const style = { ...createStyle({}), width };
    const out = new KeptOutput({ style });
    await writeOrders(orders, "table", settings, out);
    return out.text.split("\n");
  };
  const cellsOf = (line = ""): readonly string[] => line.trim().split(/ {2,}/u);

  it("a table on a terminal marks unscaled values, and shortens holders and dates", async () => {
    const displayDecimals = { "order.openPrice": 3 };
    const odd = { ...order, state: 7 };
    const [, heading, row, second, , ...notes] = await tableOf(
      [order, odd],
      { displayDecimals },
      120,
    );
    expect(cellsOf(heading)).to.include.members([
      ...["Opening price", "Margin", "Opened"],
    ]);
    expect(cellsOf(row)).to.deep.equal([
      ...["12345", "ETH-USDT", `${SECOND.slice(0, 6)}…${SECOND.slice(-4)}`],
      ...["2,100 raw", "2.5", "26 raw", "2023-11-13", "29 raw"],
      ...["put (2)", "open (1)"],
    ]);
    expect(second).to.match(/unknown \(7\)$/u);
    expect(notes.slice(0, 3)).to.deep.equal([
      "Values marked raw are unscaled integers: see tokenDecimals and displayDecimals.",
      "Scales that are not documented: from displayDecimals, or the mocks' own.",
      "Times of orders assume Unix seconds.",
    ]);
  });

  /** Every digit counts, as of real orders with 18 decimals. */
  const real: Order = {
    ...order,
    number: 2_123_456_789_012_345_678n,
    openPrice: 64_123_199_989_012_345_678_901n,
    marginAmount: 12_834_999_999_999_999_999_999n,
    closePrice: 65_000_000_000_000_000_000_000n,
    state: 2,
  };
  const decimals = {
    ...{ "order.number": 18, "order.openPrice": 18 },
    ...{ "order.marginAmount": 18, "order.closePrice": 18 },
  };
  const CONFIGURED =
    "Scales that are not documented: from displayDecimals, or the mocks' own.";
  const CUT =
    "Values such as 6.4123…e22 are unscaled integers, cut: see tokenDecimals and displayDecimals.";

  for (const [kind, displayDecimals, values, footnote] of [
    [
      "scaled",
      decimals,
      ["2.1234…", "64,123.1999…", "12,834.9999…", "65,000"],
      CONFIGURED,
    ],
    [
      "unscaled",
      {},
      ["2.1234…e18", "6.4123…e22", "1.2834…e22", "6.5000…e22"],
      CUT,
    ],
  ] as const) {
    it(`a table of ${kind} orders with 18 decimals has a line each on a terminal of 120 columns, every cut value marked and none rounded`, async () => {
      const orders = [real, { ...real, orderID: 123_456n, exType: "BTC-USDT" }];
      const settings = { displayDecimals };
      const lines = await tableOf(orders, settings, 120);
      const [number, openPrice, margin, closePrice] = values;
      for (const line of lines.slice(2, 4)) {
        expect(cellsOf(line).slice(3)).to.deep.equal([
          ...[number, openPrice, margin, "2023-11-13", closePrice],
          ...["put (2)", "closed (2)"],
        ]);
      }
      expect(lines.slice(4)).to.deep.equal([
        ...["", footnote, "Times of orders assume Unix seconds."],
        ...["", "2 orders.", "Every value: --json, --format ndjson or csv."],
        "",
      ]);
    });
  }

  it("a table on a terminal cuts unscaled integers of ten digits, and no text of the chain", async () => {
    const pair = "9999999999.123456 raw";
    const [, , row] = await tableOf(
      [
        {
          ...{ ...order, exType: pair },
          ...{ number: 999_999_999n, openPrice: 1_999_999_999n },
        },
      ],
      {},
      200,
    );
    expect(row)
      .to.include(` ${pair} `)
      .and.include(" 999,999,999 raw ")
      .and.include(" 1.9999…e9 ");
  });

  it("a table in a file or a pipe has whole values", async () => {
    const [, heading, row] = await tableOf([real], {
      displayDecimals: decimals,
    });
    expect(heading).to.include("Open positions");
    expect(cellsOf(row)).to.deep.equal([
      ...["12345", "ETH-USDT", SECOND, "2.123456789012345678"],
      ...["64,123.199989012345678901", "12,834.999999999999999999"],
      ...["2023-11-13T18:26:40Z", "65,000", "put (2)", "closed (2)"],
    ]);
    const [, , unscaled] = await tableOf([real]);
    expect(unscaled).to.include(" 2,123,456,789,012,345,678 raw ");
  });

  it("a table with --raw has whole values, and no mark", async () => {
    const [, heading, row] = await tableOf([real], { raw: true }, 200);
    expect(heading).to.not.include("raw");
    expect(row)
      .to.include(SECOND)
      .and.include(" 1699900000 ")
      .and.include(` ${real.openPrice} `);
  });

  it("CSV has every value in its column, unscaled, and the status of each id", async () => {
    const { out } = await writeOrders([order, empty, failed], "csv");
    expect(out.split("\n")).to.deep.equal([
      "orderID,exType,holder,number,exFee,lockFee,newLockFee,openPrice,marginAmount,marginFee,startTime,closePrice,contractType,state,status,error",
      `12345,ETH-USDT,${SECOND},2100,22,23,24,2500,26,27,1699900000,29,2,1,ok,`,
      `4,,${ZeroAddress},0,0,0,0,0,0,0,0,0,0,0,empty,`,
      `5,,,,,,,,,,,,,,failed,VAULT_INTERNAL: ${error.shortMessage}`,
      "",
    ]);
  });

  it("CSV with --scaled has decimals of the fields whose decimals are configured, without grouped digits, and names these", async () => {
    const displayDecimals = { "order.openPrice": 3, "order.exFee": 1 };
    const long = { ...order, openPrice: 1_850_250n };
    const { out, err } = await writeOrders(
      [long],
      { format: "csv", scaled: true },
      { displayDecimals },
    );
    expect(out.split("\n")[1]).to.equal(
      `12345,ETH-USDT,${SECOND},2100,2.2,23,24,1850.25,26,27,1699900000,29,2,1,ok,`,
    );
    expect(err).to.equal(
      "Scaled: exFee, openPrice. Other numbers are unscaled.\n",
    );
  });

  it("JSON has the block and every id, and marks only the empty ones", async () => {
    const { out } = await writeOrders([order, empty, failed], "json");
    const document = fieldsOf(JSON.parse(out));
    expect(document).to.deep.include(listingEnvelope);
    const orders = listOf(document["orders"]).map(fieldsOf);
    expect(orders.map((one) => one["orderID"])).to.deep.equal([
      ...["12345", "4", "5"],
    ]);
    expect(orders.map((one) => one["empty"])).to.deep.equal([
      ...[undefined, true, undefined],
    ]);
    expect(orders[2]).to.have.nested.property("error.code", error.code);
  });

  it("a table of more than 500 orders has its title once, and its parts stand apart", async () => {
    const many = Array.from({ length: 501 }, () => order);
    const text = (await tableOf(many)).join("\n");
    expect(text.match(/^Orders /gmu)).to.have.lengthOf(1);
    expect(text.match(/\n\n *Id /gmu)).to.have.lengthOf(1);
  });

  it("a table without an order has only the counts, and the first failure", async () => {
    const failures = [empty, failed, { ...failed, orderID: 6n }];
    expect((await tableOf(failures)).slice(1)).to.deep.equal([
      ...["0 orders.", "Empty, with every value zero: 1 id."],
      `Failed: 2 ids. The first, 5: ${error.shortMessage}`,
      ...["Every value: --json, --format ndjson or csv.", ""],
    ]);
  });
});
