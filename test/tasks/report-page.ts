import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

import { expect } from "chai";
import type { Browser, Page } from "playwright-core";

import {
  findBarriers,
  missingBrowser,
  openFile,
  startBrowser,
} from "../helpers/browser.js";
import { createTestHre } from "../helpers/hre.js";
import { runVaultTask } from "../helpers/run-vault-task.js";

const HOSTILE = `</td></script></style></title><img src=x onerror=alert(1)><script>alert(2)</script>"'>`;
const ORDERS = 60;
const PAGE = 25;

describe("tasks - report in a browser", function () {
  if (missingBrowser !== undefined) {
    // eslint-disable-next-line no-restricted-syntax -- no npm package brings a browser; CI installs one
    it.skip(missingBrowser);
    return;
  }
  let browser: Browser;
  let folder: string;
  let file: string;
  let many: string;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "vault-report-page-"));
    file = path.join(folder, "report.html");
    many = path.join(folder, "many.html");
    const hre = await createTestHre({
      networks: {
        default: {
          type: "edr-simulated",
          vault: {
            tokenDecimals: 18,
            displayDecimals: { "order.openPrice": 18 },
          },
        },
      },
    });
    const { vault } = await hre.network.getOrCreate("default");
    const mocks = await vault.deployMocks();
    await mocks.generateOrders(1n, 1_100n);
    await mocks.set({ orders: { 1: { exType: HOSTILE } } });
    // Less than all others, and not by how it begins.
    await mocks.set({ orders: { 2: { openPrice: 9n * 10n ** 18n } } });
    for (const args of [
      { out: file, orders: `1-${ORDERS}`, rounds: true, simulate: true },
      { out: many, orders: "1-1100" },
    ]) {
      const { exitCode, stderr } = await runVaultTask(hre, "report", args);
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: "" });
    }
    browser = await startBrowser();
  });
  after(async () => {
    await browser.close();
    await rm(folder, { recursive: true });
  });
  afterEach(async () => {
    await Promise.all(
      browser.contexts().map(async (context) => {
        await context.close();
      }),
    );
  });

  const ordersOf = (page: Page): ReturnType<Page["locator"]> =>
    page.locator(".orders tbody tr");
  const backgroundOf = async (page: Page): Promise<unknown> =>
    await page.evaluate("getComputedStyle(document.body).backgroundColor");
  const idsOf = async (page: Page): Promise<string[]> =>
    (await page.locator(".orders tbody td:first-child").allTextContents()).map(
      (text) => text.trim(),
    );

  it("should ask for nothing and complain of nothing", async () => {
    const { page, complaints } = await openFile(browser, file);
    expect(await ordersOf(page).count()).to.equal(PAGE);
    expect(await page.locator("svg[role=img]").count()).to.equal(9);
    expect(complaints).to.deep.equal([]);
  });

  it("should show hostile texts as texts", async () => {
    const { page } = await openFile(browser, file);
    expect(await ordersOf(page).first().textContent()).to.include(
      "</td></script></style></title><img src=x",
    );
    expect(await page.locator("img").count()).to.equal(0);
    expect(await page.locator("script").count()).to.equal(1);
  });

  it("should run no script, apply no style and load nothing but its own", async () => {
    const text = await readFile(file, "utf8");
    const tampered = path.join(folder, "tampered.html");
    const brought = [
      "<script>alert(1)</script>",
      "<p onclick='alert(1)' style='color: red'>x</p>",
      "<img src='https://vault.invalid/x.png'>",
    ].join("");
    for (const changed of [
      text.replace("</main>", `${brought}</main>`),
      // What is its own no longer is.
      text
        .replace('"use strict";', '"use strict"; alert(1);')
        .replace("</style>", "p { color: red; }</style>"),
    ]) {
      expect(changed).to.not.equal(text);
      await writeFile(tampered, changed);
      const { page, complaints } = await openFile(browser, tampered);
      await page.locator("p").last().click();
      const all = complaints.join("\n");
      expect(all).to.include("Executing inline script violates");
      expect(all).to.include("Applying inline style violates");
      expect(all).to.not.include("dialog");
      if (changed.includes(brought)) {
        expect(all).to.include("Executing inline event handler violates");
        expect(all).to.include("Loading the image");
      }
    }
  });

  for (const [colorScheme, width, background] of [
    ["light", 1280, "rgb(255, 255, 255)"],
    ["dark", 400, "rgb(14, 17, 22)"],
  ] as const) {
    it(`should have no barriers, ${colorScheme}, ${width} wide`, async () => {
      const { page } = await openFile(browser, file, {
        colorScheme,
        viewport: { width, height: 900 },
      });
      expect(await findBarriers(page)).to.deep.equal([]);
      expect(
        await page.evaluate("document.documentElement.scrollWidth"),
      ).to.equal(width);
      expect(await backgroundOf(page)).to.equal(background);
    });
  }

  it("should be sorted and turned by keyboard", async () => {
    const { page } = await openFile(browser, file);
    const heading = page.getByRole("columnheader", { name: "Id" });
    const sort = heading.getByRole("button");
    const focused = sort.and(page.locator(":focus"));
    for (let tabs = 0; tabs < 10 && (await focused.count()) === 0; tabs += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    expect(await heading.getAttribute("aria-sort")).to.equal("ascending");
    await page.keyboard.press("Space");
    expect(await heading.getAttribute("aria-sort")).to.equal("descending");
    expect((await idsOf(page)).slice(0, 2)).to.deep.equal(["60", "59"]);
    const pages = page.getByRole("navigation", { name: "Pages of orders" });
    await pages.getByRole("button", { name: "Next" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    expect(await idsOf(page)).to.have.lengthOf(ORDERS - 2 * PAGE);
    expect(await pages.getByRole("status").textContent()).to.equal(
      "Orders 51 to 60 of 60",
    );
    await pages.getByRole("button", { name: "Show all" }).press("Enter");
    expect(await idsOf(page)).to.have.lengthOf(ORDERS);
  });

  it("should sort by integers, not by what they look like", async () => {
    const { page } = await openFile(browser, file);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("button", { name: "Opening price" }).click();
    const titles = await page.evaluate<string[]>(
      `[...document.querySelectorAll(".orders tbody td:nth-child(5)")].map(({ title }) => title)`,
    );
    expect(titles).to.have.lengthOf(ORDERS);
    const sorted = titles
      .map(BigInt)
      .sort((one, other) => (one < other ? -1 : one > other ? 1 : 0));
    expect(titles).to.deep.equal(sorted.map(String));
  });

  it("should be whole without a script", async () => {
    const { page, complaints } = await openFile(browser, file, {
      javaScriptEnabled: false,
    });
    expect(await idsOf(page)).to.have.lengthOf(ORDERS);
    expect(await page.getByRole("button").count()).to.equal(0);
    expect(complaints).to.deep.equal([]);
  });

  it("should lay out of thousands those in sight alone", async () => {
    for (const javaScriptEnabled of [true, false]) {
      const { page } = await openFile(browser, many, { javaScriptEnabled });
      expect(await ordersOf(page).count()).to.equal(
        javaScriptEnabled ? PAGE : 1_100,
      );
      if (javaScriptEnabled) {
        await page.getByRole("button", { name: "Show all" }).click();
      }
      expect(
        await page.evaluate(
          `getComputedStyle(document.querySelector(".orders tbody tr:last-child")).contentVisibility`,
        ),
      ).to.equal("auto");
      // Laid out otherwise, they still are rows.
      expect(await page.locator(".orders [role=row]").count()).to.equal(1_101);
    }
  });

  it("should be printed black on white, without what a hand would press", async () => {
    const { page } = await openFile(browser, file, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    expect(await backgroundOf(page)).to.equal("rgb(255, 255, 255)");
    expect(await page.getByRole("button", { name: "Next" }).count()).to.equal(
      0,
    );
    expect(
      (await page.pdf({ format: "A4" })).subarray(0, 5).toString(),
    ).to.equal("%PDF-");
  });
});
