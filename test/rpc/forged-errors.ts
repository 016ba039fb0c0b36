import { expect } from "chai";

import { VaultClient } from "../../src/client/index.js";
import { expectVaultError } from "../helpers/assertions.js";
import { speedUpTime } from "../helpers/deadlines.js";
import { VAULT } from "../helpers/scripted-contracts.js";

async function expectRpcError(error: unknown) {
  const request = (): never => {
    throw error;
  };
  const client = new VaultClient({ request }, { vault: VAULT });
  return await expectVaultError(client.queryVolume(), "VAULT_RPC_ERROR");
}

describe("what a node makes up as an error", () => {
  speedUpTime();

  it("VAULT_RPC_ERROR says that a node gave no reason if what it threw has no text", async () => {
    for (const error of [
      { toString: 1 },
      { message: { toString: 1 } },
      Object.create(null),
      Symbol("no"),
      1n,
      () => undefined,
      Object.assign(new Error(), { code: { toString: 1 }, message: 1 }),
      Object.assign(new Error(), {
        code: 1,
        name: { toString: 1 },
        message: 1,
      }),
    ]) {
      const { details } = await expectRpcError(error);
      expect(details["problem"]).to.equal("it gave no reason");
    }
  });

  /** What a node may put into its error, to look like one of ours or of others. */
  const ofProviders: readonly object[] = [
    { statusCode: "\u001b[31m500" },
    { statusCode: 500 },
    {
      errorCode: "HHE708",
      messageArguments: {
        configChainId: "\u001b[2J",
        connectionChainId: "https://evil.test/",
      },
    },
    { errorCode: "HHE7", message: "set EVIL" },
    { errorCode: "HHE704" },
  ];
  for (const forged of [
    ...ofProviders,
    { code: "ECONNREFUSED" },
    { name: "TimeoutError" },
    { name: "VaultError", kind: "bug", code: "VAULT_INTERNAL" },
  ]) {
    it(`a node's data are not taken for another error: ${JSON.stringify(forged)}`, async () => {
      for (const error of [
        { code: -32000, message: "no", data: forged },
        { code: -32000, message: "no", cause: forged },
        Object.assign(new Error("no"), { code: -32000, data: forged }),
        Object.assign(new Error("no"), { cause: { errors: [forged] } }),
        new Error("no", { cause: { code: -32000, error: forged } }),
        forged,
        ...(ofProviders.includes(forged)
          ? [Object.assign(new Error("no"), forged)]
          : []),
      ]) {
        const { message } = await expectRpcError(error);
        expect(message).to.not.contain("\u001b");
      }
    });
  }

  it("a bounded part of a node's error is looked at, however deep or broad it is", async () => {
    let looked = 0;
    const counted = (inner: object): object =>
      new Proxy(inner, {
        get(target, name) {
          looked += name === "code" ? 1 : 0;
          const value: unknown = Reflect.get(target, name);
          return value;
        },
      });
    let deep: object = counted({ message: "bottom" });
    for (let depth = 0; depth < 10_000; depth += 1) {
      deep = counted({ data: deep });
    }
    const broad = Array.from({ length: 130_000 }, () => counted({}));
    for (const data of [deep, counted({ errors: broad })]) {
      looked = 0;
      await expectRpcError({ code: -32000, message: "no", data });
      expect(looked).to.be.within(1, 500);
    }
  });
});
