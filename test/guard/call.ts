import { expect } from "chai";

import { findRoute, keepsTokens } from "../../src/guard/call.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { guardCode } from "../helpers/guard.js";
import { GUARD } from "../helpers/keeper.js";
import { FACTORY, SETTLER, VAULT } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

describe("findRoute(), through a guard, of a round that is not given", () => {
  /** The factory answers with that error. */
  const find = async (error: Error) => {
    const chain = new ScriptedNode();
    chain.on("eth_getCode", () => guardCode());
    chain.on("eth_call", () => {
      throw error;
    });
    const host = chain.host();
    host.guard = GUARD;
    return await findRoute(host, SETTLER);
  };

  it("throws if the factory reverts: VAULT_CALL_REVERTED", async () => {
    const reverted = Object.assign(new Error("no"), { code: 3, data: "0x" });
    await expectVaultError(find(reverted), "VAULT_CALL_REVERTED");
  });

  it("throws if the node cannot be reached: VAULT_NETWORK_UNREACHABLE", async () => {
    const finding = find(codedError("ECONNREFUSED"));
    await expectVaultError(finding, "VAULT_NETWORK_UNREACHABLE");
  });

  it("throws if the factory has no code: VAULT_NO_CODE", async () => {
    const chain = new ScriptedNode();
    chain.on("eth_getCode", ([address]) =>
      address === FACTORY ? "0x" : guardCode(),
    );
    chain.on("eth_call", () => "0x");
    const host = chain.host();
    host.guard = GUARD;
    await expectVaultError(findRoute(host, SETTLER), "VAULT_NO_CODE");
  });
});

describe("tokens that stay in a guard", () => {
  it("are named in the line to write after those that are named already", () => {
    const guard = {
      ...{ address: GUARD, factory: FACTORY, tokens: [VAULT] },
      ...{ round: { startTime: 0n, strikePrice: 0n } },
      ...{ mustHaveEnded: false, mustSettle: true },
    };
    const { details } = keepsTokens(new ScriptedNode().host(), guard, [
      SETTLER,
    ]);
    expect(details).to.include({
      tokens: SETTLER,
      list: `["${VAULT}", "${SETTLER}"]`,
      option: `${VAULT},${SETTLER}`,
    });
  });
});
