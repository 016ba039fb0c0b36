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
} from "../../helpers/browser.js";
import { createTestHre } from "../../helpers/hre.js";
import { runVaultTask } from "../../helpers/run-vault-task.js";
import { sample } from "../../helpers/sample.js";

const HOSTILE = `</td></script></style></title><img src=x onerror=alert(1)><script>alert(2)</script>"'>`;
const ORDERS = 1_100;
describe("the page of vault report in a browser", function () {
  if (missingBrowser !== undefined) {
    // eslint-disable-next-line project/no-skip -- no npm package brings a browser; CI installs one
    it.skip(missingBrowser);
    return;
  }
  let browser: Browser;
  let folder: string;
  let file: string;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "vault-report-page-"));
    file = path.join(folder, "report.html");
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
    await mocks.set({
      generatedOrders: { firstId: 1n, lastId: BigInt(ORDERS) },
    });
    await mocks.set({ orders: { 1: { exType: HOSTILE } } });
    const { exitCode, stderr } = await runVaultTask(hre, "report", {
      out: file,
      ids: `1-${ORDERS}`,
      rounds: true,
      simulate: true,
    });
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: "" });
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
    page
      .locator("h3", { hasText: "The first 1,000 orders" })
      .locator("+ .scroll tbody tr");

  it("the page requests nothing, runs no script, and shows hostile texts as texts", async () => {
    const { page, complaints } = await openFile(browser, file);
    expect(await page.locator("svg[role=img]").count()).to.equal(5);
    expect(await ordersOf(page).first().textContent()).to.include(
      "</td></script></style></title><img src=x",
    );
    expect(await page.locator("img, script").count()).to.equal(0);
    expect(complaints).to.deep.equal([]);
  });

  it("the page runs no script, applies no style and loads nothing that somebody adds to it", async () => {
    const tampered = path.join(folder, "tampered.html");
    const brought =
      "<script>alert(1)</script><img src='https://vault.invalid/x.png'>" +
      "<p onclick='alert(1)' style='color: red'>x</p>";
    const text = (await readFile(file, "utf8"))
      .replace("</main>", `${brought}</main>`)
      // What is its own no longer is.
      .replace("</style>", "p { color: red; }</style>");
    await writeFile(tampered, text);
    const { page, complaints } = await openFile(browser, tampered);
    await page.locator("p[onclick]").click();
    expect(complaints.join("\n"))
      .to.include("Executing inline script violates")
      .and.include("Applying inline style violates")
      .and.include("Executing inline event handler violates")
      .and.include("Loading the image")
      .and.not.include("dialog");
  });

  it("the page on paper keeps its colours, headings with what follows, and charts and rows whole", async () => {
    const { page } = await openFile(browser, file, { colorScheme: "dark" });
    const styleOf = async (selector: string, property: string) =>
      await page.evaluate(
        `getComputedStyle(document.querySelector("${selector}")).${property}`,
      );
    const styles = async () => [
      await styleOf("body", "backgroundColor"),
      ...[
        await styleOf(".scroll", "overflowX"),
        await styleOf("h3", "breakAfter"),
      ],
      await styleOf("figure", "breakInside"),
      await styleOf("tbody tr", "breakInside"),
      await styleOf("svg path", "printColorAdjust"),
    ];
    expect(await styles()).to.deep.equal([
      ...["rgb(14, 17, 22)", "auto", "auto", "auto", "auto", "economy"],
    ]);
    await page.emulateMedia({ media: "print" });
    expect(await styles()).to.deep.equal([
      ...["rgb(255, 255, 255)", "visible", "avoid", "avoid", "avoid", "exact"],
    ]);
  });

  const appearances = [
    ["light", 1280, "rgb(255, 255, 255)"],
    ["dark", 400, "rgb(14, 17, 22)"],
  ] as const;
  for (const [colorScheme, width, background] of sample(appearances, 1)) {
    it(`the page has no barriers for axe-core, ${colorScheme}, ${width} wide`, async () => {
      const { page } = await openFile(browser, file, {
        colorScheme,
        viewport: { width, height: 900 },
      });
      expect(await findBarriers(page)).to.deep.equal([]);
      expect(
        await page.evaluate("document.documentElement.scrollWidth"),
      ).to.equal(width);
      expect(
        await page.evaluate("getComputedStyle(document.body).backgroundColor"),
      ).to.equal(background);
    });
  }
});
