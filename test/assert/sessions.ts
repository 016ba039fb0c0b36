import { expect } from "chai";

import * as assertions from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/record-calls.js";

describe("recorded assertions", () => {
  it("functions and matchers pass and fail with a whole message, and with what was expected and found", async () => {
    await recordCalls("assertions", async () => {
      // Without a base fee, the hash of a transaction is the same with other mocks.
      const local = { type: "edr-simulated", initialBaseFeePerGas: 0 } as const;
      const hre = await createTestHre(
        { networks: { local, other: local } },
        { network: "local" },
      );
      const other = await hre.network.create("other");
      return {
        hre,
        names: { ...assertions, expect, other },
        close: async () => {
          await other.close();
        },
      };
    });
  });
});
