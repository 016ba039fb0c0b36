import { inspect } from "node:util";

import { expect } from "chai";
import { toBeHex } from "ethers";

import {
  VaultClient,
  contractRoles,
  operations,
} from "../../src/client/index.js";
import type { Address, ContractRole } from "../../src/protocol/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { fieldsOf } from "../helpers/fields.js";
import { SECOND } from "../helpers/names.js";
import { FACTORY, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const OTHER_VAULT = "0x00000000000000000000000000000000000000B1";

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
    // It has no address, which is no error until it is used.
    expect(contracts.trading).to.not.equal(contracts.vault);
    expect(node.asked).to.deep.equal([]);
    expect(await contracts.vault.queryVolume()).to.equal(BigInt(VAULT));
    const { details, message } = await expectVaultError(
      contracts.vaultFactory.minSLDMargin(),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
    expect(message).to.include("on network of the given provider");
    expect(details["path"]).to.equal(
      '"vaultFactory" of the client\'s addresses',
    );
  });

  it("a client's contracts can be called after a wallet has changed to another chain", async () => {
    const node = nodeOfAddresses();
    const { contracts } = new VaultClient(node, { vault: VAULT });
    await contracts.vault.queryVolume();
    node.on("eth_chainId", () => "0x2");
    expect(await contracts.vault.queryVolume()).to.equal(BigInt(VAULT));
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
    await expectVaultError(client.addresses, "VAULT_INVALID_ADDRESS");
  });

  it("a client keeps all but the addresses that are given to at()", async () => {
    const node = nodeOfAddresses();
    const own = new VaultClient(
      node,
      { vault: VAULT, vaultFactory: FACTORY },
      {
        from: SECOND,
        networkName: "testnet",
        abis: [["error Odd()"]],
      },
    );
    const other = own.at({ vault: OTHER_VAULT });
    await other.queryVolume();
    await other.minXMargin();
    expect(askedOf(node, "to")).to.deep.equal([OTHER_VAULT, FACTORY]);
    expect(askedOf(node, "from")).to.deep.equal([SECOND, SECOND]);
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

  it("a client is printed without its provider", () => {
    const options = { networkName: "testnet" };
    const client = new VaultClient(nodeOfAddresses(), {}, options);
    expect(inspect(client)).to.equal("VaultClient { networkName: 'testnet' }");
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
      protected override defaultCaller(): string {
        return SECOND;
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
    expect(askedOf({ asked }, "from")).to.deep.equal(asked.map(() => SECOND));
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
    const client = new VaultClient(nodeOfAddresses(), {
      vault: VAULT.toLowerCase(),
    });
    const addresses = await client.at({ vaultFactory: SECOND }).addresses;
    expect(addresses).to.deep.equal({ vault: VAULT, vaultFactory: SECOND });
  });

  it("from is whatever has an address, as a contract of ethers or a WalletClient of viem", async () => {
    const node = nodeOfAddresses();
    const client = new VaultClient(node, { vault: VAULT });
    for (const from of [
      { address: SECOND },
      { account: { address: SECOND } },
      {
        own: SECOND,
        async getAddress() {
          return await Promise.resolve(this.own);
        },
      },
    ]) {
      await client.queryVolume({ from });
    }
    const own = { from: { address: SECOND } };
    await new VaultClient(node, { vault: VAULT }, own).queryVolume();
    expect(askedOf(node, "from")).to.deep.equal(
      Array.from({ length: 4 }, () => SECOND),
    );
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
    const { message, cause } = await expectVaultError(
      client.orders({ strict: true, ids: [7, 8] }).next(),
      "VAULT_CALL_REVERTED",
    );
    expect(cause).to.have.property("data", "0x12345678");
    expect(message).to.include("getOrderInfo of order 7 reverted");
  });
});

describe("client - a client that waits", () => {
  speedUpTime();

  for (const method of ["eth_call", "eth_getCode"]) {
    it(`a read ends with its signal while ${method} is not answered`, async () => {
      const stop = new AbortController();
      const { signal } = stop;
      const node = new ScriptedNode({
        answerOf: () => ({ reverted: false, data: "0x" }),
      });
      node.on(method, async () => {
        stop.abort("enough");
        return await new Promise(() => undefined);
      });
      const client = new VaultClient(node, { vault: VAULT });
      const [end] = await Promise.allSettled([client.queryVolume({ signal })]);
      expect(end).to.deep.equal({ status: "rejected", reason: "enough" });
    });
  }

  it("a read and a snapshot throw VAULT_RPC_TIMEOUT after their timeout if an address is never found", async () => {
    const locate = async (): Promise<never> =>
      await new Promise(() => undefined);
    const client = new VaultClient(nodeOfAddresses(), locate);
    // Those of at() need no others.
    const located = await client.at({ vault: VAULT }).addressOf("vault");
    expect(located.address).to.equal(VAULT);
    for (const read of [
      async () => await client.queryVolume({ timeout: 1_000 }),
      async () => await client.queryVolume(),
      async () => await client.snapshot({ timeout: 1_000 }),
      async () => await client.snapshot(),
    ]) {
      await expectVaultError(read, "VAULT_RPC_TIMEOUT");
    }
  });
});
