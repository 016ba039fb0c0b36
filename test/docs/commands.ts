import { glob, readFile } from "node:fs/promises";

import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { startAnvil } from "../helpers/anvil.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import { connectTo, hreOnLive } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { DEV_KEYS } from "../helpers/world.js";

/** They ask a person, and here is no terminal. */
const asking = /^(?:settle|deploy-guard)(?: --network \w+)?$/u;
/** settling-safely.ts runs what resumes, test/nightly/shell.ts what a shell has to do. */
const elsewhere = /--resume|^watch|\$BLOCK/u;

describe("the commands of the pages", () => {
  let anvil: ServerProcess;
  let project: FixtureProject;
  let hre: HardhatRuntimeEnvironment;
  let request: (method: string, ...params: unknown[]) => Promise<unknown>;
  const folder = process.cwd();

  before(async () => {
    [anvil, project] = await Promise.all([
      startAnvil(),
      useFixtureProject("plain"),
    ]);
    const { vault, provider } = await connectTo(anvil.url);
    const { addresses } = await vault.deployMocks({
      scenario: "expired-round",
    });
    request = async (method, ...params) => {
      const answer: unknown = await provider.request({ method, params });
      return answer;
    };
    // So that a block is final.
    await request("anvil_mine", "0x50");
    const network = {
      accounts: [DEV_KEYS[0]],
      vault: { contracts: addresses, maxFeePerGasLimit: 10n ** 12n },
    };
    hre = await hreOnLive(anvil.url, network, project.path);
    process.chdir(project.path);
  });
  after(async () => {
    process.chdir(folder);
    await anvil.stop();
    await project.remove();
  });

  it("exit with 0, or ask a person", async () => {
    const failed: string[] = [];
    let commands = 0;
    for await (const page of glob("{docs,examples}/*.md", { cwd: folder })) {
      const text = await readFile(`${folder}/${page}`, "utf8");
      for (const typed of commandsIn(text)) {
        commands += 1;
        const before = await request("evm_snapshot");
        const { exitCode, stdout, stderr } = await runTyped(hre, typed);
        await request("evm_revert", before);
        const isRight = asking.test(typed)
          ? /there is no terminal/u.test(stdout + stderr)
          : exitCode === 0;
        if (!isRight) {
          failed.push(`${page}: ${typed}: ${stdout}${stderr}`);
        }
      }
    }
    expect(failed).to.deep.equal([]);
    expect(commands).to.be.above(20);
  });
});

/** What is typed after `npx hardhat vault` in the blocks of a page. */
function commandsIn(page: string): readonly string[] {
  const blocks = page.match(/(?<=^ *```sh\n).*?(?=^ *```$)/gmsu) ?? [];
  return blocks
    .flatMap((block) => block.replaceAll(/\\\n\s*/gu, "").split("\n"))
    .flatMap((line) => {
      const [, typed = ""] =
        /npx hardhat vault ([^|>&)]*[^|>&)\s])/u.exec(line) ?? [];
      return typed === "" || elsewhere.test(typed) ? [] : [typed];
    })
    .map((typed) =>
      typed
        .replaceAll("0xSafe…", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
        .replace("--from-block 30000000", "--from-block 0")
        .replaceAll(/ --network \w+/gu, ""),
    );
}
