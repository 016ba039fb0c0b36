import { expect } from "chai";
import { ZeroAddress } from "ethers";

import {
  findGuard,
  findRoute,
  isCalledOnly,
  keepsTokens,
  namedTokens,
  settlementCall,
} from "../../src/guard/call.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import { expectVaultError } from "../helpers/assertions.js";
import { codedError } from "../helpers/foreign-errors.js";
import { guardCode } from "../helpers/guard.js";
import { GUARD } from "../helpers/keeper.js";
import {
  FACTORY,
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const TOKEN = "0x00000000000000000000000000000000000000a3";
const { startTime, strikePrice } = OPEN_ROUND;

/** A vault with a guard, unless that is left out, and these settings. */
const hostWith = (guard: typeof GUARD | undefined, settings: object = {}) => {
  const node = new ScriptedNode();
  node.on("eth_getCode", ([address], answer) =>
    address === GUARD ? guardCode(SETTLER) : answer(),
  );
  const host = node.host({ settings: { vault: settings } });
  host.guard = guard;
  return host;
};

describe("the way of a settlement", () => {
  it("findRoute() leads to the vault without a guard, and settlementCall() calls it", async () => {
    const route = await findRoute(hostWith(undefined), SETTLER);
    expect(route).to.deep.equal({ from: SETTLER, vaultAddress: VAULT });
    expect(settlementCall(route)).to.deep.equal({
      ...{ from: SETTLER, to: VAULT, data: SETTLE },
    });
  });

  for (const [title, terms, expected] of [
    ["the round that it reads, ended or not", {}, {}],
    [
      "the terms that are given",
      {
        round: { startTime: 1n, strikePrice: 2n },
        ...{ mustHaveEnded: true, mustSettle: false, tokens: [VAULT] },
      },
      {
        round: { startTime: 1n, strikePrice: 2n },
        ...{ mustHaveEnded: true, mustSettle: false, tokens: [VAULT] },
      },
    ],
  ] as const) {
    it(`findRoute() leads through the guard with ${title}, and settlementCall() encodes them`, async () => {
      const host = hostWith(GUARD, { tokens: [TOKEN] });
      const route = await findRoute(host, SETTLER, "latest", terms);
      const guard = {
        ...{ address: GUARD, factory: FACTORY },
        round: { startTime, strikePrice },
        ...{ mustHaveEnded: false, mustSettle: true },
        tokens: namedTokens(host),
        ...expected,
      };
      expect(route).to.deep.equal({
        from: SETTLER,
        vaultAddress: VAULT,
        guard,
      });
      const { from, to, data } = settlementCall(route);
      expect([from, to]).to.deep.equal([SETTLER, GUARD]);
      expect(parseGuarded(GUARD, data)).to.deep.equal({
        vaultAddress: VAULT,
        guard,
      });
    });
  }

  it("namedTokens() are those that are given, else those of the settings", () => {
    const checksummed = TOKEN.replace("a3", "A3");
    const host = hostWith(undefined, { tokens: [TOKEN] });
    expect(namedTokens(host)).to.deep.equal([checksummed]);
    expect(namedTokens(host, [])).to.deep.equal([]);
    expect(namedTokens(host, [VAULT])).to.deep.equal([VAULT]);
    expect(namedTokens(hostWith(undefined))).to.equal(undefined);
  });
});

describe("findGuard()", () => {
  it("finds the only account that may settle, and nothing if none is configured", async () => {
    expect(await findGuard(hostWith(GUARD))).to.deep.equal({
      ...{ address: GUARD, settler: SETTLER },
    });
    expect(await findGuard(hostWith(undefined))).to.equal(undefined);
  });

  for (const [code, block, problem] of [
    ["0x", "latest", "there is no contract code"],
    ["0x", "0x5", "there is no contract code at block 5"],
    ["0x6001", "latest", "the code is that of another contract"],
  ] as const) {
    it(`refuses an account with the code ${code} at block ${block}: ${problem}`, async () => {
      const node = new ScriptedNode();
      // At any other block, the guard is there.
      node.on("eth_getCode", ([, at]) =>
        at === block ? code : guardCode(SETTLER),
      );
      const host = node.host();
      host.guard = GUARD;
      const { details } = await expectVaultError(
        findGuard(host, block),
        "VAULT_INVALID_GUARD",
      );
      expect(details).to.include({ guard: GUARD, source: "a test" });
      expect(String(details["problem"]).split(",")[0]).to.equal(problem);
    });
  }
});

describe("isCalledOnly()", () => {
  for (const [what, code, expected] of [
    ["an account without code", "0x", false],
    ["an account that delegates", `0xef0100${"ab".repeat(20)}`, false],
    ["a contract", "0x6001", true],
  ] as const) {
    it(`is ${expected} of ${what}`, async () => {
      const node = new ScriptedNode();
      node.on("eth_getCode", () => code);
      expect(await isCalledOnly(node.host().rpc, SETTLER)).to.equal(expected);
    });
  }

  it("is false if the node does not return the code", async () => {
    const node = new ScriptedNode();
    node.on("eth_getCode", () => {
      throw Object.assign(new Error("no"), { code: -32_000 });
    });
    expect(await isCalledOnly(node.host().rpc, ZeroAddress)).to.equal(false);
  });
});

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

  it("has that of the block that is named", async () => {
    const chain = new ScriptedNode();
    chain.on("eth_getCode", () => guardCode());
    chain.rounds[5] = nextRound(OPEN_ROUND);
    const host = chain.host();
    host.guard = GUARD;
    const { guard } = await findRoute(host, SETTLER, 4);
    expect(guard?.round.startTime).to.equal(OPEN_ROUND.startTime);
  });

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
