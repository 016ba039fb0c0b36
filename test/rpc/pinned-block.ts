import { expect } from "chai";

import { getBalance } from "../../src/rpc/accounts.js";
import { getBlock, readOnBranch } from "../../src/rpc/blocks.js";
import { RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { failure } from "../helpers/order-book.js";
import { FACTORY, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

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

  it("requestAt() tells of each wait for a node that is behind, and gives up at the deadline of the read", async () => {
    const node = new ScriptedNode();
    const { rpc, read } = await pinOn(node);
    await read();
    node.on("eth_getBalance", () => {
      throw failure("header for hash not found", -32_000);
    });
    const told: string[] = [];
    const short = rpc.withOptions({
      timeout: 200,
      onRetry: ({ method }) => told.push(method),
    });
    node.asked.length = 0;
    const reading = getBalance(short, VAULT, await getBlock(rpc, 4));
    await expectVaultError(reading, "VAULT_RPC_ERROR");
    expect(told).to.have.length.within(1, 3);
    expect(named(node)).to.have.length(told.length);
    expect(new Set(told)).to.deep.equal(new Set(["eth_getBalance"]));
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
