import { mock } from "node:test";

import { expect } from "chai";

import {
  getBlock,
  getBlockNumber,
  getGenesisHash,
  getNextBlock,
  readOnBranch,
  toBlockId,
} from "../../src/rpc/blocks.js";
import { getBalance } from "../../src/rpc/chain.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { HASH } from "../helpers/names.js";
import { failure } from "../helpers/order-book.js";
import { answering, header, recording } from "../helpers/recording-node.js";
import { FACTORY, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

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

  it("of the pending block, only the one before is known", async () => {
    const { rpc } = recording(() => ({ ...header, number: "0x6" }));
    await getBlock(rpc, "pending");
    const known = ["0x6", "0x5"].map((block) => rpc.node.hasBlockOf([block]));
    expect(known).to.deep.equal([false, true]);
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
      const { base, ...next } = await getNextBlock(rpc);
      expect(base.number).to.equal(5);
      return next;
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

describe("reads at a pinned block", () => {
  speedUpTime();

  const pinOn = async (
    node: ScriptedNode,
  ): Promise<{ rpc: RpcClient; read: () => Promise<bigint> }> => {
    const rpc = new RpcClient(node, "live");
    const pin = await getBlock(rpc, 4);
    node.asked.length = 0;
    return { rpc, read: async () => await getBalance(rpc, VAULT, pin) };
  };
  /** The blocks that requests for balances named: by hash, or by number. */
  const named = (node: ScriptedNode): string[] =>
    node.asked
      .filter(({ method }) => method === "eth_getBalance")
      .map(({ params }) => (typeof params[1] === "object" ? "hash" : "number"));

  it("requestAt() names the block by its hash, and asks for nothing else", async () => {
    const node = new ScriptedNode();
    const { read } = await pinOn(node);
    await read();
    const { hash } = await getBlock(
      new RpcClient(new ScriptedNode(), "live"),
      4,
    );
    expect(node.asked.map(({ params }) => params[1])).to.deep.equal([
      { blockHash: hash, requireCanonical: true },
    ]);
  });

  for (const [code, message] of [
    [-32_602, "invalid argument 1: json: cannot unmarshal object"],
    [-32_000, "invalid block parameter"],
    [-32_603, "Internal error"],
  ] as const) {
    it(`requestAt() names the block by its number from then on if the node refuses a hash with ${code} "${message}"`, async () => {
      const node = new ScriptedNode();
      node.on("eth_getBalance", async (params, answer) => {
        if (typeof params[1] === "object") {
          throw failure(message, code);
        }
        return await answer();
      });
      const { read } = await pinOn(node);
      await read();
      node.asked.length = 0;
      await read();
      expect(named(node)).to.deep.equal(["number"]);
    });
  }

  const behind = "header for hash not found";
  for (const [node, message, lacking, takesHashes, asked] of [
    ["is behind", behind, 3, true, ["hash", "hash", "hash", "hash"]],
    ["lacks the state", "missing trie node 1a", 1, true, ["hash", "hash"]],
    ["seems to lack a hash", behind, 1, false, ["hash", "number"]],
    ["is behind", behind, 2, false, ["hash", "number", "number"]],
  ] as const) {
    it(`requestAt() asks a node that ${node} again: ${asked.join(", ")}`, async () => {
      const scripted = new ScriptedNode();
      const { read } = await pinOn(scripted);
      if (takesHashes) {
        await read();
      }
      let left: number = lacking;
      scripted.on("eth_getBalance", async (_, answer) => {
        if (left-- > 0) {
          throw failure(message, -32_000);
        }
        return await answer();
      });
      scripted.asked.length = 0;
      expect(await read()).to.equal(10n ** 18n);
      expect(named(scripted)).to.deep.equal(asked);
    });
  }

  it("requestAt() names blocks by their hash again after a node was behind at the first one it was asked for", async () => {
    const node = new ScriptedNode();
    const { rpc, read } = await pinOn(node);
    let left = 2;
    node.on("eth_getBalance", async (_, answer) => {
      if (left-- > 0) {
        throw failure(behind, -32_000);
      }
      return await answer();
    });
    await read();
    await read();
    // It answered the number twice before it was asked by hash again.
    expect(named(node)).to.deep.equal(["hash", "number", "number", "hash"]);
    node.asked.length = 0;
    await getBalance(rpc, VAULT, await getBlock(rpc, 5));
    expect(named(node)).to.deep.equal(["hash"]);
  });

  it("requestAt() throws after six attempts that a node that takes hashes lacks the block", async () => {
    const node = new ScriptedNode();
    const { read } = await pinOn(node);
    await read();
    node.on("eth_getBalance", () => {
      throw failure(behind, -32_000);
    });
    node.asked.length = 0;
    await expectVaultError(read(), "VAULT_RPC_ERROR");
    expect(named(node)).to.have.length(6);
  });

  it("requestAt() names the hash again after a node refused hash and number", async () => {
    const node = new ScriptedNode();
    const { read } = await pinOn(node);
    let left = 2;
    node.on("eth_getBalance", async (_, answer) => {
      if (left-- > 0) {
        throw failure("daily request count exceeded", -32_005);
      }
      return await answer();
    });
    await expectVaultError(read(), "VAULT_RPC_ERROR");
    await read();
    expect(named(node)).to.deep.equal(["hash", "number", "hash"]);
  });

  it("requestAt() throws at once what else a node refuses that takes hashes", async () => {
    const node = new ScriptedNode();
    const { read } = await pinOn(node);
    await read();
    node.asked.length = 0;
    node.on("eth_getBalance", () => {
      throw failure("daily request count exceeded", -32_005);
    });
    await expectVaultError(read(), "VAULT_RPC_ERROR");
    expect(named(node)).to.deep.equal(["hash"]);
  });

  it("requestAt() compares the hash after an answer by number of a node that was behind: VAULT_REORGED if it is of another branch", async () => {
    const node = new ScriptedNode();
    const { read } = await pinOn(node);
    node.on("eth_getBalance", async ([, block], answer) => {
      if (typeof block === "object") {
        throw failure(behind, -32_000);
      }
      node.reorganise(3);
      return await answer();
    });
    await expectVaultError(read(), "VAULT_REORGED");
    expect(named(node)).to.deep.equal(["hash", "number"]);
  });

  it("readOnBranch() compares the hash if one read was by number, though another one was by hash after it", async () => {
    const node = new ScriptedNode();
    const rpc = new RpcClient(node, "live");
    const pin = await getBlock(rpc, 4);
    let open = (): void => undefined;
    const isAnswered = new Promise<void>((resolve) => {
      open = resolve;
    });
    node.on("eth_getBalance", async ([address, block], answer) => {
      if (address === FACTORY) {
        const found = await answer();
        await isAnswered;
        return found;
      }
      if (typeof block === "object") {
        throw failure("invalid argument 1: json: cannot unmarshal", -32_602);
      }
      node.reorganise(3);
      setImmediate(open);
      return await answer();
    });
    const reads = async (): Promise<unknown> =>
      await Promise.all(
        [VAULT, FACTORY].map(
          async (address) => await getBalance(rpc, address, pin),
        ),
      );
    await expectVaultError(readOnBranch(rpc, pin, reads), "VAULT_REORGED");
  });

  it("requestAt() throws VAULT_REORGED, which names the block, for another one", async () => {
    const node = new ScriptedNode();
    const { read } = await pinOn(node);
    node.reorganise(3);
    const { details } = await expectVaultError(read(), "VAULT_REORGED");
    expect(details["block"]).to.equal(4);
    expect(named(node)).to.not.include("number");
  });
});
