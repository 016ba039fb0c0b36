import { expect } from "chai";
import { AbiCoder, concat, getAddress, toBeHex } from "ethers";

import {
  VaultClient,
  VaultError,
  isFailedOrder,
  isFailedReading,
} from "../../src/client/index.js";
import type { Eip1193Provider } from "../../src/client/index.js";
import { encodeCall } from "../../src/client/codec.js";
import { locate, readNewest } from "../../src/client/read-at-block.js";
import { toJsonValue } from "../../src/json.js";
import type { MockVaultHandle } from "../../src/types.js";
import { differentNodes } from "../helpers/every-node.js";
import type { TestNode } from "../helpers/every-node.js";
import { fieldsOf } from "../helpers/fields.js";
import { connectTo } from "../helpers/hre.js";
import { compileFixture } from "../helpers/solc.js";
import { deployCode } from "../helpers/transactions.js";

const CALLER = "0x00000000000000000000000000000000000A11cE";
const NO_CODE = "0x000000000000000000000000000000000000dEaD";
const LAST_ID = 60n;
/** Runtime code of contracts that answer every call alike. */
const codes = {
  /** The caller, as a word. */
  caller: "0x3360005260206000f3",
  threeBytes: "0x60036000f3",
  /** Sixteen words, each of them 0xff…ff. */
  allOnes: `0x${Array.from({ length: 16 }, (_, index) => `60001961${toBeHex(index * 32, 2).slice(2)}52`).join("")}6102006000f3`,
  /** Reads one storage slot after the other, until the gas is used up. */
  endlessLoop: "0x60005b805450600101600256",
  /** 20,000 bytes of zeros. */
  long: "0x614e206000f3",
  invalidOpcode: "0xfe",
  silentRevert: "0x60006000fd",
  /** Returns 7 to callers without code, and reverts for the others. */
  accountsOnly: "0x333b600f57600760005260206000f35b60006000fd",
} as const;

async function placeCode(
  provider: Eip1193Provider,
  code: keyof typeof codes,
): Promise<string> {
  const place = 0xc0de00 + Object.keys(codes).indexOf(code);
  const address = getAddress(toBeHex(place, 20));
  const params = [address, codes[code]];
  await provider.request({ method: "hardhat_setCode", params });
  return address;
}

/** Changes the params of each `eth_call`. */
const changingCalls = (
  provider: Eip1193Provider,
  change: (params: readonly unknown[]) => readonly unknown[],
): Eip1193Provider => ({
  request: async ({ method, params = [] }) =>
    await provider.request({
      method,
      params: method === "eth_call" ? change(params) : params,
    }),
});

/** A node that knows eth_call with two params only. */
const withoutOverrides = (provider: Eip1193Provider): Eip1193Provider =>
  changingCalls(provider, (params) => {
    if (params.length === 3) {
      throw Object.assign(new Error("too many arguments"), { code: -32602 });
    }
    return params;
  });

/** A node that gives each call 3 million gas. */
const capped = (provider: Eip1193Provider): Eip1193Provider =>
  changingCalls(provider, ([call, ...rest]) => [
    { ...fieldsOf(call), gas: "0x2dc6c0" },
    ...rest,
  ]);

/** The order by a call of its own, or the code of the error. */
async function readAlone(client: VaultClient, id: bigint): Promise<unknown> {
  try {
    return { orderID: id, ...(await client.getOrderInfo(id)) };
  } catch (error) {
    return VaultError.isVaultError(error) ? [id, error.code] : error;
  }
}

for (const { name, start } of differentNodes) {
  describe(`client - reads of ${name}`, () => {
    let node: TestNode;
    let provider: Eip1193Provider;
    let mocks: MockVaultHandle;

    before(async () => {
      node = await start();
      const connection = await connectTo(node.url);
      ({ provider } = connection);
      mocks = await connection.vault.deployMocks();
    });
    after(async () => {
      await node.stop();
    });

    it("orders() lists hostile orders as single reads do, also if a call has 3 million gas", async () => {
      await mocks.set({ generatedOrders: { firstId: 1n, lastId: 1_000_000n } });
      // It answers as the mock, but for some ids.
      const { evm } = compileFixture("HostileTrading.sol", "HostileTrading");
      const good = AbiCoder.defaultAbiCoder().encode(
        ["address"],
        [mocks.addresses.trading],
      );
      const code = concat([`0x${evm.bytecode.object}`, good]);
      const trading = await deployCode(provider, code);
      for (const asked of [provider, capped(provider)]) {
        const client = new VaultClient(asked, { trading });
        const scanned = await Array.fromAsync(
          client.orders({ firstId: 1n, lastId: LAST_ID }),
        );
        expect(scanned).to.have.length(Number(LAST_ID));
        for (const order of scanned) {
          expect(
            isFailedOrder(order) ? [order.orderID, order.error.code] : order,
          ).to.deep.equal(await readAlone(client, order.orderID));
        }
      }
    });

    it("snapshot() returns the same in one call and contract by contract, whatever the contracts do", async () => {
      const { addresses } = mocks;
      const at = async (code: keyof typeof codes): Promise<string> =>
        await placeCode(provider, code);
      const others = {
        ...addresses,
        underlyingAsset: await at("endlessLoop"),
        publicPool: await at("threeBytes"),
        privatePool: NO_CODE,
        vaultFactory: await at("allOnes"),
        vault: await at("long"),
      };
      const failing = {
        ...addresses,
        publicPool: await at("invalidOpcode"),
        privatePool: await at("silentRevert"),
        vault: await at("accountsOnly"),
      };
      for (const [contracts, isRefused] of [
        [addresses, false],
        [others, true],
        [failing, false],
      ] as const) {
        const [inOneCall, callByCall] = await Promise.all(
          [provider, withoutOverrides(provider)].map(
            async (asked) => await new VaultClient(asked, contracts).snapshot(),
          ),
        );
        expect(toJsonValue(callByCall)).to.deep.equal(toJsonValue(inOneCall));
        expect(isFailedReading(inOneCall?.volume)).to.equal(isRefused);
      }
    });

    it("readNewest() has the number and the time of the newest block's header", async () => {
      const client = new VaultClient(provider, mocks.addresses);
      const context = client.readContext();
      const call = await locate(context, encodeCall("queryVolume", []));
      const found = await readNewest(context, [call]);
      expect(found?.block).to.deep.equal(await client.block());
    });

    it("snapshot() lets the contracts see the caller and the block that are given", async () => {
      const vault = await placeCode(provider, "caller");
      const client = new VaultClient(provider, { ...mocks.addresses, vault });
      const { number } = await client.block();
      await provider.request({ method: "hardhat_mine", params: ["0x2"] });
      const past = await client.snapshot({ from: CALLER, blockTag: number });
      expect(past.block).to.deep.equal(await client.block(number));
      const latest = await client.snapshot({ from: CALLER });
      expect(latest.block).to.deep.equal(await client.block());
      expect(latest.block.number).to.equal(number + 2);
      expect(latest.volume).to.equal(BigInt(CALLER));
      expect((await client.snapshot()).volume).to.equal(0n);
    });
  });
}

describe("client - reads of a connection", () => {
  it("snapshot() numbers blocks as their headers do, whatever contracts see", async () => {
    const { provider } = await connectTo(undefined);
    // arbBlockNumber() of ArbSys: answers 0x123456.
    await provider.request({
      method: "hardhat_setCode",
      params: [toBeHex(0x64, 20), "0x6212345660005260206000f3"],
    });
    const client = new VaultClient(provider, {});
    await provider.request({ method: "hardhat_mine", params: ["0x5"] });
    expect((await client.snapshot()).block.number).to.equal(5);
    expect((await client.snapshot({ blockTag: 0 })).block.number).to.equal(0);
  });
});
