import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { Interface, Wallet } from "ethers";

import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import type { Address } from "../../src/protocol/index.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type {
  SettleAllOptions,
  Settlement,
  VaultRound,
} from "../../src/types.js";
import { buildSettlement } from "../../src/settlement/calldata.js";
import { toSafeBatch } from "../../src/settlement/safe.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { deployTestGuard, guardCode } from "../helpers/guard.js";
import { startKeeper } from "../helpers/keeper-on-node.js";
import type { KeeperWithNode } from "../helpers/keeper-on-node.js";
import { OPEN_ROUND, SETTLER } from "../helpers/scripted-contracts.js";
import { useKeeper } from "../helpers/keeper.js";
import { mined } from "../helpers/transactions.js";
import { devKey, openRound } from "../helpers/world.js";

const SEND = { method: "eth_sendRawTransaction", occurrence: 0 };
const STOP = "0x00";
const guardErrors = new Interface(RoundGuardArtifact.abi);
const encode = (name: string, ...values: readonly unknown[]): string =>
  guardErrors.encodeErrorResult(name, [...values]);

describe("a settlement through a guard", () => {
  let keeper: KeeperWithNode;
  let guard: string;
  let vault: HardhatVault;
  let back: () => Promise<void>;

  before(async () => {
    keeper = await startKeeper();
    const { world, settler } = keeper;
    const deployer = new Wallet(devKey(3), world.provider);
    guard = await deployTestGuard(deployer, settler);
    const { contracts } = world;
    vault = await keeper.connect({ vault: { contracts, guard } });
    back = await world.checkpoint();
  });
  after(async () => {
    await keeper.close();
  });
  beforeEach(async () => {
    await back();
    keeper.server.reset();
    await keeper.removeJournals();
  });
  const settle = async (options: SettleAllOptions = {}): Promise<Settlement> =>
    await vault.settleAll({ pollingInterval: 20, ...options });
  const beforeSending = (act: () => Promise<unknown>): void => {
    keeper.server.before(SEND, async () => {
      await act();
    });
  };
  const setCode = async (address: string, code: string): Promise<void> => {
    await keeper.world.provider.send("anvil_setCode", [address, code]);
  };

  /** Opens a round with the same start and strike. */
  const startRound = async (changes: Partial<VaultRound>): Promise<void> => {
    const { factory } = keeper.world;
    const round = { ...openRound, startTime: 1_600_000_000n, ...changes };
    await mined(await factory.startNextRound(round));
  };

  it("settleAll calls the guard, which settles the round that was seen", async () => {
    let previewed: unknown;
    const settlement = await settle({
      confirm: async ({ guard: shown }) => {
        previewed = shown;
        return await Promise.resolve(true);
      },
    });
    expect(settlement).to.include({ status: "settled", guard });
    expect([previewed, settlement.preview?.guard]).to.eql([guard, guard]);
    expect(await keeper.world.settlers()).to.eql([guard]);
    expect(await settle()).to.include({ status: "nothing-to-do", guard });
  });

  it("settleAll writes its guard to the log", async () => {
    const { hash } = await settle();
    const file = "vault-deployments/settlements.ndjson";
    const text = await readFile(path.join(keeper.project.path, file), "utf8");
    const line = text.trimEnd().split("\n").at(-1) ?? "";
    const { settlement } = fieldsOf(JSON.parse(line));
    expect(settlement).to.include({ hash, guard });
  });

  it("settleAll goes to the vault where guard is false or not set", async () => {
    const { contracts } = keeper.world;
    for (const setting of [false, undefined] as const) {
      await back();
      await keeper.removeJournals();
      const other = await keeper.connect({
        vault: { contracts, guard: setting },
      });
      expect(await other.settleAll()).to.include({
        status: "settled",
        guard: null,
      });
      expect(await keeper.world.settlers()).to.eql([keeper.settler]);
    }
  });

  const cases: ReadonlyArray<{
    readonly title: string;
    readonly given?: () => Promise<unknown>;
    readonly act: () => Promise<unknown>;
    readonly options?: SettleAllOptions;
    readonly is: Partial<Settlement>;
    /** Settlements of others; undefined where the vault cannot say. */
    readonly count?: number;
  }> = [
    {
      title: "the next round is there, as after somebody else's settlement",
      act: async () => {
        await keeper.world.settleByOther();
        await keeper.world.openNextRound();
      },
      is: { status: "nothing-to-do", code: null },
      count: 1,
    },
    {
      title: "the round has another strike price",
      act: async () => {
        await startRound({ strikePrice: 1n });
      },
      is: { status: "reverted", code: "VAULT_ROUND_CHANGED" },
      count: 0,
    },
    {
      title: "somebody else has settled the round",
      act: async () => {
        await keeper.world.settleByOther();
      },
      is: { status: "nothing-to-do", code: null },
      count: 1,
    },
    {
      title: "the vault does not settle the round",
      act: async () => {
        await setCode(keeper.world.contracts.vault, STOP);
      },
      is: { status: "reverted", code: "VAULT_WOULD_NOT_SETTLE" },
    },
    {
      title: "the guard takes it of another account",
      act: async () => {
        await setCode(guard, guardCode(guard));
      },
      is: { status: "reverted", code: "VAULT_NOT_SETTLER" },
      count: 0,
    },
    {
      title: "the end of the round was moved",
      given: async () => {
        await startRound({ endTime: 1_600_000_001n });
      },
      act: async () => {
        await startRound({});
      },
      options: { ifExpired: true },
      is: { status: "reverted", code: "VAULT_ROUND_NOT_ENDED" },
      count: 0,
    },
    {
      title: "the vault refuses",
      act: async () => {
        const nested = encode("NestedCall");
        await mined(await keeper.world.vault.setRevert("0xa015aefe", nested));
      },
      is: { status: "reverted", code: "VAULT_CALL_REVERTED" },
      count: 0,
    },
    {
      title: "the vault refuses as if the round were settled",
      act: async () => {
        const error = encode("RoundAlreadySettled");
        await mined(await keeper.world.vault.setRevert("0xa015aefe", error));
      },
      is: { status: "reverted", code: "VAULT_CALL_REVERTED" },
      count: 0,
    },
  ];
  for (const { title, given, act, options, is, count } of cases) {
    it(`settleAll is ${String(is.status)}, ${String(is.code)}, when its transaction is mined and ${title}`, async () => {
      await given?.();
      beforeSending(act);
      const settlement = await settle(options);
      expect(settlement).to.include({ ...is, guard });
      expect(settlement.hashes).to.eql([settlement.hash]);
      expect(settlement.blockNumber).to.be.a("number");
      if (count !== undefined) {
        expect(await keeper.world.settlementCount()).to.equal(count);
      }
    });
  }

  for (const imitated of [
    encode("RoundAlreadySettled"),
    encode("RoundNotEnded", 4_000_000_000n),
    encode("VaultReverted", encode("RoundAlreadySettled")),
  ]) {
    it(`settleAll is reverted, and sends nothing, for a vault that reverts with ${imitated.slice(0, 10)} of the guard`, async () => {
      const size = imitated.length / 2 - 1;
      const length = size.toString(16).padStart(4, "0");
      // Copies what follows the code, and reverts with it.
      const code = `0x61${length}600d5f3961${length}5ffd5b${imitated.slice(2)}`;
      await setCode(keeper.world.contracts.vault, code);
      const { status, code: why, hash } = await settle();
      expect([status, why, hash]).to.eql([
        "reverted",
        "VAULT_CALL_REVERTED",
        null,
      ]);
    });
  }

  it("settleAll names who settled the round, and the transaction, when it came too late", async () => {
    beforeSending(async () => {
      await keeper.world.settleByOther();
    });
    const { reason, blockNumber } = await settle();
    const other = new Wallet(devKey(2)).address.toLowerCase();
    expect(reason).to.match(
      new RegExp(
        `^The transaction was mined in block ${blockNumber} and refused by the guard: ${other} had settled the round in block ${Number(blockNumber) - 1} with transaction 0x[0-9a-f]{64}\\.$`,
        "u",
      ),
    );
  });

  /** No node gets the transaction, however often it is sent. */
  const loseEverySend = (): void => {
    for (let occurrence = 0; occurrence < 1_000; occurrence += 1) {
      const kind = "drop before forwarding";
      keeper.server.inject({ ...SEND, occurrence, kind });
    }
  };

  it("resume finishes what was signed for the guard, whatever the settings say by now", async () => {
    const { world, server } = keeper;
    loseEverySend();
    const interrupted = await settle({ timeout: 10_000 });
    expect(interrupted).to.include({ status: "unconfirmed", guard });
    const other = await keeper.connect({
      vault: { contracts: world.contracts },
    });
    server.reset();
    expect(await other.settleAll({ resume: true })).to.include({
      status: "settled",
      guard,
      hash: interrupted.hash,
    });
    expect(await world.settlers()).to.eql([guard]);
  });

  const changes: Readonly<
    Record<string, (file: Record<string, unknown>) => unknown>
  > = {
    "another guard": (file) => ({ ...file, guard: devAddress(5) }),
    "no guard": (file) => ({ ...file, guard: undefined }),
    "another round": (file) => ({
      ...file,
      round: { ...fieldsOf(file["round"]), strikePrice: "1" },
    }),
  };
  for (const [title, change] of Object.entries(changes)) {
    it(`resume sends nothing from a journal that was changed to ${title}`, async () => {
      loseEverySend();
      await settle({ timeout: 10_000 });
      const file = fieldsOf(JSON.parse(await readFile(keeper.journal, "utf8")));
      await writeFile(keeper.journal, JSON.stringify(change({ ...file })));
      await expectVaultError(settle({ resume: true }), "VAULT_INVALID_JOURNAL");
      expect(await keeper.world.settlementCount()).to.equal(0);
    });
  }

  it("settleAll, simulateSettleAll and --calldata refuse a guard without code, and one with other code", async () => {
    const { contracts } = keeper.world;
    for (const [address, problem] of [
      [devAddress(7), "there is no contract code"],
      [contracts.vault, "the code is that of another contract"],
    ] as const) {
      const other = await keeper.connect({
        vault: { contracts, guard: address },
      });
      const { status, code, reason } = await other.settleAll();
      expect([status, code]).to.eql(["refused", "VAULT_INVALID_GUARD"]);
      expect(reason).to.contain(problem);
      for (const attempt of [
        async () => await other.simulateSettleAll(),
        async () => await buildSettlement(other),
      ]) {
        await expectVaultError(attempt(), "VAULT_INVALID_GUARD");
      }
    }
  });

  it("--calldata and --safe name the round, and go to the guard", async () => {
    const built = await buildSettlement(vault, keeper.settler);
    expect(built).to.include({ to: guard, refusal: null });
    const { round, vault: called } = fieldsOfCall(built.data);
    expect(called).to.equal(keeper.world.contracts.vault);
    expect(round).to.equal((await keeper.world.round()).startTime);
    expect(toSafeBatch(built).meta["description"]).to.match(
      /^Settles the round from \S+ on with strike price [\d,.]+, and no other, through the guard 0x/u,
    );
    const stranger = await buildSettlement(vault, devAddress(4), []);
    expect(stranger.refusal).to.contain("may not settle through the guard");
  });

  it("simulateSettleAll shows the effect of the guard's call on every engine", async () => {
    for (const engine of ["simulateV1", "fork"] as const) {
      const simulated = await vault.simulateSettleAll({ engine });
      expect(simulated, engine).to.include({
        status: "settled",
        guard,
        engine,
      });
    }
  });

  it("fork settles through the guard of its network", async () => {
    const fork = await vault.fork();
    try {
      expect(await fork.vault.settleAll({ from: keeper.settler })).to.include({
        status: "settled",
        guard,
      });
    } finally {
      await fork.close();
    }
  });
});

describe("a guard's refusal before anything is sent", () => {
  const keeper = useKeeper();
  const GUARD: Address = "0x00000000000000000000000000000000000000A7";
  const { startTime, strikePrice } = OPEN_ROUND;
  const refusals = [
    [
      "RoundChanged",
      "refused",
      "VAULT_ROUND_CHANGED",
      startTime + 1n,
      strikePrice,
    ],
    ["RoundAlreadySettled", "nothing-to-do", null],
    ["RoundNotEnded", "nothing-to-do", null, OPEN_ROUND.endTime],
    ["RoundNotSettled", "refused", "VAULT_WOULD_NOT_SETTLE"],
    ["NestedCall", "reverted", "VAULT_GUARD_REFUSED"],
    ["PaymentRefused", "reverted", "VAULT_GUARD_REFUSED"],
    ["TokenNotForwarded", "reverted", "VAULT_GUARD_REFUSED", GUARD],
    ["NotSettler", "refused", "VAULT_NOT_SETTLER", SETTLER],
    // As a vault that imitates the guard, or calls it again.
    [
      "VaultReverted",
      "reverted",
      "VAULT_CALL_REVERTED",
      encode("RoundAlreadySettled"),
    ],
    [
      "FactoryReverted",
      "reverted",
      "VAULT_CALL_REVERTED",
      encode("NotSettler", SETTLER),
    ],
  ] as const;
  const reasons: Readonly<Record<string, RegExp>> = {
    RoundAlreadySettled:
      /^The round was settled by somebody else meanwhile\.$/u,
    RoundNotEnded: /2027-01-22/u,
    NestedCall: /the vault calls the guard again/u,
    PaymentRefused: /0x\S+ does not take the native currency/u,
    TokenNotForwarded: /token 0x\S+ cannot be forwarded to 0x/u,
    VaultReverted: /^RoundAlreadySettled\(\)$/u,
    FactoryReverted: /^NotSettler\(caller: "0x/u,
  };
  for (const [name, status, code, ...values] of refusals) {
    it(`settleAll is ${status}, ${String(code)}, for ${name}`, async () => {
      const { chain } = keeper;
      chain.on("eth_getCode", async ([address], answer) =>
        address === GUARD ? guardCode() : await answer(),
      );
      chain.on("eth_simulateV1", () => {
        throw new Error("no such method");
      });
      chain.on("eth_call", async (params, answer) => {
        if (fieldsOf(params[0])["to"] === GUARD) {
          throw Object.assign(new Error("execution reverted"), {
            code: 3,
            data: encode(name, ...values),
          });
        }
        return await answer();
      });
      const host = keeper.host();
      host.guard = GUARD;
      const { settlement } = await keeper.end({}, host);
      expect(settlement).to.include({ status, code, guard: GUARD, hash: null });
      expect(settlement.reason).to.match(reasons[name] ?? /./u);
      expect(keeper.sends).to.equal(0);
    });
  }
});

describe("a guard on a node that cannot simulate", () => {
  const keeper = useKeeper();

  it("settleAll is refused with VAULT_TOKENS_NOT_KNOWN, and sends if the tokens are named", async () => {
    const { chain } = keeper;
    const GUARD: Address = "0x00000000000000000000000000000000000000A7";
    chain.on("eth_getCode", async ([address], answer) =>
      address === GUARD ? guardCode() : await answer(),
    );
    chain.on("eth_simulateV1", () => {
      throw new Error("no such method");
    });
    chain.on("eth_call", async (params, answer) =>
      fieldsOf(params[0])["to"] === GUARD ? "0x" : await answer(),
    );
    chain.on("eth_estimateGas", () => "0x186a0");
    const host = keeper.host();
    host.guard = GUARD;
    const { settlement } = await keeper.end({ timeout: 100 }, host);
    expect(settlement).to.include({
      status: "refused",
      code: "VAULT_TOKENS_NOT_KNOWN",
      preview: null,
    });
    expect(keeper.sends).to.equal(0);
    await keeper.end({ tokens: [], timeout: 100 }, host);
    expect(keeper.sends).to.equal(1);
  });
});

function fieldsOfCall(data: string): Readonly<Record<string, unknown>> {
  const [vault, , round] = guardErrors.decodeFunctionData("settle", data);
  return { vault, round };
}

function devAddress(index: number): string {
  return new Wallet(devKey(index)).address;
}
