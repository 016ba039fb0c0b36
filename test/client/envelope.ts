import { expect } from "chai";

import { VaultClient, operations } from "../../src/client/index.js";
import type {
  BlockTag,
  ContractRole,
  ReadOptions,
} from "../../src/client/index.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { expectVaultError } from "../helpers/assertions.js";
import { connectTo } from "../helpers/hre.js";
import type { NetworkSettings } from "../helpers/hre.js";
import { SECOND, THIRD, ZERO } from "../helpers/names.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import {
  documentedContracts as contracts,
  documentedHandler,
  documentedNode,
} from "../helpers/documented-node.js";
import { KEY } from "../helpers/scripted-contracts.js";

const word = (hex: string): string => hex.padStart(64, "0");

type Read = (client: VaultClient, options?: ReadOptions) => Promise<unknown>;

/** Every read with the bytes that are documented for it, written by hand. */
const requests: ReadonlyArray<
  readonly [role: ContractRole, data: string, read: Read]
> = [
  [
    "underlyingAsset",
    `0xc138aa5f${word("1")}`,
    (client, options) => client.getFundingFeeRate(1, options),
  ],
  [
    "underlyingAsset",
    `0xc138aa5f${word("2")}`,
    (client, options) => client.getFundingFeeRate("put", options),
  ],
  [
    "vaultFactory",
    "0x2016e80b",
    (client, options) => client.getLatestRoundInfo(options),
  ],
  [
    "trading",
    `0xd311636b${"f".repeat(64)}`,
    (client, options) => client.getOrderInfo(2n ** 256n - 1n, options),
  ],
  [
    "vault",
    `0xb6624fb0${word("a1")}${word("b2")}${word("c3")}`,
    // The order of the names does not matter, that of the words does.
    (client, options) =>
      client.calMargins(
        { endTime: 0xc3, APY: 0xb2n, maxVolume: 0xa1n },
        options,
      ),
  ],
  [
    "privatePool",
    "0x53ac2d24",
    (client, options) => client.getLPAmountInfo("private", options),
  ],
  [
    "publicPool",
    "0x53ac2d24",
    (client, options) => client.getLPAmountInfo("public", options),
  ],
  ["vault", "0xa69590a8", (client, options) => client.queryVolume(options)],
  [
    "vault",
    "0xea17f924",
    (client, options) => client.queryMarginBalance(options),
  ],
  [
    "vaultFactory",
    "0x789f4b5a",
    (client, options) => client.minXMargin(options),
  ],
];

const operationOf = (data: string): string | undefined =>
  Object.entries(operations).find(([, { selector }]) =>
    data.startsWith(selector),
  )?.[0];

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
  for (const [role, data, read] of requests) {
    it(`${operationOf(data)} is one eth_call of ${role} with the documented bytes ${data}, at the given block`, async () => {
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
            params: [{ from: ZERO, to: contracts[role], data }, tag],
          })),
        ),
      );
    });
  }

  it("a client's from gets its checksum, and the caller's replaces it", async () => {
    const node = documentedNode();
    const client = new VaultClient(node, contracts, {
      from: SECOND.toLowerCase(),
    });
    await client.queryVolume();
    await client.queryVolume({ from: THIRD.toLowerCase() });
    expect(node.asked.map(fromOf)).to.deep.equal([SECOND, THIRD]);
  });

  const readsFrom: ReadonlyArray<
    readonly [
      title: string,
      read: (client: VaultClient, options?: { from?: string }) => unknown,
    ]
  > = [
    ["getOrderInfo()", (client, options) => client.getOrderInfo(1, options)],
    ["snapshot()", (client, options) => client.snapshot(options)],
    [
      "orders()",
      (client, options) =>
        Array.fromAsync(client.orders({ ids: [1], ...options })),
    ],
    ["rounds()", (client, options) => Array.fromAsync(client.rounds(options))],
    ["a read of at()", (client, options) => client.at({}).queryVolume(options)],
    [
      "a read with a deadline",
      (client, options = {}) =>
        client.withOptions(options).withOptions({ timeout: 60_000 }).snapshot(),
    ],
    [
      "a read of at() with a deadline",
      (client, options = {}) =>
        client.withOptions(options).at({}).queryVolume(),
    ],
  ];
  for (const [title, read] of readsFrom) {
    for (const overrides of [true, false]) {
      it(`${title} calls from the client's account, or from the one of its options, ${overrides ? "with" : "without"} overrides`, async () => {
        const node = documentedNode();
        node.overrides = overrides;
        const client = new VaultClient(node, contracts, { from: SECOND });
        for (const [options, from] of [
          [undefined, SECOND],
          [{ from: THIRD }, THIRD],
        ] as const) {
          node.asked.length = 0;
          await read(client, options);
          const calls = node.asked.filter(
            ({ method }) => method === "eth_call",
          );
          expect([...new Set(calls.map(fromOf))]).to.deep.equal([from]);
        }
      });
    }
  }

  const wrong = (value: unknown): never =>
    // the types refuse these mistakes
    value as never;
  const refused: ReadonlyArray<
    readonly [code: VaultErrorCode, call: (vault: VaultClient) => unknown]
  > = [
    ["VAULT_INVALID_ENUM", (vault) => vault.getFundingFeeRate(wrong(3))],
    ["VAULT_INVALID_ENUM", (vault) => vault.getLPAmountInfo(wrong("secret"))],
    ["VAULT_INVALID_INTEGER", (vault) => vault.getOrderInfo(-1n)],
    [
      "VAULT_INVALID_INTEGER",
      (vault) => vault.calMargins({ maxVolume: 1n, APY: 2n, endTime: -1n }),
    ],
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.queryVolume({ timeout: 0 })],
    [
      "VAULT_INVALID_INTEGER",
      (vault) => vault.calMargins(wrong({ maxVolume: 1n })),
    ],
    ["VAULT_INVALID_ARGUMENT", (vault) => vault.calMargins(wrong(undefined))],
    [
      "VAULT_INVALID_ADDRESS",
      (vault) => vault.queryVolume({ from: `${SECOND.slice(0, -1)}c` }),
    ],
    ["VAULT_INVALID_BLOCK", (vault) => vault.queryVolume({ blockTag: -1 })],
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
    const vault = await vaultOf({ from: SECOND });
    await vault.queryVolume();
    await vault.queryVolume({ from: THIRD });
    await vault.at({ vault: contracts.trading }).queryVolume();
    await (await vaultOf({ accounts: [KEY] })).queryVolume();
    expect(server.requests.map(fromOf)).to.deep.equal([
      SECOND,
      THIRD,
      SECOND,
      ZERO,
    ]);
    await server.stop();
  });
});

function fromOf({ params }: { params: readonly unknown[] }): unknown {
  return Reflect.get(Object(params[0]), "from");
}
