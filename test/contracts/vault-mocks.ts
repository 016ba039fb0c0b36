import { expect } from "chai";
import { concat, Contract, Interface, toBeHex, zeroPadValue } from "ethers";

import { scenarios } from "../../src/mocks/scenarios.js";
import { generatedOrder } from "../../src/mocks/state.js";
import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import {
  contractRoleNames,
  operationEntry,
  operationNames,
  targetsOf,
} from "../../src/protocol/index.js";
import type { ContractRole, OperationName } from "../../src/protocol/index.js";
import { keysOf } from "../../src/protocol/keys-of.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import { compile, contractSources } from "../helpers/solc.js";

/** A Solidity test, as far as it scripts the mocks. */
const scripted = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {ITrading} from "contracts/interfaces/ITrading.sol";
import {VaultReader} from "contracts/interfaces/VaultReader.sol";
import {MockScenarios, MockState, Scenario, VaultMocks} from "contracts/test/VaultMocks.sol";

contract Scripted {
    VaultMocks public mocks;

    function deploy(Scenario scenario) external {
        mocks.deploy(scenario);
    }
    function deployStrict() external {
        MockState memory state = MockScenarios.stateOf(Scenario.OpenRound);
        state.missingOrdersRevert = true;
        mocks.deploy(state);
    }
    function load(Scenario scenario) external {
        mocks.load(MockScenarios.stateOf(scenario));
    }
    function fail(bytes4 operation, string calldata reason) external {
        mocks.fail(operation, reason);
    }
    function succeed(bytes4 operation) external {
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
    function setOrder(uint256 id, VaultReader.Order calldata value) external {
        mocks.setOrder(id, value);
    }
    function removeOrder(uint256 id) external {
        mocks.removeOrder(id);
    }
    function round() external view returns (VaultReader.Round memory) {
        return mocks.round();
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

/** In the order of the enum `Scenario`: `extremes` is for what shows values. */
const solidityScenarios = keysOf(scenarios).filter(
  (name) => name !== "extremes",
);

/** A scenario as the contract takes it: the member of its enum. */
const scenarioIn = (name: (typeof solidityScenarios)[number]): number =>
  solidityScenarios.indexOf(name);

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

describe("VaultMocks.sol, mocks for Solidity tests", function () {
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

  for (const scenario of solidityScenarios) {
    it(`VaultMocks returns ${scenario} word by word as in TypeScript, settled too`, async () => {
      await setTime(NOW);
      const typescript = await vault.deployMocks({ scenario });
      await setTime(NOW);
      await send("deploy", scenarioIn(scenario));
      const solidity = await addresses();
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

  it("load() puts deployed mocks into another scenario, with nothing left of the first", async () => {
    await setTime(NOW);
    await send("deploy", scenarioIn("full-round"));
    const fresh = await answers(await addresses());
    await goBack();
    await send("deploy", scenarioIn("many-orders"));
    await send("nextRound");
    for (const operation of operationNames) {
      await send("fail", operationEntry(operation).selector, "paused");
    }
    const deployed = await addresses();
    await setTime(NOW);
    await send("load", scenarioIn("full-round"));
    expect(await addresses()).to.deep.equal(deployed);
    expect(await answers(deployed)).to.deep.equal(fresh);
    // As new: this round has a scripted settlement, and the first one is it.
    await send("settle");
    expect(await vault.at(deployed).getLatestRoundInfo()).to.include({
      settledPrice: 66_250n * 10n ** 18n,
    });
  });

  for (const operation of operationNames) {
    it(`fail() makes ${operation} revert, and succeed() ends it`, async () => {
      await send("deploy", scenarioIn("open-round"));
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
      await send("fail", operationEntry(operation).selector, "paused");
      const reverted = new Interface(["error Error(string)"]).encodeErrorResult(
        "Error",
        ["paused"],
      );
      expect(await attempts()).to.deep.equal(before.map(() => reverted));
      await send("succeed", operationEntry(operation).selector);
      expect(await attempts()).to.deep.equal(before);
    });
  }

  it("fail() and succeed() revert for a selector of no operation: FunctionNotScriptable", async () => {
    await send("deploy", scenarioIn("open-round"));
    for (const [method, ...args] of [["fail", "paused"], ["succeed"]]) {
      const error: unknown = await send(
        String(method),
        "0x12345678",
        ...args,
      ).catch((thrown: unknown) => thrown);
      expect(revertData(error)).to.equal(
        new Interface([
          "error FunctionNotScriptable(bytes4 selector)",
        ]).encodeErrorResult("FunctionNotScriptable", ["0x12345678"]),
      );
    }
  });

  for (const [method, ...args] of [
    ["load", 0],
    ["fail", operationEntry("settleAll").selector, "paused"],
    ["succeed", operationEntry("settleAll").selector],
    ["nextRound"],
    ["setSettlement", 1n, 2n],
    ["order", 1n],
    ["round"],
  ] as const) {
    it(`${method}() names deploy() if it is called first`, async () => {
      const error: unknown = await test
        .getFunction(method)
        .staticCall(...args)
        .catch((thrown: unknown) => thrown);
      expect(String(error)).to.contain(
        "VaultMocks: call deploy first, for example mocks.deploy(Scenario.OpenRound) in setUp",
      );
    });
  }

  for (const [what, hasLength] of [
    ["a settled round", true],
    ["a round without a length", false],
  ] as const) {
    it(`nextRound() starts a round after ${what} as in TypeScript`, async () => {
      await setTime(NOW);
      await send("deploy", scenarioIn("settled-round"));
      if (!hasLength) {
        await send("setTimes", NOW, NOW);
      }
      await setTime(NOW + HOUR);
      await send("nextRound");
      const solidity = await answers(await addresses());
      await goBack();
      await setTime(NOW);
      const typescript = await vault.deployMocks({ scenario: "settled-round" });
      if (!hasLength) {
        const time = BigInt(NOW);
        await typescript.set({ round: { startTime: time, endTime: time } });
      }
      await setTime(NOW + HOUR);
      await typescript.startNextRound();
      expect(await answers(typescript.addresses)).to.deep.equal(solidity);
    });
  }

  it("a next round settles by its own terms until setSettlement()", async () => {
    await send("deploy", scenarioIn("open-round"));
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
  });

  it("setOrder() takes the struct that order() returns, and removeOrder() removes the order", async () => {
    await send("deploy", scenarioIn("open-round"));
    const order = generatedOrder(12n);
    await send("setOrder", 12n, order);
    const at = vault.at(await addresses());
    expect(await at.getOrderInfo(12n)).to.deep.equal(order);
    const read: unknown = await test.getFunction("order").staticCall(12n);
    for (const [field, value] of Object.entries(order)) {
      expect(Reflect.get(Object(read), field), field).to.equal(
        typeof value === "number" ? BigInt(value) : value,
      );
    }
    await send("removeOrder", 12n);
    expect((await at.getOrderInfo(12n)).exType).to.equal("");
  });

  it("deploy() takes a scenario with changes", async () => {
    await send("deployStrict");
    const at = vault.at(await addresses());
    expect((await at.getOrderInfo(1n)).state).to.equal(1);
    await expectVaultError(at.getOrderInfo(9n), "VAULT_CALL_REVERTED");
  });

  it("readOrder() reverts for an answer of no trading contract: InvalidAnswer", async () => {
    await send("deploy", scenarioIn("open-round"));
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
});
