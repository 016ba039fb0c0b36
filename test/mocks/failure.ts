import { expect } from "chai";
import { dataSlice, id } from "ethers";

import { callsForFailure } from "../../src/mocks/failure.js";
import type { FailureCondition } from "../../src/mocks/failure.js";
import { encodeRevertData } from "../../src/mocks/index.js";
import { mockInterfaces } from "../../src/mocks/mock-contracts.js";
import { expectVaultError } from "../helpers/assertions.js";
import { SECOND } from "../helpers/names.js";

const word = (hex: string): string => hex.padStart(64, "0");
const titleOf = (reason: unknown): string =>
  JSON.stringify(reason, (_, value: unknown) =>
    typeof value === "bigint" ? `${value}n` : value,
  ).replaceAll('"', "");

describe("the reason of a failure", () => {
  for (const [reason, data] of [
    ["", `0x08c379a0${word("20")}${word("")}`],
    ["no", `0x08c379a0${word("20")}${word("2")}${"6e6f".padEnd(64, "0")}`],
    [{ panic: 0 }, `0x4e487b71${word("")}`],
    [{ customError: "FactoryNotSet" }, "0xa7df7fac"],
    [{ customError: "A(uint8 b)", args: [255] }, `0x37e081be${word("ff")}`],
    [
      { customError: " Paused (address account)", args: [SECOND] },
      `0x62e78cea${word(SECOND.slice(2).toLowerCase())}`,
    ],
    [{ data: "0xAB" }, "0xAB"],
  ] as const) {
    it(`encodeRevertData() encodes ${titleOf(reason)} as Solidity does`, () => {
      expect(encodeRevertData(reason)).to.equal(data);
    });
  }

  const twoArgs = "A(uint8 n, string)";
  const refusals: ReadonlyArray<readonly [reason: unknown, says?: string]> = [
    ...[null, {}, { customError: "Nope" }, { panic: -1 }, { data: "0x1" }].map(
      (reason) => [reason] as const,
    ),
    [{ data: "0x1" }, 'got "0x1"'],
    [5, "got 5"],
    [{ customError: "A()", args: [1] }, "types/values length mismatch"],
    [{ customError: twoArgs, args: [] }, "types/values length mismatch"],
    [{ customError: twoArgs, args: [256, "x"] }, "value out-of-bounds"],
    [{ customError: twoArgs, args: [1, 2] }, "invalid string value"],
  ];
  for (const [reason, says = "is needed|its signature"] of refusals) {
    it(`encodeRevertData() refuses ${titleOf(reason)} with VAULT_INVALID_ARGUMENT: ${says}`, async () => {
      const { message } = await expectVaultError(
        // what is refused has no type
        () => encodeRevertData(reason as never),
        "VAULT_INVALID_ARGUMENT",
      );
      expect(message)
        .to.match(/^The reason to revert/u)
        .and.match(new RegExp(says, "u"));
    });
  }
});

describe("the calls that script a failure", () => {
  const selector = "0xd311636b";
  const anybody = dataSlice(id("hardhat-vault/anybody"), 12);
  const from = { from: SECOND };
  const args: FailureCondition = { args: [7n] };
  const order = `0x${word("7")}`;
  for (const [condition, reason, setter, values] of [
    [{}, { data: "0x12" }, "setRevertWhen", [anybody, "0x", "0x12"]],
    [from, { data: "0x" }, "setRevertWhen", [SECOND, "0x", "0x"]],
    [args, { data: "0x" }, "setRevertWhen", [anybody, order, "0x"]],
    [{}, null, "clearRevert", []],
    [from, null, "clearRevertWhen", [SECOND, "0x"]],
    [args, null, "clearRevertWhen", [anybody, order]],
    [{ ...from, ...args }, null, "clearRevertWhen", [SECOND, order]],
  ] as const) {
    it(`callsForFailure() calls ${setter} for [${Object.keys(condition).join()}] with ${reason === null ? "no reason" : reason.data}`, () => {
      const calls = callsForFailure({
        ...{ operation: "getOrderInfo", reason, ...condition },
      });
      const { trading } = mockInterfaces;
      expect(calls.map(({ role }) => role)).to.deep.equal(["trading"]);
      const parsed = trading.parseTransaction(calls[0] ?? { data: "0x" });
      expect(parsed?.name).to.equal(setter);
      expect(
        parsed?.args.map((value) => String(value).toLowerCase()),
      ).to.deep.equal(
        [selector, ...values].map((value) => value.toLowerCase()),
      );
    });
  }

  it("callsForFailure() scripts each contract that has the operation", () => {
    const failure = { operation: "getLPAmountInfo", reason: "dry" } as const;
    const rolesOf = (more: FailureCondition) =>
      callsForFailure({ ...failure, ...more }).map(({ role }) => role);
    expect(rolesOf({})).to.deep.equal(["publicPool", "privatePool"]);
    expect(rolesOf({ args: ["private"] })).to.deep.equal(["privatePool"]);
  });
});
