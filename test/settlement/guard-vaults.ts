import { expect } from "chai";
import { Wallet } from "ethers";

import { parseAddress } from "../../src/client/inputs.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import { buildSettlement } from "../../src/settlement/calldata.js";
import { expectVaultError } from "../helpers/assertions.js";
import { useAnvil } from "../helpers/anvil.js";
import { deployTestGuard } from "../helpers/guard.js";
import { connectTo } from "../helpers/hre.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";
import { devKey, directProvider } from "../helpers/world.js";

describe("vaults and a guard", () => {
  const anvil = useAnvil();

  const open = async (name: SettlingVaultName, canSettle = true) => {
    const deployer = new Wallet(devKey(0), directProvider(anvil.url));
    const guard = await deployTestGuard(deployer, deployer.address);
    const deployed = await deploySettlingVault(deployer, name);
    if (name === "MixedVault" && canSettle) {
      // What the vault takes of its caller.
      const give = deployed.contract.getFunction("give");
      await mined(await give.send(guard, 2n * 10n ** 18n));
    }
    const { vault } = await connectTo(anvil.url, {
      vault: { contracts: deployed.contracts, guard },
      accounts: [devKey(0)],
    });
    const token = await deployed.token.getAddress();
    return { ...deployed, vault, guard, paid: token };
  };
  it("settleAll has the reason of a vault that refuses callers with code", async () => {
    const { vault } = await open("NoContractsVault");
    expect(await vault.settleAll()).to.include({
      ...{ status: "reverted", reason: "not for contracts" },
    });
  });

  it("settleAll with partial is not-settled by a vault that settles nothing", async () => {
    const { vault } = await open("IdleVault");
    expect(await vault.settleAll({ partial: true })).to.include({
      status: "not-settled",
    });
  });

  it("settleAll forwards the token that the vault pays to its caller, as the preview says", async () => {
    const { vault, token, guard, paid } = await open("MixedVault");
    const { status, preview, differences } = await vault.settleAll();
    expect(status).to.equal("settled");
    expect(differences).to.deep.equal([]);
    const forwarded = preview?.transfers?.filter(
      (one) => one.token === paid && one.from === guard,
    );
    expect(forwarded).to.have.lengthOf(1);
    const balanceOf = token.getFunction("balanceOf");
    expect(await balanceOf.staticCall(guard)).to.equal(0n);
  });

  it("settleAll is refused if the guard would keep a token that is not named: VAULT_GUARD_KEEPS_TOKENS", async () => {
    const { vault, paid } = await open("MixedVault");
    const { code, reason } = await vault.settleAll({ tokens: [] });
    expect(code).to.equal("VAULT_GUARD_KEEPS_TOKENS");
    expect(reason).to.contain(paid);
  });

  const tokensIn = (guard: string, data: string): readonly string[] =>
    parseGuarded(parseAddress(guard, "guard"), data)?.guard.tokens ?? [];
  it("--calldata forwards the token that the vault pays, and those that are named in its place", async () => {
    const { vault, contract, guard, paid } = await open("MixedVault");
    const named = [paid, await contract.getAddress()];
    for (const [tokens, forwarded] of [
      [undefined, [paid]],
      [named, named],
    ] as const) {
      const built = await buildSettlement(vault, undefined, tokens);
      expect(tokensIn(guard, built.data)).to.eql(forwarded);
      expect(built.refusal).to.equal(null);
    }
  });

  it("--calldata throws VAULT_TOKENS_NOT_KNOWN if the vault reverts now, unless they are named", async () => {
    const { vault, guard, paid } = await open("MixedVault", false);
    const unnamed = buildSettlement(vault);
    const code = "VAULT_TOKENS_NOT_KNOWN";
    const { message } = await expectVaultError(unnamed, code);
    expect(message).to.contain("reverts: ");
    const built = await buildSettlement(vault, undefined, [paid]);
    expect(tokensIn(guard, built.data)).to.eql([paid]);
    expect(built.refusal).to.be.a("string");
  });
});
