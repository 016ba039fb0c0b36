import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { httpNetwork } from "../helpers/hre.js";
import { NOBODY } from "../helpers/names.js";
import { useTasks } from "../helpers/use-tasks.js";

const HOSTILE = `</td></script></style></svg><img src=x onerror="alert(1)"><!--'"&\u202e`;

/** Without what only lays out the page. */
const pageOf = async (file = "vault-report.html"): Promise<string> =>
  (await readFile(file, "utf8"))
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/ ?([<>]) ?/gu, "$1");
const valueOf = (label: string, value: string): string =>
  `<th scope="row">${label}</th><td>${value}`;

// What a page shows: report/page.ts, report/charts.ts and report/browser.ts.
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
      part: httpNetwork(url, {
        vault: { contracts: { vault: contracts.vault } },
      }),
    }),
  });
  const report = async (options = "", exitCode = 0): Promise<string> => {
    const result = await tasks.run(`report ${options}`);
    expect(result).to.include({ stderr: "", exitCode });
    return await pageOf();
  };

  it("report begins with whether the vault can be settled, and has no chapter that is not named", async () => {
    const page = await report();
    const chapters = [...page.matchAll(/<h2 [^>]*>(.*?)<\/h2>/gu)];
    expect(chapters.map(([, heading]) => heading)).to.deep.equal([
      ...["Settlement", "Readings", "Contracts"],
    ]);
    expect(page)
      .to.include(valueOf("Can be settled", '<span class="good">yes'))
      .and.include(valueOf("Round ended", "no"));
    expect(page).to.include(valueOf("Trading", tasks.mocks.addresses.trading));
  });

  it("report shows what failed in its place, escaped, and exits with 1", async () => {
    await tasks.mocks.fail("queryVolume", `1,000${HOSTILE}`);
    const file = "o\u202eut.html";
    const { stdout, exitCode } = await tasks.run(`report --out ${file}`);
    expect(exitCode).to.equal(1);
    expect(stdout)
      .to.include("1 reading failed, as marked on the page.")
      .and.include("Written to o\\u{202e}ut.html.");
    expect(await pageOf(file))
      .to.match(/<span class="bad">failed: /u)
      .and.match(/1,000&lt;\/td/u)
      .and.not.include("<img");
  });

  it("report shows the contracts that have an address, and exits with 1 if others have none", async () => {
    const { exitCode } = await tasks.run("report --network part");
    expect(exitCode).to.equal(1);
    expect(await pageOf())
      .to.include(valueOf("Vault", tasks.mocks.addresses.vault))
      .and.not.include('scope="row">Trading<');
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
      .and.include(">BTC-USDT<")
      .and.include("1 round;")
      .and.include(valueOf("In block", `${number + 1},`))
      .and.match(/<small>in (?:5d|4d 23h)<\/small>/u)
      .and.not.include("LATER");
  });

  it("report titles its page with the instance, and repeats the options that choose contracts", async () => {
    const at = `trading=${tasks.mocks.addresses.trading}`;
    expect(await report(`--ids 2,1 --instance usdc --at ${at}`))
      .to.match(/<td class="right">1<.*<td class="right">2</u)
      .and.include(": orders by opening price<")
      .and.include("<h1>Vault report: usdc</h1>")
      .and.include(
        `npx hardhat vault orders --at ${at} --instance usdc --network live --out orders.csv`,
      );
  });
});
