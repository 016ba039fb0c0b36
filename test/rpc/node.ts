import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { Chain } from "../../src/rpc/node.js";
import { expectVaultError } from "../helpers/assertions.js";

const ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const HASH = `0x${"ab".repeat(32)}`;

const header = {
  number: "0x5",
  timestamp: "0x64",
  hash: HASH,
  gasLimit: "0x10",
};

/** A node that gives the same answer to everything. */
const answering = (answer: unknown): Chain =>
  new Chain({ request: async () => await Promise.resolve(answer) }, "testnet");

describe("what a node says", () => {
  it("should be read as it is", async () => {
    expect(await answering(header).block(5)).to.deep.equal({
      number: 5,
      timestamp: 100,
    });
    expect(await answering(header).block("latest")).to.include({ number: 5 });
    expect(await answering(header).header("0x5")).to.deep.equal({
      number: 5,
      timestamp: 100,
      hash: HASH,
      gasLimit: 16n,
      baseFeePerGas: undefined,
    });
    expect(await answering("0x1fffffffffffff").chainId()).to.equal(2 ** 53 - 1);
    expect(await answering("0x00").hasCode(ADDRESS)).to.equal(true);
    expect(await answering("0x").hasCode(ADDRESS)).to.equal(false);
    expect(await answering(null).genesisHash()).to.equal(undefined);
  });

  const wrong: ReadonlyArray<
    readonly [name: string, ask: () => Promise<unknown>]
  > = [
    [
      "a chain id of 2^53",
      () =>
        new VaultClient(answering("0x20000000000000").provider, {}).chainId(),
    ],
    [
      "a block number of 2^53",
      () => answering("0x20000000000000").blockNumber(),
    ],
    [
      "a nonce of 2^64",
      () => answering("0x10000000000000000").nonce(ADDRESS, 1),
    ],
    [
      "block 9 where 5 was asked for",
      () => answering({ ...header, number: "0x9" }).block(5),
    ],
    [
      "block 9 where 5 was asked for, in hex",
      () => answering({ ...header, number: "0x9" }).header("0x5"),
    ],
    [
      "a latest block beyond all blocks",
      () =>
        answering({ ...header, number: `0x${"f".repeat(64)}` }).block("latest"),
    ],
    [
      "a time beyond all times",
      () => answering({ ...header, timestamp: "0x20000000000000" }).block(5),
    ],
    ["a block that is a text", () => answering("0x5").block(5)],
    ["a block that is true", () => answering(true).block(5)],
    ["no number", () => answering({ ...header, number: null }).block(5)],
    ["a number that is none", () => answering(5).chainId()],
    [
      "a hash that is short",
      () => answering({ ...header, hash: "0xab" }).header(),
    ],
    ["a first block without a hash", () => answering({}).genesisHash()],
    [
      "a transaction from something else than an address",
      () =>
        answering({
          hash: HASH,
          from: { toString: 1 },
          input: "0x",
          nonce: "0x0",
        }).transaction(HASH),
    ],
    ["code that is not hex", () => answering("0xzz").hasCode(ADDRESS)],
    ["code that is null", () => answering(null).hasCode(ADDRESS)],
  ];
  for (const [name, ask] of wrong) {
    it(`should be refused where it is wrong: ${name}`, async () => {
      await expectVaultError(ask(), "VAULT_RPC_INVALID_RESPONSE");
    });
  }

  it("should be no user's mistake in a snapshot or a scan either", async () => {
    const absurd = new VaultClient(
      {
        request: async ({ method }) => {
          if (method === "eth_call") {
            throw new Error("no");
          }
          return await Promise.resolve(
            method === "eth_chainId"
              ? "0x1"
              : { ...header, number: `0x${"f".repeat(16)}` },
          );
        },
      },
      { trading: ADDRESS },
    );
    await expectVaultError(absurd.snapshot(), "VAULT_RPC_INVALID_RESPONSE");
    await expectVaultError(
      absurd.orders({ firstId: 1, lastId: 2 }).next(),
      "VAULT_RPC_INVALID_RESPONSE",
    );
  });
});
