import { expect } from "chai";
import type { Contract } from "ethers";

import type { Settlement } from "../../src/types.js";
import { useGuardedKeeper } from "../helpers/guarded-keeper.js";
import { parseAddress } from "../../src/client/inputs.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import { fieldsOf } from "../helpers/fields.js";
import { hreOnLive } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { deploy, deploySettlingVault } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";

const SEND = { method: "eth_sendRawTransaction", occurrence: 0 };
const REWARD = 1_000n;

describe("the tokens that a vault pays through a guard", () => {
  const guarded = useGuardedKeeper();
  let keeper: KeeperWithNode;
  let guard: string;

  before(() => {
    ({ keeper, guard } = guarded);
  });

  /** A vault that pays a reward, with the guard on the way, and another token. */
  const open = async () => {
    const deployer = await keeper.chain.provider.getSigner(4);
    const deployed = await deploySettlingVault(deployer, "RewardVault");
    const { contract, contracts, token } = deployed;
    const vault = await keeper.connect({ vault: { contracts, guard } });
    const setReward = async (
      paid: Contract,
      amount = REWARD,
      byPrice = false,
      byBaseFee = false,
    ): Promise<void> => {
      const set = contract.getFunction("setReward");
      await mined(await set.send(paid, amount, byPrice, byBaseFee));
    };
    const deployToken = async (
      name: string,
      ...args: readonly unknown[]
    ): Promise<Contract> => {
      const other = await deploy(deployer, name, ...args);
      if (name === "TestToken") {
        const mint = other.getFunction("mint");
        await mined(await mint.send(contract, 1_000_000n));
      }
      return other;
    };
    const settle = async (tokens?: readonly string[]): Promise<Settlement> =>
      await vault.settleAll({ pollingInterval: 20, tokens });
    return { contracts, token, setReward, deployToken, settle };
  };
  const kept = async (token: Contract): Promise<unknown> =>
    await token.getFunction("balanceOf").staticCall(guard);
  const beforeSending = (act: () => Promise<unknown>): void => {
    keeper.server.before(SEND, async () => {
      await act();
    });
  };
  const expectRefused = async (
    { status, code, reason, hash }: Settlement,
    token: Contract,
  ): Promise<void> => {
    expect({ status, code, hash }).to.deep.equal({
      ...{ status: "refused", code: "VAULT_GUARD_KEEPS_TOKENS", hash: null },
    });
    expect(reason).to.contain(await token.getAddress());
  };
  const expectKept = async (
    { status, code, reason, hash }: Settlement,
    token: Contract,
  ): Promise<void> => {
    expect({ status, code }, String(reason)).to.deep.equal({
      ...{ status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
    });
    expect(hash).to.be.a("string");
    expect(reason).to.contain(await token.getAddress());
    expect(await kept(token)).to.equal(REWARD);
  };
  const expectForwarded = async (
    { status, code, reason }: Settlement,
    token: Contract,
  ): Promise<void> => {
    expect({ status, code }, String(reason)).to.deep.equal({
      ...{ status: "settled", code: null },
    });
    expect(await kept(token)).to.equal(0n);
    const balanceOf = token.getFunction("balanceOf");
    expect(await balanceOf.staticCall(keeper.settler)).to.equal(REWARD);
  };

  it("settleAll refuses a reward that is paid if somebody pays for gas, and forwards it if it is named", async () => {
    const { token, setReward, settle } = await open();
    await setReward(token, REWARD, true);
    await expectRefused(await settle(), token);
    await expectForwarded(await settle([await token.getAddress()]), token);
  });

  for (const [by, settings] of [
    ["the settings", true],
    ["the option", false],
  ] as const) {
    it(`the preview of a settlement without a guard has the balances of a token that ${by} name`, async () => {
      const { contracts, token, setReward } = await open();
      await setReward(token);
      const tokens = [await token.getAddress()];
      const vault = await keeper.connect({
        vault: { contracts, ...(settings && { tokens }) },
      });
      const { preview } = await vault.settleAll({
        pollingInterval: 20,
        ...(!settings && { tokens }),
      });
      const moved = preview?.balances.filter(({ token: of }) =>
        tokens.includes(of),
      );
      expect(moved?.map(({ before, after }) => after - before)).to.deep.equal([
        ...[REWARD, -REWARD],
      ]);
    });
  }

  for (const mustHaveEnded of [false, true]) {
    const flag = mustHaveEnded ? " --if-expired" : "";
    it(`settle --calldata --tokens${flag} has the tokens in the call, which ${mustHaveEnded ? "demands" : "does not demand"} that the round has ended`, async () => {
      const { contracts, token, setReward } = await open();
      await setReward(token);
      const hre = await hreOnLive(keeper.node.url, {
        vault: { contracts, guard },
      });
      const paid = await token.getAddress();
      const typed = `settle --calldata${flag}`;
      const { stdout } = await runTyped(hre, `${typed} --tokens ${paid}`);
      const data = String(fieldsOf(JSON.parse(stdout))["data"]);
      const { guard: call } =
        parseGuarded(parseAddress(guard, "guard"), data) ?? {};
      expect(call).to.deep.include({ tokens: [paid], mustHaveEnded });
      const unnamed = await runTyped(hre, `${typed} --json`);
      expect(unnamed.stdout).to.include("VAULT_GUARD_KEEPS_TOKENS");
    });
  }

  it("status says that the next run would leave a reward in the guard, until it is named: VAULT_GUARD_KEEPS_TOKENS", async () => {
    const { contracts, token, setReward } = await open();
    await setReward(token);
    const answer = async (vault: object): Promise<unknown> => {
      const settings = { vault: { contracts, guard, ...vault } };
      const hre = await hreOnLive(keeper.node.url, settings);
      const typed = `status --json --from ${keeper.settler}`;
      const { stdout } = await runTyped(hre, typed);
      const { canBeSettled, code } = fieldsOf(
        fieldsOf(JSON.parse(stdout))["status"],
      );
      return { canBeSettled, code };
    };
    expect(await answer({})).to.deep.equal({
      ...{ canBeSettled: false, code: "VAULT_GUARD_KEEPS_TOKENS" },
    });
    const tokens = [await token.getAddress()];
    expect(await answer({ tokens })).to.deep.equal({
      ...{ canBeSettled: true, code: null },
    });
  });

  it("vault simulate exits with 1 if a reward would stay in the guard, with 0 if it is named: VAULT_GUARD_KEEPS_TOKENS", async () => {
    const { contracts, token, setReward } = await open();
    await setReward(token);
    const settings = { from: keeper.settler, vault: { contracts, guard } };
    const hre = await hreOnLive(keeper.node.url, settings);
    const paid = await token.getAddress();
    const answers = [];
    for (const option of ["", ` --tokens ${paid}`]) {
      const result = await runTyped(hre, `simulate --json${option}`);
      const { simulation } = fieldsOf(JSON.parse(result.stdout));
      const { status, code } = fieldsOf(simulation);
      answers.push({ exitCode: result.exitCode, status, code });
    }
    expect(answers).to.deep.equal([
      { exitCode: 1, status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
      { exitCode: 0, status: "settled", code: null },
    ]);
    // Once, as the reason, and no note.
    const { stdout } = await runTyped(hre, "simulate");
    expect(stdout.match(/nobody can take/gu)).to.have.lengthOf(1);
  });

  for (const typed of ["simulate", "settle --yes", "doctor"]) {
    it(`vault ${typed} names the option for a reward that would stay in the guard`, async () => {
      const { contracts, token, setReward } = await open();
      await setReward(token);
      const settings = { from: keeper.settler, vault: { contracts, guard } };
      const hre = await hreOnLive(keeper.node.url, settings);
      const { stdout } = await runTyped(hre, typed);
      expect(stdout.replaceAll(/\s+/gu, " ")).to.include(
        `name ${await token.getAddress()} with the option \`tokens\``,
      );
    });
  }

  it("settleAll without a preview takes no event that only looks like a transfer for a token that stayed", async () => {
    const { setReward, deployToken, settle } = await open();
    const odd = await deployToken("OddToken", 2, false, true);
    await setReward(odd);
    keeper.server.hide(
      ...["eth_simulateV1", "eth_getStorageAt"],
      ...["eth_getProof", "eth_createAccessList"],
    );
    const { status, code, preview } = await settle([]);
    keeper.server.show();
    expect({ status, code, preview }).to.deep.equal({
      ...{ status: "settled", code: null, preview: null },
    });
  });

  it("settleAll tells of native currency that the code of the settler sends back to the guard", async () => {
    const { provider } = keeper.chain;
    const deployer = await provider.getSigner(4);
    const { contracts } = await deploySettlingVault(deployer, "NativeVault");
    const funds = `0x${(4n * 10n ** 18n).toString(16)}`;
    await provider.send("anvil_setBalance", [contracts.vault, funds]);
    // Sends what it gets to whom it gets it from.
    const code = "0x5f5f5f5f34335af100";
    const sender = `0x${"ab".repeat(20)}`;
    await provider.send("anvil_setCode", [sender, code]);
    const delegation = `0xef0100${sender.slice(2)}`;
    await provider.send("anvil_setCode", [keeper.settler, delegation]);
    const vault = await keeper.connect({ vault: { contracts, guard } });
    const settlement = await vault.settleAll({ pollingInterval: 20 });
    expect(await provider.getBalance(guard)).to.equal(1_000n);
    expect(settlement, String(settlement.reason)).to.include({
      ...{ status: "settled", code: "VAULT_GUARD_KEEPS_TOKENS" },
    });
    expect(settlement.reason).to.match(/has 1000 wei more than before/u);
  });

  it("the refusal has the line to write, which settleAll then accepts", async () => {
    const { token, setReward, settle } = await open();
    await setReward(token);
    const { reason } = await settle();
    const paid = await token.getAddress();
    expect(reason).to.contain(`set networks.live.vault.tokens to ["${paid}"]`);
    expect(reason).to.contain(`name ${paid} with the option`);
  });

  it("settleAll says that a reward stayed, if it is paid by the base fee that the node's simulation ignores", async () => {
    const { token, setReward, settle } = await open();
    await setReward(token, REWARD, false, true);
    await expectKept(await settle(), token);
  });

  it("settleAll forwards such a reward if it is named", async () => {
    const { token, setReward, settle } = await open();
    await setReward(token, REWARD, false, true);
    await expectForwarded(await settle([await token.getAddress()]), token);
  });

  it("settleAll says that a reward stayed, if it is raised from nothing between simulation and block", async () => {
    const { token, setReward, settle } = await open();
    beforeSending(async () => {
      await setReward(token);
    });
    await expectKept(await settle(), token);
  });

  it("settleAll says that a reward stayed, if another token is paid than simulated", async () => {
    const { token, setReward, deployToken, settle } = await open();
    const other = await deployToken("TestToken");
    await setReward(token);
    beforeSending(async () => {
      await setReward(other);
    });
    await expectKept(await settle([await token.getAddress()]), other);
  });

  for (const topics of [0, 1, 2]) {
    it(`settleAll refuses a token whose Transfer has ${topics} indexed arguments, and forwards it if it is named`, async () => {
      const { setReward, deployToken, settle } = await open();
      const odd = await deployToken("OddToken", topics, true, true);
      await setReward(odd);
      await expectRefused(await settle(), odd);
      await expectForwarded(await settle([await odd.getAddress()]), odd);
    });

    it(`settleAll says that a token stayed whose Transfer has ${topics} indexed arguments, if the simulation did not pay it`, async () => {
      const { setReward, deployToken, settle } = await open();
      const odd = await deployToken("OddToken", topics, true, true);
      beforeSending(async () => {
        await setReward(odd);
      });
      await expectKept(await settle(), odd);
    });
  }

  for (const [what, readable] of [
    ["does not change the balance", true],
    ["is of a contract whose balances cannot be read", false],
  ] as const) {
    it(`settleAll settles if an event only looks like a transfer to the guard, and ${what}`, async () => {
      const { setReward, deployToken, settle } = await open();
      const fake = await deployToken("OddToken", 2, false, readable);
      await setReward(fake);
      const { status, code, reason } = await settle();
      expect({ status, code, reason }).to.deep.equal({
        ...{ status: "settled", code: null, reason: null },
      });
    });
  }

  it("settleAll forwards the tokens of the network's settings, and those of the option in their place", async () => {
    const first = await open();
    const { contracts } = first;
    const tokens = [await first.token.getAddress()];
    const vault = await keeper.connect({ vault: { contracts, guard, tokens } });
    await first.setReward(first.token);
    const none = await vault.settleAll({ tokens: [], pollingInterval: 20 });
    await expectRefused(none, first.token);
    await expectForwarded(
      await vault.settleAll({ pollingInterval: 20 }),
      first.token,
    );
  });
});
