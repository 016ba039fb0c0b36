import { expect } from "chai";
import {
  concat,
  Contract,
  ContractFactory,
  FunctionFragment,
  MaxUint256,
  toBeHex,
} from "ethers";

import { MockVault__factory } from "../../src/bindings/factories/MockVault__factory.js";
import { contractRoles, operations } from "../../src/client/index.js";
import type { HardhatVault } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { generatedOrder } from "../helpers/generated-order.js";
import { createTestHre } from "../helpers/hre.js";
import { encodeError, revertOf } from "../helpers/reverts.js";
import { compileFixture, contractSources } from "../helpers/solc.js";

/** In the order of the Solidity enum `Scenario`. */
const scenarios = [
  ...(["open-round", "expired-round", "settled-round", "full-round"] as const),
  ...(["empty-vault", "no-liquidity", "many-orders"] as const),
  "as-deployed" as const,
];

/** The clock of all blocks here, since scenarios are relative to it. */
const NOW = 1_800_000_000;
const HOUR = 3_600;

const PRICE_NOT_SET = "PriceNotSet()";

const STRANGER = `0x${"ab".repeat(20)}`;

const argumentsOf: Readonly<Record<string, bigint[][]>> = {
  getFundingFeeRate: [[1n], [2n], [3n]],
  getOrderInfo: [
    ...[0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 500n, 1_000n, 1_001n],
    2n ** 256n - 1n,
  ].map((orderID) => [orderID]),
  calMargins: [[1n, 2n, 3n]],
};

/** A call of every operation with every choice of its arguments. */
const calls = Object.entries(operations).flatMap(
  ([operation, { selector, target }]) =>
    Object.values(typeof target === "string" ? [target] : target).flatMap(
      (role) =>
        (argumentsOf[operation] ?? [[]]).map((args) => ({
          operation,
          role,
          data: concat([selector, ...args.map((value) => toBeHex(value, 32))]),
        })),
    ),
);

type Addresses = Readonly<Record<string, string>>;

/** Answers one word to everything. */
const RETURNS_ZERO = "0x600060005260206000f3";

/** Compares a struct of Solidity with the values by their names. */
function expectValues(struct: unknown, values: object): void {
  for (const [field, value] of Object.entries(values)) {
    expect(Reflect.get(Object(struct), field), field).to.equal(
      typeof value === "number" ? BigInt(value) : value,
    );
  }
}

describe("VaultMocks.sol, mocks for Solidity tests", function () {
  let vault: HardhatVault;
  let test: Contract;

  before(async () => {
    const sources = await contractSources();
    const { abi, evm } = compileFixture(
      ...(["ScriptedMocks.sol", "ScriptedMocks", sources] as const),
    );
    const hre = await createTestHre({
      networks: {
        default: {
          type: "edr-simulated",
          // Of a test contract, which nobody deploys for real.
          allowUnlimitedContractSize: true,
          allowBlocksWithSameTimestamp: true,
          // The clock of the network runs from its first second on.
          initialDate: new Date(1_000),
        },
      },
    });
    const connection = await hre.network.create();
    ({ vault } = connection);
    const [signer] = await connection.ethers.getSigners();
    const bytecode = evm.bytecode.object;
    const factory = new ContractFactory(JSON.stringify(abi), bytecode, signer);
    const { target } = await factory.deploy();
    test = new Contract(target, factory.interface, signer);
  });

  // Every test starts from the same block, since a clock does not go back.
  let start: unknown;
  beforeEach(async () => {
    start = await request("evm_snapshot");
  });
  const goBack = async (): Promise<void> => {
    await request("evm_revert", start);
    start = await request("evm_snapshot");
  };
  afterEach(goBack);

  const request = async (
    method: string,
    ...params: unknown[]
  ): Promise<unknown> => await vault.provider.request({ method, params });

  /** Of the next block: what is written depends on it, so both sides need it. */
  const setTime = async (time: number): Promise<void> => {
    await request("evm_setNextBlockTimestamp", time);
  };

  const send = async (method: string, ...args: unknown[]): Promise<void> => {
    // An estimate is made for another block than the one that comes.
    await test.getFunction(method).send(...args, { gasLimit: 16_777_216n });
  };

  const addresses = async (): Promise<Addresses> => {
    const deployed: unknown = await test.getFunction("mocks").staticCall();
    return Object.fromEntries(
      Object.keys(contractRoles).map((role) => [
        role,
        String(Reflect.get(Object(deployed), role)),
      ]),
    );
  };

  const deploy = async (
    scenario: (typeof scenarios)[number],
  ): Promise<Addresses> => {
    await send("deploy", scenarios.indexOf(scenario));
    return await addresses();
  };

  /** What each call returns, or the data of its revert. */
  const answers = async (at: Addresses): Promise<unknown[]> =>
    await Promise.all(
      calls.map(async ({ role, data }) => {
        const call = request("eth_call", { to: at[role], data }, "latest");
        return await call.catch(async () => await revertOf(call));
      }),
    );

  for (const scenario of scenarios) {
    it(`deploy() returns the same words for ${scenario} as deployMocks(), also when it is settled`, async () => {
      await setTime(NOW);
      const typescript = await vault.deployMocks({ scenario });
      await setTime(NOW);
      const solidity = await deploy(scenario);
      const before = await answers(solidity);
      expect(before).to.deep.equal(await answers(typescript.addresses));
      if (scenario !== "settled-round") {
        await send("settle");
        await typescript.vault.settleAll();
        const settled = await answers(solidity);
        expect(settled).to.deep.equal(await answers(typescript.addresses));
        expect(settled).not.to.deep.equal(before);
      }
    });
  }

  it("load() loads another scenario, and keeps nothing of the first one", async () => {
    await setTime(NOW);
    const fresh = await answers(await deploy("full-round"));
    await goBack();
    const deployed = await deploy("many-orders");
    await send("nextRound");
    for (const { selector } of Object.values(operations)) {
      await send("fail", selector, "paused");
    }
    await setTime(NOW);
    await send("load", scenarios.indexOf("full-round"));
    expect(await addresses()).to.deep.equal(deployed);
    expect(await answers(deployed)).to.deep.equal(fresh);
    // As new: this round has a scripted settlement, and the first one is it.
    await send("settle");
    expect(await vault.at(deployed).getLatestRoundInfo()).to.include({
      settledPrice: 66_250n * 10n ** 18n,
    });
  });

  it("fail() makes one operation revert until succeed(), and both refuse an unknown selector", async () => {
    const at = await deploy("open-round");
    const before = await answers(at);
    const paused = encodeError("Error(string)", "paused");
    for (const [operation, { selector }] of Object.entries(operations)) {
      await send("fail", selector, "paused");
      expect(await answers(at)).to.deep.equal(
        before.map((answer, index) =>
          calls[index]?.operation === operation ? paused : answer,
        ),
      );
      await send("succeed", selector);
    }
    expect(await answers(at)).to.deep.equal(before);
    const unknown = "0x12345678";
    const refused = encodeError("FunctionNotScriptable(bytes4)", unknown);
    expect(await revertOf(send("fail", unknown, "no"))).to.equal(refused);
    expect(await revertOf(send("succeed", unknown))).to.equal(refused);
  });

  it("failWith(), failFrom() and failOrder() make some calls revert with these data, until succeed()", async () => {
    const at = await deploy("open-round");
    const { queryVolume, minXMargin, getOrderInfo } = operations;
    const order = (orderID: bigint): string =>
      concat([getOrderInfo.selector, toBeHex(orderID, 32)]);
    const outcomes = async (): Promise<readonly unknown[]> =>
      await Promise.all(
        (
          [
            ["vault", queryVolume.selector],
            ["vaultFactory", minXMargin.selector, STRANGER],
            ["vaultFactory", minXMargin.selector],
            ["trading", order(1n)],
            ["trading", order(2n)],
          ] as const
        ).map(async ([role, data, from]) => {
          const call = request("eth_call", { to: at[role], data, from });
          return await call.then(
            () => "answers",
            async () => await revertOf(call),
          );
        }),
      );
    await send("failWith", queryVolume.selector, "0x1234");
    await send("failFrom", minXMargin.selector, STRANGER, "not you");
    await send("failOrder", 2n, "broken");
    expect(await outcomes()).to.deep.equal([
      "0x1234",
      encodeError("Error(string)", "not you"),
      ...["answers", "answers"],
      encodeError("Error(string)", "broken"),
    ]);
    for (const { selector } of [queryVolume, minXMargin, getOrderInfo]) {
      await send("succeed", selector);
    }
    expect(await outcomes()).to.deep.equal(Array(5).fill("answers"));
  });

  it("whenCalMargins() with ANY sets the margins of some terms, and others revert with UnexpectedTerms", async () => {
    const deployed = await deploy("open-round");
    const at = vault.at(deployed);
    await send("whenCalMarginsOfAnyAPY", 1n, 3n, [7n, 8n]);
    const terms = { maxVolume: 1n, APY: 99n, endTime: 3n };
    expect(await at.calMargins(terms)).to.deep.equal({
      ...{ baseMarginAmount: 7n, xMarginAmount: 8n },
    });
    for (const other of [{ maxVolume: 2n }, { endTime: 2n }]) {
      const { details } = await expectVaultError(
        at.calMargins({ ...terms, ...other }),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.match(/^UnexpectedTerms\(/u);
    }
    // The terms from before do not return.
    const mock = MockVault__factory.connect(
      deployed["vault"] ?? "",
      test.runner,
    );
    await mock.setMargins(5n, 5n);
    expect((await at.calMargins(terms)).xMarginAmount).to.equal(5n);
    await send("whenCalMarginsOfAnyAPY", 2n, 3n, [7n, 8n]);
    await expectVaultError(at.calMargins(terms), "VAULT_CALL_REVERTED");
  });

  it("setNotBeforeEnd() makes settleAll() revert until the second in which the round ends", async () => {
    await setTime(NOW);
    await deploy("open-round");
    const end = NOW + HOUR;
    const notEnded = encodeError("RoundHasNotEnded(uint256)", end);
    await send("setTimes", NOW, end);
    await send("setNotBeforeEnd", true);
    await setTime(end - 1);
    expect(await revertOf(send("settle"))).to.equal(notEnded);
    await setTime(end);
    await send("settle");
    // A settled round is refused as such, whenever it ends.
    await send("setTimes", NOW, end + HOUR);
    expect(await revertOf(send("settle"))).to.equal(
      encodeError(
        "RoundAlreadySettled(uint256,uint256,uint256)",
        ...[NOW, end + HOUR, 65_000n * 10n ** 18n],
      ),
    );
  });

  it("every function names deploy() when it is called without it", async () => {
    const others = [
      ...["deploy", "deployChanged", "mocks", "settle", "roundOf", "orderOf"],
    ];
    const scripts = test.interface.fragments.filter(
      (fragment): fragment is FunctionFragment =>
        fragment instanceof FunctionFragment && !others.includes(fragment.name),
    );
    expect(scripts).to.have.lengthOf.above(15);
    for (const { name, selector } of scripts) {
      // Arguments that are all zeros.
      const data = concat([selector, `0x${"00".repeat(1_024)}`]);
      const call = { to: await test.getAddress(), data };
      const error = await request("eth_call", call, "latest").catch(String);
      expect(error, name).to.contain(
        "VaultMocks: call deploy first, for example mocks.deploy(Scenario.OpenRound) in setUp",
      );
    }
  });

  it("nextRound() begins a round of the same terms and length, which settleAll() settles by its own terms until setSettlement()", async () => {
    const bound = vault.at(await deploy("open-round"));
    const { APY, maxVolume, minDeposit } = await bound.getLatestRoundInfo();
    for (const [startTime, endTime, length] of [
      ...[[5n, 25n, 20n] as const, [5n, 5n, 7n * 86_400n] as const],
      [0n, MaxUint256, undefined],
    ] as const) {
      await send("setTimes", startTime, endTime);
      await send("nextRound");
      const { timestamp } = await bound.block();
      const now = BigInt(timestamp);
      expect(await bound.getLatestRoundInfo()).to.include({
        ...{ APY, maxVolume, minDeposit, startTime: now },
        endTime: length === undefined ? MaxUint256 : now + length,
      });
    }
    await send("nextRoundAt", 70n);
    await send("settle");
    expect(await bound.getLatestRoundInfo()).to.include({
      strikePrice: 70n,
      settledPrice: 70n,
      settledAmount: 0n,
      settled: true,
    });
    await send("nextRound");
    await send("setSettlement", 8n, 9n);
    await send("settle");
    expect(await bound.getLatestRoundInfo()).to.include({
      strikePrice: 70n,
      settledPrice: 8n,
      settledAmount: 9n,
    });
  });

  it("setOrder() takes the struct of order(), and removeOrder() removes it", async () => {
    const at = vault.at(await deploy("open-round"));
    const order = generatedOrder(12n);
    await send("setOrder", 12n, order);
    expect(await at.getOrderInfo(12n)).to.deep.equal(order);
    expectValues(await test.getFunction("order").staticCall(12n), order);
    await send("removeOrder", 12n);
    const removed: unknown = await test.getFunction("order").staticCall(12n);
    expectValues(removed, { exType: "" });
  });

  it("deploy() takes a state of MockScenarios.stateOf() that the test has changed", async () => {
    await send("deployChanged");
    const at = vault.at(await addresses());
    expect(await at.queryVolume()).to.equal(7n);
    expect((await at.getOrderInfo(1n)).state).to.equal(2);
    expect((await at.getOrderInfo(2n)).state).to.equal(1);
    await expectVaultError(at.getOrderInfo(9n), "VAULT_CALL_REVERTED");
    const { endTime } = await at.getLatestRoundInfo();
    expect(await revertOf(send("settle"))).to.equal(
      encodeError("RoundHasNotEnded(uint256)", endTime),
    );
    await send("setNotBeforeEnd", false);
    expect(await revertOf(send("settle"))).to.equal(encodeError(PRICE_NOT_SET));
  });

  it("setNeedsPrice(), setReward() and setUnknownOrders() change what a settlement and an unknown id do", async () => {
    await deploy("open-round");
    await send("setNeedsPrice", true);
    expect(await revertOf(send("settle"))).to.equal(encodeError(PRICE_NOT_SET));
    await send("setNeedsPrice", false);
    await send("setReward", STRANGER, 5n);
    expect(await revertOf(send("settle"))).to.equal(
      encodeError("RewardNotPaid(address,uint256)", STRANGER, 5n),
    );
    await send("setUnknownOrders", 1);
    expect(await revertOf(test.getFunction("order").staticCall(9n))).to.equal(
      encodeError("OrderNotFound(uint256)", 9n),
    );
  });

  it("readRound() and readOrder() return all values, and revert with InvalidAnswer for an account without code and for a short answer", async () => {
    const at = await deploy("settled-round");
    const client = vault.at(at);
    for (const [method, target, values] of [
      ["roundOf", at["vaultFactory"], await client.getLatestRoundInfo()],
      ["orderOf", at["trading"], await client.getOrderInfo(1n)],
    ] as const) {
      const read = async (address: unknown): Promise<unknown> =>
        await test.getFunction(method).staticCall(address);
      expectValues(await read(target), values);
      for (const [code, answer] of [
        ["0x", "0x"],
        [RETURNS_ZERO, toBeHex(0, 32)],
      ] as const) {
        await request("hardhat_setCode", STRANGER, code);
        expect(await revertOf(read(STRANGER))).to.equal(
          encodeError("InvalidAnswer(address,bytes)", STRANGER, answer),
        );
      }
    }
    // The revert of another contract is passed on.
    const order = test.getFunction("orderOf").staticCall(at["vault"]);
    expect(await revertOf(order)).to.equal("0x");
  });
});
