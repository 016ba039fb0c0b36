import { execFile, spawnSync } from "node:child_process";
import { glob, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

import { expect } from "chai";

import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { environmentWithoutColours } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { hardhatCli } from "../helpers/hardhat-node.js";
import { connectTo } from "../helpers/hre.js";
import { describeOnPosix } from "../helpers/posix.js";
import { sample } from "../helpers/sample.js";

const SENDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** Words that one block alone has, a command after it, and what is printed. */
const blocks = [
  ["jq -c 'select(.changed", "", /^\[7,false\]\n$/u],
  ["jq -r '.simulation.changes[]", "", /^[1-9]\d*\n$/u],
  ["jq .block.number", "cat orders.ndjson", /(?:^\{"orderID":.*\n){1000}$/mu],
  ["--block $block", "", /^(?:\{"network":.*\}\n){3}$/u],
] as const;
const hasJq = spawnSync("jq", ["--version"]).status === 0;

/** As `npx hardhat`, but for a watch, which would not end. */
const npx = `#!/bin/sh
if [ "$3" = watch ]; then
  echo '{"block":{"number":6},"changed":[],"canBeSettled":true}'
  echo '{"block":{"number":7},"changed":["canBeSettled"],"canBeSettled":false}'
else
  shift
  exec "${process.execPath}" "${hardhatCli}" "$@"
fi
`;

describeOnPosix("pipes and loops of the documents, in a shell", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;
  let env: NodeJS.ProcessEnv;
  let head = 0;

  before(async () => {
    [anvil, project] = await Promise.all([
      startAnvil(),
      useFixtureProject("plain"),
    ]);
    const { vault } = await connectTo(anvil.url);
    const { addresses } = await vault.deployMocks({ scenario: "many-orders" });
    head = (await vault.block()).number;
    const bin = path.join(project.path, "bin");
    await mkdir(bin);
    await writeFile(path.join(bin, "npx"), npx, { mode: 0o755 });
    env = {
      ...environmentWithoutColours(),
      PATH: `${bin}:${process.env["PATH"]}`,
      TEST_URL: anvil.url,
      TEST_VAULT: JSON.stringify({ contracts: addresses }),
      TEST_NETWORK: JSON.stringify({ from: SENDER }),
    };
  });
  after(async () => {
    await anvil.stop();
    await project.remove();
  });

  for (const [words, then, printed] of hasJq
    ? sample(blocks, 2)
    : blocks.slice(-1)) {
    it(`${words} … prints what its page promises${hasJq ? "" : " (without jq, no other is run)"}`, async () => {
      const found: string[] = [];
      for await (const page of glob("docs/*.md")) {
        const text = await readFile(page, "utf8");
        found.push(
          ...(text.match(/(?<=^```sh\n).*?(?=^```$)/gmsu) ?? []).filter(
            (block) => block.includes(words),
          ),
        );
      }
      expect(found).to.have.lengthOf(1);
      const script = `${found.join("")}${then}`
        .replaceAll(/--network \w+/gu, "--network test")
        .replaceAll("0x…", SENDER)
        .replaceAll(/\b3100\d{4}\b/gu, String(head));
      const { stdout } = await promisify(execFile)("bash", ["-euc", script], {
        cwd: project.path,
        env,
      });
      expect(stdout).to.match(printed);
    });
  }
});
