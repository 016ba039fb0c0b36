import { expect } from "chai";
import { toBeHex } from "ethers";

import { VaultClient } from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import {
  deployInstance,
  deployInstances,
  outages,
  sendTo,
} from "../helpers/deployment/deploy.js";
import { connectTo } from "../helpers/hre.js";

const ORDERS = 100;
const getOrderInfo = (id: number): string =>
  `0xd311636b${toBeHex(id, 32).slice(2)}`;

describe("contracts that behave as the deployed ones", () => {
  let provider: Eip1193Provider;

  before(async () => {
    ({ provider } = await connectTo(undefined));
  });
  const call = async (
    to: string,
    data: string,
    gas = 200_000,
  ): Promise<unknown> =>
    await provider.request({
      method: "eth_call",
      params: [{ to, data, gas: toBeHex(gas) }, "latest"],
    });

  it("the trading contract has ids from 0 on, and INVALID behind the last one", async () => {
    const { contracts } = await deployInstance(provider, { orders: ORDERS });
    const { trading } = contracts;
    const client = new VaultClient(provider, { trading });
    expect((await client.getOrderInfo(0)).exType).to.equal("ETHDAI");
    expect((await client.getOrderInfo(ORDERS - 1)).exType).to.equal("ETHDAI");
    const failure = await call(trading, getOrderInfo(ORDERS)).catch(String);
    expect(failure).to.match(/invalid opcode/iu);
  });

  it("the trading contract opens orders behind those that it was given, pairs of any length among them", async () => {
    const instance = await deployInstance(provider, { orders: ORDERS });
    const pair = "X".repeat(10_000);
    await sendTo(provider, instance, "Trading", "open", pair, 2);
    const client = new VaultClient(provider, instance.contracts);
    expect(await client.getOrderInfo(ORDERS)).to.include({
      ...{ exType: pair, contractType: 2, state: 1 },
    });
  });

  it("three instances share their underlying asset, and have the decimals of their stable coin", async () => {
    const { dai, usdt, usdc } = await deployInstances(provider, {
      dai: {},
      usdt: {},
      usdc: { decimals: 6 },
    });
    expect([usdt, usdc].map(({ contracts }) => contracts.underlyingAsset))
      .to //
      .eql(Array.from({ length: 2 }, () => dai.contracts.underlyingAsset));
    const deposits = [dai, usdt, usdc].map(
      async ({ contracts }) =>
        (await new VaultClient(provider, contracts).getLPAmountInfo("public"))
          .deposit,
    );
    expect(await Promise.all(deposits)).to.eql(
      [18n, 18n, 6n].map((decimals) => 900_000n * 10n ** decimals),
    );
    expect(new Set(Object.values(dai.contracts)).size).to.equal(6);
  });

  it("the funding rate reverts while its feed has no price, and the private pool while too much is locked", async () => {
    const instance = await deployInstance(provider);
    const client = new VaultClient(provider, instance.contracts);
    for (const outage of [outages.text, outages.silent, outages.zero]) {
      await sendTo(provider, instance, "PriceFeed", "setOutage", outage);
      const rate = client.getFundingFeeRate(1);
      await expectVaultError(rate, "VAULT_CALL_REVERTED");
    }
    await sendTo(provider, instance, "PrivatePool", "setLocked", 10n ** 30n);
    const pool = client.getLPAmountInfo("private");
    const { details } = await expectVaultError(pool, "VAULT_CALL_REVERTED");
    expect(details["reason"]).to.contain("subtraction overflow");
  });
});
