import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import type { BlockTag, ReadOptions } from "../../src/client/index.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import {
  KEY,
  documentedContracts as contracts,
  documentedHandler,
  documentedNode,
} from "../helpers/scripted-node.js";

const ZERO = "0x0000000000000000000000000000000000000000";
const FROM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

const word = (hex: string): string => hex.padStart(64, "0");

type Read = (client: VaultClient, options?: ReadOptions) => Promise<unknown>;

/**
 * Every read, and the bytes that the protocol's section 4 documents for it,
 * written by hand.
 */
const requests: ReadonlyArray<{
  readonly name: string;
  readonly to: string;
  readonly data: string;
  readonly read: Read;
}> = [
  {
    name: "getFundingFeeRate(CALL)",
    to: contracts.underlyingAsset,
    data: `0xc138aa5f${word("1")}`,
    read: (client, options) => client.getFundingFeeRate(1, options),
  },
  {
    name: "getFundingFeeRate(PUT)",
    to: contracts.underlyingAsset,
    data: `0xc138aa5f${word("2")}`,
    read: (client, options) => client.getFundingFeeRate("put", options),
  },
  {
    name: "getLatestRoundInfo",
    to: contracts.vaultFactory,
    data: "0x2016e80b",
    read: (client, options) => client.getLatestRoundInfo(options),
  },
  {
    name: "getOrderInfo",
    to: contracts.trading,
    data: `0xd311636b${"f".repeat(64)}`,
    read: (client, options) => client.getOrderInfo(2n ** 256n - 1n, options),
  },
  {
    name: "calMargins",
    to: contracts.vault,
    data: `0xb6624fb0${word("a1")}${word("b2")}${word("c3")}`,
    read: (client, options) =>
      // The order of the names does not matter, that of the words does.
      client.calMargins(
        { endTime: 0xc3, APY: 0xb2n, maxVolume: 0xa1n },
        options,
      ),
  },
  {
    name: "getLPAmountInfo of the private pool",
    to: contracts.privatePool,
    data: "0x53ac2d24",
    read: (client, options) => client.getLPAmountInfo("private", options),
  },
  {
    name: "getLPAmountInfo of the public pool",
    to: contracts.publicPool,
    data: "0x53ac2d24",
    read: (client, options) => client.getLPAmountInfo("public", options),
  },
  {
    name: "queryVolume",
    to: contracts.vault,
    data: "0xa69590a8",
    read: (client, options) => client.queryVolume(options),
  },
  {
    name: "queryMarginBalance",
    to: contracts.vault,
    data: "0xea17f924",
    read: (client, options) => client.queryMarginBalance(options),
  },
  {
    name: "minXMargin",
    to: contracts.vaultFactory,
    data: "0x789f4b5a",
    read: (client, options) => client.minXMargin(options),
  },
];

const blockForms: ReadonlyArray<readonly [given: BlockTag, sent: string]> = [
  ["latest", "latest"],
  ["safe", "safe"],
  ["finalized", "finalized"],
  ["earliest", "earliest"],
  ["pending", "pending"],
  [0, "0x0"],
  [255, "0xff"],
  [1_000n, "0x3e8"],
];

describe("the documented envelope", () => {
  for (const { name, to, data, read } of requests) {
    it(`${name} is one eth_call with documented bytes, at the given block`, async () => {
      const node = documentedNode();
      const client = new VaultClient(node, contracts);
      await read(client);
      for (const [blockTag] of blockForms) {
        await read(client, { blockTag });
      }
      // The whole text: not a key more, and in the documented order.
      expect(JSON.stringify(node.asked)).to.equal(
        JSON.stringify(
          ["latest", ...blockForms.map(([, sent]) => sent)].map((tag) => ({
            method: "eth_call",
            params: [{ from: ZERO, to, data }, tag],
          })),
        ),
      );
    });
  }

  it("a client's from gets its checksum, and the caller's replaces it", async () => {
    const node = documentedNode();
    const client = new VaultClient(node, contracts, {
      from: FROM.toLowerCase(),
    });
    await client.queryVolume();
    await client.queryVolume({ from: OTHER.toLowerCase() });
    expect(node.asked.map(fromOf)).to.deep.equal([FROM, OTHER]);
  });

  const wrong = (value: unknown): never =>
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the types refuse these mistakes
    value as never;
  const refused: ReadonlyArray<
    readonly [code: VaultErrorCode, call: (vault: VaultClient) => unknown]
  > = [
    ["VAULT_INVALID_ENUM", (vault) => vault.getFundingFeeRate(wrong(3))],
    ["VAULT_INVALID_ENUM", (vault) => vault.getLPAmountInfo(wrong("secret"))],
    ...[-1, 1.5, NaN, 2n ** 256n, -1n].map(
      (id) =>
        [
          "VAULT_INVALID_INTEGER",
          (vault: VaultClient) => vault.getOrderInfo(id),
        ] as const,
    ),
    [
      "VAULT_INVALID_INTEGER",
      (vault) => vault.calMargins(wrong({ maxVolume: 1n })),
    ],
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.calMargins(wrong(undefined))],
    [
      "VAULT_INVALID_ADDRESS",
      (vault) => vault.queryVolume({ from: `${FROM.slice(0, -1)}c` }),
    ],
    ...[-1, 1.5, 2n ** 64n, "newest", "0x1"].map(
      (blockTag) =>
        [
          "VAULT_INVALID_BLOCK",
          (vault: VaultClient) =>
            vault.queryVolume({ blockTag: wrong(blockTag) }),
        ] as const,
    ),
    ["VAULT_INVALID_ADDRESS", (vault) => vault.at({ vault: "0x12" })],
    [
      "VAULT_INVALID_ARGUMENT",
      (vault) => vault.at(wrong({ pool: contracts.vault })),
    ],
  ];
  it("a read sends nothing if its arguments are refused", async () => {
    const node = documentedNode();
    const vault = new VaultClient(node, contracts);
    for (const [code, call] of refused) {
      await expectVaultError(() => call(vault), code);
    }
    expect(node.asked).to.deep.equal([]);
  });

  it("a connection's vault sends one HTTP request, with the network's from or the zero address", async () => {
    const server = await startRpcServer({ handler: documentedHandler });
    const vaultOf = async (
      settings: NetworkSettings = {},
    ): Promise<VaultClient> =>
      (await connectTo(server.url, { vault: { contracts }, ...settings }))
        .vault;
    await (await vaultOf()).queryVolume();
    expect(server.httpRequests).to.have.lengthOf(1);
    const [{ method, headers, body } = { method: "", headers: {}, body: "" }] =
      server.httpRequests;
    expect(method).to.equal("POST");
    expect(headers["content-type"]).to.match(/^application\/json(;|$)/u);
    expect(body.replace(/"id":\d+/u, '"id":1')).to.equal(
      `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"from":"${ZERO}","to":"${contracts.vault}","data":"0xa69590a8"},"latest"]}`,
    );
    server.requests.length = 0;
    const vault = await vaultOf({ from: FROM });
    await vault.queryVolume();
    await vault.queryVolume({ from: OTHER });
    await vault.at({ vault: contracts.trading }).queryVolume();
    await (await vaultOf({ accounts: [KEY] })).queryVolume();
    expect(server.requests.map(fromOf)).to.deep.equal([
      FROM,
      OTHER,
      FROM,
      ZERO,
    ]);
    await server.stop();
  });
});

function fromOf({ params }: { params: readonly unknown[] }): unknown {
  return Reflect.get(Object(params[0]), "from");
}
