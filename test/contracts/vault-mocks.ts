import { expect } from "chai";
import { concat, Contract, Interface, toBeHex, zeroPadValue } from "ethers";

import { scenarios } from "../../src/mocks/scenarios.js";
import type { ScenarioName } from "../../src/mocks/scenarios.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import {
  contractRoleNames,
  operationEntry,
  operationNames,
  targetsOf,
} from "../../src/protocol/index.js";
import type { ContractRole, OperationName } from "../../src/protocol/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import { compile, contractSources } from "../helpers/solc.js";

/** A Solidity test, as far as it scripts the mocks. */
const scripted = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ITrading} from "contracts/interfaces/ITrading.sol";
import {VaultReader} from "contracts/interfaces/VaultReader.sol";
import {MockOrder} from "contracts/mocks/MockOrder.sol";
import {MockScenarios} from "contracts/test/MockScenarios.sol";
import {MockState} from "contracts/test/MockState.sol";
import {VaultMocks} from "contracts/test/VaultMocks.sol";

contract Scripted {
    VaultMocks public mocks;

    function deploy(string calldata scenario) external {
        mocks.deploy(scenario);
    }
    function deployStrict() external {
        MockState memory state = MockScenarios.openRound(block.timestamp);
        state.missingOrdersRevert = true;
        mocks.deploy(state);
    }
    function load(string calldata scenario) external {
        mocks.load(MockScenarios.named(scenario, block.timestamp));
    }
    function fail(string calldata operation, string calldata reason) external {
        mocks.fail(operation, reason);
    }
    function succeed(string calldata operation) external {
        mocks.succeed(operation);
    }
    function settle() external {
        mocks.vault.settleAll();
    }
    function nextRound() external {
        mocks.nextRound();
    }
    function nextRoundAt(uint256 strikePrice) external {
        mocks.nextRound(strikePrice);
    }
    function setTimes(uint256 startTime, uint256 endTime) external {
        VaultReader.Round memory round = mocks.round();
        round.startTime = startTime;
        round.endTime = endTime;
        mocks.setRound(round);
    }
    function setSettlement(uint256 price, uint256 amount) external {
        mocks.setSettlement(price, amount);
    }
    function buildOrder(uint256 id, address holder) external {
        MockOrder memory value = MockScenarios.openCall()
            .withNumber(1).withFees(2, 3, 4).withMargin(5, 6);
        value.openedAt(7, 8).asPut().closedAt(9);
        mocks.setOrder(id, value.ofPair("SOL-USDT").heldBy(holder));
    }
    function reopenOrder(uint256 id) external {
        MockOrder memory value = MockScenarios.closedCall().asPut().asCall();
        mocks.setOrder(id, value.openedAt(7, 8));
    }
    function order(
        uint256 id
    ) external view returns (VaultReader.Order memory) {
        return mocks.order(id);
    }
    function orderOf(
        ITrading trading
    ) external view returns (VaultReader.Order memory) {
        return VaultReader.readOrder(trading, 1);
    }
}
`;

// Object.keys is typed string[]; the keys are the names.
// eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- see above
const scenarioNames = Object.keys(scenarios) as ScenarioName[];

/** The clock of all blocks here, since scenarios are relative to it. */
const NOW = 1_800_000_000;
const HOUR = 3_600;

const MAX_UINT256 = 2n ** 256n - 1n;
const orderIDs = [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n, 500n, 1_000n, 1_001n].concat(
  MAX_UINT256,
);

const word = (value: bigint | number): string =>
  zeroPadValue(toBeHex(value), 32);

/** Every read call that there is, as a contract's role and call data. */
const reads = operationNames
  .filter((operation) => operation !== "settleAll")
  .flatMap((operation) =>
    targetsOf(operation).flatMap(({ role }) =>
      argumentsOf(operation).map((args) => ({
        role,
        data: concat([operationEntry(operation).selector, ...args.map(word)]),
      })),
    ),
  );

function argumentsOf(operation: OperationName): bigint[][] {
  switch (operation) {
    case "getFundingFeeRate":
      return [[1n], [2n], [3n]];
    case "getOrderInfo":
      return orderIDs.map((id) => [id]);
    case "calMargins":
      return [[1n, 2n, 3n]];
    default:
      return [[]];
  }
}

/** What a failed call reverted with. */
function revertData(error: unknown): unknown {
  return Reflect.get(Object(error), "data");
}

describe("contracts - mocks for Solidity tests", function () {
  type Addresses = Readonly<Record<ContractRole, string>>;

  let vault: HardhatVault;
  let test: Contract;

  before(async () => {
    const { contracts, errors = [] } = compile(
      "0.8.37",
      {
        ...(await contractSources()),
        "Scripted.sol": { content: scripted },
      },
      {},
    );
    expect(errors.filter(({ severity }) => severity === "error")).to.deep.equal(
      [],
    );
    const compiled = contracts["Scripted.sol"]?.Scripted;
    if (compiled === undefined) {
      throw new Error("Scripted was not compiled");
    }
    const abi = Interface.from(JSON.stringify(compiled.abi));
    const hre = await createTestHre({
      networks: {
        default: {
          type: "edr-simulated",
          // Of a test contract, which nobody deploys for real.
          allowUnlimitedContractSize: true,
          allowBlocksWithSameTimestamp: true,
          // Well before: a network's clock runs while the tests get ready, and
          // no block may be older than its parent.
          initialDate: new Date((NOW - HOUR) * 1_000),
        },
      },
    });
    const connection = await hre.network.create();
    ({ vault } = connection);
    const factory = await connection.ethers.getContractFactory(
      abi.fragments,
      compiled.evm.bytecode.object,
    );
    const { target, runner } = await factory.deploy();
    test = new Contract(target, abi, runner);
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
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- every role has an entry
    return Object.fromEntries(
      contractRoleNames.map((role) => [
        role,
        String(Reflect.get(Object(deployed), role)),
      ]),
    ) as Addresses;
  };

  /** What each read call answers, or what it reverts with. */
  const answers = async (at: Addresses): Promise<unknown[]> =>
    await Promise.all(
      reads.map(async ({ role, data }) => [
        role,
        data,
        await request("eth_call", { to: at[role], data }, "latest").catch(
          (error: unknown) => ["reverts", revertData(error)],
        ),
      ]),
    );

  for (const scenario of scenarioNames) {
    it(`should answer ${scenario} word by word as in TypeScript, settled too`, async () => {
      await setTime(NOW);
      await send("deploy", scenario);
      const solidity = await addresses();
      const before = await answers(solidity);
      await setTime(NOW);
      const typescript = await vault.deployMocks({ scenario });
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

  it("should refuse a scenario that there is not, and tell those there are", async () => {
    const error: unknown = await send("deploy", "open-rounds").catch(
      (thrown: unknown) => thrown,
    );
    expect(revertData(error)).to.equal(
      new Interface([
        "error UnknownScenario(string name, string known)",
      ]).encodeErrorResult("UnknownScenario", [
        "open-rounds",
        scenarioNames.join(", "),
      ]),
    );
  });

  it("should put deployed mocks into another scenario, with nothing left", async () => {
    await setTime(NOW);
    await send("deploy", "full-round");
    const fresh = await answers(await addresses());
    await goBack();
    await send("deploy", "extremes");
    await send("nextRound");
    for (const operation of operationNames) {
      await send("fail", operation, "paused");
    }
    const deployed = await addresses();
    await setTime(NOW);
    await send("load", "full-round");
    expect(await addresses()).to.deep.equal(deployed);
    expect(await answers(deployed)).to.deep.equal(fresh);
    // As new: this round has a scripted settlement, and the first one is it.
    await send("settle");
    expect(await vault.at(deployed).getLatestRoundInfo()).to.include({
      settledPrice: 66_250n * 10n ** 18n,
    });
  });

  for (const operation of operationNames) {
    it(`should fail ${operation}, and let it succeed again`, async () => {
      await send("deploy", "open-round");
      const at = await addresses();
      const attempts = async (): Promise<unknown[]> =>
        await Promise.all(
          targetsOf(operation).map(
            async ({ role }) =>
              await request(
                "eth_call",
                {
                  to: at[role],
                  data: concat([
                    operationEntry(operation).selector,
                    ...(argumentsOf(operation)[0] ?? []).map(word),
                  ]),
                },
                "latest",
              ).catch(revertData),
          ),
        );
      const before = await attempts();
      await send("fail", operation, "paused");
      const reverted = new Interface(["error Error(string)"]).encodeErrorResult(
        "Error",
        ["paused"],
      );
      expect(await attempts()).to.deep.equal(before.map(() => reverted));
      await send("succeed", operation);
      expect(await attempts()).to.deep.equal(before);
    });
  }

  it("should refuse an operation that there is not", async () => {
    for (const method of ["fail", "succeed"]) {
      const args = method === "fail" ? ["settle", "paused"] : ["settle"];
      const error: unknown = await send(method, ...args).catch(
        (thrown: unknown) => thrown,
      );
      expect(revertData(error)).to.equal(
        new Interface([
          "error UnknownOperation(string operation)",
        ]).encodeErrorResult("UnknownOperation", ["settle"]),
      );
    }
  });

  for (const scenario of ["settled-round", "extremes"] as const) {
    it(`should start a round after ${scenario} as in TypeScript`, async () => {
      await setTime(NOW);
      await send("deploy", scenario);
      await setTime(NOW + HOUR);
      await send("nextRound");
      const solidity = await answers(await addresses());
      await goBack();
      await setTime(NOW);
      const typescript = await vault.deployMocks({ scenario });
      // From TypeScript a round starts with the latest block, not the next.
      await setTime(NOW + HOUR);
      await request("evm_mine");
      await typescript.startNextRound();
      expect(await answers(typescript.addresses)).to.deep.equal(solidity);
    });
  }

  it("should start a week's round after one without a length, as in TypeScript", async () => {
    await setTime(NOW);
    await send("deploy", "open-round");
    await send("setTimes", NOW, NOW);
    await setTime(NOW + HOUR);
    await send("nextRound");
    const solidity = await answers(await addresses());
    await goBack();
    await setTime(NOW);
    const typescript = await vault.deployMocks();
    const time = BigInt(NOW);
    await typescript.setRound({ startTime: time, endTime: time });
    await setTime(NOW + HOUR);
    await request("evm_mine");
    await typescript.startNextRound();
    expect(await answers(typescript.addresses)).to.deep.equal(solidity);
    expect(await typescript.vault.getLatestRoundInfo()).to.include({
      endTime: time + BigInt(HOUR) + 604_800n,
    });
  });

  it("should settle next rounds by their own terms, until scripted", async () => {
    await send("deploy", "open-round");
    const bound = vault.at(await addresses());
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
    await send("nextRoundAt", 71n);
    await send("settle");
    expect(await bound.getLatestRoundInfo()).to.include({
      strikePrice: 71n,
      settledPrice: 8n,
    });
  });

  it("should build orders, and read them as a struct", async () => {
    await send("deploy", "open-round");
    const holder = `0x${"ab".repeat(20)}`;
    await send("buildOrder", 12n, holder);
    const expected = {
      exType: "SOL-USDT",
      holder: (await vault.at(await addresses()).getOrderInfo(12n)).holder,
      number: 1n,
      exFee: 2n,
      lockFee: 3n,
      newLockFee: 4n,
      openPrice: 7n,
      marginAmount: 5n,
      marginFee: 6n,
      startTime: 8n,
      closePrice: 9n,
      contractType: 2,
      state: 2,
    };
    expect(expected.holder.toLowerCase()).to.equal(holder);
    expect(await vault.at(await addresses()).getOrderInfo(12n)).to.deep.equal(
      expected,
    );
    const order: unknown = await test.getFunction("order").staticCall(12n);
    for (const [field, value] of Object.entries(expected)) {
      expect(Reflect.get(Object(order), field), field).to.equal(
        typeof value === "number" ? BigInt(value) : value,
      );
    }
  });

  it("should open an order that was closed, as a call again", async () => {
    await send("deploy", "open-round");
    await send("reopenOrder", 12n);
    expect(await vault.at(await addresses()).getOrderInfo(12n)).to.include({
      openPrice: 7n,
      startTime: 8n,
      closePrice: 0n,
      contractType: 1,
      state: 1,
    });
  });

  it("should deploy a scenario with changes", async () => {
    await send("deployStrict");
    const at = vault.at(await addresses());
    expect((await at.getOrderInfo(1n)).state).to.equal(1);
    await expectVaultError(at.getOrderInfo(9n), "VAULT_CALL_REVERTED");
  });

  it("should refuse what is no answer of a trading contract", async () => {
    await send("deploy", "open-round");
    const { trading, vault: other } = await addresses();
    const orderOf = test.getFunction("orderOf");
    const order: unknown = await orderOf.staticCall(trading);
    expect(Reflect.get(Object(order), "exType")).to.equal("BTC-USDT");
    const stranger = `0x${"ab".repeat(20)}`;
    const error: unknown = await orderOf
      .staticCall(stranger)
      .catch((thrown: unknown) => thrown);
    expect(revertData(error)).to.equal(
      new Interface([
        "error InvalidAnswer(address target, bytes answer)",
      ]).encodeErrorResult("InvalidAnswer", [stranger, "0x"]),
    );
    // Of a contract without such a function, it is that contract's own revert.
    const refusal: unknown = await orderOf
      .staticCall(other)
      .catch((thrown: unknown) => thrown);
    expect(revertData(refusal)).to.equal("0x");
  });

  it("should read a failing order with the mock's reason", async () => {
    await send("deploy", "open-round");
    await send("fail", "getOrderInfo", "no orders today");
    const error: unknown = await test
      .getFunction("order")
      .staticCall(1n)
      .catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("no orders today");
  });
});
