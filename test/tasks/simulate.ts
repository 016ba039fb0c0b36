import { expect } from "chai";
import { formatUnits, getAddress } from "ethers";
import { configVariable } from "hardhat/config";

import { useAnvil } from "../helpers/anvil.js";
import {
  answersBlockNumber,
  answersOrderOfBlockNumber,
  answersToken,
  emitsTransfer,
} from "../helpers/bytecode.js";
import type { CommandResult } from "../helpers/cli.js";
import { hreOnLive } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { fieldsOf } from "../helpers/fields.js";
import { deployProtocol, directProvider } from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { parseDocument, runTyped } from "../helpers/run-vault-task.js";

const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const NOBODY = "0x00000000000000000000000000000000000000AA";
const TOKEN = getAddress("0x00000000000000000000000000000000000000cc");
const NAMED_TOKEN = getAddress("0x00000000000000000000000000000000000000dd");
const ROUND_END = 2_000_000_000;

// What simulate prints of each outcome is recorded: see sessions.ts.
describe("vault simulate", () => {
  const anvil = useAnvil();
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let head: { number: number; timestamp: number };

  before(async () => {
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(
      await provider.getSigner(2),
      BigInt(ROUND_END),
    );
    for (const placed of [
      [protocol.contracts.trading, answersOrderOfBlockNumber()],
      [TOKEN, answersBlockNumber(1)],
      [NAMED_TOKEN, answersToken("USD=", 3)],
    ]) {
      await provider.send("anvil_setCode", placed);
    }
    const block = await provider.getBlock("latest");
    head = { number: block?.number ?? 0, timestamp: block?.timestamp ?? 0 };
  });

  after(async () => {
    provider.destroy();
  });

  async function simulate(
    typed: string,
    settings: NetworkSettings = {},
  ): Promise<CommandResult> {
    const vault = { contracts: protocol.contracts, tokenDecimals: 6 };
    const hre = await hreOnLive(anvil.url, { vault, ...settings });
    return await runTyped(hre, `simulate ${typed}`);
  }

  it("simulate --fork prints the changes of the orders and tokens that --ids and --tokens name, at the time of --at-time", async () => {
    const result = await simulate(
      `--json --at-time end --fork --ids 3,7-8 --tokens ${TOKEN}`,
    );
    expect(result).to.include({ stderr: "", exitCode: 0 });
    const { block, simulation } = fieldsOf(parseDocument(result));
    expect(block).to.deep.equal(head);
    expect(simulation).to.deep.include({
      status: "settled",
      engine: "fork",
      block: { number: head.number + 1, timestamp: ROUND_END },
    });
    const { changes, balances } = fieldsOf(simulation);
    const [before, after] = [head.number, head.number + 1];
    expect(changes).to.deep.include({
      ...{ reading: "orders.8", field: "state", before, after },
    });
    expect(balances).to.deep.include({
      account: FIRST_ACCOUNT,
      token: TOKEN,
      before: String(before),
      after: String(after),
    });
  });

  it("simulate shows tokens by their own symbols and decimals", async () => {
    const { stdout, stderr, exitCode } = await simulate(
      `--fork --tokens ${NAMED_TOKEN}`,
    );
    expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 0 });
    const rows = stdout.split("\n").map((line) => line.split(/ {2,}/u));
    const now = head.number;
    expect(rows).to.deep.include([
      "Sender, USD=",
      formatUnits(now, 3),
      formatUnits(now + 1, 3),
      "+0.001",
    ]);
  });

  it("simulate names the account that a transfer is from before the one that it is to", async () => {
    const payer = getAddress("0x00000000000000000000000000000000000000ee");
    await provider.send("anvil_setCode", [payer, emitsTransfer]);
    const { stdout } = await simulate(`--at vault=${payer}`);
    expect(stdout).to.match(
      /^ *Amount {2}From +To$\n^1 .* {2}vault contract {2}sender$/mu,
    );
  });

  it("simulate --as needs no key, and without --as fails with VAULT_CONFIG_VARIABLE if the key is not set", async () => {
    const unset = { accounts: [configVariable("TEST_UNSET_PRIVATE_KEY")] };
    const named = await simulate(`--as ${NOBODY}`, unset);
    expect(named.stderr).to.equal("");
    expect(named.stdout).to.contain(NOBODY);
    const unnamed = await simulate("", unset);
    expect(unnamed.exitCode).to.equal(1);
    expect(unnamed.stderr)
      .to.contain("VAULT_CONFIG_VARIABLE")
      .and.contain("TEST_UNSET_PRIVATE_KEY");
  });
});
