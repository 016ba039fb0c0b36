import { expect } from "chai";
import { Transaction } from "ethers";

import { VaultClient } from "../../src/client/index.js";
import { vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { sendCalls } from "../../src/sending/send-calls.js";
import { resolveSigner } from "../../src/sending/signer.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { useKeeper } from "../helpers/keeper.js";
import { NOBODY } from "../helpers/names.js";
import { SETTLER } from "../helpers/scripted-contracts.js";

const SEND = "eth_sendRawTransaction";
const calls = ["0x01", "0x02", "0x03"].map((data) => ({ to: NOBODY, data }));
const failed = (problem: string): VaultError =>
  vaultError("VAULT_MOCK_SCRIPT_FAILED", { network: "scripted", problem });

// What a guard and mocks make of it: their own tests.
describe("sendCalls()", () => {
  const keeper = useKeeper();
  speedUpTime();
  beforeEach(() => {
    keeper.chain.on("eth_estimateGas", () => "0xea60");
  });

  const send = async (host = keeper.host()) => {
    const { networkConfig } = host.connection;
    const signer = await resolveSigner(host.rpc, networkConfig);
    return await sendCalls(host, calls, { signer, failed });
  };
  const sent = (): ReadonlyArray<readonly [nonce: number, data: string]> =>
    keeper.chain.asked
      .filter(({ method }) => method === SEND)
      .map(({ params }) => Transaction.from(String(params[0])))
      .map(({ nonce, data }) => [nonce, data]);
  const all = calls.map(({ data }, nonce) => [nonce, data]);

  it("sends all in their order before it looks for any, so that they can share a block", async () => {
    const { chain } = keeper;
    chain.mines = false;
    chain.on("eth_getTransactionReceipt", async (_, answer, seen) => {
      if (seen === 0) {
        chain.mine();
      }
      return await answer();
    });
    const receipts = await send();
    expect(sent()).to.deep.equal(all);
    const blocks = new Set(receipts.map(({ blockNumber }) => blockNumber));
    expect(blocks.size).to.equal(1);
  });

  it("waits for those that fill a block before it sends the next one", async () => {
    // Two of them, with a quarter more, are a block.
    keeper.chain.on("eth_estimateGas", () => "0xb71b00");
    await send();
    const methods = keeper.chain.asked.map(({ method }) => method);
    const receipt = methods.indexOf("eth_getTransactionReceipt");
    const sends = methods.slice(0, receipt).filter((one) => one === SEND);
    expect([sends.length, sent().length]).to.deep.equal([2, 3]);
  });

  it("signs none after one that the node refuses", async () => {
    keeper.chain.on(SEND, async (_, answer, seen) => {
      if (seen === 1) {
        throw Object.assign(new Error("no funds"), { code: -32_000 });
      }
      return await answer();
    });
    const { message } = await expectVaultError(
      send(),
      "VAULT_MOCK_SCRIPT_FAILED",
    );
    expect(message).to.match(/The node refused 0x\w{64}: .*no funds/u);
    expect(sent()).to.deep.equal(all.slice(0, 2));
  });

  it("names what was sent if the price is above the limit at a later one", async () => {
    keeper.chain.on("eth_maxPriorityFeePerGas", (_, __, seen) =>
      seen === 0 ? "0x1" : "0xffffffffffffff",
    );
    const { message } = await expectVaultError(
      send(),
      "VAULT_MOCK_SCRIPT_FAILED",
    );
    expect(message).to.match(/above the limit .*; sent: 0x\w{64}\./u);
    expect(message).not.to.contain("Nothing was sent");
    expect(sent()).to.deep.equal(all.slice(0, 1));
  });

  it("looks for one whose answer is lost before it signs the next one", async () => {
    keeper.chain.on(SEND, async (_, answer, seen) => {
      await answer();
      if (seen === 1) {
        throw Object.assign(new Error("lost"), { code: "ECONNRESET" });
      }
      return null;
    });
    await send();
    expect(sent()).to.deep.equal(all);
  });

  for (const isDevelopment of [false, true]) {
    it(`${isDevelopment ? "goes behind" : "refuses"} what its account has sent on a ${isDevelopment ? "development node" : "live chain"}`, async () => {
      const { chain } = keeper;
      chain.mines = false;
      const waiting = { from: SETTLER, to: NOBODY, data: "0x" };
      await chain.answerTo("eth_sendTransaction", [waiting]);
      if (isDevelopment) {
        chain.makeDevelopmentNode();
        chain.on("eth_getTransactionReceipt", async (_, answer, seen) => {
          if (seen === 1) {
            chain.mine();
          }
          return await answer();
        });
        await send();
      } else {
        await expectVaultError(send(), "VAULT_PENDING_TRANSACTIONS");
      }
      expect(sent().map(([nonce]) => nonce)).to.deep.equal(
        isDevelopment ? [1, 2, 3] : [],
      );
    });
  }

  it("leaves price and signature to a plain provider", async () => {
    const { chain } = keeper;
    const client = new VaultClient(chain, {});
    const signer = await resolveSigner(client.rpc, undefined);
    await sendCalls(client, calls, { signer, failed });
    const [asked] = chain.asked
      .filter(({ method }) => method === "eth_sendTransaction")
      .map(({ params }) => fieldsOf(params[0]));
    expect(asked).to.deep.equal({
      ...{ from: SETTLER, to: NOBODY, data: "0x01", value: "0x0" },
      ...{ chainId: "0x7a69", nonce: "0x0", gas: "0x124f8" },
    });
    expect(chain.count("eth_signTransaction")).to.equal(0);
  });
});
