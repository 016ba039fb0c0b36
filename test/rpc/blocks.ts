import { mock } from "node:test";

import { expect } from "chai";

import {
  getBlock,
  getBlockNumber,
  getGenesisHash,
  getNextBlock,
  toBlockId,
} from "../../src/rpc/blocks.js";
import { expectVaultError } from "../helpers/assertions.js";
import { HASH } from "../helpers/names.js";
import { answering, header, recording } from "../helpers/recording-node.js";

describe("a block that a node describes", () => {
  it("has the base fee and the hash of a block only if there are any, and EIP-7825's gas limit if it names none", async () => {
    const blockOf = async (more: object) =>
      await getBlock(answering({ ...header, ...more }));
    expect(await blockOf({ baseFeePerGas: "0x7" })).to.include({
      baseFeePerGas: 7n,
    });
    expect(await blockOf({ hash: null })).to.include({ hash: undefined });
    const gasLimit = 16_777_216n;
    expect(await blockOf({ gasLimit: undefined })).to.include({ gasLimit });
    // A pinned block is the same in capitals.
    const pin = { number: 5, hash: HASH } as const;
    const hash = HASH.replaceAll("ab", "AB");
    expect(await getBlock(answering({ ...header, hash }), pin)).to.include({
      hash,
    });
    expect(await getGenesisHash(answering(header))).to.equal(HASH);
  });

  it("is named in decimal in VAULT_BLOCK_NOT_FOUND, in hex for the node", async () => {
    expect([255, "safe"].map(toBlockId)).to.deep.equal(["0xff", "safe"]);
    const { details } = await expectVaultError(
      getBlock(answering(null), "0x5"),
      "VAULT_BLOCK_NOT_FOUND",
    );
    expect(details).to.deep.equal({ network: "testnet", block: "5" });
  });

  it("is an error, not an unknown first block, if the node refuses it", async () => {
    const { rpc } = recording(() => {
      throw Object.assign(new Error("no"), { code: -32_000 });
    });
    await expectVaultError(getGenesisHash(rpc), "VAULT_RPC_ERROR");
  });

  it("is known by its number from eth_blockNumber, too", async () => {
    const { rpc } = recording(() => "0x5");
    await getBlockNumber(rpc);
    expect(rpc.node.hasBlockOf([{}, "0x5"])).to.equal(true);
  });

  for (const number of [4, 6]) {
    it(`is an error if the node returns it in place of block ${number}`, async () => {
      await expectVaultError(
        getBlock(answering(header), number),
        "VAULT_RPC_INVALID_RESPONSE",
      );
    });
  }

  it("names its parent, and is VAULT_REORGED if it is another block by now", async () => {
    const parentHash = `0x${"cd".repeat(32)}`;
    const rpc = answering({ ...header, parentHash });
    const pin = { number: 5, hash: HASH };
    expect(await getBlock(rpc, pin)).to.include({ parentHash });
    await expectVaultError(
      getBlock(rpc, { number: 5, hash: parentHash }),
      "VAULT_REORGED",
    );
  });

  describe("that is the next", () => {
    const pending = {
      ...header,
      number: "0x6",
      timestamp: "0x6e",
      hash: null,
      baseFeePerGas: "0x7",
      transactions: [],
    };
    /** A node whose newest block is 5. */
    const nextOf = async (block: unknown): Promise<unknown> => {
      const { rpc } = recording((_, [tag]) =>
        tag === "pending" ? block : header,
      );
      return (await getNextBlock(rpc)).next;
    };
    const next = {
      number: 6,
      timestamp: 110,
      gasLimit: 16n,
      baseFeePerGas: 7n,
    };

    it("has time and base fee of the pending block", async () => {
      expect(await nextOf(pending)).to.deep.equal(next);
      for (const other of [
        { number: null },
        // With a hash, it may be any block: this one is not made yet.
        { hash: HASH },
        // Anvil's pending block has a hash and the root of no state.
        { number: "0x5", hash: HASH, stateRoot: `0x${"0".repeat(64)}` },
        { gasLimit: "0x20" },
      ]) {
        expect(await nextOf({ ...pending, ...other })).to.deep.equal(next);
      }
      expect(await nextOf({ ...pending, timestamp: "0x64" })).to.deep.equal({
        ...next,
        timestamp: 101,
      });
    });

    it("has this machine's time, after the newest block, if no block is pending", async () => {
      let now = 100;
      const clock = mock.method(Date, "now", () => now * 1_000);
      for (const none of [
        null,
        { ...pending, number: "0x5", hash: HASH },
        { ...pending, number: "0x4", hash: HASH, stateRoot: HASH },
        { ...pending, timestamp: null },
      ]) {
        for (const [time, timestamp] of [
          [99, 101],
          [500, 500],
        ] as const) {
          now = time;
          expect(await nextOf(none)).to.deep.equal({
            ...next,
            timestamp,
            baseFeePerGas: undefined,
          });
        }
      }
      clock.mock.restore();
    });
  });
});
