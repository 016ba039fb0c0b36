import { expect } from "chai";
import { Wallet } from "ethers";

import { parseAddress } from "../../src/client/inputs.js";
import { guardAddressOf, parseGuarded } from "../../src/guard/round-guard.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { examineSigner } from "../../src/plugin/examine-settlement.js";
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

  const open = async (
    name: SettlingVaultName,
    {
      accounts = [devKey(0)],
      listsGuard = false,
    }: { readonly accounts?: string[]; readonly listsGuard?: boolean } = {},
  ) => {
    const provider = directProvider(anvil.url);
    const deployer = new Wallet(devKey(0), provider);
    const guard = await deployTestGuard(deployer, deployer.address);
    const deployed = await deploySettlingVault(deployer, name, {
      ...(listsGuard && { keeper: guard }),
    });
    const { vault } = await connectTo(anvil.url, {
      vault: { contracts: deployed.contracts, guard },
      accounts,
    });
    return { ...deployed, vault, guard, provider, account: deployer.address };
  };
  const tokensIn = (guard: string, data: string): readonly string[] =>
    parseGuarded(parseAddress(guard, "guard"), data)?.guard.tokens ?? [];
  const guardCheck = async (vault: HardhatVault): Promise<string> => {
    const checks = await examineSigner(vault);
    const found = checks.find(({ name }) => name === "guard");
    return `${String(found?.status)} ${String(found?.detail)}`;
  };

  it("settleAll is refused, with VAULT_WOULD_NOT_SETTLE, where the vault settles nothing, and with partial it is not-settled", async () => {
    const { vault } = await open("IdleVault");
    expect(await vault.settleAll()).to.include({
      status: "refused",
      code: "VAULT_WOULD_NOT_SETTLE",
      hash: null,
    });
    expect(await vault.settleAll({ partial: true })).to.include({
      status: "not-settled",
    });
  });

  it("doctor fails, and settleAll names the reason, where the vault refuses callers with code", async () => {
    const { vault } = await open("NoContractsVault");
    expect(await guardCheck(vault)).to.match(
      /^fail .*the contracts refuse it as their caller: not for contracts/u,
    );
    const { status, reason } = await vault.settleAll();
    expect([status, reason]).to.eql(["reverted", "not for contracts"]);
  });

  it("doctor accepts an allow-list that names the guard, and fails for one that names only the account", async () => {
    const listed = await open("KeeperVault", { listsGuard: true });
    expect(await guardCheck(listed.vault)).to.match(/^ok /u);
    const { vault } = await open("KeeperVault");
    expect(await guardCheck(vault)).to.match(
      /^fail .*the contracts refuse it as their caller: unknown error/u,
    );
  });

  it("doctor fails where the guard names another account, and settleAll is refused", async () => {
    const { vault } = await open("PayingVault", {
      accounts: [devKey(1)],
    });
    expect(await guardCheck(vault)).to.match(/^fail .*may not/u);
    expect(await vault.settleAll()).to.include({
      status: "refused",
      code: "VAULT_NOT_SETTLER",
    });
  });

  it("settleAll forwards the token that the vault pays to its caller, as the preview and doctor say", async () => {
    const { vault, contract, token, guard } = await open("MixedVault");
    const give = contract.getFunction("give");
    await mined(await give.send(guard, 2n * 10n ** 18n));
    const address = await token.getAddress();
    expect(await guardCheck(vault)).to.contain(`and forwards ${address}`);
    const { status, preview, differences } = await vault.settleAll();
    expect(status).to.equal("settled");
    expect(differences).to.deep.equal([]);
    expect(
      preview?.transfers?.filter(
        (one) => one.token === address && one.from === guard,
      ),
    ).to.have.lengthOf(1);
    const balanceOf = token.getFunction("balanceOf");
    expect(await balanceOf.staticCall(guard)).to.equal(0n);
  });

  it("settleAll is refused where the guard would keep tokens that are not among those that are given", async () => {
    const { vault, contract, token, guard } = await open("MixedVault");
    const give = contract.getFunction("give");
    await mined(await give.send(guard, 2n * 10n ** 18n));
    const { status, code, reason } = await vault.settleAll({ tokens: [] });
    expect([status, code]).to.eql(["refused", "VAULT_GUARD_KEEPS_TOKENS"]);
    expect(reason).to.contain(await token.getAddress());
  });

  describe("--calldata, where the vault pays a token to its caller", () => {
    it("forwards that token, also without a sender, and what is named in its place", async () => {
      const { vault, contract, token, guard, account } =
        await open("MixedVault");
      const give = contract.getFunction("give");
      await mined(await give.send(guard, 2n * 10n ** 18n));
      const paid = await token.getAddress();
      const other = await contract.getAddress();
      for (const [from, named, forwarded] of [
        [account, undefined, [paid]],
        [undefined, undefined, [paid]],
        [account, [paid, other], [paid, other]],
      ] as const) {
        const { data, refusal } = await buildSettlement(vault, from, named);
        expect(tokensIn(guard, data)).to.eql(forwarded);
        expect(refusal).to.equal(null);
      }
    });

    it("throws VAULT_GUARD_KEEPS_TOKENS if that token is not among those that are named", async () => {
      const { vault, contract, guard, account } = await open("MixedVault");
      const give = contract.getFunction("give");
      await mined(await give.send(guard, 2n * 10n ** 18n));
      await expectVaultError(
        buildSettlement(vault, account, []),
        "VAULT_GUARD_KEEPS_TOKENS",
      );
    });

    it("throws VAULT_TOKENS_NOT_KNOWN if the vault reverts now, unless they are named", async () => {
      const { vault, token, guard, account } = await open("MixedVault");
      const { message } = await expectVaultError(
        buildSettlement(vault, account),
        "VAULT_TOKENS_NOT_KNOWN",
      );
      expect(message).to.contain("reverts: ");
      const named = [await token.getAddress()];
      const { data, refusal } = await buildSettlement(vault, account, named);
      expect(tokensIn(guard, data)).to.eql(named);
      expect(refusal).to.be.a("string");
    });
  });

  it("settleAll forwards native currency that the vault pays to its caller", async () => {
    const { vault, guard, provider } = await open("NativeVault");
    expect(await guardCheck(vault)).to.match(/^ok /u);
    const { status, preview } = await vault.settleAll();
    expect(status).to.equal("settled");
    expect(preview?.transfers?.slice(-1)[0]).to.include({
      from: guard,
      amount: 1_000n,
    });
    expect(await provider.getBalance(guard)).to.equal(0n);
  });

  it("settleAll settles a vault that opens its next round in the same transaction", async () => {
    const { vault } = await open("RollingVault");
    const { status, before, after } = await vault.settleAll();
    expect(status).to.equal("settled");
    expect(after?.startTime).to.equal(before?.endTime);
  });

  it("doctor fails for a guard without code", async () => {
    const { contracts } = await open("PayingVault");
    const { vault } = await connectTo(anvil.url, {
      vault: { contracts, guard: guardAddressOf(devAddress(9)) },
    });
    expect(await guardCheck(vault)).to.match(
      /^fail .*there is no contract code/u,
    );
  });
});

function devAddress(index: number): string {
  return new Wallet(devKey(index)).address;
}
