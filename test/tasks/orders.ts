import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { fieldsOf, listOf } from "../helpers/fields.js";
import { hreOnLive } from "../helpers/hre.js";
import { THIRD } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { runVaultTask } from "../helpers/run-vault-task.js";
import { useTasks } from "../helpers/use-tasks.js";

// What each form shows: output/orders.ts and output/listing.ts.
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

  it("orders --from reads as that account, which mock fail --from names", async () => {
    await tasks.run(`mock fail getOrderInfo closed --from ${THIRD}`);
    const failuresOf = async (options: string, exitCode = 0): Promise<number> =>
      listOf(
        (await tasks.documentOf(`orders --ids 1-3 ${options}`, exitCode))[
          "orders"
        ],
      ).filter((order) => "error" in fieldsOf(order)).length;
    expect(await failuresOf(`--from ${THIRD}`, 1)).to.equal(3);
    expect(await failuresOf("")).to.equal(0);
  });

  for (const [ids, isSearch] of [
    ["--ids 2-", true],
    ["--ids 1-3", false],
  ] as const) {
    it(`orders ${ids} ${isSearch ? "tells" : "does not tell"} when it stopped`, async () => {
      const { stdout } = await tasks.run(`orders ${ids}`);
      expect(stdout.includes("Stopped after")).to.equal(isSearch);
    });
  }

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
    it(`orders ${options} --out ${file} writes a file that begins with ${begins}, and the count to stderr`, async () => {
      const typed = `orders --ids 1-3 ${options} --out ${file}`;
      expect(await tasks.run(typed)).to.deep.equal({
        ...{ stdout: "", exitCode: 0 },
        stderr: `3 orders written to ${file}.\n`,
      });
      const text = await readFile(file, "utf8");
      expect(text.slice(0, begins.length)).to.equal(begins);
    });
  }

  for (const [options, pattern] of [
    ["", /^2 orders\.\nFailed: 1 id\.\nThe first of these, 6: .*Found\(/mu],
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
    await tasks.mocks.generateOrders(1n, 10_000n);
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
