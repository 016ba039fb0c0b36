import { expect } from "chai";

import { createMockSender } from "../../src/mocks/mock-sender.js";
import { Chain } from "../../src/rpc/node.js";
import { expectVaultError } from "../helpers/assertions.js";
import { createTestHre } from "../helpers/hre.js";
import { recordCalls } from "../helpers/recording-provider.js";

describe("mocks - what a script is sent with", () => {
  for (const [method, type] of [
    ["hardhat_impersonateAccount", "edr-simulated"],
    ["hardhat_setBalance", "edr-simulated"],
    ["eth_sendTransaction", "edr-simulated"],
    ["evm_mine", "edr-simulated"],
    ["hardhat_stopImpersonatingAccount", "edr-simulated"],
    ["eth_accounts", "http"],
    ["eth_sendTransaction", "http"],
  ] as const) {
    it(`should fail where ${method} is reverted (${type})`, async () => {
      const hre = await createTestHre({
        networks: {
          manual: {
            type: "edr-simulated",
            mining: { auto: false, interval: 0 },
          },
        },
      });
      const { provider } = await hre.network.create("manual");
      const reverting = recordCalls(provider, (call) => {
        if (call.method === method) {
          throw Object.assign(new Error("execution reverted"), {
            code: 3,
          });
        }
      });
      const send = createMockSender({
        chain: new Chain(reverting, "manual"),
        connection: { networkConfig: { type } },
      });
      // Nothing is deployed, which succeeds.
      const { details } = await expectVaultError(
        send([{ data: "0x00" }]),
        "VAULT_MOCK_SCRIPT_FAILED",
      );
      expect(details["problem"]).to.equal("no reason given");
    });
  }
});
