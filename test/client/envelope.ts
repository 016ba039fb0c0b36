import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";

import { VaultClient } from "../../src/client/index.js";
import type { BlockTag, ReadOptions } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fetchProvider } from "../helpers/fetch-provider.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";
import {
  documentedHandler,
  documentedContracts,
} from "../helpers/scripted-node.js";

const ZERO = "0x0000000000000000000000000000000000000000";
const FROM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";

const contracts = documentedContracts;

const word = (hex: string): string => hex.padStart(64, "0");

/**
 * Every read, and the bytes that the protocol's section 4 documents for it,
 * written by hand.
 */
const requests: ReadonlyArray<{
  readonly name: string;
  readonly to: string;
  readonly data: string;
  readonly read: (
    client: VaultClient,
    options?: ReadOptions,
  ) => Promise<unknown>;
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
  let server: RpcServer;
  let hre: HardhatRuntimeEnvironment;

  before(async () => {
    server = await startRpcServer({
      handler: documentedHandler,
    });
    hre = await createTestHre({
      networks: {
        plain: httpNetwork(server.url, { vault: { contracts } }),
        withFrom: httpNetwork(server.url, { from: FROM, vault: { contracts } }),
        withAccounts: httpNetwork(server.url, {
          accounts: [`0x${"11".repeat(32)}`],
          vault: { contracts },
        }),
      },
    });
  });
  after(async () => {
    await server.stop();
  });
  beforeEach(() => {
    server.requests.length = 0;
    server.httpRequests.length = 0;
  });

  const clients: ReadonlyArray<
    readonly [name: string, get: () => Promise<VaultClient>]
  > = [
    [
      "connection.vault",
      async () => (await hre.network.getOrCreate("plain")).vault,
    ],
    [
      "VaultClient",
      async () =>
        await Promise.resolve(
          new VaultClient(fetchProvider(server.url), contracts),
        ),
    ],
  ];
  for (const [clientName, getClient] of clients) {
    for (const { name, to, data, read } of requests) {
      it(`should be one eth_call for ${name} of ${clientName}`, async () => {
        await read(await getClient());
        expect(server.httpRequests).to.have.lengthOf(1);
        const [
          { method, headers, body } = { method: "", headers: {}, body: "" },
        ] = server.httpRequests;
        expect(method).to.equal("POST");
        expect(headers["content-type"]).to.match(/^application\/json(;|$)/u);
        // The whole text: not a key more, and in the documented order.
        expect(body.replace(/"id":\d+/u, '"id":1')).to.equal(
          `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"from":"${ZERO}","to":"${to}","data":"${data}"},"latest"]}`,
        );
        expect(body).to.match(/"id":\d+/u);
      });
    }
  }

  for (const [given, sent] of blockForms) {
    it(`should send blockTag ${String(given)} as ${sent}`, async () => {
      const { vault } = await hre.network.getOrCreate("plain");
      for (const { read } of requests) {
        await read(vault, { blockTag: given });
      }
      expect(server.requests.map(({ params: [, tag] }) => tag)).to.deep.equal(
        requests.map(() => sent),
      );
    });
  }

  it("should send the network's from where the caller names none", async () => {
    const { vault } = await hre.network.getOrCreate("withFrom");
    await vault.queryVolume();
    await vault.queryVolume({ from: OTHER });
    await vault.at({ vault: contracts.trading }).queryVolume();
    expect(server.requests.map(fromOf)).to.deep.equal([FROM, OTHER, FROM]);
  });

  it("should send the zero address also where the network has accounts", async () => {
    const { vault } = await hre.network.getOrCreate("withAccounts");
    await vault.queryVolume();
    expect(server.requests.map(fromOf)).to.deep.equal([ZERO]);
  });

  it("should give a client's from its checksum, and replace it by the caller's", async () => {
    const client = new VaultClient(fetchProvider(server.url), contracts, {
      from: FROM.toLowerCase(),
    });
    await client.queryVolume();
    await client.queryVolume({ from: OTHER.toLowerCase() });
    expect(server.requests.map(fromOf)).to.deep.equal([FROM, OTHER]);
  });

  it("should send nothing for what is refused", async () => {
    const { vault } = await hre.network.getOrCreate("plain");
    await expectVaultError(
      // @ts-expect-error -- neither CALL nor PUT
      () => vault.getFundingFeeRate(3),
      "VAULT_INVALID_ENUM",
    );
    await expectVaultError(
      // @ts-expect-error -- not one of the two pools
      () => vault.getLPAmountInfo("secret"),
      "VAULT_INVALID_ENUM",
    );
    for (const id of [-1, 1.5, NaN, 2n ** 256n, -1n]) {
      await expectVaultError(vault.getOrderInfo(id), "VAULT_INVALID_INTEGER");
    }
    await expectVaultError(
      // @ts-expect-error -- APY and endTime are missing
      () => vault.calMargins({ maxVolume: 1n }),
      "VAULT_INVALID_INTEGER",
    );
    await expectVaultError(
      // @ts-expect-error -- the arguments are missing
      () => vault.calMargins(),
      "VAULT_INVALID_ARGUMENT",
    );
    await expectVaultError(
      vault.queryVolume({ from: `${FROM.slice(0, -1)}c` }),
      "VAULT_INVALID_ADDRESS",
    );
    for (const blockTag of [-1, 1.5, 2n ** 64n, "newest", "0x1"]) {
      await expectVaultError(
        // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- wrong on purpose
        vault.queryVolume({ blockTag: blockTag as BlockTag }),
        "VAULT_INVALID_BLOCK",
      );
    }
    await expectVaultError(
      () => vault.at({ vault: "0x12" }),
      "VAULT_INVALID_ADDRESS",
    );
    await expectVaultError(
      // @ts-expect-error -- no such contract
      () => vault.at({ pool: contracts.vault }),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(server.requests).to.deep.equal([]);
  });
});

function fromOf({ params }: { params: readonly unknown[] }): unknown {
  return Reflect.get(Object(params[0]), "from");
}
