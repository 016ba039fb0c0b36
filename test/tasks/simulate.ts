import { expect } from "chai";
import { formatUnits, getAddress } from "ethers";

import { encodeRevertData } from "../../src/mocks/failure.js";
import { startAnvil } from "../helpers/anvil.js";
import {
  answersBlockNumber,
  answersOrderOfBlockNumber,
  answersToken,
} from "../helpers/bytecode.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { runHardhat } from "../helpers/cli.js";
import type { CommandResult } from "../helpers/cli.js";
import { useFixtureProject } from "../helpers/fixture-project.js";
import type { FixtureProject } from "../helpers/fixture-project.js";
import {
  SETTLEMENT,
  deployProtocol,
  directProvider,
} from "../helpers/mock-protocol.js";
import type { MockProtocol } from "../helpers/mock-protocol.js";

const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const NOBODY = "0x00000000000000000000000000000000000000AA";
const TOKEN = getAddress("0x00000000000000000000000000000000000000cc");
const NAMED_TOKEN = getAddress("0x00000000000000000000000000000000000000dd");
const ROUND_END = 2_000_000_000;

describe("tasks - simulate", () => {
  let anvil: ServerProcess;
  let provider: ReturnType<typeof directProvider>;
  let protocol: MockProtocol;
  let project: FixtureProject;
  let head: { number: number; timestamp: number };

  before(async () => {
    anvil = await startAnvil();
    provider = directProvider(anvil.url);
    protocol = await deployProtocol(
      await provider.getSigner(2),
      BigInt(ROUND_END),
    );
    await provider.send("anvil_setCode", [
      protocol.contracts.trading,
      answersOrderOfBlockNumber(),
    ]);
    await provider.send("anvil_setCode", [TOKEN, answersBlockNumber(1)]);
    await provider.send("anvil_setCode", [
      NAMED_TOKEN,
      answersToken("USD=", 3),
    ]);
    const block = await provider.getBlock("latest");
    head = {
      number: block?.number ?? 0,
      timestamp: block?.timestamp ?? 0,
    };
    project = await useFixtureProject("plain");
  });

  after(async () => {
    provider.destroy();
    await anvil.stop();
    await project.remove();
  });

  async function simulate(...args: readonly string[]): Promise<CommandResult> {
    return await runHardhat(["vault", "simulate", ...args], {
      cwd: project.path,
      env: {
        TEST_URL: anvil.url,
        TEST_VAULT: JSON.stringify({
          contracts: protocol.contracts,
          tokenDecimals: 6,
        }),
      },
    });
  }

  it("should print one JSON document", async () => {
    const { stdout, stderr, exitCode } = await simulate(
      ...["--network", "test", "--json", "--at-time", "end", "--fork"],
      ...["--ids", "3,7-8", "--tokens", TOKEN],
    );
    expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 0 });
    const document: unknown = JSON.parse(stdout);
    expect(document).to.have.all.keys(
      "network",
      "chainId",
      "block",
      "simulation",
    );
    expect(document).to.deep.include({
      network: "test",
      chainId: 31_337,
      block: head,
    });
    expect(document)
      .to.have.property("simulation")
      .that.has.all.keys(
        "status",
        "code",
        "reason",
        "engine",
        "gasUsed",
        "block",
        "changes",
        "balances",
        "transfers",
        "notes",
      )
      .and.deep.includes({
        status: "settled",
        code: null,
        reason: null,
        engine: "fork",
        transfers: [],
        block: { number: head.number + 1, timestamp: ROUND_END },
      });
    expect(document)
      .to.have.nested.property("simulation.changes")
      .that.deep.includes({
        reading: "round",
        field: "settledPrice",
        before: "0",
        after: SETTLEMENT.price.toString(),
      })
      .and.deep.includes({
        reading: "orders.8",
        field: "state",
        before: head.number,
        after: head.number + 1,
      });
    expect(document)
      .to.have.nested.property("simulation.balances")
      .that.deep.includes({
        account: FIRST_ACCOUNT,
        token: TOKEN,
        before: String(head.number),
        after: String(head.number + 1),
      });
  });

  it("should show tokens by their own symbols and decimals", async () => {
    const { stdout, stderr, exitCode } = await simulate(
      ...["--network", "test", "--fork", "--tokens", NAMED_TOKEN],
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

  it("should exit with 1 on a revert, its words escaped", async () => {
    const { vault } = protocol.mocks;
    const checkpoint: unknown = await provider.send("evm_snapshot", []);
    await (
      await vault.setRevert(
        vault.settleAll.fragment.selector,
        encodeRevertData("No\u001b[2J!"),
      )
    ).wait();
    try {
      const [text, json] = await Promise.all([
        simulate("--network", "test"),
        simulate("--network", "test", "--json"),
      ]);
      expect([text.exitCode, json.exitCode]).to.deep.equal([1, 1]);
      expect(text.stdout).to.contain("reverted: No\\u{1b}[2J!");
      expect(text.stdout).to.match(
        new RegExp(`^Called by +${FIRST_ACCOUNT}$`, "mu"),
      );
      expect(JSON.parse(json.stdout))
        .to.have.property("simulation")
        .that.includes({ status: "reverted", reason: "No\u001b[2J!" });
      expect(json.stdout).not.to.contain("\u001b");
    } finally {
      await provider.send("evm_revert", [checkpoint]);
    }
  });

  it("should exit with 0 where there is nothing to do", async () => {
    const checkpoint: unknown = await provider.send("evm_snapshot", []);
    await (await protocol.mocks.vault.settleAll()).wait();
    try {
      const { stdout, exitCode } = await simulate("--network", "test");
      expect(exitCode).to.equal(0);
      expect(stdout).to.contain("nothing to do: the round is settled already");
    } finally {
      await provider.send("evm_revert", [checkpoint]);
    }
  });

  it("should need no key where an account is named", async () => {
    const at = Object.entries(protocol.contracts)
      .map(([role, address]) => `${role}=${address}`)
      .join(",");
    const [named, unnamed] = await Promise.all([
      simulate("--network", "withKeyVariable", "--at", at, "--as", NOBODY),
      simulate("--network", "withKeyVariable", "--at", at),
    ]);
    expect(named.stderr).to.equal("");
    expect(named.stdout).to.contain(NOBODY);
    expect(unnamed.exitCode).to.equal(1);
    expect(unnamed.stderr).to.contain("VAULT_CONFIG_VARIABLE");
    expect(unnamed.stderr).to.contain("TEST_UNSET_PRIVATE_KEY");
  });

  it("should fail as JSON with the code alone on stdout", async () => {
    const { stdout, stderr, exitCode } = await simulate(
      ...["--network", "test", "--json", "--at-time", "2020-01-01"],
    );
    expect({ stderr, exitCode }).to.deep.equal({ stderr: "", exitCode: 1 });
    expect(JSON.parse(stdout))
      .to.have.property("error")
      .that.includes({ code: "VAULT_TIME_IN_PAST" })
      .and.has.property("message")
      .that.contains("--at-time");
  });

  it("should offer every option, and leave vaultFork out of the networks", async () => {
    const [help, unknown] = await Promise.all([
      simulate("--help"),
      simulate("--network", "nowhere"),
    ]);
    for (const option of [
      "as",
      "at-time",
      "ids",
      "tokens",
      "block",
      "hardfork",
      "json",
      "at",
    ]) {
      expect(help.stdout).to.contain(`  --${option} `);
    }
    expect(unknown.stderr)
      .to.contain("VAULT_INVALID_ENUM")
      .and.not.to.contain("vaultFork");
  });
});
