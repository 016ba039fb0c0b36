import { mkdir, readFile } from "node:fs/promises";

import { expect } from "chai";

import { standaloneQueries } from "../../../src/protocol/index.js";
import { fieldsOf } from "../../helpers/fields.js";
import { httpNetwork } from "../../helpers/hre.js";
import { useTasks } from "../../helpers/use-tasks.js";

// What a fixture replays: test/mocks/capture.ts.
describe("vault capture", () => {
  const KEY = "k3y-of-the-node";
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(`${url}/?key=${KEY}`, { vault: { contracts } }),
    }),
  });
  const fixtureOf = async (typed: string): Promise<string> => {
    await tasks.documentOf(`capture --out f.json ${typed}`);
    return await readFile("f.json", "utf8");
  };

  it("capture counts the orders and the readings that fail, and succeeds", async () => {
    await tasks.run("mock set unknownOrders=revert");
    await tasks.run("mock fail queryVolume closed");
    const { fixture } = await tasks.documentOf(
      "capture --out f.json --ids 1-2,9",
    );
    expect(fixture).to.deep.equal({
      ...{ file: "f.json", orders: 3, margins: 1, failed: 2 },
    });
    expect(await tasks.linesOf("capture --out f.json")).to.include(
      "1 reading failed: a replay fails there, too.",
    );
  });

  it("capture records the block that --block names, and names it", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 5n, orders: { 1: { exType: "LATER" } } });
    const typed = `--ids 1 --block ${number}`;
    expect(JSON.parse(await fixtureOf(typed)))
      .to.have.nested.include({ "block.number": number })
      .and.have.nested.property("orders.1.exType", "BTC-USDT");
    expect(
      await tasks.documentOf(`capture --out f.json ${typed}`),
    ).to.have.nested.property("block.number", number);
  });

  it("capture writes one value a line, relative to the working folder, hides the node, and names the fixture from the root", async () => {
    const exType = `\u202e${KEY}`;
    await tasks.mocks.set({ orders: { 1: { exType } } });
    await mkdir("one/two", { recursive: true });
    const root = process.cwd();
    process.chdir("one/two");
    const typed = "capture --out ../f\u202e.json --ids 1";
    const { stdout } = await tasks.run(typed).finally(() => {
      process.chdir(root);
    });
    expect(stdout)
      .to.contain("written to ../f\\u{202e}.json.")
      .and.contain('({ fixture: "one/f\\\\u{202e}.json" })');
    const text = await readFile("one/f\u202e.json", "utf8");
    expect(Object.keys(fieldsOf(JSON.parse(text))).join(" ")).to.equal(
      ["format", "version", "chainId", "block"]
        .concat([...new Set(standaloneQueries.map(({ path }) => path[0]))])
        .concat(["margins", "orders"])
        .join(" "),
    );
    expect(text)
      .to.match(/\n {4}"strikePrice": "65000000000000000000000",\n[^]*\}\n$/u)
      .and.contain('"exType": "\\u202e')
      // The chain id is all that it has of the network.
      .and.not.contain(KEY);
  });

  it("capture refuses a file in a folder that is not there, before it reads", async () => {
    expect(await tasks.errorOf("capture --out none/out.json"))
      .to.include({ code: "VAULT_INVALID_ARGUMENT" })
      .and.have.property("message")
      .that.includes("ENOENT");
  });
});
