import { ContractFactory } from "ethers";

import { solidityScenarios } from "../scripts/docs/render-scenarios.js";
import type { SolidityScenario } from "../scripts/docs/render-scenarios.js";
import { createTestHre } from "../test/helpers/hre.js";
import { compile, contractSources } from "../test/helpers/solc.js";
import { median, round, runInTurns, target } from "./measure.js";
import type { Extent, Section } from "./measure.js";

/** What a test contract has, and a `setUp` that runs several times. */
const harness = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Scenario, VaultMocks} from "contracts/test/VaultMocks.sol";

contract Harness {
    VaultMocks private _mocks;

    function setUp(Scenario scenario) external {
        _mocks.deploy(scenario);
    }
    // Each in a call of its own, since a call keeps all its memory.
    function setUps(Scenario scenario, uint256 count) external {
        for (uint256 i = 0; i < count; ++i) this.setUp(scenario);
    }
}
`;

/** One call is not measured by itself: a request takes as long. */
const SET_UPS = 25;

/** More than they use, which the chain has to allow. */
const GAS = 1_000_000_000;

/**
 * `mocks.deploy(scenario)` in Solidity, as compiled without settings, on the
 * EVM that runs Hardhat's Solidity tests.
 */
export async function benchSolidityMocks({ rounds }: Extent): Promise<Section> {
  const hre = await createTestHre({
    networks: {
      default: {
        type: "edr-simulated",
        // A later one limits the gas of a transaction.
        hardfork: "prague",
        blockGasLimit: 2 * GAS,
        allowUnlimitedContractSize: true,
      },
    },
  });
  const connection = await hre.network.create();
  try {
    const { contracts } = compile(
      "0.8.37",
      { ...(await contractSources()), "Harness.sol": { content: harness } },
      {},
    );
    const compiled = contracts["Harness.sol"]?.["Harness"];
    if (compiled === undefined) {
      throw new Error("the harness does not compile");
    }
    const [signer] = await connection.ethers.getSigners();
    const contract = await new ContractFactory(
      JSON.stringify(compiled.abi),
      compiled.evm.bytecode.object,
      signer,
    ).deploy();
    const to = await contract.getAddress();
    const names = solidityScenarios;
    const setUps = async (
      scenario: SolidityScenario,
      count: number,
    ): Promise<void> => {
      await connection.provider.request({
        method: "eth_call",
        params: [
          {
            to,
            gas: `0x${GAS.toString(16)}`,
            data: contract.interface.encodeFunctionData("setUps", [
              solidityScenarios.indexOf(scenario),
              count,
            ]),
          },
          "latest",
        ],
      });
    };
    const times = await runInTurns(
      names.flatMap((name) =>
        [0, SET_UPS].map((count) => ({
          name: `${name} ${count}`,
          run: async () => {
            await setUps(name, count);
          },
        })),
      ),
      rounds,
    );
    const rows = names.map((name) => ({
      scenario: name,
      "median ms": round(
        Math.max(
          0,
          median(times[`${name} ${SET_UPS}`] ?? []) -
            median(times[`${name} 0`] ?? []),
        ) / SET_UPS,
      ),
    }));
    return {
      title: "Mocks in a Solidity test's setUp",
      rows,
      targets: [
        target(
          "mocks.deploy(Scenario.OpenRound)",
          rows[0]?.["median ms"] ?? Number.NaN,
          "at most",
          2,
          "ms",
        ),
      ],
    };
  } finally {
    await connection.close();
  }
}
