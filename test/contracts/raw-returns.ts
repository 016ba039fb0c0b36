import { expect } from "chai";
import { id } from "ethers";

import { operations } from "../../src/client/index.js";
import type { ContractRole } from "../../src/client/index.js";
import type { HardhatVault, MockVaultHandle } from "../../src/types.js";
import { distinctState, ORDER_ID } from "../helpers/distinct-state.js";
import { createTestHre } from "../helpers/hre.js";
import { revertOf } from "../helpers/reverts.js";

// Every expected answer is written out here, word by word, from the protocol's
// sections 2 and 4: no encoder is asked.
const word = (value: bigint | number): string =>
  BigInt(value).toString(16).padStart(64, "0");
const words = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, index) => word(first + index));
const hexOf = (ascii: string): string =>
  Buffer.from(ascii, "ascii").toString("hex");

const operationAt = (data: string): string =>
  Object.entries(operations).find(([, { selector }]) =>
    data.startsWith(selector),
  )?.[0] ?? "no operation";

const GET_ORDER = `0xd311636b${word(ORDER_ID)}`;

const documented: ReadonlyArray<[string, ContractRole, string[]]> = [
  [`0xc138aa5f${word(1)}`, "underlyingAsset", [word(1)]],
  [`0xc138aa5f${word(2)}`, "underlyingAsset", [word(2)]],
  // strikePrice to settledPrice, settledAmount, settled
  ["0x2016e80b", "vaultFactory", [...words(11, 18), "f".repeat(64), word(1)]],
  [
    GET_ORDER,
    "trading",
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
  // A missing order: zeros, with an empty text.
  [`0xd311636b${word(404)}`, "trading", [word(13 * 32), word(0).repeat(13)]],
  [`0xb6624fb0${word(1)}${word(2)}${word(3)}`, "vault", words(41, 42)],
  ["0x53ac2d24", "privatePool", words(34, 36)],
  ["0x53ac2d24", "publicPool", words(31, 33)],
  ["0xa69590a8", "vault", [word(45)]],
  ["0xea17f924", "vault", words(43, 44)],
  ["0x789f4b5a", "vaultFactory", [word(46)]],
];

describe("raw answers of the mock contracts", () => {
  let vault: HardhatVault;
  let mocks: MockVaultHandle;

  before(async () => {
    const hre = await createTestHre();
    ({ vault } = await hre.network.create());
    mocks = await vault.deployMocks({ overrides: distinctState });
  });

  const call = async (role: ContractRole, data: string): Promise<string> =>
    String(
      await vault.provider.request({
        method: "eth_call",
        params: [{ to: mocks.addresses[role], data }, "latest"],
      }),
    );

  for (const [data, role, expected] of documented) {
    it(`${operationAt(data)} of the ${role} mock returns the documented words to ${data}`, async () => {
      expect(await call(role, data)).to.equal(`0x${expected.join("")}`);
    });
  }

  it("the vault mock returns nothing to settleAll", async () => {
    await mocks.set({ round: { settled: false } });
    expect(await call("vault", "0xa015aefe")).to.equal("0x");
  });

  it("the trading mock returns exType with its length, padded with zeros, also if it is not UTF-8", async () => {
    const { trading } = mocks.contracts;
    const [signer] = await vault.connection.ethers.getSigners();
    const order = await vault.getOrderInfo(ORDER_ID);
    for (const [exType, padding] of [
      [new Uint8Array(0), 0],
      [new Uint8Array(1).fill(0x78), 31],
      [new Uint8Array(31).fill(0x78), 1],
      [new Uint8Array(32).fill(0x78), 0],
      [new Uint8Array(33).fill(0x78), 31],
      [Uint8Array.of(0xff, 0x00, 0xc3, 0x28), 28],
    ] as const) {
      await trading.connect(signer).setOrder(ORDER_ID, { ...order, exType });
      expect((await call("trading", GET_ORDER)).slice(2 + 13 * 64)).to.equal(
        word(exType.length) +
          Buffer.from(exType).toString("hex") +
          "00".repeat(padding),
      );
    }
  });

  it("a mock reverts for a contract type that is neither CALL nor PUT, unknown selectors and missing arguments", async () => {
    const unknownType = id("UnknownContractType(uint8)").slice(0, 10);
    for (const [role, data, revert] of [
      ["underlyingAsset", `0xc138aa5f${word(3)}`, `${unknownType}${word(3)}`],
      ["trading", "0x", "0x"],
      ["trading", "0xdeadbeef", "0x"],
      ["trading", "0xd311636b", "0x"],
      ["trading", "0xd311636b00", "0x"],
      ["vault", "0xdeadbeef", "0x"],
    ] as const) {
      expect(await revertOf(call(role, data)), data).to.equal(revert);
    }
  });
});
