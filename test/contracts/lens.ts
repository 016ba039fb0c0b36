import { expect } from "chai";
import { Interface, toBeHex } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultLensArtifact } from "../../src/client/lens/artifact.js";
import {
  encodeReadCalls,
  parseLensAnswer,
} from "../../src/client/lens/lens.js";
import type { ReadCall } from "../../src/client/lens/lens.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";

const addressOf = (digits: string): string => `0x${digits.padStart(40, "0")}`;

const LENS = addressOf("1e45");
const ARB_SYS = addressOf("64");
const NOBODY = addressOf("dead");
const GAS = 1_000_000;

/** Returns as many bytes of zeros. */
const returns = (length: number): string =>
  `0x61${length.toString(16).padStart(4, "0")}6000f3`;
const RETURNS_A_WORD = "0x602a60005260206000f3";
const REVERTS_WITH_A_WORD = "0x602a60005260206000fd";
const REVERTS = "0x60006000fd";
const RETURNS_ITS_INPUT = "0x366000600037366000f3";
const RETURNS_THE_GAS = "0x5a60005260206000f3";
/** Returns a word after it has used so much gas. */
const uses = (gas: number): string =>
  `0x5a5b805a900362${gas.toString(16).padStart(6, "0")}11600157602a60005260206000f3`;
/** Uses 120,000 gas and returns zero, as if a call in it had failed; with so much, a word. */
const shortOf = (gas: number): string =>
  `0x5a62${gas.toString(16).padStart(6, "0")}10601c575a5b805a90036201d4c011600a5760206000f35b602a60005260206000f3`;
/** The gas that is left, but for order 5, which is INVALID. */
const INVALID_5 = "0x6004356005146012575a60005260206000f35bfe";
const INVALID = "0xfe";

describe("the lens", () => {
  let connection: NetworkConnection;

  before(async () => {
    connection = await (await createTestHre()).network.create();
  });
  after(async () => {
    await connection.close();
  });

  const request = async (
    method: string,
    ...params: readonly unknown[]
  ): Promise<string> =>
    String(await connection.provider.request({ method, params: [...params] }));
  /** Places code, and returns its address. */
  const place = async (address: string, code: string): Promise<string> => {
    await request("hardhat_setCode", address, code);
    return address;
  };
  const encode = (name: string, ...args: readonly unknown[]): string =>
    new Interface(VaultLensArtifact.abi).encodeFunctionData(name, [...args]);
  const call = async (data: string, gas = GAS): Promise<Buffer> => {
    const to = await place(LENS, VaultLensArtifact.deployedBytecode);
    const tx = { to, data, gas: toBeHex(gas) };
    return Buffer.from(
      (await request("eth_call", tx, "latest")).slice(2),
      "hex",
    );
  };
  /** The answer of the lens, each entry with its data as hex. */
  const read = async (asked: string, gas = GAS) => {
    const answer = parseLensAnswer(await call(asked, gas));
    const entries = answer?.entries.map(({ status, hasCode, start, end }) => ({
      ...{ status, hasCode },
      data: answer.bytes.toString("hex", start, end),
    }));
    return { block: answer?.block, entries: entries ?? [] };
  };
  const readCalls = async (codes: readonly string[]) => {
    const calls: ReadCall[] = [];
    for (const [index, code] of codes.entries()) {
      const address = await place(addressOf(`c0de0${index}`), code);
      calls.push({ address, data: "0x" });
    }
    const nobody = { address: NOBODY, data: "0x1234" };
    return await read(encodeReadCalls([...calls, nobody]));
  };

  it("readCalls() tells what each call returned or reverted with, and whether there is code", async () => {
    const word = "2a".padStart(64, "0");
    const { block, entries } = await readCalls([
      ...[RETURNS_A_WORD, REVERTS_WITH_A_WORD, REVERTS],
    ]);
    const latest = await connection.vault.block();
    expect(block?.number).to.be.within(latest.number, latest.number + 1);
    expect(entries).to.deep.equal([
      { status: "returned", hasCode: true, data: word },
      { status: "reverted", hasCode: true, data: word },
      { status: "reverted", hasCode: true, data: "" },
      { status: "returned", hasCode: false, data: "" },
    ]);
  });

  it("readCalls() sends each call its own data, whatever its length", async () => {
    const address = await place(addressOf("c0de0"), RETURNS_ITS_INPUT);
    const inputs = ["0x", "0x01", `0x${"ab".repeat(5_000)}`, "0x02"];
    const { entries } = await read(
      encodeReadCalls(inputs.map((data) => ({ address, data }))),
    );
    expect(entries.map(({ data }) => `0x${data}`)).to.deep.equal(inputs);
  });

  it("readCalls() makes more calls than a byte can count", async () => {
    const calls = Array(300).fill({ address: NOBODY, data: "0x" });
    expect((await read(encodeReadCalls(calls))).entries).to.have.length(300);
  });

  it("readCalls() passes on 8,192 bytes, and none of a longer answer", async () => {
    const { entries } = await readCalls([returns(8_192), returns(8_193)]);
    expect(entries.map(({ status, data }) => [status, data.length])).to.eql([
      ...[
        ["returned", 2 * 8_192],
        ["tooLong", 0],
      ],
      ["returned", 0],
    ]);
  });

  it("readCalls() gives each call an equal share of the gas that is left", async () => {
    const { entries } = await readCalls(Array(4).fill(RETURNS_THE_GAS));
    const [first, ...others] = entries.map(({ data }) => Number(`0x${data}`));
    expect(first).to.be.within(0.18 * GAS, 0.2 * GAS);
    // Half of what the three before it left.
    expect(others[2]).to.be.within(0.4 * GAS, 0.5 * GAS);
  });

  it("readCalls() tells of a call that used up its share, and the others answer", async () => {
    const { entries } = await readCalls([RETURNS_A_WORD, INVALID, REVERTS]);
    expect(entries.map(({ status }) => status)).to.deep.equal([
      ...["returned", "usedUp", "reverted", "returned"],
    ]);
  });

  const ordersOf = async (
    code: string,
    ids: readonly number[],
    gas?: number,
  ) => {
    const trading = await place(addressOf("77ad"), code);
    const asked = encode("readOrders", trading, 0n, BigInt(ids.length), ids);
    return (await read(asked, gas)).entries;
  };
  const rangeOf = async (
    code: string,
    first: bigint,
    count: bigint,
    gas?: number,
  ) => {
    const trading = await place(addressOf("77ad"), code);
    const asked = encode("readOrders", trading, first, count, []);
    return (await read(asked, gas)).entries;
  };

  const WORD = "2a".padStart(64, "0");
  for (const [used, gas, [least, most], status] of [
    [20_000, GAS, [19, 21], "returned"],
    [300_000, GAS, [2, 2], "returned"],
    [400_000, GAS, [2, 2], "usedUp"],
    [300_000, 10_000_000, [30, 33], "returned"],
  ] as const) {
    it(`readOrders() with ${gas} gas goes on until the next order might not have enough, of orders that use ${used}: ${status}`, async () => {
      const entries = await rangeOf(uses(used), 0n, 100n, gas);
      expect(entries.length).to.be.within(least, most);
      for (const entry of entries) {
        expect(entry.status).to.equal(status);
      }
    });
  }

  it("readOrders() tells whether there is code", async () => {
    for (const [code, expected] of [
      [RETURNS_A_WORD, [true, true]],
      ["0x", [false, false]],
    ] as const) {
      const entries = await rangeOf(code, 0n, 2n);
      expect(entries.map(({ hasCode }) => hasCode)).to.deep.equal(expected);
    }
  });

  it("readOrders() reads an order, or tells that it used up its share, with however little gas", async () => {
    for (let gas = 80_000; gas < 900_000; gas += 10_000) {
      for (const entry of await rangeOf(shortOf(130_000), 0n, 9n, gas)) {
        const isWrong = entry.status === "returned" && entry.data !== WORD;
        expect([entry.status, isWrong], `${gas}`).to.deep.oneOf([
          ["returned", false],
          ["usedUp", false],
        ]);
      }
    }
  });

  it("readOrders() reads on behind an id that uses up its share, of a range and of a list", async () => {
    for (const entries of [
      await rangeOf(INVALID_5, 3n, 4n, 2 * GAS),
      await ordersOf(INVALID_5, [9, 3, 5, 1], 2 * GAS),
    ]) {
      expect(entries.map(({ status }) => status)).to.deep.equal([
        ...["returned", "returned", "usedUp", "returned"],
      ]);
    }
  });

  it("the block's number is that of ArbSys, if it returns one word", async () => {
    const { number } = await connection.vault.block();
    for (const [code, shown] of [
      [RETURNS_A_WORD, [0x2a]],
      [REVERTS_WITH_A_WORD, [number, number + 1]],
      ["0x", [number, number + 1]],
    ] as const) {
      await place(ARB_SYS, code);
      expect((await readCalls([])).block?.number).to.be.oneOf([...shown]);
    }
  });

  it("factsOf() returns the chain, and the balance and the size of the code of each account", async () => {
    const { provider } = connection;
    const rich = await place(addressOf("c0de09"), RETURNS_A_WORD);
    await provider.request({
      method: "hardhat_setBalance",
      params: [rich, "0x7b"],
    });
    const answer = await call(encode("factsOf", [rich, NOBODY]));
    const words = (answer.toString("hex").match(/.{64}/gu) ?? []).map((word) =>
      Number(`0x${word}`),
    );
    // In a call, the base fee is zero.
    expect(words.slice(2)).to.deep.equal([
      ...[31_337, 0],
      ...[0x7b, (RETURNS_A_WORD.length - 2) / 2, 0, 0],
    ]);
  });

  it("factsOf() returns the base fee of the block that it runs in", async () => {
    const { provider, ethers } = connection;
    const to = await place(LENS, VaultLensArtifact.deployedBytecode);
    const data = encode("factsOf", []);
    const signer = await ethers.provider.getSigner(0);
    const { hash } = await signer.sendTransaction({ to, data });
    const trace: unknown = await provider.request({
      method: "debug_traceTransaction",
      params: [hash, { tracer: "callTracer" }],
    });
    const { baseFeePerGas } = (await ethers.provider.getBlock("latest")) ?? {};
    const word = String(fieldsOf(trace)["output"]).slice(2 + 3 * 64);
    expect(BigInt(`0x${word}`)).to.equal(baseFeePerGas);
    expect(baseFeePerGas).to.not.equal(0n);
  });
});
