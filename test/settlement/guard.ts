import { expect } from "chai";
import { Interface } from "ethers";

import { parseAddress } from "../../src/client/inputs.js";
import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import { buildSettlement } from "../../src/settlement/calldata.js";
import type { Settlement } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { useWallClock } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { guardCode } from "../helpers/guard.js";
import { useGuardedKeeper } from "../helpers/guarded-keeper.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { GUARD, useKeeper } from "../helpers/keeper.js";
import { OPEN_ROUND } from "../helpers/scripted-contracts.js";
import { deploySettlingVault } from "../helpers/settling-vaults.js";
import type { SettlingVaultName } from "../helpers/settling-vaults.js";
import { mined } from "../helpers/transactions.js";
import { openRound } from "../helpers/world.js";

const SEND = { method: "eth_sendRawTransaction", occurrence: 0 };
const guardAbi = new Interface(RoundGuardArtifact.abi);

describe("a settlement through a guard", () => {
  const clock = useWallClock();
  const guarded = useGuardedKeeper();
  let keeper: KeeperWithNode;
  let guard: string;
  let vault: HardhatVault;

  before(async () => {
    ({ keeper, guard } = guarded);
    const { contracts } = keeper.chain;
    vault = await keeper.connect({ vault: { contracts, guard } });
  });
  const settle = async (): Promise<Settlement> =>
    await vault.settleAll({ pollingInterval: 20 });
  const beforeSending = (act: () => Promise<unknown>): void => {
    keeper.server.before(SEND, async () => {
      await act();
    });
  };

  it("settles the round that was seen, by the guard, which the preview shows", async () => {
    const settlement = await settle();
    expect(settlement).to.include({ status: "settled", guard });
    expect(settlement.preview?.guard).to.equal(guard);
    expect(await keeper.chain.settlers()).to.eql([guard]);
    expect(await settle()).to.include({ status: "nothing-to-do", guard });
  });

  it("goes to the vault if guard is false", async () => {
    const { contracts } = keeper.chain;
    const other = await keeper.connect({ vault: { contracts, guard: false } });
    expect(await other.settleAll()).to.include({
      ...{ status: "settled", guard: null },
    });
    expect(await keeper.chain.settlers()).to.eql([keeper.settler]);
  });

  const cases: ReadonlyArray<
    readonly [
      title: string,
      status: Settlement["status"],
      code: Settlement["code"],
      act: () => Promise<unknown>,
    ]
  > = [
    [
      "the next round is there, after somebody else's settlement",
      "nothing-to-do",
      null,
      async () => {
        await keeper.chain.settleByOther();
        await keeper.chain.openNextRound();
      },
    ],
    [
      "the round has another strike price",
      "reverted",
      "VAULT_ROUND_CHANGED",
      async () => {
        const changes = { startTime: 1_600_000_000n, strikePrice: 1n };
        const round = { ...openRound, ...changes };
        await keeper.chain.mocks.set({ round });
      },
    ],
    [
      "the vault does not settle the round",
      "reverted",
      "VAULT_WOULD_NOT_SETTLE",
      async () => {
        const { vault: address } = keeper.chain.contracts;
        await keeper.chain.provider.send("anvil_setCode", [address, "0x00"]);
      },
    ],
    [
      "the vault reverts with the guard's RoundAlreadySettled",
      "reverted",
      "VAULT_CALL_REVERTED",
      async () => {
        const data = guardAbi.encodeErrorResult("RoundAlreadySettled");
        await keeper.chain.mocks.fail("settleAll", { data });
      },
    ],
  ];
  for (const [title, status, code, act] of cases) {
    it(`is ${status}, ${String(code)}, when it is mined and ${title}`, async () => {
      beforeSending(act);
      const settlement = await settle();
      expect(settlement).to.include({ status, code, guard });
      expect(settlement.hashes).to.eql([settlement.hash]);
      expect(settlement.blockNumber).to.be.a("number");
      const settlers = await keeper.chain.settlers().catch(() => []);
      expect(settlers).to.not.include(guard);
    });
  }

  it("says that somebody else had settled the round when it came too late", async () => {
    beforeSending(async () => {
      await keeper.chain.settleByOther();
    });
    const { reason, blockNumber } = await settle();
    expect(reason).to.match(
      new RegExp(
        `^The transaction was mined in block ${blockNumber} and refused by the guard: somebody else had settled the round\\.$`,
        "u",
      ),
    );
  });

  it("is refused, as is --calldata, for a guard with other code: VAULT_INVALID_GUARD", async () => {
    const { contracts } = keeper.chain;
    const other = await keeper.connect({
      vault: { contracts, guard: contracts.vault },
    });
    const { code, reason } = await other.settleAll();
    expect(code).to.equal("VAULT_INVALID_GUARD");
    expect(reason).to.contain("the code is that of another contract");
    await expectVaultError(buildSettlement(other), "VAULT_INVALID_GUARD");
  });

  /** Connects to a vault that settles in a way of its own, with the guard on the way. */
  const open = async (
    name: SettlingVaultName,
    canSettle = true,
    gas: bigint | "auto" = "auto",
  ) => {
    const deployer = await keeper.chain.provider.getSigner(4);
    const deployed = await deploySettlingVault(deployer, name);
    const { contract, contracts, token } = deployed;
    if (name === "MixedVault" && canSettle) {
      // What the vault takes of its caller.
      const give = contract.getFunction("give");
      await mined(await give.send(guard, 2n * 10n ** 18n));
    }
    const connected = await keeper.connect({
      ...{ vault: { contracts, guard }, gas },
    });
    return {
      contract,
      token,
      vault: connected,
      paid: await token.getAddress(),
    };
  };

  it("settleAll has the reason of a vault that refuses callers with code", async () => {
    const { vault: other } = await open("NoContractsVault");
    expect(await other.settleAll()).to.include({
      ...{ status: "reverted", reason: "not for contracts" },
    });
  });

  it("settleAll with partial is not-settled by a vault that settles nothing", async () => {
    const { vault: other } = await open("IdleVault");
    expect(await other.settleAll({ partial: true })).to.include({
      status: "not-settled",
    });
  });

  it("settleAll forwards the named token that the vault pays to its caller, as the preview says", async () => {
    const { vault: other, token, paid } = await open("MixedVault");
    const { status, preview, differences } = await other.settleAll({
      tokens: [paid],
    });
    expect(status).to.equal("settled");
    expect(differences).to.deep.equal([]);
    const forwarded = preview?.transfers?.filter(
      (one) => one.token === paid && one.from === guard,
    );
    expect(forwarded).to.have.lengthOf(1);
    const balanceOf = token.getFunction("balanceOf");
    expect(await balanceOf.staticCall(guard)).to.equal(0n);
  });

  for (const [name, expected] of [
    ["ClockVault", "settled null"],
    ["IdleVault", "refused VAULT_PREVIEW_CHANGED"],
  ] as const) {
    it(`settleAll of a ${name} that pays a named token since the question is ${expected}`, async () => {
      const { provider } = keeper.chain;
      const paying = await open("MixedVault");
      // The cost stays the same.
      const opened = await open(name, true, 1_000_000n);
      const { vault: other, contract, token } = opened;
      const balanceOf = token.getFunction("balanceOf");
      const confirm = async (): Promise<true> => {
        const code = await provider.getCode(paying.contract);
        const address = await contract.getAddress();
        await provider.send("anvil_setCode", [address, code]);
        const give = paying.contract.attach(address).getFunction("give");
        await mined(await give.send(guard, 2n * 10n ** 18n));
        // The preview is old by then.
        clock.ahead += 16_000;
        return true;
      };
      const tokens = [await token.getAddress()];
      const { status, code: problem } = await other.settleAll({
        ...{ confirm, tokens, partial: true },
      });
      expect(`${status} ${problem}`).to.equal(expected);
      expect(await balanceOf.staticCall(guard)).to.equal(0n);
    });
  }

  it("settleAll is refused if the guard would keep a token that is not named: VAULT_GUARD_KEEPS_TOKENS", async () => {
    const { vault: other, paid } = await open("MixedVault");
    const { code, reason } = await other.settleAll({ tokens: [] });
    expect(code).to.equal("VAULT_GUARD_KEEPS_TOKENS");
    expect(reason).to.contain(paid);
  });

  const tokensIn = (data: string): readonly string[] =>
    parseGuarded(parseAddress(guard, "guard"), data)?.guard.tokens ?? [];
  it("--calldata forwards the tokens that are named, and throws VAULT_GUARD_KEEPS_TOKENS if one is not", async () => {
    const { vault: other, contract, paid } = await open("MixedVault");
    const named = [paid, await contract.getAddress()];
    for (const tokens of [[paid], named]) {
      const built = await buildSettlement(other, undefined, tokens);
      expect(tokensIn(built.data)).to.eql(tokens);
      expect(built.refusal).to.equal(null);
    }
    const unnamed = buildSettlement(other);
    await expectVaultError(unnamed, "VAULT_GUARD_KEEPS_TOKENS");
  });

  it("--calldata throws VAULT_TOKENS_NOT_KNOWN if the vault reverts now, unless they are named", async () => {
    const { vault: other, paid } = await open("MixedVault", false);
    const unnamed = buildSettlement(other);
    const code = "VAULT_TOKENS_NOT_KNOWN";
    const { message } = await expectVaultError(unnamed, code);
    expect(message).to.contain("reverts: ");
    const built = await buildSettlement(other, undefined, [paid]);
    expect(tokensIn(built.data)).to.eql([paid]);
    expect(built.refusal).to.be.a("string");
  });
});

describe("a guard on a node that cannot simulate", () => {
  const keeper = useKeeper();
  const demanding = { ifExpired: true, partial: true, tokens: [GUARD] };

  for (const [error, values, options, says] of [
    ["RoundAlreadySettled", [], { tokens: [] }, /is settled already/u],
    ["RoundNotEnded", [7n], demanding, /^The round has not ended yet/u],
  ] as const) {
    it(`has nothing to do, and sends nothing, if it reverts with ${error}, called with ${Object.keys(options).join()}`, async () => {
      const { chain } = keeper;
      let called: unknown;
      chain.overrides = false;
      chain.on("eth_getCode", async ([address], original) =>
        address === GUARD ? guardCode() : await original(),
      );
      chain.on("eth_call", async ([call], original) => {
        if (fieldsOf(call)["to"] !== GUARD) {
          return await original();
        }
        called = fieldsOf(call)["data"];
        const data = guardAbi.encodeErrorResult(error, values);
        throw Object.assign(new Error("execution reverted"), { code: 3, data });
      });
      const host = keeper.host();
      host.guard = GUARD;
      chain.rounds[5] = { ...OPEN_ROUND, endTime: 1n };
      const { settlement } = await keeper.end(options, host);
      expect(settlement).to.include({
        ...{ status: "nothing-to-do", code: null, guard: GUARD, hash: null },
      });
      expect(settlement.reason).to.match(says);
      const isDemanding = options === demanding;
      expect(parseGuarded(GUARD, String(called))?.guard).to.deep.include({
        ...{ mustHaveEnded: isDemanding, mustSettle: !isDemanding },
        tokens: options.tokens,
      });
      expect(keeper.sends).to.equal(0);
    });
  }
});
