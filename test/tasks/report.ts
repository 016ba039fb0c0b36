import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { describeTime } from "../../src/protocol/time.js";
import type { MockVaultHandle } from "../../src/mocks/index.js";
import { html } from "../../tasks/report/html.js";
import { createTestHre } from "../helpers/hre.js";
import { runVaultTask } from "../helpers/run-vault-task.js";

const HOSTILE = `</td></script></style></svg><img src=x onerror="alert(1)"><!--'"&\u202e`;

describe("vault report", () => {
  let hre: HardhatRuntimeEnvironment;
  let mocks: MockVaultHandle;
  let folder: string;
  let file: string;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "vault-report-"));
    file = path.join(folder, "report.html");
    const settings = { tokenDecimals: 18, displayDecimals: { order: 18 } };
    hre = await createTestHre({
      networks: { default: { type: "edr-simulated", vault: settings } },
    });
    const { vault } = await hre.network.getOrCreate("default");
    mocks = await vault.deployMocks();
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const report = async (
    args: Readonly<Record<string, unknown>> = {},
  ): Promise<string> => {
    const { stderr, exitCode } = await runVaultTask(hre, "report", {
      out: file,
      ...args,
    });
    expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 0 });
    return await readFile(file, "utf8");
  };

  it("report shows figures as tasks do, the contracts, and no section that was not asked for", async () => {
    const page = await report();
    for (const figure of ["65,000", "18.5 %", "0.00025", "█"]) {
      expect(page.replaceAll(/\s+/gu, "")).to.include(
        `>${figure.replace(" ", "")}`,
      );
    }
    expect(page).to.include("Values marked raw are unscaled");
    const { vault } = await hre.network.getOrCreate("default");
    const { address } = await vault.addressOf("trading");
    expect(page.replaceAll(/\s+/gu, "")).to.include(`<td>${address}</td>`);
    for (const title of ["Orders", "Rounds", "If the vault were settled now"]) {
      expect(page).to.not.include(`<h2>${title}</h2>`);
    }
  });

  it("report draws no strike with --raw, among unscaled opening prices", async () => {
    const raw = await report({ ids: "1-3", raw: true });
    expect(raw).to.include("strike not drawn");
    expect(raw).to.not.include("as configured");
  });

  it("report shows the sender's balance unscaled with --raw", async () => {
    const raw = await report({ ids: "1", raw: true, simulate: true });
    expect(raw.replaceAll(/<wbr \/>|<wbr>/gu, "")).to.match(
      /Sender, native currency<\/td>\s*<td[^>]*>\d{18,} raw</u,
    );
  });

  it("report --simulate at an earlier block of a network in process fails with VAULT_INVALID_ARGUMENT, at the newest one not", async () => {
    const { vault, provider } = await hre.network.getOrCreate("default");
    const { number } = await vault.block();
    await provider.request({ method: "evm_mine" });
    const args = { out: file, simulate: true };
    const past = { ...args, block: String(number), json: true };
    const { stdout } = await runVaultTask(hre, "report", past);
    expect(stdout).to.include("VAULT_INVALID_ARGUMENT");
    expect(await report({ simulate: true, block: "latest" })).to.include(
      "If the vault were settled now",
    );
  });

  it("report lists its chapters first, with rounds and simulation before the orders", async () => {
    const page = await report({ ids: "1-3", rounds: true, simulate: true });
    const listed = [...page.matchAll(/<a href="#([^"]+)">([^<]+)<\/a>/gu)];
    const headings = [
      ...["Readings", "Rounds", "If the vault were settled now"],
      ...["Orders", "Contracts"],
    ];
    expect(listed.map(([, , heading]) => heading)).to.deep.equal(headings);
    expect(
      [...page.matchAll(/<section id="([^"]+)">/gu)].map(([, id]) => id),
    ).to.deep.equal(listed.map(([, id]) => id));
    expect(page.indexOf("<nav")).to.be.below(page.indexOf("<section"));
  });

  it("report lists orders by their ids, as numbers, in whatever order they are named", async () => {
    await mocks.generateOrders(998, 1_001);
    const page = await report({ ids: "1001,998,1000" });
    const ids = page.matchAll(/data-label="Id"[^>]*>\s*(\d+)/gu);
    expect([...ids].map(([, id]) => id)).to.deep.equal(["998", "1000", "1001"]);
  });

  it("report draws the strike only among the pair whose prices are near it", async () => {
    const page = await report({ ids: "1-3" });
    expect(page).to.include("BTC-USDT: opening price against strike");
    expect(page).to.not.include("ETH-USDT: opening price against strike");
    expect(page).to.include("no strike price is near these prices");
  });

  it("report shows a chart of each pair with the strike, how many ids are no orders, rounds with --rounds, and a simulation with --simulate", async () => {
    const ids = "1-3,7,9-12";
    const page = await report({ ids, rounds: true, simulate: true });
    expect(page).to.include("BTC-USDT: opening price against strike");
    expect(page.replaceAll(/\s+/gu, " ")).to.include(
      "<p>3 orders.</p> <p>Empty, with every value zero: 5 ids.</p>",
    );
    expect(page.split("<svg")).to.have.lengthOf(1 + 3);
    expect(page).to.include("Strike against settled price");
    // Behind "Settled at", which is left out: no round is settled.
    expect(page).to.match(/data-label="Last block"\s*>\d/u);
    expect(page).to.include("If the vault were settled now");
    expect(page.replaceAll(/\s+/gu, " ")).to.match(
      />Round settled<\/td>\s*<td class="right[^"]*" data-label="Before">no<\/td>\s*<td class="right[^"]*" data-label="After">yes</u,
    );
  });

  it("report shows what failed in its place, and exits with 1, also if every order can be read", async () => {
    await mocks.fail("queryVolume", HOSTILE);
    const args = { out: file, ids: "1-3" };
    const result = await runVaultTask(hre, "report", args);
    await mocks.succeed("queryVolume");
    expect(result.exitCode).to.equal(1);
    expect(result.stdout).to.include(
      "1 reading failed, as marked on the page.",
    );
    const page = await readFile(file, "utf8");
    expect(page).to.match(/<span class="bad"\s*>failed: /u);
    expect(page).to.not.include("<img");
  });

  it("report escapes what a contract's reason has behind digits that look grouped", async () => {
    await mocks.fail("queryVolume", "1,000<img src=x onerror=alert(1)>");
    await runVaultTask(hre, "report", { out: file });
    await mocks.succeed("queryVolume");
    const page = await readFile(file, "utf8");
    expect(page).to.not.include("<img");
    expect(page).to.match(/1,<wbr \/?>000&lt;img src=x/u);
  });

  it("report shows the time of the block that settled a round, not its planned end", async () => {
    const { vault, provider } = await hre.network.getOrCreate("default");
    const { endTime } = await vault.getLatestRoundInfo();
    const settledAt = endTime + 7_200n;
    await provider.request({
      method: "evm_setNextBlockTimestamp",
      params: [Number(settledAt)],
    });
    await vault.settleAll();
    // The round stays the latest in a block after that.
    await provider.request({ method: "evm_mine" });
    const page = await report({ rounds: true });
    const time = describeTime(settledAt);
    expect(page).to.match(
      new RegExp(`<td class="right" data-label="Settled at">${time}</td>`, "u"),
    );
    expect(page).to.match(new RegExp(`<title>settled ${time}</title>`, "u"));
  });

  it("report --rounds lists the rounds up to --block", async () => {
    const { vault } = await hre.network.getOrCreate("default");
    const { number } = await vault.block();
    // What the mocks are told belongs to the newest block.
    await vault.provider.request({ method: "evm_mine" });
    await mocks.startNextRound();
    expect(await report({ rounds: true })).to.include("2 rounds;");
    const page = await report({ rounds: true, block: String(number) });
    expect(page).to.include("1 round;");
  });

  it("html escapes in elements and in attributes, and nests markup", () => {
    expect(
      html`<b title="${HOSTILE}">${["<", html`<i>${'"'}</i>`]}</b>`.text,
    ).to.equal(
      `<b title="&lt;/td&gt;&lt;/script&gt;&lt;/style&gt;&lt;/svg&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&lt;!--&#39;&quot;&amp;\\u{202e}">&lt;<i>&quot;</i></b>`,
    );
  });
});
