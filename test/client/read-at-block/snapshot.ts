import { expect } from "chai";
import { toBeHex, toQuantity } from "ethers";

import {
  VaultClient,
  VaultError,
  isFailedReading,
} from "../../../src/client/index.js";
import { encodeCall } from "../../../src/client/codec.js";
import { locate, readNewest } from "../../../src/client/read-at-block.js";
import {
  operations,
  set,
  standaloneQueries,
} from "../../../src/protocol/index.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { speedUpTime } from "../../helpers/deadlines.js";
import {
  documentedContracts,
  documentedNode,
} from "../../helpers/documented-node.js";
import { fieldsOf } from "../../helpers/fields.js";
import { wordsOf } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";

/** What a snapshot of the documented contracts holds. */
const documentedReadings = async (client: VaultClient): Promise<unknown> => {
  const readings = { chainId: 1, block: await client.block() };
  for (const { operation, args, path } of standaloneQueries) {
    // arguments of that operation, by the table
    const value = await client.read(operation, args as []);
    set(readings, path, value);
  }
  return readings;
};

const clientOf = (node: ScriptedNode): VaultClient =>
  new VaultClient(node, documentedContracts);
const lensCalls = (node: ScriptedNode): number =>
  node.asked.filter(({ params }) => params.length === 3).length;
/** An answer of the lens that finds its first reading too long. */
const cutFirst = (answer: string): string => {
  const entries = 2 + 4 * 64;
  return `${answer.slice(0, entries)}02${answer.slice(entries + 2)}`;
};
const failure = (message: string, more: object): Error =>
  Object.assign(new Error(message), more);

describe("client - snapshot", () => {
  const badRequest = failure("Bad Request", { statusCode: 400 });
  for (const [name, overrides, error] of [
    ["takes overrides", true, undefined],
    ["refuses overrides", false, undefined],
    ["ignores overrides", "ignored", undefined],
    ["answers overrides with HTTP 400", true, badRequest],
  ] as const) {
    it(`snapshot() holds what the single reads return, of a node that ${name}`, async () => {
      const node = documentedNode({ overrides });
      node.on("eth_call", async (params, answer) => {
        if (params.length === 3 && error !== undefined) {
          throw error;
        }
        return await answer();
      });
      const client = clientOf(node);
      expect(await client.snapshot()).to.deep.equal(
        await documentedReadings(client),
      );
      node.asked.length = 0;
      await client.snapshot();
      const isOneCall = overrides === true && error === undefined;
      expect(lensCalls(node), "a refusal is remembered").to.equal(
        isOneCall ? 1 : 0,
      );
      expect(node.count("eth_call") === 1).to.equal(isOneCall);
    });
  }

  for (const overrides of [true, false]) {
    it(`snapshot() holds a failure for each read that fails, and values for the others, overrides ${overrides}`, async () => {
      const { publicPool, privatePool, vaultFactory } = documentedContracts;
      const failing: Readonly<Record<string, string>> = {
        [publicPool]: "0x123456",
        [privatePool]: "0x",
        [vaultFactory]: "0x12345678",
      };
      const node = documentedNode({
        overrides,
        codeOf: (address) => (address === privatePool ? "0x" : "0x00"),
        answerOf: ({ to, data }) => ({
          reverted: to === vaultFactory,
          data:
            failing[to] ??
            (data === operations.queryVolume.selector
              ? wordsOf(7)
              : wordsOf(7, 7)),
        }),
      });
      const { underlyingAsset: _none, ...contracts } = documentedContracts;
      const { pools, round, fundingFeeRate, volume, marginBalance } =
        await new VaultClient(node, contracts).snapshot();
      expect(
        [pools.public, pools.private, round, fundingFeeRate.put].map(
          (reading) => isFailedReading(reading) && reading.error.code,
        ),
      ).to.deep.equal([
        "VAULT_RETURN_DATA_MALFORMED",
        "VAULT_NO_CODE",
        "VAULT_CALL_REVERTED",
        "VAULT_CONTRACT_NOT_CONFIGURED",
      ]);
      expect(
        isFailedReading(fundingFeeRate.put) &&
          fundingFeeRate.put.error.details["operation"],
      ).to.equal("getFundingFeeRate");
      expect(volume).to.equal(7n);
      expect(Object.values(marginBalance)).to.deep.equal([7n, 7n]);
    });
  }

  for (const [blockTag, sent] of [
    ["pending", "pending"],
    ["latest", 1_000],
  ] as const) {
    it(`snapshot() at ${blockTag} makes each call that the lens could not make at block ${sent}`, async () => {
      const node = documentedNode({
        overrides: true,
        answerOf: () => ({ reverted: true, data: "0x12345678" }),
      });
      const { volume } = await clientOf(node).snapshot({ blockTag });
      expect(isFailedReading(volume)).to.equal(true);
      const alone = node.asked.filter(
        ({ method, params }) => method === "eth_call" && params.length === 2,
      );
      expect(alone).to.not.have.length(0);
      for (const asked of alone) {
        const [, tag] = asked.params;
        expect(tag === "pending" ? tag : node.blockOf(asked)).to.equal(sent);
      }
    });
  }

  for (const [blockTag, title, pending, expected] of [
    [
      "pending",
      "the next block and the time of the pending one",
      { number: "0x3f0", timestamp: "0x70000000" },
      [1_001, 0x7000_0000],
    ],
    [7, "that header", null, [7, 1_700_000_007]],
    ["latest", "that header", null, [1_000, 1_700_001_000]],
  ] as const) {
    it(`snapshot() of block ${blockTag} is one call after the header, and has the number of ${title}, whatever the EVM says`, async () => {
      const node = documentedNode({ overrides: true });
      node.on("eth_getBlockByNumber", async ([tag], answer) =>
        tag === "pending" ? pending : await answer(),
      );
      node.on("eth_call", async (_, answer) => {
        const found = String(await answer());
        const evm = ["09", "05"].map((hex) => hex.padStart(64, "0")).join("");
        return `${found.slice(0, 66)}${evm}${found.slice(194)}`;
      });
      const { block } = await clientOf(node).snapshot({ blockTag });
      expect([block.number, block.timestamp]).to.deep.equal(expected);
      expect(node.count("eth_call")).to.equal(1);
      expect(node.asked.at(-1)?.method).to.equal("eth_call");
    });
  }

  for (const [title, change] of [
    ["a hash", {}],
    ["no hash", { hash: null }],
  ] as const) {
    it(`snapshot() reads the block of the header, an older one than the newest, with ${title}`, async () => {
      const node = documentedNode({
        overrides: true,
        answerOf: ({ block }) => ({
          reverted: false,
          data: toBeHex(block, 32),
        }),
      });
      const params = [toQuantity(999), false];
      const found = await node.answerTo("eth_getBlockByNumber", params);
      const header = { ...fieldsOf(found), ...change };
      node.on("eth_getBlockByNumber", () => header);
      const { block, volume } = await clientOf(node).snapshot();
      expect(volume).to.equal(999n);
      expect(block).to.deep.equal({ number: 999, timestamp: 1_700_000_999 });
      const lensBlocks = node.asked
        .filter(({ params: given }) => given.length === 3)
        .map(({ params: given }) => given[1]);
      expect(lensBlocks).to.deep.equal([
        header.hash === null
          ? toQuantity(999)
          : { blockHash: fieldsOf(found)["hash"], requireCanonical: true },
      ]);
    });
  }

  it("readNewest() leaves a chain whose contracts count other blocks to the header", async () => {
    const node = documentedNode({ overrides: true, chainId: 42_161 });
    const context = clientOf(node).readContext();
    const calls = [await locate(context, encodeCall("queryVolume", []))];
    expect(await readNewest(context, calls)).to.equal(undefined);
  });

  it("readNewest() is one request, with the number and the time that contracts see", async () => {
    const node = documentedNode({ overrides: true });
    const context = clientOf(node).readContext();
    const calls = [await locate(context, encodeCall("queryVolume", []))];
    expect(await readNewest(context, calls)).to.deep.equal({
      chainId: 1,
      block: { number: 1_000, timestamp: 1_700_001_000 },
      values: [1n],
    });
    expect(node.asked.map(({ method }) => method)).to.deep.equal(["eth_call"]);
    node.on("eth_call", async (_, answer) => cutFirst(String(await answer())));
    expect(await readNewest(context, calls)).to.equal(undefined);
  });

  for (const [title, error, isHeld] of [
    ["holds a VaultError", new VaultError("VAULT_INVALID_ADDRESS", {}), true],
    ["throws a defect", new VaultError("VAULT_INTERNAL", {}), false],
  ] as const) {
    it(`snapshot() ${title}`, async () => {
      const client = new VaultClient(documentedNode(), async () => {
        throw await Promise.resolve(error);
      });
      const found: unknown = await client
        .snapshot()
        .then(({ volume }) => volume)
        .catch((thrown: unknown) => thrown);
      expect(found).to.deep.equal(isHeld ? { error } : error);
      expect(isFailedReading(found)).to.equal(isHeld);
    });
  }

  it("snapshot() asks alone for what the lens could not find out, and throws its error with strict", async () => {
    const node = documentedNode({ overrides: true });
    const client = clientOf(node);
    const first = await client.snapshot();
    node.on("eth_call", async (params, answer) => {
      const found = String(await answer());
      return params.length < 3 ? found : cutFirst(found);
    });
    node.asked.length = 0;
    expect(await client.snapshot()).to.deep.equal(first);
    expect(node.count("eth_call") - lensCalls(node)).to.equal(1);
    node.on("eth_call", async (params, answer) => {
      if (params.length < 3) {
        throw failure("execution reverted", { code: 3, data: "0x" });
      }
      return cutFirst(String(await answer()));
    });
    await expectVaultError(
      client.snapshot({ strict: true }),
      "VAULT_CALL_REVERTED",
    );
  });

  it("snapshot() does not take a node that fails for a moment for one that refuses overrides", async () => {
    const node = documentedNode({ overrides: true });
    const client = clientOf(node);
    // The snapshot by hash and by number, and a request without a call.
    let failures = 3;
    for (const method of ["eth_call", "eth_chainId"]) {
      node.on(method, async (_, answer) => {
        if (failures-- > 0) {
          throw failure("daily request count exceeded", { code: -32005 });
        }
        return await answer();
      });
    }
    await expectVaultError(client.snapshot(), "VAULT_RPC_ERROR");
    node.asked.length = 0;
    await client.snapshot();
    expect(lensCalls(node), "still in one call").to.equal(1);
  });

  describe("of a node that fails for a while", () => {
    speedUpTime();

    it("snapshot() calls contract by contract after three attempts of the large call, by hash and by number", async () => {
      const node = documentedNode({ overrides: true });
      const failed: string[] = [];
      node.on("eth_call", async (params, answer) => {
        const { data } = fieldsOf(params[0]);
        if (params.length === 3 && String(data).length > 100) {
          failed.push(String(data));
          throw failure("no", { code: -32_603 });
        }
        return await answer();
      });
      const client = clientOf(node);
      const snapshot = await client.snapshot();
      expect(failed).to.have.length(6);
      expect(snapshot).to.deep.equal(await documentedReadings(client));
    });
  });

  it("snapshot() and a single read end at their deadline while an address is looked up", async () => {
    const hangs = async (): Promise<never> =>
      await new Promise(() => undefined);
    const node = new ScriptedNode();
    // A timer may fire before its time: then the header is asked for.
    node.on("eth_getBlockByNumber", hangs);
    const client = new VaultClient(node, hangs);
    for (const [read, method] of [
      // Every reading has failed by then, and the header is late, too.
      [
        async () => await client.snapshot({ timeout: 1 }),
        "eth_getBlockByNumber",
      ],
      [
        async () => await client.queryVolume({ timeout: 1 }),
        "the requests that look up an address",
      ],
    ] as const) {
      const { details } = await expectVaultError(read, "VAULT_RPC_TIMEOUT");
      expect(details["method"]).to.equal(method);
    }
  });

  it("a read, snapshot() and orders() throw VAULT_ARCHIVE_NODE_NEEDED, with the node's words, at a block whose state it refuses", async () => {
    const node = documentedNode({ overrides: true, head: 1_000 });
    node.on("eth_call", async (params, answer) => {
      if (node.blockOf({ method: "eth_call", params }) === 5) {
        throw failure("not supported", { code: -32000 });
      }
      return await answer();
    });
    const client = clientOf(node);
    const blockTag = 5;
    for (const read of [
      client.queryVolume({ blockTag }),
      Array.fromAsync(client.orders({ ids: [1, 2], blockTag })),
      client.snapshot({ blockTag, strict: true }),
    ]) {
      const { message, details } = await expectVaultError(
        read,
        "VAULT_ARCHIVE_NODE_NEEDED",
      );
      expect(message).to.include("not supported");
      expect(details["block"]).to.equal(5);
    }
  });
});
