import { expect, util } from "chai";

import * as assertions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/record-calls.js";

describe("assertions of hardhat-vault/assert and hardhat-vault/chai, call by call", () => {
  recordCalls("assertions", async () => {
    // Without a base fee, the hash of a transaction is the same with other mocks.
    const local = { type: "edr-simulated", initialBaseFeePerGas: 0 } as const;
    const hre = await createTestHre(
      { networks: { local, other: local } },
      { network: "local" },
    );
    const other = await hre.network.create("other");
    return {
      hre,
      names: { ...assertions, expect, util, other },
      close: async () => {
        await other.close();
      },
    };
  });
});
