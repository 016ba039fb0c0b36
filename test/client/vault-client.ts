import { inspect } from "node:util";

import { expect } from "chai";
import { Interface, toBeHex } from "ethers";

import {
  VaultClient,
  contractRoles,
  isFailedReading,
  operations,
} from "../../src/client/index.js";
import type { Address, ContractRole } from "../../src/protocol/index.js";
import { encodeRevertData } from "../../src/mocks/index.js";
import { Redactor } from "../../src/redact.js";
import { KnownNode, RpcClient } from "../../src/rpc/rpc-client.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const VAULT = "0x00000000000000000000000000000000000000A1";
const OTHER_VAULT = "0x00000000000000000000000000000000000000A2";
const FACTORY = "0x00000000000000000000000000000000000000f1";
const FROM = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/** A contract's volume, and its least margin, is its address; more it refuses. */
const nodeOfAddresses = (): ScriptedNode =>
  new ScriptedNode({
    codeOf: () => "0x00",
    answerOf: ({ to, data }) =>
      data === operations.queryVolume.selector ||
      data === operations.minXMargin.selector
        ? { reverted: false, data: toBeHex(to, 32) }
        : { reverted: true, data: "0x12345678" },
  });

/** A node whose contracts revert with this data. */
const nodeThatReverts = (data: string): ScriptedNode =>
  new ScriptedNode({
    codeOf: () => "0x00",
    answerOf: () => ({ reverted: true, data }),
  });
const odd = nodeThatReverts(
  new Interface(["error Odd(uint256)"]).encodeErrorResult("Odd", [7]),
);

const askedOf = (
  node: Pick<ScriptedNode, "asked">,
  field: "from" | "to",
): unknown[] => node.asked.map(({ params }) => fieldsOf(params[0])[field]);

describe("client - VaultClient", () => {
  it("a client makes each of its contracts once, and when it is used", async () => {
    const node = nodeOfAddresses();
    const { contracts } = new VaultClient(node, { vault: VAULT });
    expect(Object.keys(contracts)).to.deep.equal(Object.keys(contractRoles));
    expect(contracts.vault).to.equal(contracts.vault);
    expect(contracts.vault).not.to.equal(contracts.vaultFactory);
    expect(node.asked).to.deep.equal([]);
    expect(await contracts.vault.queryVolume()).to.equal(BigInt(VAULT));
    await expectVaultError(
      contracts.vaultFactory.minSLDMargin(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  it("a client adds the checksum to an address that a resolver returns, and refuses one that is none: VAULT_INVALID_ADDRESS", async () => {
    const client = new VaultClient(nodeOfAddresses(), async (role) => ({
      address: role === "vault" ? VAULT.toLowerCase() : "0x12",
      source: "a file",
    }));
    expect((await client.addressOf("vault")).address).to.equal(VAULT);
    const { details } = await expectVaultError(
      client.minXMargin(),
      "VAULT_INVALID_ADDRESS",
    );
    expect(details["where"]).to.include("vault factory contract (a file)");
  });

  it("a client keeps all but the addresses that are given to at()", async () => {
    const node = nodeOfAddresses();
    const own = new VaultClient(
      node,
      { vault: VAULT, vaultFactory: FACTORY },
      {
        from: FROM,
        networkName: "testnet",
        abis: [["error Odd()"]],
      },
    );
    const other = own.at({ vault: OTHER_VAULT });
    await other.queryVolume();
    await other.minXMargin();
    expect(askedOf(node, "to")).to.deep.equal([OTHER_VAULT, FACTORY]);
    expect(askedOf(node, "from")).to.deep.equal([FROM, FROM]);
    expect(await other.addressOf("vault")).to.deep.equal({
      address: OTHER_VAULT,
      source: "at()",
    });
    const { shortMessage } = await expectVaultError(
      other.addressOf("trading"),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(shortMessage).to.equal(
      "the trading needs the trading contract, which has no address on network testnet.",
    );
  });

  it("a read and a snapshot name a custom error by the ABIs of the client, also of at()", async () => {
    const json = JSON.stringify([
      { type: "error", name: "Odd", inputs: [{ type: "uint256" }] },
    ]);
    for (const [abis, reason] of [
      [[["error Odd(uint256 code)"]], "Odd(code: 7)"],
      [[["error Other()"], json], "Odd(_0: 7)"],
      [[], "unknown error"],
      // A function and an event with the same signature.
      [[["function Odd(uint256)", "event Odd(uint256)"]], "unknown error"],
    ] as const) {
      const client = new VaultClient(odd, { vault: VAULT }, { abis });
      for (const asked of [client, client.at({ vault: OTHER_VAULT })]) {
        const { details } = await expectVaultError(
          asked.queryVolume(),
          "VAULT_CALL_REVERTED",
        );
        expect(details["reason"]).to.include(reason).and.not.include("looked");
      }
      const { volume } = await client.snapshot();
      expect(String(isFailedReading(volume) && volume.error)).to.include(
        reason,
      );
    }
  });

  it("a read that reverts without a reason advises to check the address: VAULT_CALL_REVERTED", async () => {
    for (const [data, hint] of [
      ["0x", "check the address, which comes from"],
      ["0x12345678", "correct what it names"],
    ] as const) {
      const client = new VaultClient(nodeThatReverts(data), { vault: VAULT });
      const { details } = await expectVaultError(
        client.queryVolume(),
        "VAULT_CALL_REVERTED",
      );
      expect(details["hint"]).to.include(hint);
    }
    const { details } = await expectVaultError(
      new VaultClient(odd, {}).queryVolume(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(details).to.deep.include({
      operation: "queryVolume",
      path: '"vault" of the client\'s addresses',
    });
  });

  it("a read that reverts gives the reason, and why its custom error could not be looked up", async () => {
    const errorAbisOf = (): never => {
      throw new Error("\u001b[2J");
    };
    const { details } = await expectVaultError(
      new VaultClient(odd, { vault: VAULT }, { errorAbisOf }).queryVolume(),
      "VAULT_CALL_REVERTED",
    );
    expect(details["reason"])
      .to.include("unknown error")
      .and.include("looked up")
      .and.not.include("\u001b");
  });

  it("a read looks up a custom error by four bytes, and no other reason", async () => {
    const asked: string[] = [];
    const errorAbisOf = (selector: string): [] => {
      asked.push(selector);
      return [];
    };
    const text = encodeRevertData("too early");
    for (const data of [text, "0x", "0x1234", "0xABCDEF12"]) {
      const node = nodeThatReverts(data);
      const client = new VaultClient(node, { vault: VAULT }, { errorAbisOf });
      await expectVaultError(client.queryVolume(), "VAULT_CALL_REVERTED");
    }
    expect(asked).to.deep.equal(["0xabcdef12"]);
  });

  it("a read names a custom error by the one of two errors with its selector that fits the data", async () => {
    // Both begin with 0x42966c68; a small number is no bytes16.
    const burn = "error burn(uint256 amount)";
    const other = "error collate_propagate_storage(bytes16 key)";
    const node = nodeThatReverts(
      new Interface([burn]).encodeErrorResult("burn", [7]),
    );
    for (const abis of [[[burn, other]], [[other], [burn]]]) {
      const { details } = await expectVaultError(
        new VaultClient(node, { vault: VAULT }, { abis }).queryVolume(),
        "VAULT_CALL_REVERTED",
      );
      expect(details["reason"]).to.equal("burn(amount: 7)");
    }
  });

  it("a read and orders() hide the secrets of the connection in a reason, also of a custom error", async () => {
    const secret = "s3cret-of-the-url";
    const errors = ["error Odd(string why)"];
    for (const data of [
      encodeRevertData(`no ${secret}`),
      new Interface(errors).encodeErrorResult("Odd", [`no ${secret}`]),
    ]) {
      const node = nodeThatReverts(data);
      const redactor = new Redactor();
      redactor.keep(secret);
      const client = new VaultClient(
        node,
        { vault: VAULT, trading: VAULT },
        {
          abis: [errors],
          rpc: new RpcClient(node, "testnet", new KnownNode(redactor)),
        },
      );
      const { message } = await expectVaultError(
        client.queryVolume(),
        "VAULT_CALL_REVERTED",
      );
      const [first] = await Array.fromAsync(client.orders({ ids: [1, 2] }));
      for (const text of [message, inspect(first)]) {
        expect(text).to.include("no <hidden>").and.not.include(secret);
      }
    }
  });

  it("a read shows a reason without the characters that change a terminal's text", async () => {
    const errors = ["error Odd(string why)"];
    const why = "no\u202eon";
    for (const data of [
      encodeRevertData(why),
      new Interface(errors).encodeErrorResult("Odd", [why]),
    ]) {
      const { message, details } = await expectVaultError(
        new VaultClient(
          nodeThatReverts(data),
          { vault: VAULT },
          { abis: [errors] },
        ).queryVolume(),
        "VAULT_CALL_REVERTED",
      );
      for (const shown of [message, String(details["reason"])]) {
        expect(shown).to.include("no").and.not.include("\u202e");
      }
    }
  });

  it("a client refuses names that every object has: VAULT_INVALID_ENUM, VAULT_INVALID_ARGUMENT", async () => {
    const client = new VaultClient(odd, { vault: VAULT });
    const name = "toString";
    const addresses = Object.fromEntries([[name, VAULT]]);
    await expectVaultError(
      // the types refuse this mistake
      () => client.getLPAmountInfo(name as "public"),
      "VAULT_INVALID_ENUM",
    );
    await expectVaultError(
      () => client.at(addresses),
      "VAULT_INVALID_ARGUMENT",
    );
  });

  it("a client is printed without its provider", () => {
    const client = new VaultClient(odd, {}, { networkName: "testnet" });
    expect(inspect(client)).to.equal("VaultClient { networkName: 'testnet' }");
  });

  it("a client refuses what is no ABI, and names its place: VAULT_INVALID_ARGUMENT", async () => {
    for (const [bad, problem] of [
      ["{", "JSON"],
      ["{}", "an ABI is a list"],
      [["error ("], "expected ID"],
    ] as const) {
      const abis = [["error Paused()"], bad];
      const { details } = await expectVaultError(
        () => new VaultClient(odd, {}, { abis }),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(details["where"]).to.equal("abis[1]");
      expect(details["problem"]).to.include(problem);
    }
  });

  it("a subclass keeps its methods, its addresses and its sender in a copy of at() and in every read", async () => {
    class MarginVault extends VaultClient {
      public readonly factor = 2n;
      public async twice(): Promise<bigint> {
        return this.factor * (await this.queryVolume());
      }
      public override async addressOf(role: ContractRole) {
        const address: Address = role === "vaultFactory" ? FACTORY : VAULT;
        return await Promise.resolve({ address, source: "a subclass" });
      }
      protected override defaultFrom(): string {
        return FROM;
      }
    }
    const node = nodeOfAddresses();
    const vault = new MarginVault(node, {});
    expect(await vault.at({}).twice()).to.equal(2n * BigInt(VAULT));
    expect((await vault.snapshot()).minXMargin).to.equal(BigInt(FACTORY));
    expect(await vault.minXMargin({ timeout: 9_000 })).to.equal(
      BigInt(FACTORY),
    );
    expect(vault.at({}).contracts).not.to.equal(vault.contracts);
    const asked = node.asked.filter(({ method }) => method === "eth_call");
    expect(askedOf({ asked }, "from")).to.deep.equal(asked.map(() => FROM));
  });

  it("a client reads a block and the chain id, and names a network without a name", async () => {
    const client = new VaultClient(nodeOfAddresses(), {});
    expect(await client.block()).to.deep.equal({
      number: 5,
      timestamp: 1_700_000_005,
    });
    expect((await client.block(3)).number).to.equal(3);
    expect(await client.chainId()).to.equal(31_337);
    const { message } = await expectVaultError(
      client.addressOf("vault"),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(message).to.include("on network of the given provider");
  });

  it("snapshot() does not put the lens in the place of a contract that it reads", async () => {
    const node = nodeOfAddresses();
    const client = new VaultClient(node, {
      vault: VAULT,
      vaultFactory: FACTORY,
    });
    const { volume } = await client.snapshot({ from: VAULT });
    expect(volume).to.equal(BigInt(VAULT));
    expect(
      node.asked.filter(({ params }) => params.length === 3),
    ).to.deep.equal([]);
  });

  it("addresses has the addresses of contracts that have one, for at()", async () => {
    const node = nodeOfAddresses();
    const client = new VaultClient(node, { vault: VAULT.toLowerCase() });
    const addresses = await client.at({ vaultFactory: FACTORY }).addresses;
    expect(addresses).to.deep.equal({
      vault: VAULT,
      vaultFactory: (await client.at({ vault: FACTORY }).addressOf("vault"))
        .address,
    });
    expect(await client.at(addresses).addresses).to.deep.equal(addresses);
    expect(node.asked).to.deep.equal([]);
  });

  it("from is whatever has an address, as a contract of ethers: each read calls as it", async () => {
    const node = nodeOfAddresses();
    const client = new VaultClient(node, {
      vault: VAULT,
      trading: OTHER_VAULT,
    });
    for (const from of [
      FROM,
      { address: FROM },
      { getAddress: async () => await Promise.resolve(FROM) },
      client.at({ vault: FROM }).contracts.vault,
    ]) {
      node.asked.length = 0;
      await client.queryVolume({ from });
      await client.snapshot({ from });
      await Array.fromAsync(client.orders({ from, ids: [1] }));
      const senders = node.asked
        .filter(({ method }) => method === "eth_call")
        .map(({ params }) => fieldsOf(params[0])["from"]);
      expect(new Set(senders)).to.deep.equal(new Set([FROM]));
    }
    await expectVaultError(
      // the types refuse it
      client.queryVolume({ from: { getAddress: () => 7 } as never }),
      "VAULT_INVALID_ADDRESS",
    );
  });

  it("snapshot({ strict: true }) and orders({ strict: true }) throw the error of what fails, and name it", async () => {
    const node = nodeOfAddresses();
    const client = new VaultClient(node, {
      vault: VAULT,
      trading: OTHER_VAULT,
    });
    await expectVaultError(
      client.snapshot({ strict: true }),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    const all = Object.fromEntries(
      Object.keys(contractRoles).map((role) => [role, OTHER_VAULT]),
    );
    const { details } = await expectVaultError(
      new VaultClient(node, all).snapshot({ strict: true }),
      "VAULT_CALL_REVERTED",
    );
    expect(details["operation"]).to.equal("getFundingFeeRate");
    for (const ids of [[7], [7, 8]]) {
      const orders = client.orders({ strict: true, ids });
      const { message } = await expectVaultError(
        orders.next(),
        "VAULT_CALL_REVERTED",
      );
      expect(message).to.include("getOrderInfo of order 7 reverted");
    }
  });
});
