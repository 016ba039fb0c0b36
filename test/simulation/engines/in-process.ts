import { expect } from "chai";
import { toQuantity } from "ethers";
import type { EdrNetworkUserConfig } from "hardhat/types/config";

import { simulateSettleAll } from "../../../src/simulation/simulate.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { burnsGas } from "../../helpers/bytecode.js";
import { fieldsOf } from "../../helpers/fields.js";
import { createTestHre } from "../../helpers/hre.js";
import { NOBODY } from "../../helpers/names.js";
import { openMocks } from "../../helpers/world.js";

type World = Awaited<ReturnType<typeof createWorld>>;

/** An in-process network with the mocks on it. */
async function createWorld(settings: Partial<EdrNetworkUserConfig> = {}) {
  const hre = await createTestHre({
    networks: { local: { ...settings, type: "edr-simulated" } },
  });
  const connection = await hre.network.create("local");
  const send = async (method: string, ...params: unknown[]): Promise<unknown> =>
    await connection.provider.request({ method, params });
  const mocks = await connection.vault.deployMocks({ overrides: openMocks });
  return {
    vault: mocks.vault,
    mocks,
    send,
    block: async (tag: string) =>
      fieldsOf(await send("eth_getBlockByNumber", tag, false)),
    close: async () => {
      await connection.close();
    },
  };
}

describe("simulateSettleAll in process", () => {
  let world: World;

  /** Puts `change` in the place of each request of the network; `ask` makes one. */
  const intercept = (
    change: (
      method: string,
      ask: (method: string, ...params: unknown[]) => Promise<unknown>,
      answer: () => Promise<unknown>,
    ) => Promise<unknown>,
  ): void => {
    const { provider } = world.vault.connection;
    const request: (
      ...asked: Parameters<typeof provider.request>
    ) => Promise<unknown> = provider.request.bind(provider);
    provider.request = async (call) =>
      await change(
        call.method,
        async (method, ...params) => await request({ method, params }),
        async () => await request(call),
      );
  };

  beforeEach(async () => {
    world = await createWorld();
  });

  afterEach(async () => {
    await world.close();
  });

  it("simulateSettleAll in process refuses options of a fork: VAULT_INVALID_ARGUMENT", async () => {
    for (const [name, options] of [
      ["blockNumber", { blockNumber: 1 }],
      ["hardfork", { hardfork: "prague" }],
      ["engine", { engine: "simulateV1" }],
    ] as const) {
      const error = await expectVaultError(
        world.vault.simulateSettleAll(options),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(error.details["where"]).to.equal(name);
    }
  });

  it("simulateSettleAll in process shows the sender's own balance if the first try, with the block's gas, needed a loan and the second does not", async () => {
    // 16.7 million gas cost less than this at the first base fees, 60 million more.
    const wei = 4n * 10n ** 16n;
    await world.send("hardhat_setBalance", NOBODY, toQuantity(wei));
    const { baseFeePerGas } = await world.block("pending");
    const fee = (gas: bigint): bigint => gas * BigInt(String(baseFeePerGas));
    expect(fee(16_777_216n) < wei && wei < fee(60_000_000n)).to.equal(true);
    const { balances, notes } = await world.vault.simulateSettleAll({
      from: NOBODY,
    });
    const own = balances.find(({ account }) => account === NOBODY);
    expect(own?.before).to.equal(wei);
    expect(notes.join(" ")).to.not.include("lent");
  });

  it("simulateSettleAll in process predicts VAULT_OUT_OF_GAS with less gas than a settlement uses, and settled with what it needs before refunds", async () => {
    const { gasUsed } = await world.vault.simulateSettleAll();
    const used = gasUsed ?? 0n;
    // It gives back a fifth of its gas at most.
    const gas = (used * 5n) / 4n;
    const simulated = await simulateSettleAll(world.vault, {});
    expect(simulated.gasNeeded).to.equal((used * 5n + 3n) / 4n);
    const enough = await world.vault.simulateSettleAll({ gas });
    expect(enough).to.include({ status: "settled", gasUsed: used });
    const short = await world.vault.simulateSettleAll({ gas: used - 1n });
    expect(short).to.include({ status: "reverted", code: "VAULT_OUT_OF_GAS" });
  });

  for (const [settings, limit] of [
    [{}, 16_777_216],
    [{ transactionGasCap: 16_800_000n }, 16_800_000],
  ] as const) {
    it(`simulateSettleAll in process names the limit ${limit}, and how to raise it: VAULT_OUT_OF_GAS`, async () => {
      const capped = await createWorld(settings);
      const { vault, mocks, send } = capped;
      const burns = burnsGas(20_000_000);
      await send("hardhat_setCode", mocks.addresses.vault, burns);
      const { code, reason } = await vault.simulateSettleAll();
      expect(code).to.equal("VAULT_OUT_OF_GAS");
      expect(reason)
        .to.contain(`uses all of the ${limit} that`)
        .and.contain("raise networks.local.transactionGasCap");
      await capped.close();
    });
  }

  it("simulateSettleAll in process lends nothing to a sender who can pay for the gas that the hardfork allows, but not for a block's", async () => {
    const { baseFeePerGas } = await world.block("pending");
    const tip = BigInt(String(await world.send("eth_maxPriorityFeePerGas")));
    const price = BigInt(String(baseFeePerGas)) + tip;
    const wei = 16_777_216n * price + 1n;
    await world.send("hardhat_setBalance", NOBODY, toQuantity(wei));
    const { balances, status } = await world.vault.simulateSettleAll({
      from: NOBODY,
    });
    expect(status).to.equal("settled");
    const [own] = balances;
    expect(own).to.include({ account: NOBODY, before: wei });
    expect(own?.after).to.be.lessThan(wei);
  });

  it("simulateSettleAll in process throws VAULT_RPC_ERROR for more gas than the hardfork allows", async () => {
    await expectVaultError(
      world.vault.simulateSettleAll({ gas: 20_000_000 }),
      "VAULT_RPC_ERROR",
    );
  });

  it("simulateSettleAll in process predicts a revert without a reason, of one transaction whose receipt has no status, and has no note", async () => {
    const { vault: address } = world.mocks.addresses;
    await world.send("hardhat_setCode", address, "0x5f5ffd");
    let sent = 0;
    intercept(async (method, _, answer) => {
      sent += method === "eth_sendTransaction" ? 1 : 0;
      return method === "eth_getTransactionReceipt"
        ? { ...fieldsOf(await answer()), status: undefined }
        : await answer();
    });
    const { code, reason, notes } = await world.vault.simulateSettleAll({
      gas: 1_000_000,
    });
    expect(code).to.equal("VAULT_CALL_REVERTED");
    expect(reason).to.match(/^no reason given/u);
    expect(notes).to.deep.equal([]);
    expect(sent).to.equal(1);
  });

  it("simulateSettleAll in process lets the contract see all of the balance of a sender with code, which does not pay for gas", async () => {
    const { vault: address } = world.mocks.addresses;
    // Reverts unless its caller has 1 ether.
    const code = "0x3331670de0b6b3a7640000146012575f5ffd5b00";
    await world.send("hardhat_setCode", address, code);
    await world.send("hardhat_setCode", NOBODY, "0x00");
    const wei = toQuantity(10n ** 18n);
    await world.send("hardhat_setBalance", NOBODY, wei);
    const { status } = await world.vault.simulateSettleAll({ from: NOBODY });
    expect(status).to.equal("not-settled");
  });

  for (const [method, failure, code] of [
    [
      "eth_call",
      { message: "missing trie node", code: -32_000 },
      "VAULT_RPC_ERROR",
    ],
    [
      "evm_setNextBlockTimestamp",
      { message: "too late", name: "TimeoutError" },
      "VAULT_RPC_TIMEOUT",
    ],
  ] as const) {
    it(`simulateSettleAll in process throws ${code} if ${method} fails with "${failure.message}"`, async () => {
      intercept(async (asked, _, answer) => {
        if (asked === method) {
          throw Object.assign(new Error(failure.message), failure);
        }
        return await answer();
      });
      await expectVaultError(world.vault.simulateSettleAll(), code);
    });
  }

  it("simulateSettleAll in process sends one transaction and throws VAULT_RPC_ERROR if the network accepts its gas and cannot mine it once", async () => {
    await world.close();
    // Without a cap of the gas of a transaction.
    world = await createWorld({ hardfork: "prague" });
    const asked: string[] = [];
    intercept(async (method, _, answer) => {
      asked.push(method);
      if (asked.filter((one) => one === "evm_mine").length === 1) {
        if (method === "evm_mine") {
          throw Object.assign(new Error("missing trie node"), {
            code: -32_000,
          });
        }
      }
      return await answer();
    });
    await expectVaultError(world.vault.simulateSettleAll(), "VAULT_RPC_ERROR");
    expect(
      asked.filter((method) => method === "eth_sendTransaction"),
    ).to.have.length(1);
  });

  it("simulateSettleAll in process leaves what a script does to mocks meanwhile", async () => {
    const { connection } = world.vault;
    const mocks = await connection.vault.deployMocks();
    await Promise.all([
      world.vault.simulateSettleAll(),
      mocks.set({ volume: 5n }),
      world.vault.simulateSettleAll(),
      mocks.set({ minXMargin: 6n }),
    ]);
    expect(await mocks.vault.queryVolume()).to.equal(5n);
    expect(await mocks.vault.minXMargin()).to.equal(6n);
  });

  it("simulateSettleAll in process leaves the clock", async () => {
    await world.send("evm_increaseTime", 10_000);
    await world.send("evm_mine");
    const before = Number((await world.block("pending"))["timestamp"]);
    await world.vault.simulateSettleAll({ from: NOBODY, atTime: "+30d" });
    await world.send("evm_mine");
    const { timestamp } = await world.vault.block();
    // Real time goes on meanwhile, by less than this.
    expect(timestamp - before).to.be.within(0, 20);
  });

  it("simulateSettleAll in process leaves automatic mining off, and what waits waiting", async () => {
    await world.send("evm_setAutomine", false);
    const waiting = await world.mocks.contracts.vault.setVolume(5);
    const { number } = await world.vault.block();
    const { changes } = await world.vault.simulateSettleAll();
    // What others wait for is not an effect of the settlement.
    expect(changes.map(({ reading }) => reading)).not.to.include("volume");
    expect(await world.send("hardhat_getAutomine")).to.equal(false);
    expect((await world.vault.block()).number).to.equal(number);
    await world.send("evm_mine");
    expect((await waiting.wait())?.blockNumber).to.equal(number + 1);
    expect(await world.vault.queryVolume()).to.equal(5n);
  });

  it(`simulateSettleAll in process refuses if a timed block comes before the one at the round's end: VAULT_MINED_MEANWHILE`, async () => {
    const { timestamp } = await world.vault.block();
    const before = await world.block("latest");
    intercept(async (method, ask, answer) => {
      if (method === "evm_mine") {
        await ask("evm_mine", `0x${(timestamp + 5).toString(16)}`);
      }
      return await answer();
    });
    const error = await expectVaultError(
      world.vault.simulateSettleAll({ atTime: "end" }),
      "VAULT_MINED_MEANWHILE",
    );
    expect(error.fix).to.include("evm_setIntervalMining");
    expect(await world.block("latest")).to.deep.equal(before);
  });

  it("simulateSettleAll in process takes the network's own time if a block comes before its turn", async () => {
    intercept(async (method, ask, answer) => {
      if (method === "hardhat_getAutomine") {
        await ask("evm_increaseTime", 100);
        await ask("evm_mine");
      }
      return await answer();
    });
    const { status } = await world.vault.simulateSettleAll();
    expect(status).to.equal("settled");
  });

  it("simulateSettleAll in process leaves state, balances, nonces and blocks, whichever request fails or none", async () => {
    const asked: string[] = [];
    let failing = -1;
    intercept(async (method, _, answer) => {
      asked.push(method);
      if (asked.length - 1 === failing) {
        throw new Error("out of order");
      }
      return await answer();
    });
    const [account] = await world.vault.connection.ethers.getSigners();
    const of = async (method: string, who = NOBODY): Promise<unknown> =>
      await world.send(method, who, "pending");
    const look = async (): Promise<unknown> => ({
      block: await world.block("latest"),
      baseFee: (await world.block("pending"))["baseFeePerGas"],
      isAutomatic: await world.send("hardhat_getAutomine"),
      waiting: await world.send("eth_pendingTransactions"),
      nonces: [
        await of("eth_getTransactionCount"),
        await of("eth_getTransactionCount", account?.address),
      ],
      balance: await of("eth_getBalance"),
      snapshot: await world.vault.snapshot(),
      settlements: await world.mocks.contracts.vault.settlementCount(),
    });
    const isImpersonated = async (): Promise<unknown> =>
      await world.send("hardhat_stopImpersonatingAccount", NOBODY);
    // The first ones ask for the price, which the others then know.
    for (let round = 0; round < 3; round += 1) {
      asked.length = 0;
      await world.vault.simulateSettleAll({ from: NOBODY, atTime: "end" });
    }
    const methods = [...asked];
    const snapshot = await world.send("evm_snapshot");
    const volume = await world.vault.queryVolume();
    await world.mocks.contracts.vault.setVolume(5);
    const before = await look();

    // From there on, what would fail is the undoing itself.
    const undoing = methods.indexOf("evm_revert");
    const failures = [...methods.slice(0, undoing), "no failure"];
    for (const [index, method] of failures.entries()) {
      for (const wasImpersonated of [true, false]) {
        await (wasImpersonated
          ? world.send("hardhat_impersonateAccount", NOBODY)
          : isImpersonated());
        asked.length = 0;
        failing = index < undoing ? index : -1;
        const end = await world.vault
          .simulateSettleAll({ from: NOBODY, atTime: "end" })
          .then(({ status }) => status, String);
        failing = -1;

        const where = `${method}, request ${index}: ${end}`;
        expect(await look(), where).to.deep.equal(before);
        expect(await isImpersonated(), where).to.equal(wasImpersonated);
      }
    }
    expect(await world.send("evm_revert", snapshot)).to.equal(true);
    expect(await world.vault.queryVolume()).to.equal(volume);
  });

  for (const settings of [
    { hardfork: "cancun" },
    { chainType: "op" },
  ] as const) {
    it(`simulateSettleAll in process works on a network with ${Object.entries(settings).join(" and ")}`, async () => {
      const odd = await createWorld(settings);
      try {
        const { status } = await odd.vault.simulateSettleAll({ from: NOBODY });
        expect(status).to.equal("settled");
      } finally {
        await odd.close();
      }
    });
  }
});
