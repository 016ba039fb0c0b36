import { readFileSync } from "node:fs";

import { expect } from "chai";

import { fieldsOf } from "../helpers/fields.js";
import { hreOnLive } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { DEV_KEYS } from "../helpers/world.js";

const page = readFileSync("docs/settling-safely.md", "utf8");
const [, section = ""] = page.split("\n## A stuck transaction\n");
/** The commands of the section, in their order. */
const [look, bump, cancel, end, settle] = [
  ...section.matchAll(/^ *npx hardhat vault (settle.*)$/gmu),
].map(([, command = ""]) => command);

describe("docs/settling-safely.md", () => {
  let keeper: KeeperWithNode;

  before(async () => {
    keeper = await startKeeper();
  });
  after(async () => {
    await keeper.close();
  });

  const run = async (
    command = "",
    timeout = "",
  ): Promise<Readonly<Record<"status" | "hash" | "exitCode", unknown>>> => {
    expect(command).to.include(" --network mainnet");
    const typed = command
      .replace(/ --timeout \d+/u, "")
      .replace(" --network mainnet", ` --json${timeout}`);
    const hre = await hreOnLive(
      keeper.node.url,
      {
        accounts: [DEV_KEYS[0]],
        vault: { contracts: keeper.chain.contracts },
      },
      keeper.project.path,
    );
    const { stdout, exitCode } = await runTyped(hre, typed);
    const { status, hash } = fieldsOf(
      fieldsOf(JSON.parse(stdout))["settlement"],
    );
    return { status, hash, exitCode };
  };

  it("has commands that free a vault of a stuck transaction: raised, cancelled, settled", async () => {
    const { chain } = keeper;
    const { provider } = chain;
    const short = " --timeout 1";
    // A busy machine needs longer to replace a transaction.
    const replacing = " --timeout 4";
    const stuck = { status: "unconfirmed", exitCode: 1 };

    await provider.send("evm_setAutomine", [false]);
    const first = await run(`${settle ?? ""} --yes`, short);
    expect(first).to.include(stuck);
    expect(await run(look, short)).to.include(stuck);
    // Without a terminal, nobody can be asked.
    const raised = await run(`${bump ?? ""} --yes`, replacing);
    expect(raised).to.include(stuck);
    await chain.mine();
    const settled = await run(end);
    expect(settled).to.include({ status: "settled", exitCode: 0 });
    expect(settled.hash).not.to.equal(first.hash);

    await provider.send("evm_setAutomine", [true]);
    await chain.openNextRound();
    await provider.send("evm_setAutomine", [false]);
    expect(await run(`${settle ?? ""} --yes`, short)).to.include(stuck);
    expect(await run(cancel, replacing)).to.include(stuck);
    await chain.mine();
    expect(await run(end)).to.include({ status: "cancelled", exitCode: 0 });
    expect((await keeper.chain.round()).settled).to.equal(false);

    await provider.send("evm_setAutomine", [true]);
    expect(await run(`${settle ?? ""} --yes`)).to.include({
      status: "settled",
      exitCode: 0,
    });
  });
});
