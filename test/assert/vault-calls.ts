import { expect } from "chai";
import { concat, zeroPadValue } from "ethers";
import type { TransactionResponse } from "ethers";

import { callsVault } from "../../src/assert/index.js";
import "../../src/chai/index.js";
import { encodeCall } from "../../src/client/codec.js";
import type { EncodedCall } from "../../src/client/codec.js";
import { VaultClient } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { failureOf, useOpenRound } from "../helpers/open-round.js";
import { SETTLE, SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const FORWARDER = "0x00000000000000000000000000000000000f0f0f";
/** Calls the address in the first word with the bytes after it. */
const FORWARDER_CODE = "0x602036038060206000376000600082600060006000355af100";
const TERMS = { maxVolume: 5n, APY: 6n, endTime: 7n };

describe("callsVault() and .calledVault()", () => {
  const round = useOpenRound();

  /** A call that another contract makes. */
  const callFromContract = async ({
    role,
    data,
  }: Pick<EncodedCall, "role" | "data">): Promise<TransactionResponse> => {
    const { request, connection, mocks } = round();
    await request("hardhat_setCode", FORWARDER, FORWARDER_CODE);
    const signer = await connection.ethers.provider.getSigner(0);
    const to = zeroPadValue(mocks.addresses[role], 32);
    return await signer.sendTransaction({
      ...{ to: FORWARDER, data: concat([to, data]) },
    });
  };

  /** A client whose node cannot trace. */
  const clientWithout = (problem: Error): VaultClient => {
    const { provider } = round().connection;
    return new VaultClient(
      {
        request: async (call): Promise<unknown> =>
          call.method.startsWith("debug_")
            ? await Promise.reject(problem)
            : await provider.request(call),
      },
      { vault: FORWARDER },
    );
  };

  it(".calledVault() finds the call that another contract made, by its arguments, to this vault", async () => {
    const sent = await callFromContract(encodeCall("calMargins", [TERMS]));
    const { vault } = round();
    await expect(sent).to.have.calledVault(vault, "calMargins", [TERMS]);
    await callsVault(vault, sent.hash, "calMargins");
    await expect(sent).to.not.have.calledVault(vault, "settleAll");
    const other = vault.at({ vault: FORWARDER });
    await expect(sent).to.not.have.calledVault(other, "calMargins");
  });

  it(".calledVault() fails with the operations that were called, and with .not, too", async () => {
    const sent = await callFromContract(encodeCall("calMargins", [TERMS]));
    const { vault } = round();
    const address = (await vault.addressOf("vault")).address.toLowerCase();
    const begins = `expected transaction ${sent.hash}`;
    for (const [assertion, message] of [
      [
        () => expect(sent).to.have.calledVault(vault, "settleAll"),
        `${begins} to call settleAll of ${address}, but it called calMargins of ${address}`,
      ],
      [
        () => expect(sent).to.not.have.calledVault(vault, "calMargins"),
        `${begins} not to call calMargins, but it did`,
      ],
      [
        () =>
          expect(sent).to.have.calledVault(vault, "calMargins", [
            { ...TERMS, endTime: 8n },
          ]),
        `${begins} to call calMargins with [ { maxVolume: 5n, APY: 6n, endTime: 8n } ] of ${address}, but it called calMargins of ${address}`,
      ],
    ] as const) {
      expect((await failureOf(assertion())).message).to.equal(message);
    }
  });

  it(".calledVault() tells the pools apart", async () => {
    const operation = "getLPAmountInfo";
    const sent = await callFromContract(encodeCall(operation, ["private"]));
    const { vault } = round();
    // Without arguments, that of any pool counts.
    await expect(sent).to.have.calledVault(vault, operation);
    await expect(sent).to.have.calledVault(vault, operation, ["private"]);
    await expect(sent).to.not.have.calledVault(vault, operation, ["public"]);
  });

  it(".calledVault() fails for a settlement that had nothing to do", async () => {
    const { message } = await failureOf(
      expect({ status: "nothing-to-do" }).to.have.calledVault(
        round().vault,
        "settleAll",
      ),
    );
    expect(message).to.match(/but the settlement is nothing-to-do/u);
  });

  for (const [what, check, message] of [
    [
      "an unknown operation",
      (sent: TransactionResponse) =>
        // @ts-expect-error -- the wire's name
        expect(sent).to.not.have.calledVault(round().vault, "minSLDMargin"),
      /^there is no operation 'minSLDMargin'; there are /u,
    ],
    [
      "arguments that are no list",
      (sent: TransactionResponse) =>
        expect(sent).to.not.have.calledVault(
          ...([round().vault, "calMargins"] as const),
          // @ts-expect-error -- a list of one object
          { APY: 1n },
        ),
      /^a list of the arguments of calMargins is needed, got/u,
    ],
  ] as const) {
    it(`.not.calledVault() refuses ${what}`, async () => {
      const sent = await callFromContract(encodeCall("queryVolume", []));
      expect((await failureOf(check(sent))).message).to.match(message);
    });
  }

  it("callsVault() waits until the transaction is mined, and takes the code of a deployment for no call", async () => {
    const node = new ScriptedNode();
    node.mines = false;
    const hash = await node.request({
      method: "eth_sendTransaction",
      params: [{ from: SETTLER, to: VAULT, data: SETTLE }],
    });
    node.on("eth_getTransactionReceipt", async (_, answer, occurrence) => {
      if (occurrence === 1) {
        node.mine();
      }
      return await answer();
    });
    node.on("debug_traceTransaction", () => ({
      ...{ type: "CREATE2", from: SETTLER, to: VAULT, input: SETTLE },
    }));
    const client = new VaultClient(node, { vault: VAULT });
    const { message } = await failureOf(callsVault(client, hash, "settleAll"));
    expect(message).to.contain("but it called no operation of a vault");
    expect(node.pool).to.deep.equal([]);
  });

  it("callsVault() throws VAULT_RPC_ERROR with the words of a node that cannot trace, escaped", async () => {
    const { hash } = await round().setVolume(1n);
    const problem = new Error("no such method\u001b[2J");
    const blind = clientWithout(Object.assign(problem, { code: -32_601 }));
    const called = callsVault(blind, hash, "settleAll");
    expect((await expectVaultError(called, "VAULT_RPC_ERROR")).message)
      .to.contain("debug_traceTransaction")
      .and.contain("no such method\\u{1b}[2J");
  });

  it("callsVault() throws VAULT_NETWORK_UNREACHABLE if the node cannot be reached", async () => {
    const { hash } = await round().setVolume(1n);
    const problem = Object.assign(new Error("lost"), { code: "ECONNREFUSED" });
    await expectVaultError(
      callsVault(clientWithout(problem), hash, "settleAll"),
      "VAULT_NETWORK_UNREACHABLE",
    );
  });
});
