import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { describeTime } from "../../src/protocol/time.js";
import { html } from "../../tasks/report/html.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { useTasks } from "../helpers/use-tasks.js";

const HOSTILE = `</td></script></style></svg><img src=x onerror="alert(1)"><!--'"&\u202e`;

/** Without what only lays out the page. */
const pageOf = async (file = "vault-report.html"): Promise<string> =>
  (await readFile(file, "utf8"))
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1");
const valueOf = (label: string, value: string): string =>
  `<th scope="row">${label}</th><td>${value}`;

// What a page shows: report/render.ts, report/charts.ts and report/page.ts.
describe("vault report", () => {
  const tasks = useTasks({
    networks: (url, { addresses: contracts }) => ({
      live: httpNetwork(url, {
        vault: {
          ...{ contracts, tokenDecimals: 18 },
          displayDecimals: { "order.openPrice": 18 },
          instances: { usdc: {} },
        },
      }),
    }),
  });
  const report = async (options = "", exitCode = 0): Promise<string> => {
    const result = await tasks.run(`report ${options}`);
    expect(result).to.include({ stderr: "", exitCode });
    return await pageOf();
  };

  it("report shows readings and contracts, and no chapter that is not named", async () => {
    const page = await report();
    const chapters = [...page.matchAll(/<h2>(.*?)<\/h2>/gu)];
    expect(chapters.map(([, heading]) => heading)).to.deep.equal([
      ...["Readings", "Contracts"],
    ]);
    expect(page).to.include(valueOf("Trading", tasks.mocks.addresses.trading));
  });

  it("report shows the chapters that are named, rounds and simulation before the orders", async () => {
    const page = await report("--ids 1-3 --rounds --simulate");
    const listed = [...page.matchAll(/<a href="#[^"]+">([^<]+)<\/a>/gu)];
    expect(listed.map(([, heading]) => heading)).to.deep.equal([
      ...["Readings", "Rounds", "If the vault were settled now"],
      ...["Orders", "Contracts"],
    ]);
    // Of two pairs and of the rounds.
    expect(page.split("<svg")).to.have.lengthOf(1 + 3);
  });

  it("report --raw draws no strike, and shows integers", async () => {
    const page = await report("--ids 1-3 --raw --simulate");
    expect(page)
      .to.include("strike not drawn")
      .and.not.include("as configured");
  });

  it("report lists orders by their ids, as numbers", async () => {
    await tasks.mocks.generateOrders(998, 1_001);
    const page = await report("--ids 1001,998,1000");
    const ids = [...page.matchAll(/data-label="Id"[^>]*>(\d+)/gu)];
    expect(ids.map(([, id]) => id)).to.deep.equal(["998", "1000", "1001"]);
  });

  it("report shows what failed in its place, escaped, and exits with 1", async () => {
    await tasks.mocks.fail("queryVolume", `1,000${HOSTILE}`);
    const { stdout, exitCode } = await tasks.run("report");
    expect(exitCode).to.equal(1);
    expect(stdout).to.include("1 reading failed, as marked on the page.");
    expect(await pageOf())
      .to.match(/<span class="bad">failed: /u)
      .and.match(/1,<wbr ?\/>000&lt;\/td/u)
      .and.not.include("<img");
  });

  it("report --from names the caller of every reading, order and round, and the account that would settle", async () => {
    for (const operation of [
      ...(["queryVolume", "getOrderInfo", "getLatestRoundInfo"] as const),
    ]) {
      await tasks.mocks.fail(operation, "closed", { from: NOBODY });
    }
    const typed = `report --ids 1-3 --simulate --rounds --from ${NOBODY}`;
    const { stdout, exitCode } = await tasks.run(typed);
    expect(exitCode).to.equal(1);
    // Two readings and three orders.
    expect(stdout).to.include("5 readings failed, as marked on the page.");
    expect(await pageOf())
      .to.include(valueOf("Called by", NOBODY))
      .and.include("No round could be read from block");
  });

  it("report --block names the block of readings, orders and rounds, and the one before the simulated block", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.mocks.set({ volume: 5n, orders: { 1: { exType: "LATER" } } });
    await tasks.mocks.startNextRound();
    expect(await report(`--ids 1 --rounds --simulate --block ${number}`))
      .to.include(`<title>Vault report: live, block ${number}</title>`)
      .and.include('data-label="Pair">BTC-USDT<')
      .and.include("1 round;")
      .and.include(valueOf("In block", `${number + 1},`))
      .and.match(/<small>in (?:5d|4d 23h)<\/small>/u)
      .and.not.include("LATER");
  });

  it("report shows the time of the block that settled a round, not its planned end", async () => {
    const { endTime } = await tasks.mocks.vault.getLatestRoundInfo();
    const settledAt = endTime + 7_200n;
    await tasks.rpc("evm_setNextBlockTimestamp", Number(settledAt));
    await tasks.run("settle --yes");
    // The round stays the latest in a block after that.
    await tasks.rpc("evm_increaseTime", 60);
    await tasks.rpc("evm_mine");
    const time = describeTime(settledAt);
    expect(await report("--rounds"))
      .to.include(`data-label="Settled at">${time}<`)
      .and.include(`<title>settled ${time}</title>`);
  });

  it("report titles its page with the instance, and repeats the options that choose contracts", async () => {
    const at = `trading=${tasks.mocks.addresses.trading}`;
    expect(await report(`--ids 1 --instance usdc --at ${at}`))
      .to.include("<h1>Vault report: usdc</h1>")
      .and.include(
        `npx hardhat vault orders --at ${at} --instance usdc --network live --out orders.csv`,
      );
  });

  it("report names its file in the document and, escaped, on the screen", async () => {
    const { file } = await tasks.documentOf("report --out some.html");
    expect(file).to.equal("some.html");
    expect(await pageOf("some.html")).to.include("</html>");
    expect(await tasks.linesOf("report --out re\u202eport.html")).to.include(
      "Written to re\\u{202e}port.html.",
    );
  });

  it("report --simulate in process refuses another block than the newest", async () => {
    const hre = await createTestHre({}, { projectRoot: process.cwd() });
    await hre.vault.deployMocks();
    const { number } = await hre.vault.block();
    const { provider } = await hre.network.getOrCreate("default");
    await provider.request({ method: "evm_mine" });
    const newest = await runTyped(hre, "report --simulate --block latest");
    expect(newest.exitCode).to.equal(0);
    const past = await runTyped(hre, `report --simulate --block ${number}`);
    expect(past.stderr).to.include("(VAULT_INVALID_ARGUMENT)");
  });
});

describe("markup of a report", () => {
  it("html escapes in elements and in attributes, and nests markup", () => {
    expect(
      html`<b title="${HOSTILE}">${["<", html`<i>${'"'}</i>`]}</b>`.text,
    ).to.equal(
      `<b title="&lt;/td&gt;&lt;/script&gt;&lt;/style&gt;&lt;/svg&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&lt;!--&#39;&quot;&amp;\\u{202e}">&lt;<i>&quot;</i></b>`,
    );
  });
});
