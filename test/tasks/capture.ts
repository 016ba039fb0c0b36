import { mkdir, readFile, writeFile } from "node:fs/promises";

import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { httpNetwork } from "../helpers/hre.js";
import { useTasks } from "../helpers/use-tasks.js";

const SECRET = "s3cret-of-the-node";

describe("vault capture", () => {
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(url, {
        vault: { contracts },
        httpHeaders: { "x-key": SECRET },
      }),
    }),
  });
  const fixtureOf = async (typed: string): Promise<string> => {
    const { exitCode, stderr } = await tasks.run(
      `capture --out f.json ${typed}`,
    );
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: "" });
    return await readFile("f.json", "utf8");
  };

  it("capture counts the orders, and the readings that fail, and succeeds", async () => {
    await tasks.run("mock set unknownOrders=revert");
    await tasks.run("mock fail queryVolume closed");
    const typed = "capture --out fixture.json --ids 1-2,9";
    expect((await tasks.documentOf(typed))["fixture"]).to.deep.equal({
      ...{ file: "fixture.json", orders: 3, margins: 1, failed: 2 },
    });
    expect((await tasks.run("capture --out fixture.json")).stdout)
      .to.include(
        "No order was captured: in a replay each order reverts, and says so.",
      )
      .and.include("1 reading failed: a replay fails there, too.");
  });

  it("capture records the block that --block names, and prints it", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 5n, orders: { 1: { exType: "LATER" } } });
    const fixture: unknown = JSON.parse(
      await fixtureOf(`--ids 1 --block ${number}`),
    );
    expect(fixture).to.have.nested.property("block.number", number);
    expect(fixture).to.have.property("volume", (420n * 10n ** 18n).toString());
    expect(fixture).to.have.nested.property("orders.1.exType", "BTC-USDT");
    const typed = `capture --out f.json --block ${number}`;
    expect((await tasks.documentOf(typed))["block"]).to.include({ number });
  });

  it("capture notes in its document that no order was captured, and what captures some", async () => {
    const { fixture } = await tasks.documentOf("capture --out f.json");
    expect(fixture).to.include({ orders: 0, margins: 1, failed: 0 });
    expect(fieldsOf(fixture)["note"]).to.include(
      "--ids 1-50 captures orders 1 to 50.",
    );
    const { stdout } = await tasks.run("capture --out f.json --ids 1");
    expect(stdout)
      .to.include("Every reading and 1 order id written to f.json.")
      .and.include("The margins of 1 set of terms were captured")
      .and.not.include("No order was captured")
      .and.not.include("failed");
  });

  it("capture escapes hostile texts in the file, from which they are read as they were", async () => {
    const exType = "a\u202eb\u009b2J";
    await tasks.mocks.set({ orders: { 1: { exType } } });
    const text = await fixtureOf("--ids 1");
    expect(text).to.include("\\u202e").and.not.include("\u202e");
    expect(JSON.parse(text)).to.have.nested.property("orders.1.exType", exType);
    expect(text.endsWith("}\n")).to.equal(true);
  });

  it("capture hides a secret of the network that an order repeats", async () => {
    await tasks.mocks.set({ orders: { 1: { exType: `BTC-${SECRET}` } } });
    expect(JSON.parse(await fixtureOf("--ids 1"))).to.have.nested.property(
      "orders.1.exType",
      "BTC-<hidden>",
    );
  });

  it("capture --margins FILE records the margins of the file's terms, too", async () => {
    const given = { maxVolume: "1000e18", APY: "2", endTime: 1_900_000_000 };
    await writeFile("terms.json", JSON.stringify([given]));
    expect(
      JSON.parse(await fixtureOf("--margins terms.json")),
    ).to.have.deep.nested.property("margins[1]", {
      maxVolume: (1_000n * 10n ** 18n).toString(),
      ...{ APY: "2", endTime: "1900000000" },
      baseMarginAmount: (52_500n * 10n ** 18n).toString(),
      xMarginAmount: (10_500n * 10n ** 18n).toString(),
    });
  });

  it("capture writes one value a line, relative to the working folder, and names the fixture from the root", async () => {
    await mkdir("one/two", { recursive: true });
    const root = process.cwd();
    process.chdir("one/two");
    const typed = "capture --out ../fixture.json";
    const { stdout } = await tasks.run(typed).finally(() => {
      process.chdir(root);
    });
    expect(stdout).to.contain('({ fixture: "one/fixture.json" })');
    const text = await readFile("one/fixture.json", "utf8");
    expect(Object.keys(fieldsOf(JSON.parse(text))).join(" ")).to.equal(
      "format version chainId block fundingFeeRate round pools volume marginBalance minXMargin margins orders",
    );
    // The chain id is all that it has of the network.
    expect(text)
      .to.contain('\n    "strikePrice": "65000000000000000000000",\n')
      .and.not.contain(tasks.url.slice("http://".length));
  });

  it("capture escapes the name of its file on the screen", async () => {
    const { stdout } = await tasks.run("capture --out f\u202e.json --ids 1");
    expect(stdout)
      .to.include("written to f\\u{202e}.json.")
      .and.not.include("\u202e");
  });

  const refusals = {
    "no file": ["none.json", "it cannot be read"],
    "a folder": ["folder", "it cannot be read"],
    "no regular file": ["/dev/null", "it cannot be read"],
    "text that is no JSON": ["bad.txt", "it is not JSON"],
    "no list": ["object.json", "a list of terms is needed"],
    "a second term without its end": ["short.json", "[1]: endTime is missing"],
  } as const;
  for (const [what, [file, says]] of Object.entries(refusals)) {
    it(`capture --margins refuses ${what} with VAULT_INVALID_ARGUMENT, and writes no file`, async () => {
      await mkdir("folder");
      await writeFile("bad.txt", "{");
      await writeFile("object.json", "{}");
      const terms = { maxVolume: 1, APY: 2, endTime: 3 };
      const short = [terms, { maxVolume: 1, APY: 2 }];
      await writeFile("short.json", JSON.stringify(short));
      const typed = `capture --out out.json --margins ${file}`;
      const { code, message } = await tasks.errorOf(typed);
      expect(code).to.equal("VAULT_INVALID_ARGUMENT");
      expect(message).to.include(`--margins ${file}: ${says}`);
      expect(await readFile("out.json").catch(() => "none")).to.equal("none");
    });
  }

  for (const [typed, says] of [
    ["--out none/fixture.json", "ENOENT"],
    ["--out .", "it is a folder"],
  ] as const) {
    it(`capture ${typed} fails with VAULT_INVALID_ARGUMENT`, async () => {
      const { code, message } = await tasks.errorOf(`capture ${typed}`);
      expect(code).to.equal("VAULT_INVALID_ARGUMENT");
      expect(message).to.include(says);
    });
  }
});
