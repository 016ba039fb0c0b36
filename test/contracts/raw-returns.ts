import { expect } from "chai";
import { id } from "ethers";

import type { HardhatVault } from "../../src/plugin/hardhat-vault.js";
import type { MockVaultHandle } from "../../src/types.js";
import type { ContractRole } from "../../src/protocol/index.js";
import { distinctState, ORDER_ID } from "../helpers/distinct-state.js";
import { createTestHre } from "../helpers/hre.js";

// Every expected answer is written out here, word by word, from the protocol's
// sections 2 and 4: no encoder is asked.
const word = (value: bigint | number): string =>
  BigInt(value).toString(16).padStart(64, "0");
const answer = (...words: string[]): string => `0x${words.join("")}`;
const MAX_WORD = "f".repeat(64);

const ORDER_ARGUMENT = word(ORDER_ID);

const cases: ReadonlyArray<{
  readonly what: string;
  readonly role: ContractRole;
  readonly data: string;
  readonly expected: string;
}> = [
  {
    what: "getFundingFeeRate of CALL",
    role: "underlyingAsset",
    data: `0xc138aa5f${word(1)}`,
    expected: answer(word(1)),
  },
  {
    what: "getFundingFeeRate of PUT",
    role: "underlyingAsset",
    data: `0xc138aa5f${word(2)}`,
    expected: answer(word(2)),
  },
  {
    what: "getLatestRoundInfo",
    role: "vaultFactory",
    data: "0x2016e80b",
    expected: answer(
      word(11), // strikePrice
      word(12), // APY
      word(13), // maxVolume
      word(14), // filledVolume
      word(15), // minDeposit
      word(16), // startTime
      word(17), // endTime
      word(18), // settledPrice
      MAX_WORD, // settledAmount
      word(1), // settled
    ),
  },
  {
    what: "getOrderInfo",
    role: "trading",
    data: `0xd311636b${ORDER_ARGUMENT}`,
    expected: answer(
      word(13 * 32), // exType: thirteen words before its length
      word(0x70997970c51812dc3a010c7d01b50e0d17dc79c8n), // holder
      word(21), // number
      word(22), // exFee
      word(23), // lockFee
      word(24), // newLockFee
      word(25), // openPrice
      word(26), // marginAmount
      word(27), // marginFee
      word(28), // startTime
      word(29), // closePrice
      word(7), // contractType
      word(255), // state
      word(35), // length of exType: 33 characters, of 35 bytes in UTF-8
      // "ÄTH/USDT 🚀 longer than one word"
      "c384" +
        "54482f55534454" +
        "20" +
        "f09f9a80" +
        "20" +
        hexOf("longer than one w"),
      `${hexOf("ord")}${"00".repeat(29)}`,
    ),
  },
  {
    what: "calMargins",
    role: "vault",
    data: `0xb6624fb0${word(1)}${word(2)}${word(3)}`,
    expected: answer(word(41), word(42)),
  },
  {
    what: "getLPAmountInfo of the private pool",
    role: "privatePool",
    data: "0x53ac2d24",
    expected: answer(word(34), word(35), word(36)),
  },
  {
    what: "getLPAmountInfo of the public pool",
    role: "publicPool",
    data: "0x53ac2d24",
    expected: answer(word(31), word(32), word(33)),
  },
  {
    what: "queryVolume",
    role: "vault",
    data: "0xa69590a8",
    expected: answer(word(45)),
  },
  {
    what: "queryMarginBalance",
    role: "vault",
    data: "0xea17f924",
    expected: answer(word(43), word(44)),
  },
  {
    what: "minXMargin",
    role: "vaultFactory",
    data: "0x789f4b5a",
    expected: answer(word(46)),
  },
];

function hexOf(ascii: string): string {
  return Buffer.from(ascii, "ascii").toString("hex");
}

describe("contracts - raw answers of the mocks", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
    mocks = await vault.deployMocks({ overrides: distinctState });
  });

  const call = async (role: ContractRole, data: string): Promise<unknown> =>
    await vault.provider.request({
      method: "eth_call",
      params: [{ to: mocks.addresses[role], data }, "latest"],
    });

  for (const { what, role, data, expected } of cases) {
    it(`should answer exactly the documented words of ${what}`, async () => {
      expect(await call(role, data)).to.equal(expected);
    });
  }

  it("should answer nothing to settleAll", async () => {
    await mocks.set({ round: { settled: false } });
    expect(await call("vault", "0xa015aefe")).to.equal("0x");
  });

  for (const [length, paddedTo] of [
    [0, 0],
    [1, 32],
    [31, 32],
    [32, 32],
    [33, 64],
    [100, 128],
  ] as const) {
    it(`should pad a text of ${length} bytes to ${paddedTo}`, async () => {
      await mocks.set({
        orders: { [String(ORDER_ID)]: { exType: "x".repeat(length) } },
      });
      const raw = String(await call("trading", `0xd311636b${ORDER_ARGUMENT}`));
      expect(raw.slice(2 + 13 * 64)).to.equal(
        word(length) + "78".repeat(length) + "00".repeat(paddedTo - length),
      );
    });
  }

  it("should answer bytes that are not UTF-8 as they are", async () => {
    const bytes = Uint8Array.of(0xff, 0x00, 0xc3, 0x28);
    await mocks.set({ orders: { [String(ORDER_ID)]: { exType: bytes } } });
    const raw = String(await call("trading", `0xd311636b${ORDER_ARGUMENT}`));
    expect(raw.slice(2 + 13 * 64)).to.equal(
      `${word(4)}ff00c328${"00".repeat(28)}`,
    );
  });

  it("should answer zeros for a missing order, with an empty text", async () => {
    const raw = await call("trading", `0xd311636b${word(404)}`);
    expect(raw).to.equal(
      answer(word(13 * 32), ...Array.from({ length: 13 }, () => word(0))),
    );
  });

  it("should refuse a contract type that is neither CALL nor PUT", async () => {
    const refused = call("underlyingAsset", `0xc138aa5f${word(3)}`);
    const error: unknown = await refused.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error);
    expect(String(Reflect.get(Object(error), "data"))).to.equal(
      `${id("UnknownContractType(uint8)").slice(0, 10)}${word(3)}`,
    );
  });

  for (const [role, data] of [
    ["trading", "0x"],
    ["trading", "0xdeadbeef"],
    ["trading", "0xd311636b"],
    ["trading", "0xd311636b00"],
    ["vault", "0xdeadbeef"],
  ] as const) {
    it(`should revert when the ${role} mock is called with ${data}`, async () => {
      const error: unknown = await call(role, data).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(Error);
    });
  }
});
