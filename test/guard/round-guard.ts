import { expect } from "chai";
import { Interface, ZeroAddress, concat, id, toBeHex } from "ethers";

import { RoundGuardArtifact } from "../../src/guard/artifact.js";
import {
  encodeGuarded,
  guardAddressOf,
  guardCreationCode,
  guardErrorIn,
  parseGuarded,
  settlerIn,
} from "../../src/guard/round-guard.js";
import { guardCode } from "../helpers/guard.js";

const ACCOUNT = `0x${"ab".repeat(20)}` as const;

describe("the code and the calls of a guard", () => {
  it("has the same address with every build, one for each settler", () => {
    // Guards with other code are refused, so a new address is a breaking change.
    expect(guardAddressOf(ZeroAddress)).to.equal(
      "0x00D1f21580c40fbda82dAb50F03ed3393d708AE7",
    );
    expect(guardAddressOf(ACCOUNT)).to.equal(
      "0x36312Fb6E534BC5168d4a864a72Dc10d2392797F",
    );
    expect(guardCreationCode(ACCOUNT)).to.match(/(?:ab){20}$/u);
  });

  it("is recognised by its code, whoever its settler is, and nothing else is", () => {
    expect(settlerIn(guardCode())).to.equal(ZeroAddress);
    const code = guardCode(ACCOUNT);
    const written = `0x${code.slice(2).toUpperCase()}`;
    expect(settlerIn(written)?.toLowerCase()).to.equal(ACCOUNT);
    for (const other of [
      "0x",
      code.slice(0, -2),
      `${code}00`,
      code.replace("6080", "6081"),
      // One of its three copies differs.
      code.replace("abab", "abac"),
      // More than an address.
      code.replaceAll(`${"00".repeat(12)}abab`, `${"01".repeat(12)}abab`),
    ]) {
      expect(settlerIn(other), other.slice(-20)).to.equal(undefined);
    }
  });

  describe("the call of settle()", () => {
    const VAULT = "0x1111111111111111111111111111111111111111";
    const FACTORY = "0x2222222222222222222222222222222222222222";
    const guard = {
      factory: FACTORY,
      round: { startTime: 7n, strikePrice: 8n },
    };

    const TOKENS = [ZeroAddress, VAULT];
    const signature =
      "settle(address,address,uint256,uint256,bool,bool,address[])";

    for (const [mustHaveEnded, mustSettle, tokens] of [
      [true, false, []],
      [false, true, TOKENS],
    ] as const) {
      it(`is encoded and read with mustHaveEnded ${mustHaveEnded}, mustSettle ${mustSettle} and ${tokens.length} tokens`, () => {
        const given = { ...guard, mustHaveEnded, mustSettle, tokens };
        const data = encodeGuarded(VAULT, given);
        const words = [
          ...[VAULT, FACTORY, 7, 8, mustHaveEnded, mustSettle],
          // Where the list is, and its length.
          ...[7 * 32, tokens.length, ...tokens],
        ];
        expect(data).to.equal(
          concat([
            id(signature).slice(0, 10),
            ...words.map((word) => toBeHex(BigInt(word), 32)),
          ]),
        );
        expect(parseGuarded(ACCOUNT, data)).to.deep.equal({
          ...{ vaultAddress: VAULT, guard: { address: ACCOUNT, ...given } },
        });
      });
    }

    it("is not read from bytes after it, another function, or nothing", () => {
      const demands = { mustHaveEnded: true, mustSettle: true, tokens: TOKENS };
      const given = { ...guard, ...demands };
      const data = encodeGuarded(VAULT, given);
      for (const other of [
        ...[`${data}00`, data.slice(0, -2), "0xa015aefe", "0x"],
        `0xa015aefe${data.slice(10)}`,
      ]) {
        expect(parseGuarded(ACCOUNT, other), other).to.equal(undefined);
      }
    });
  });

  it("guardErrorIn() reads an error of the guard, and no other data", () => {
    const errors = new Interface(RoundGuardArtifact.abi);
    const data = errors.encodeErrorResult("RoundNotEnded", [9n]);
    const { name, values } = guardErrorIn(data) ?? {};
    expect([name, values?.["endTime"]]).to.deep.equal(["RoundNotEnded", 9n]);
    for (const other of ["0x", data.slice(0, -2), id("Nope()").slice(0, 10)]) {
      expect(guardErrorIn(other), other).to.equal(undefined);
    }
  });
});
