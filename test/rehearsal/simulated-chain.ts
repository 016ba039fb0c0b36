import { expect } from "chai";

import { SimulatedChain } from "../../src/rehearsal/simulated-chain.js";
import { BareHost } from "../helpers/bare-host.js";
import { expectVaultError } from "../helpers/assertions.js";

const HASH = `0x${"ab".repeat(32)}`;
const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

const receipt = {
  transactionHash: HASH,
  blockHash: HASH,
  blockNumber: "0x5",
  gasUsed: "0x10",
  status: "0x1",
  logs: [],
};
const block = {
  number: "0x5",
  timestamp: "0x64",
  hash: HASH,
  gasLimit: "0x10",
};

/** The simulator, with these answers in place of its own. */
function simulator(answers: Readonly<Record<string, unknown>>): SimulatedChain {
  const all: Readonly<Record<string, unknown>> = {
    eth_getTransactionReceipt: receipt,
    eth_getBlockByNumber: block,
    debug_traceTransaction: {},
    ...answers,
  };
  return new SimulatedChain(
    new BareHost(
      { request: async ({ method }) => await Promise.resolve(all[method]) },
      {},
      ADDRESS,
      { networkConfig: { type: "edr-simulated" }, projectRoot: "" },
    ),
  );
}

describe("what became of a simulated transaction", () => {
  it("should be told by receipt and trace", async () => {
    expect(await simulator({}).outcomeOf(HASH)).to.deep.include({
      block: { number: 5, timestamp: 100 },
      transfers: [],
      failure: undefined,
    });
  });

  for (const [method, answer] of [
    ["debug_traceTransaction", null],
    ["debug_traceTransaction", "0x"],
    ["eth_getTransactionReceipt", null],
  ] as const) {
    it(`should not be taken from ${String(answer)} for ${method}`, async () => {
      const { details } = await expectVaultError(
        simulator({ [method]: answer }).outcomeOf(HASH),
        "VAULT_RPC_INVALID_RESPONSE",
      );
      expect(details).to.include({ method });
    });
  }
});
