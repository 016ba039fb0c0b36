import { expect } from "chai";
import { Wallet, getAddress } from "ethers";

import { httpNetwork } from "../helpers/hre.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import {
  squeezed,
  useTasks,
  networksWithInstances,
} from "../helpers/use-tasks.js";
import { DEV_KEYS, directProvider } from "../helpers/world.js";

const NOBODY = "0x00000000000000000000000000000000000000AA";
/** Reverts until settleAll, which pays 1,234,567 of itself to its caller and settles nothing. */
const ODD_VAULT =
  "0x5f3560e01c63a015aefe14601f57607754806018575f5ffd5b5f5260205ff35b60016077556212d6875f5233307fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60205fa300";

describe("vault simulate", () => {
  let token = "";
  const contracts: Record<string, Readonly<Record<string, string>>> = {};

  const tasks = useTasks({
    networks: networksWithInstances(contracts, (url, vault) => ({
      other: httpNetwork(url, { accounts: [DEV_KEYS[1]], vault }),
    })),
    prepare: async (url) => {
      const deployer = new Wallet(DEV_KEYS[0], directProvider(url));
      const paying = await deploySettlingVault(deployer, "PayingVault", {
        isProxied: true,
      });
      contracts["paying"] = paying.contracts;
      token = await paying.token.getAddress();
      for (const [name, kind, options] of [
        ["native", "NativeVault", {}],
        ["keeper", "KeeperVault", { orders: 1 }],
        ["clock", "ClockVault", { endTime: 1_990_000_000 }],
        ["idle", "IdleVault", {}],
      ] as const) {
        contracts[name] = (
          await deploySettlingVault(deployer, kind, options)
        ).contracts;
      }
    },
  });
  const lines = async (typed: string): Promise<string[]> =>
    squeezed((await tasks.run(typed)).stdout).split("\n");
  const simulation = async (
    typed: string,
    exitCode = 0,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const document = await tasks.documentOf(`simulate ${typed}`, exitCode);
    // the task's document; each test looks at what it needs
    return document["simulation"] as Readonly<Record<string, unknown>>;
  };

  it("simulate shows changes of pools and watched orders, and payments and balances in the token's own decimals", async () => {
    expect(
      await lines(`simulate --instance paying --ids 1-2 --tokens ${token}`),
    ).to.include.members([
      ...["Changes", "Transfers", "Balances"],
      "Outcome · settled",
      "Executed by · the node (eth_simulateV1)",
      "Round settled price · 0 · 1,875",
      "Public available · 1,000,000 raw · 999,970 raw",
      "Order 2 state · open (1) · closed (2)",
      "0.00001 TST · vault contract · 0x00000000000000000000000000000000BEEF0001",
      "Vault contract, TST · 1 · 0.99997 · -0.00003",
      "Nothing was sent to live.",
    ]);
  });

  it("simulate --json has each payment unscaled, with symbol and decimals, and null for what is unknown", async () => {
    const found = await simulation(`--instance paying --tokens ${token}`);
    const { vault } = contracts["paying"] ?? {};
    expect(found).to.include({
      ...{ status: "settled", code: null, reason: null },
      ...{ engine: "simulateV1", guard: null },
    });
    expect(found["transfers"])
      .to.have.lengthOf(3)
      .and.have.property("0")
      .that.deep.equals({
        ...{ token, from: vault, amount: "10", symbol: "TST", decimals: 6 },
        to: "0x00000000000000000000000000000000BeEF0000",
      });
    expect(found["balances"]).to.deep.include({
      ...{ account: vault, token, before: "1000000", after: "999970" },
    });
  });

  it("simulate shows native currency that the vault pays, to the sender, too", async () => {
    expect(await lines("simulate --instance native")).to.include.members([
      "0.000000000000001 native currency · vault contract · sender",
      "3 native currency · vault contract · 0x00000000000000000000000000000000BEEF0001",
      "Vault contract, native currency · 10 · 6.999999999999998995 · -3.000000000000001005",
    ]);
  });

  it("simulate calls as the account that would settle, or as --from names, and exits with 1 if that one is refused", async () => {
    expect(await simulation("--instance keeper")).to.include({
      status: "settled",
    });
    for (const typed of [
      "--instance keeper --network other",
      `--instance keeper --from ${NOBODY}`,
    ]) {
      const found = await simulation(typed, 1);
      expect(found).to.include({
        status: "reverted",
        code: "VAULT_CALL_REVERTED",
      });
      expect(found["reason"], typed).to.match(/^unknown error 0xccf79b67 /u);
    }
    expect(
      await lines(`simulate --instance paying --from ${NOBODY}`),
    ).to.include(`Settled by · ${NOBODY}`);
  });

  it("simulate --at-time end settles at the round's end what is refused before it", async () => {
    expect(await simulation("--instance clock", 1)).to.include({
      reason: "the round has not ended",
    });
    const before = "--instance clock --at-time 1989999999";
    expect(await simulation(before, 1)).to.include({ status: "reverted" });
    const found = await simulation("--instance clock --at-time end");
    expect(found).to.include({ status: "settled" });
    expect(found["block"]).to.include({ timestamp: 1_990_000_000 });
  });

  it("simulate exits with 1 if the contract accepts the call and does not settle the round", async () => {
    const { exitCode, stdout } = await tasks.run("simulate --instance idle");
    expect(exitCode).to.equal(1);
    expect(squeezed(stdout)).to.include(
      "Outcome · not settled: The contract accepts the call on network live, but the round is not settled by it.",
    );
    expect(await simulation("--instance idle", 1)).to.include({
      ...{ status: "not-settled", code: "VAULT_NOT_SETTLED" },
    });
  });

  it("simulate has nothing to do if the round is settled, and exits with 0", async () => {
    await tasks.run("settle --yes");
    const { stdout, exitCode } = await tasks.run("simulate");
    expect(exitCode).to.equal(0);
    expect(squeezed(stdout)).to.include(
      "Outcome · nothing to do: the round is settled already\nCalled by · 0xf39F",
    );
    expect(await simulation("")).to.include({
      ...{ status: "nothing-to-do", gasUsed: null, block: null },
    });
  });

  it("simulate shows the contract's reason escaped, or that there is none", async () => {
    for (const [reason, shown] of [
      ["not\u001b[2J yet", "not\\u{1b}[2J yet"],
      ["0x", "no reason given"],
      ["0xdeadbeef", "unknown error 0xdeadbeef with 0 bytes of arguments"],
      [
        `0x4e487b71${"11".padStart(64, "0")}`,
        "panic code 0x11 (Arithmetic operation overflowed",
      ],
    ] as const) {
      await tasks.run(`mock fail settleAll '${reason}'`);
      const { stdout, exitCode } = await tasks.run("simulate");
      expect(exitCode).to.equal(1);
      expect(squeezed(stdout)).to.include(`Outcome · reverted: ${shown}`);
    }
  });

  it("simulate --fork and --hardfork execute on a fork, with the same outcome", async () => {
    for (const option of ["--fork", "--hardfork prague"]) {
      expect(await simulation(`${option} --instance paying`)).to.include({
        ...{ status: "settled", engine: "fork" },
      });
    }
  });

  it("simulate looks back with --block, and names the block in which there was no contract", async () => {
    const { number } = await tasks.mocks.vault.block();
    await tasks.run("settle --yes");
    const back = await tasks.documentOf(`simulate --block ${number}`);
    expect(back).to.have.nested.property("simulation.status", "settled");
    expect(back).to.have.nested.property("block.number", number);
    const { code, message } = await tasks.errorOf("simulate --block 1");
    expect(code).to.equal("VAULT_NO_CODE");
    expect(message).to.include("at block 1, the vault contract");
  });

  it("simulate shows a reading that fails before and not after, and a token without symbol as its address", async () => {
    const odd = getAddress(`0x${"bb".padStart(40, "0")}`);
    await tasks.rpc("anvil_setCode", odd, ODD_VAULT);
    const { stdout, exitCode } = await tasks.run(`simulate --at vault=${odd}`);
    expect(exitCode).to.equal(1);
    expect(squeezed(stdout).split("\n")).to.include.members([
      "Volume error · VAULT_CALL_REVERTED · no error",
      `1,234,567 raw ${odd} · vault contract · sender`,
    ]);
  });

  for (const [typed, code] of [
    [`--tokens ${NOBODY}`, "VAULT_NOT_A_TOKEN"],
    ["--at-time 2020-01-01", "VAULT_TIME_IN_PAST"],
  ] as const) {
    it(`simulate ${typed} fails with ${code}`, async () => {
      const found = await tasks.errorOf(`simulate ${typed}`);
      expect(found, String(found["message"])).to.include({ code });
    });
  }
});
