import { setImmediate } from "node:timers/promises";

import { expect } from "chai";

import { VaultClient, isFailedOrder } from "../../src/client/index.js";
import type { BlockTag, ContractRole } from "../../src/client/index.js";
import { withArchiveCheck } from "../../src/client/read-at-block.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { getBlock } from "../../src/rpc/blocks.js";
import { expectVaultError } from "../helpers/assertions.js";
import { callMethod } from "../helpers/call-method.js";
import { speedUpTime } from "../helpers/deadlines.js";
import {
  documentedContracts as contracts,
  documentedHandler,
  documentedNode,
} from "../helpers/documented-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { codedError } from "../helpers/foreign-errors.js";
import { connectTo } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { SECOND, THIRD, ZERO } from "../helpers/names.js";
import { recording, header } from "../helpers/recording-node.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { KEY } from "../helpers/scripted-contracts.js";

const word = (hex: string): string => hex.padStart(64, "0");

/** Every read with the bytes that are documented for it, written by hand. */
const requests: ReadonlyArray<
  readonly [role: ContractRole, data: string, name: string, ...args: unknown[]]
> = [
  ["underlyingAsset", `0xc138aa5f${word("1")}`, "getFundingFeeRate", 1],
  ["underlyingAsset", `0xc138aa5f${word("2")}`, "getFundingFeeRate", "put"],
  ["vaultFactory", "0x2016e80b", "getLatestRoundInfo"],
  [
    ...(["trading", `0xd311636b${"f".repeat(64)}`, "getOrderInfo"] as const),
    2n ** 256n - 1n,
  ],
  [
    "vault",
    `0xb6624fb0${word("a1")}${word("b2")}${word("c3")}`,
    "calMargins",
    // The order of the names does not matter, that of the words does.
    { endTime: 0xc3, APY: 0xb2n, maxVolume: 0xa1n },
  ],
  ["privatePool", "0x53ac2d24", "getLPAmountInfo", "private"],
  ["publicPool", "0x53ac2d24", "getLPAmountInfo", "public"],
  ["vault", "0xa69590a8", "queryVolume"],
  ["vault", "0xea17f924", "queryMarginBalance"],
  ["vaultFactory", "0x789f4b5a", "minXMargin"],
];

const blockForms: ReadonlyArray<readonly [given: BlockTag, sent: string]> = [
  ["latest", "latest"],
  ["pending", "pending"],
  [0, "0x0"],
  [255, "0xff"],
  [1_000n, "0x3e8"],
];

const fromOf = ({ params }: { params: readonly unknown[] }): unknown =>
  fieldsOf(params[0])["from"];

/** A client whose every call is answered with these bytes. */
const answeredWith = (answer: string, noCodeAt?: string): VaultClient =>
  new VaultClient(
    recording((method, [, block]) =>
      method !== "eth_getCode" ? answer : block === noCodeAt ? "0x" : "0x00",
    ),
    { vaultFactory: SECOND },
    { networkName: "testnet" },
  );

describe("client - a read", () => {
  for (const [role, data, name, ...args] of requests) {
    it(`${name}() is one eth_call of ${role} with the documented bytes ${data}, at the given block`, async () => {
      const node = documentedNode();
      const client = new VaultClient(node, contracts);
      for (const [blockTag] of blockForms) {
        await callMethod(client, name, ...args, { blockTag });
      }
      // The whole text: not a key more, and in the documented order.
      expect(JSON.stringify(node.asked)).to.equal(
        JSON.stringify(
          blockForms.map(([, tag]) => ({
            method: "eth_call",
            params: [{ from: ZERO, to: contracts[role], data }, tag],
          })),
        ),
      );
    });
  }

  /** As a contract of ethers: `getAddress()` alone has its address. */
  const contractAt = (address: string) => ({ getAddress: () => address });
  const readsFrom: ReadonlyArray<
    readonly [
      title: string,
      read: (client: VaultClient, from: string) => Promise<unknown>,
    ]
  > = [
    [
      "getOrderInfo()",
      (client, from) => client.getOrderInfo(1, { from: from.toLowerCase() }),
    ],
    [
      "snapshot()",
      (client, from) => client.snapshot({ from: contractAt(from) }),
    ],
    [
      "orders()",
      (client, from) =>
        Array.fromAsync(client.orders({ ids: [1], from: contractAt(from) })),
    ],
    [
      "rounds()",
      (client, from) =>
        Array.fromAsync(client.rounds({ from: contractAt(from) })),
    ],
    [
      "a read of at() with a deadline",
      (client, from) => client.withOptions({ from }).at({}).queryVolume(),
    ],
  ];
  for (const [title, read] of readsFrom) {
    it(`${title} calls from the account of its options in place of the client's`, async () => {
      const node = documentedNode({ overrides: true });
      const client = new VaultClient(node, contracts, { from: SECOND });
      await client.queryVolume();
      await read(client, THIRD);
      const calls = node.asked.filter(({ method }) => method === "eth_call");
      expect([...new Set(calls.map(fromOf))]).to.deep.equal([SECOND, THIRD]);
    });
  }

  const wrong = (value: unknown): never =>
    // the types refuse these mistakes
    value as never;
  const refused: ReadonlyArray<
    readonly [code: VaultErrorCode, call: (vault: VaultClient) => unknown]
  > = [
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.getFundingFeeRate(wrong(3))],
    [
      "VAULT_INVALID_ARGUMENT",
      (vault) => vault.getLPAmountInfo(wrong("toString")),
    ],
    ["VAULT_INVALID_INTEGER", (vault) => vault.getOrderInfo(-1n)],
    [
      "VAULT_INVALID_INTEGER",
      (vault) => vault.calMargins(wrong({ maxVolume: 1n })),
    ],
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.calMargins(wrong(null))],
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.queryVolume({ timeout: 0 })],
    ["VAULT_INVALID_ADDRESS", (vault) => vault.queryVolume({ from: "0x12" })],
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.queryVolume({ blockTag: -1 })],
    ["VAULT_INVALID_ADDRESS", (vault) => vault.at({ vault: "0x12" })],
    [
      "VAULT_INVALID_ARGUMENT",
      (vault) => vault.at(wrong({ pool: contracts.vault })),
    ],
  ];
  it("sends nothing if its arguments are refused", async () => {
    const node = documentedNode();
    const vault = new VaultClient(node, contracts);
    for (const [code, call] of refused) {
      await expectVaultError(() => call(vault), code);
    }
    expect(node.asked).to.deep.equal([]);
  });

  it("of a connection's vault is one HTTP request, with the network's from or the zero address", async () => {
    const server = await startRpcServer({ handler: documentedHandler });
    const vaultOf = async (settings: NetworkSettings): Promise<VaultClient> =>
      (await connectTo(server.url, { vault: { contracts }, ...settings }))
        .vault;
    await (await vaultOf({ accounts: [KEY] })).queryVolume();
    expect(server.httpRequests).to.have.lengthOf(1);
    const body = server.httpRequests[0]?.body ?? "";
    expect(body.replace(/"id":\d+/u, '"id":1')).to.equal(
      `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"from":"${ZERO}","to":"${contracts.vault}","data":"0xa69590a8"},"latest"]}`,
    );
    const vault = await vaultOf({ from: SECOND });
    await vault.at({ vault: contracts.trading }).queryVolume();
    await vault.queryVolume({ from: THIRD });
    await server.stop();
    expect(server.requests.map(fromOf)).to.deep.equal([ZERO, SECOND, THIRD]);
  });

  it("throws VAULT_RETURN_DATA_MALFORMED for 319 bytes in place of a round, and names the contract", async () => {
    const { details } = await expectVaultError(
      answeredWith(`0x${"00".repeat(319)}`).getLatestRoundInfo(),
      "VAULT_RETURN_DATA_MALFORMED",
    );
    expect(details).to.deep.equal({
      operation: "getLatestRoundInfo",
      problem: "319 bytes instead of 320",
      contract: "vault factory",
      address: SECOND,
      source: "VaultClient",
    });
  });

  it("throws VAULT_RETURN_DATA_MALFORMED for no bytes of an address that has code", async () => {
    await expectVaultError(
      answeredWith("0x").getLatestRoundInfo(),
      "VAULT_RETURN_DATA_MALFORMED",
    );
  });

  for (const [title, options, sent, when] of [
    ["no block", {}, "latest", ""],
    ["the block that it was given", { blockTag: 5 }, "0x5", " at block 5"],
  ] as const) {
    it(`throws VAULT_NO_CODE for an address without code, and names ${title}`, async () => {
      const { details } = await expectVaultError(
        answeredWith("0x", sent).minXMargin(options),
        "VAULT_NO_CODE",
      );
      expect(details).to.deep.equal({
        address: SECOND,
        when,
        contract: "vault factory",
        network: "testnet",
        source: "VaultClient",
      });
    });
  }
});

describe("client - a series of reads at one block", () => {
  it("a read at a block with its hash is of that branch, and throws VAULT_REORGED on another one", async () => {
    const node = documentedNode({ hashes: true, head: 5 });
    const client = new VaultClient(node, contracts);
    const { hash } = await getBlock(client.rpc, 4);
    const blockTag = { number: 4, hash };
    expect(await client.queryVolume({ blockTag })).to.be.a("bigint");
    expect(node.asked.at(-1)?.params[1]).to.include({ blockHash: hash });
    node.reorganise(4);
    await expectVaultError(client.queryVolume({ blockTag }), "VAULT_REORGED");
    await expectVaultError(
      client.queryVolume({ blockTag: { number: 4, hash: "0x12" } }),
      "VAULT_INVALID_ARGUMENT",
    );
  });

  for (const hashes of [true, false]) {
    for (const blockTag of ["latest", 4] as const) {
      it(`snapshot() at ${blockTag} throws VAULT_REORGED if the chain replaces the block between its header and its only call, by ${hashes ? "hash" : "number"}`, async () => {
        const node = documentedNode({ hashes, overrides: true, head: 5 });
        const client = new VaultClient(node, contracts);
        node.on("eth_call", async (_, answer, occurrence) => {
          if (occurrence === 0) {
            // The header is answered first, also if both were sent together.
            await setImmediate();
            node.reorganise(1);
          }
          return await answer();
        });
        await expectVaultError(client.snapshot({ blockTag }), "VAULT_REORGED");
      });
    }
  }

  const series = {
    "snapshot()": async (client: VaultClient) => await client.snapshot(),
    "orders()": async (client: VaultClient) => {
      for await (const order of client.orders({ ids: [1, 2] })) {
        expect(isFailedOrder(order)).to.equal(false);
      }
    },
    "rounds()": async (client: VaultClient) =>
      await Array.fromAsync(client.rounds()),
  };
  for (const [name, read] of Object.entries(series)) {
    for (const hashes of [true, false]) {
      it(`${name} throws VAULT_REORGED if the chain replaces the block during the last call, by ${hashes ? "hash" : "number"}`, async () => {
        let last = Infinity;
        const clientOf = (): [
          ReturnType<typeof documentedNode>,
          VaultClient,
        ] => {
          const node = documentedNode({ hashes, overrides: false, head: 5 });
          node.on("eth_call", async (_, answer, occurrence) => {
            if (occurrence === last) {
              // Whatever was sent with it is answered.
              await setImmediate();
              node.reorganise(5);
            }
            return await answer();
          });
          return [node, new VaultClient(node, contracts)];
        };
        const [node, undisturbed] = clientOf();
        await read(undisturbed);
        last = node.count("eth_call") - 1;
        const [, client] = clientOf();
        await expectVaultError(read(client), "VAULT_REORGED");
      });
    }
  }
});

const refusal = (): Error => codedError("", { code: -32_000 });
const gone = codedError("ECONNREFUSED");
const old = { ...header, number: "0x5" };
const hangs = async (): Promise<never> => await new Promise(() => undefined);

/** Answers to the requests for a value, and for headers; the last one stays. */
type Row = readonly [
  end: VaultErrorCode | "value",
  title: string,
  values: Readonly<Record<string, readonly unknown[]>>,
  headers?: unknown,
  block?: string,
];

describe("client - a request at a block that a node refuses", () => {
  speedUpTime();

  const rows: readonly Row[] = [
    [
      "value",
      "refuses it once",
      { "0x5": [refusal(), "0x7"], latest: ["0x7"] },
    ],
    [
      "VAULT_ARCHIVE_NODE_NEEDED",
      "answers it at the newest block only",
      { "0x5": [refusal()], latest: ["0x7"] },
    ],
    [
      "VAULT_ARCHIVE_NODE_NEEDED",
      "answers it at the newest block only, not at its first one",
      { earliest: [refusal()], latest: ["0x7"] },
      old,
      "earliest",
    ],
    [
      "VAULT_RPC_ERROR",
      "refuses it at the newest block, too",
      { "0x5": [refusal()], latest: [refusal()] },
    ],
    [
      "VAULT_RPC_ERROR",
      "refuses the header, too",
      { "0x5": [refusal()], latest: ["0x7"] },
      refusal(),
    ],
    [
      "VAULT_RPC_ERROR",
      "refuses it at a tag, which names another block each time",
      { safe: [refusal()], latest: ["0x7"] },
      old,
      "safe",
    ],
    [
      "VAULT_BLOCK_NOT_FOUND",
      "does not have the block",
      { "0x5": [refusal()], latest: ["0x7"] },
      null,
    ],
    [
      "VAULT_NETWORK_UNREACHABLE",
      "is gone when it is asked again",
      { "0x5": [refusal(), gone], latest: ["0x7"] },
    ],
    [
      "VAULT_RPC_ERROR",
      "is gone when it is asked at the newest block",
      { "0x5": [refusal()], latest: [gone] },
    ],
    [
      "VAULT_RPC_TIMEOUT",
      "does not answer when it is asked for the block",
      { "0x5": [refusal()], latest: ["0x7"] },
      hangs,
    ],
  ];
  for (const [end, title, values, headers = old, block = "0x5"] of rows) {
    it(`ends with ${end} if the node ${title}`, async () => {
      const asked = new Map<unknown, number>();
      const { rpc } = recording((method, [, tag]) => {
        if (method === "eth_getBlockByNumber") {
          return typeof headers === "function" ? hangs() : headers;
        }
        const times = asked.get(tag) ?? 0;
        asked.set(tag, times + 1);
        const answers = values[String(tag)] ?? [];
        return answers[times] ?? answers.at(-1);
      });
      const timed = rpc.withOptions({ timeout: 10_000 });
      const work = withArchiveCheck(
        timed,
        block,
        async (at) => await timed.request("eth_call", [{}, at]),
      );
      if (end === "value") {
        expect(await work).to.equal("0x7");
        return;
      }
      const { details } = await expectVaultError(work, end);
      if (end === "VAULT_ARCHIVE_NODE_NEEDED") {
        expect(details).to.include({ block: 5, problem: "no" });
      }
    });
  }
});
