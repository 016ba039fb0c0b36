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

const words = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, index) => word(first + index));

const cases: ReadonlyArray<[string, ContractRole, string, string[]]> = [
  [
    "getFundingFeeRate of CALL",
    "underlyingAsset",
    `0xc138aa5f${word(1)}`,
    [word(1)],
  ],
  [
    "getFundingFeeRate of PUT",
    "underlyingAsset",
    `0xc138aa5f${word(2)}`,
    [word(2)],
  ],
  [
    "getLatestRoundInfo",
    "vaultFactory",
    "0x2016e80b",
    // strikePrice to settledPrice, settledAmount, settled
    [...words(11, 18), MAX_WORD, word(1)],
  ],
  [
    "getOrderInfo",
    "trading",
    `0xd311636b${ORDER_ARGUMENT}`,
    [
      word(13 * 32), // exType: thirteen words before its length
      word(0x70997970c51812dc3a010c7d01b50e0d17dc79c8n), // holder
      ...words(21, 29), // number to closePrice
      word(7), // contractType
      word(255), // state
      word(35), // length of exType: 33 characters, of 35 bytes in UTF-8
      // "ÄTH/USDT 🚀 longer than one word"
      `c38454482f5553445420f09f9a8020${hexOf("longer than one w")}`,
      `${hexOf("ord")}${"00".repeat(29)}`,
    ],
  ],
  [
    "calMargins",
    "vault",
    `0xb6624fb0${word(1)}${word(2)}${word(3)}`,
    words(41, 42),
  ],
  [
    "getLPAmountInfo of the private pool",
    "privatePool",
    "0x53ac2d24",
    words(34, 36),
  ],
  [
    "getLPAmountInfo of the public pool",
    "publicPool",
    "0x53ac2d24",
    words(31, 33),
  ],
  ["queryVolume", "vault", "0xa69590a8", [word(45)]],
  ["queryMarginBalance", "vault", "0xea17f924", words(43, 44)],
  ["minXMargin", "vaultFactory", "0x789f4b5a", [word(46)]],
];

function hexOf(ascii: string): string {
  return Buffer.from(ascii, "ascii").toString("hex");
}

describe("raw answers of the mock contracts", () => {
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

  for (const [what, role, data, expected] of cases) {
    it(`mocks return exactly the documented words of ${what}`, async () => {
      expect(await call(role, data)).to.equal(answer(...expected));
    });
  }

  it("settleAll of the mock returns no data", async () => {
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
    it(`getOrderInfo of the mock pads a text of ${length} bytes to ${paddedTo}`, async () => {
      await mocks.set({
        orders: { [String(ORDER_ID)]: { exType: "x".repeat(length) } },
      });
      const raw = String(await call("trading", `0xd311636b${ORDER_ARGUMENT}`));
      expect(raw.slice(2 + 13 * 64)).to.equal(
        word(length) + "78".repeat(length) + "00".repeat(paddedTo - length),
      );
    });
  }

  it("getOrderInfo of the mock returns bytes that are not UTF-8 as they are", async () => {
    const { trading } = mocks.contracts;
    const [signer] = await vault.connection.ethers.getSigners();
    const order = await vault.getOrderInfo(ORDER_ID);
    const exType = Uint8Array.of(0xff, 0x00, 0xc3, 0x28);
    await trading.connect(signer).setOrder(ORDER_ID, { ...order, exType });
    const raw = String(await call("trading", `0xd311636b${ORDER_ARGUMENT}`));
    expect(raw.slice(2 + 13 * 64)).to.equal(
      `${word(4)}ff00c328${"00".repeat(28)}`,
    );
  });

  it("getOrderInfo of the mock returns zeros and an empty text for a missing order", async () => {
    const raw = await call("trading", `0xd311636b${word(404)}`);
    expect(raw).to.equal(
      answer(word(13 * 32), ...Array.from({ length: 13 }, () => word(0))),
    );
  });

  it("getFundingFeeRate of the mock reverts for a contract type that is neither CALL nor PUT", async () => {
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
    it(`the ${role} mock reverts if it is called with ${data}`, async () => {
      const error: unknown = await call(role, data).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(Error);
    });
  }
});
