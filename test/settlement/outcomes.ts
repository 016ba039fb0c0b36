import { readdir } from "node:fs/promises";

import { expect } from "chai";

import { VaultError } from "../../src/client/index.js";
import { OPEN_ROUND } from "../helpers/scripted-node.js";
import { itSettlesAsEverywhere, notSent } from "../helpers/settlement-cases.js";
import {
  connectionLost,
  itSettles,
  remote,
  useStage,
} from "../helpers/settlement-stage.js";

const notConfirmed = new VaultError("VAULT_NOT_CONFIRMED", {});

// What else comes of it is in the recorded session.
describe("settleAll: outcomes", () => {
  const stage = useStage();

  for (const overrides of [true, false]) {
    describe(`on a node with state overrides: ${overrides}`, () => {
      beforeEach(() => {
        stage.chain.overrides = overrides;
      });

      itSettlesAsEverywhere(() => stage);
    });
  }

  itSettles(stage, [
    {
      // In the session, Hardhat itself compares the chain first.
      title:
        "settleAll refuses with VAULT_WRONG_CHAIN on another chain than the configured one",
      network: { chainId: 1 },
      is: { status: "refused", code: "VAULT_WRONG_CHAIN", before: null },
      says: ["31337", "1"],
    },
    {
      title:
        "settleAll throws VAULT_NETWORK_UNREACHABLE, and writes nothing, if it is not known whether the node can sign",
      given: ({ chain }) => {
        chain.on("eth_signTransaction", () => {
          throw connectionLost();
        });
      },
      network: remote,
      throws: "VAULT_NETWORK_UNREACHABLE",
      then: async ({ projectRoot }) => {
        expect(await readdir(projectRoot)).to.deep.equal([]);
      },
    },
  ]);

  it("settleAll asks for nothing twice, and reads the vault with one call each time", async () => {
    await stage.settle();
    expect(stage.chain.asked.map(({ method }) => method)).to.deep.equal([
      // The kind of chain, the genesis block, the newest block and the next one.
      ...["hardhat_metadata", "anvil_nodeInfo", "eth_getBlockByNumber"],
      ...["eth_getBlockByNumber", "eth_getBlockByNumber"],
      // The vault beside its block's header.
      ...["eth_getBlockByNumber", "eth_call"],
      // The price and recent ones, and the preview.
      ...["eth_maxPriorityFeePerGas", "eth_feeHistory", "eth_simulateV1"],
      // Symbol and decimals of the token that moves.
      ...["eth_call", "eth_call"],
      // Its nonce, and whether it is still that kind of chain.
      ...["eth_getTransactionCount", "eth_getTransactionCount"],
      ...["hardhat_metadata", "anvil_nodeInfo"],
      // The round again, right before the transaction leaves.
      ...["eth_getBlockByNumber", "eth_call"],
      ...["eth_sendRawTransaction", "eth_getTransactionReceipt"],
      // The readings after and before it.
      ...["eth_getBlockByNumber", "eth_call"],
      ...["eth_getBlockByNumber", "eth_call"],
    ]);
  });

  for (const [problem, reason] of [
    [new Error("a bug"), "Error: a bug"],
    [notConfirmed, notConfirmed.message],
  ] as const) {
    it(`settleAll keeps its hash if it fails after sending: ${reason}`, async () => {
      const host = stage.host();
      const withDeadline = host.withDeadline.bind(host);
      host.withDeadline = (given) => {
        if (given.timeout !== undefined) {
          throw problem;
        }
        return withDeadline(given);
      };
      const { settlement } = await stage.end({}, host);
      expect(settlement).to.deep.include({
        ...notSent,
        status: "unconfirmed",
        code: null,
        reason,
        hash: stage.chain.mined[0]?.hash,
        before: OPEN_ROUND,
      });
      expect(settlement.preview?.differences).to.equal(null);
      expect(stage.sends).to.equal(1);
    });
  }
});
