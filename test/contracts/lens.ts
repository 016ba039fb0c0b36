import { expect } from "chai";
import { Interface, toBeHex } from "ethers";
import type { NetworkConnection } from "hardhat/types/network";

import { VaultLensArtifact } from "../../src/client/lens/artifact.js";
import { parseLensAnswer } from "../../src/client/lens/lens.js";
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
const RETURNS_TWO_WORDS = "0x602a60005260406000f3";
const REVERTS_WITH_A_WORD = "0x602a60005260206000fd";
const REVERTS = "0x60006000fd";
const RETURNS_THE_GAS = "0x5a60005260206000f3";
/** The gas that is left, but for order 5, which uses all of it. */
const BURNS_IN_ORDER_5 = "0x6004356005146012575a60005260206000f35bfe";

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
  const call = async (
    name: string,
    ...args: readonly unknown[]
  ): Promise<Buffer> => {
    const { abi, deployedBytecode } = VaultLensArtifact;
    const to = await place(LENS, deployedBytecode);
    const data = new Interface(abi).encodeFunctionData(name, [...args]);
    const tx = { to, data, gas: toBeHex(GAS) };
    return Buffer.from(
      (await request("eth_call", tx, "latest")).slice(2),
      "hex",
    );
  };
  /** The answer of the lens, each entry with its data as hex. */
  const read = async (name: string, ...args: readonly unknown[]) => {
    const answer = parseLensAnswer(await call(name, ...args));
    const entries = answer?.entries.map(({ status, hasCode, start, end }) => ({
      ...{ status, hasCode },
      data: answer.bytes.toString("hex", start, end),
    }));
    return { block: answer?.block, entries: entries ?? [] };
  };
  const readCalls = async (codes: readonly string[]) => {
    const calls: unknown[] = [];
    for (const [index, code] of codes.entries()) {
      calls.push([await place(addressOf(`c0de0${index}`), code), "0x"]);
    }
    return await read("readCalls", [...calls, [NOBODY, "0x1234"]]);
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

  it("readCalls() passes on 8,192 bytes, and does not know an answer of more", async () => {
    const { entries } = await readCalls([returns(8_192), returns(8_193)]);
    expect(entries.map(({ status, data }) => [status, data.length])).to.eql([
      ...[
        ["returned", 2 * 8_192],
        ["unknown", 0],
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

  /** Orders 3 and 13 are INVALID; any other order uses so much gas, and returns a word. */
  const tradingUsing = async (gas: number): Promise<string> => {
    const burn = toBeHex(gas, 3).slice(2);
    // if (id % 10 == 3) invalid(); for (g = gas(); g - gas() < burn;) {} return 42;
    return await place(
      addressOf("77ad"),
      `0x6004356000600a9006${"".padEnd(0)}`.replace("6000600a9006", "600a900660031460215762") +
        burn,
    );
  };

  it("the block's number is that of ArbSys, if it returns one word", async () => {
    const { number } = await connection.vault.block();
    for (const [code, shown] of [
      [RETURNS_A_WORD, [0x2a]],
      [RETURNS_TWO_WORDS, [number, number + 1]],
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
    const answer = await call("factsOf", [
      rich,
      NOBODY,
    ]);
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
    const { abi, deployedBytecode } = VaultLensArtifact;
    const to = await place(LENS, deployedBytecode);
    const data = new Interface(abi).encodeFunctionData("factsOf", [[]]);
    const signer = await ethers.provider.getSigner(0);
    const { hash } = await signer.sendTransaction({ to, data });
    const trace: unknown = await provider.request({
      method: "debug_traceTransaction",
      params: [hash, { tracer: "callTracer" }],
    });
    const block = await ethers.provider.getBlock("latest");
    expect(block?.baseFeePerGas).to.not.equal(0n);
    expect(String(fieldsOf(trace)["output"]).slice(2 + 3 * 64)).to.equal(
      toBeHex(block?.baseFeePerGas ?? 0n, 32).slice(2),
    );
  });
});
