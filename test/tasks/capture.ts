import { mkdir, readFile, writeFile } from "node:fs/promises";

import { devNull } from "node:os";

import { expect } from "chai";

import { standaloneQueries } from "../../src/protocol/index.js";
import { fieldsOf } from "../helpers/fields.js";
import { httpNetwork } from "../helpers/hre.js";
import { itFails, useTasks } from "../helpers/use-tasks.js";

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

  it("capture --margins FILE records the margins of the file's terms, too", async () => {
    const given = { maxVolume: "1000e18", APY: "2", endTime: 1_900_000_000 };
    await writeFile("terms.json", JSON.stringify([given]));
    const fixture: unknown = JSON.parse(
      await fixtureOf("--margins terms.json"),
    );
    expect(fixture).to.have.deep.nested.property("margins[1]", {
      maxVolume: (1_000n * 10n ** 18n).toString(),
      ...{ APY: "2", endTime: "1900000000" },
      baseMarginAmount: (52_500n * 10n ** 18n).toString(),
      xMarginAmount: (10_500n * 10n ** 18n).toString(),
    });
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

  describe("with files that are wrong", () => {
    beforeEach(async () => {
      await writeFile("bad.txt", "{");
      await writeFile("object.json", "{}");
      const terms = { maxVolume: 1, APY: 2, endTime: 3 };
      const short = [terms, { maxVolume: 1, APY: 2 }];
      await writeFile("short.json", JSON.stringify(short));
    });
    afterEach(async () => {
      expect(await readFile("out.json").catch(() => "none")).to.equal("none");
    });
    itFails(
      tasks,
      `
      capture --out out.json --margins none.json | VAULT_INVALID_ARGUMENT | none.json: it cannot be read
      capture --out out.json --margins ${devNull} | VAULT_INVALID_ARGUMENT | it cannot be read
      capture --out out.json --margins bad.txt | VAULT_INVALID_ARGUMENT | --margins bad.txt: it is not JSON
      capture --out out.json --margins object.json | VAULT_INVALID_ARGUMENT | a list of terms is needed
      capture --out out.json --margins short.json | VAULT_INVALID_ARGUMENT | [1].endTime: it is missing
      capture --out none/out.json | VAULT_INVALID_ARGUMENT | ENOENT
      `,
    );
  });
});
