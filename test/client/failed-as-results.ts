import { expect } from "chai";
import { Interface } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultClient, isFailedOrder } from "../../src/client/index.js";
import type { ListedOrder, OrdersOptions } from "../../src/client/index.js";
import type { MockVaultHandle } from "../../src/mocks/index.js";
import { operations } from "../../src/protocol/index.js";
import { tryCall } from "../../src/rpc/chain.js";
import { expectVaultError } from "../helpers/assertions.js";
import { deployInstance } from "../helpers/deployment/deploy.js";
import { createTestHre } from "../helpers/hre.js";
import { Waves } from "../helpers/waves.js";

const frozen = new Interface(["error Frozen(uint256 id)"]);

describe("client - a network that returns failed calls as results", () => {
  let connection: NetworkConnection;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre({
      networks: {
        default: { type: "edr-simulated", throwOnCallFailures: false },
      },
    });
    connection = await hre.network.create("default");
  });
  beforeEach(async () => {
    mocks = await connection.vault.deployMocks({ scenario: "as-deployed" });
  });
  after(async () => {
    await connection.close();
  });

  const read = async (
    options: OrdersOptions,
  ): Promise<{ orders: readonly ListedOrder[]; requests: number }> => {
    const behind = new Waves(connection.provider);
    const client = new VaultClient(behind, mocks.addresses);
    const orders = await Array.fromAsync(client.orders(options));
    return { orders, requests: behind.requests };
  };

  it("orders() ends where unknown ids use up all gas", async () => {
    const { orders, requests } = await read({});
    expect(orders.map(({ orderID }) => orderID)).to.deep.equal([
      ...[0n, 1n, 2n, 4n, 5n],
    ]);
    expect(orders.filter(isFailedOrder)).to.deep.equal([]);
    expect(requests).to.be.below(50);
  });

  it("orders() of a contract without an order is empty, and a chosen id there returns nothing", async () => {
    const { contracts } = await deployInstance(connection.provider, {
      orders: 0,
    });
    const client = new VaultClient(connection.provider, contracts);
    expect(await Array.fromAsync(client.orders())).to.deep.equal([]);
    const chosen = await Array.fromAsync(client.orders({ ids: [1, 2] }));
    expect(
      chosen.map((order) => isFailedOrder(order) && order.error.code),
    ).to.deep.equal([
      "VAULT_RETURN_DATA_MALFORMED",
      "VAULT_RETURN_DATA_MALFORMED",
    ]);
  });

  it("orders() ends there, too, if each order is a call of its own", async () => {
    const { trading: from } = mocks.addresses;
    const { orders, requests } = await read({ from });
    expect(orders.map(({ orderID }) => orderID)).to.deep.equal([
      ...[0n, 1n, 2n, 4n, 5n],
    ]);
    expect(requests).to.be.below(100);
  });

  for (const [title, failure, reason] of [
    ["Error(string)", "the desk is closed", "the desk is closed"],
    ["Panic(uint256)", { panic: 0x12 }, "Division or modulo"],
    [
      "a custom error of the mocks",
      { customError: "OrderNotFound", args: [9n] },
      "OrderNotFound(orderID: 9)",
    ],
    [
      "a custom error of the project",
      { data: frozen.encodeErrorResult("Frozen", [9n]) },
      "Frozen(id: 9)",
    ],
  ] as const) {
    it(`a read tells the reason of a revert that comes as a result: ${title}`, async () => {
      await mocks.fail("queryVolume", failure);
      await mocks.fail("getOrderInfo", failure);
      const client = new VaultClient(connection.provider, mocks.addresses, {
        abis: [["error Frozen(uint256 id)"]],
      });
      for (const each of [
        async () => await client.queryVolume(),
        async () => await client.getOrderInfo(1n),
        async () => {
          await Array.fromAsync(client.orders({ ids: [1n], strict: true }));
        },
      ]) {
        const error = await expectVaultError(each, "VAULT_CALL_REVERTED");
        expect(error.details["reason"]).to.include(reason);
      }
    });
  }

  it("tryCall() tells the reason why a settlement would revert", async () => {
    const { rpc } = mocks.vault;
    const { vault: to, trading: from } = mocks.addresses;
    const { selector: data } = operations.settleAll;
    const attempt = async (): Promise<unknown> =>
      (await tryCall(rpc, { from, to, data }, "latest", 1_000_000n))?.text;
    expect(await attempt()).to.equal(undefined);
    await mocks.fail("settleAll", "the feed has no price");
    expect(await attempt()).to.equal("the feed has no price");
  });

  it("a read refuses bytes that are no revert it knows", async () => {
    const data = `${frozen.encodeErrorResult("Frozen", [9n])}${"00".repeat(64)}`;
    await mocks.fail("queryVolume", { data });
    await expectVaultError(
      mocks.vault.queryVolume(),
      "VAULT_RETURN_DATA_MALFORMED",
    );
  });
});
