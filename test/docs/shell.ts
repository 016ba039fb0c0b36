import { execFile, spawnSync } from "node:child_process";
import { glob, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";
import type { NetworkConnection } from "hardhat/types/network";

import type { MockVaultHandle } from "../../src/plugin/hardhat-vault.js";
import { createStyle } from "../../tasks/output/style.js";
import { createDisplay, watch } from "../../tasks/watch.js";
import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { environmentWithoutColours } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { hardhatCli } from "../helpers/hardhat-node.js";
import { connectTo } from "../helpers/hre.js";
import { sample } from "../helpers/sample.js";

const SENDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** Words that one block of shell alone has, what follows it, and what is printed. */
const blocks = [
  ["jq -c 'select(.changed", "", /^\[\d+,false\]\n$/u],
  ["jq -r '.simulation.changes[]", "", /^[1-9]\d*\n$/u],
  [
    "jq .block.number",
    "cat orders.ndjson",
    /(?:^\{"orderID":"\d+",.*\}\n){1000}$/mu,
  ],
  [
    "vault simulate --network mainnet --block $block",
    "",
    /^(?:\{"network":.*\}\n){3}$/u,
  ],
] as const;

const hasJq = spawnSync("jq", ["--version"]).status === 0;

describe("pipes and loops of the documents, in a shell", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    [anvil, project] = await Promise.all([
      startAnvil(),
      useFixtureProject("plain"),
    ]);
    connection = await connectTo(anvil.url);
    mocks = await connection.vault.deployMocks({ scenario: "many-orders" });
    const bin = path.join(project.path, "bin");
    await mkdir(bin);
    // A watch has no end: its lines were recorded.
    await writeFile(
      path.join(bin, "npx"),
      `#!/bin/sh\n[ "$3" = watch ] && exec cat watched\nshift\nexec "${process.execPath}" "${hardhatCli}" "$@"\n`,
      { mode: 0o755 },
    );
  });
  after(async () => {
    await anvil.stop();
    await project.remove();
  });

  /** The lines of a watch that saw `canBeSettled` change. */
  async function recordWatch(): Promise<void> {
    const { vault } = connection;
    const settings = { ...vault.settings, json: true, raw: false };
    const style = createStyle({ isTTY: false });
    const write = async (): Promise<boolean> => await Promise.resolve(true);
    const show = createDisplay(settings, { isTTY: false, style, write });
    let lines = "";
    const clock = {
      now: () => 0,
      sleep: async () => await mocks.fail("settleAll", "not yet"),
    };
    for await (const event of watch(vault, {}, clock)) {
      lines += show(event);
      if (event.kind === "change") {
        break;
      }
    }
    await mocks.succeed("settleAll");
    await writeFile(path.join(project.path, "watched"), lines);
  }

  const runnable = hasJq
    ? sample(blocks, 2)
    : blocks.filter(([words]) => !words.startsWith("jq"));
  for (const [words, then, printed] of runnable) {
    it(`${words} … prints what its page promises${hasJq ? "" : " (without jq: the others are left out)"}`, async () => {
      await recordWatch();
      const pages = await Promise.all(
        (await Array.fromAsync(glob("docs/*.md"))).map(
          async (file) => await readFile(file, "utf8"),
        ),
      );
      const found = pages
        .flatMap((page) => [...page.matchAll(/^```sh\n(.*?)^```$/gmsu)])
        .flatMap(([, text = ""]) => (text.includes(words) ? [text] : []));
      expect(found).to.have.lengthOf(1);
      const { number } = await connection.vault.block();
      const script = `${found.join("")}${then}`
        .replaceAll(/--network \w+/gu, "--network test")
        .replaceAll("0x…", SENDER)
        .replaceAll(/\b3100\d{4}\b/gu, String(number));
      const { stdout } = await promisify(execFile)("bash", ["-euc", script], {
        cwd: project.path,
        env: {
          ...environmentWithoutColours(),
          PATH: `${project.path}/bin:${process.env["PATH"]}`,
          TEST_URL: anvil.url,
          TEST_VAULT: JSON.stringify({ contracts: mocks.addresses }),
          TEST_NETWORK: JSON.stringify({ from: SENDER }),
        },
      });
      expect(stdout).to.match(printed);
    });
  }
});
