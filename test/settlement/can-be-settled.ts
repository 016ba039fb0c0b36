import { expect } from "chai";
import { ZeroAddress } from "ethers";

import { noCode } from "../../src/client/codec.js";
import { failedReading } from "../../src/client/failed-reading.js";
import { vaultError } from "../../src/errors.js";
import { parseGuarded } from "../../src/guard/round-guard.js";
import {
  findIfSettleable,
  findSettler,
} from "../../src/settlement/can-be-settled.js";
import { expectVaultError } from "../helpers/assertions.js";
import { fieldsOf } from "../helpers/fields.js";
import { codedError } from "../helpers/foreign-errors.js";
import { guardCode } from "../helpers/guard.js";
import { GUARD } from "../helpers/keeper.js";
import {
  OPEN_ROUND,
  SETTLE,
  SETTLER,
  VAULT,
  nextRound,
  settledRound,
} from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";
import { NOT_YET } from "../helpers/settlement-cases.js";

describe("the account that a settlement is tried as", () => {
  const find = async (
    accounts: unknown,
    { given, from }: { readonly given?: string; readonly from?: string },
    answer: () => unknown,
  ) => {
    const chain = new ScriptedNode();
    chain.on("eth_accounts", answer);
    // A connection for reading is opened without the accounts.
    const connected = { accounts: "remote", from };
    const host = chain.host({ settings: connected });
    const networks = { scripted: { type: "http", accounts } };
    Object.defineProperty(host, "context", { value: { config: { networks } } });
    return await findSettler(host, given);
  };

  for (const [title, accounts, named, listed, address] of [
    ["the given one", [], { given: VAULT, from: SETTLER }, [], VAULT],
    ["from, though there are keys", [], { from: VAULT }, [SETTLER], VAULT],
    ["not known if only a key names it", [], {}, [SETTLER], ZeroAddress],
    ["the first of the node", "remote", {}, [SETTLER, VAULT], SETTLER],
    ["not known if the node has none", "remote", {}, [], ZeroAddress],
  ] as const) {
    it(`is ${title}`, async () => {
      const isKnown = address !== ZeroAddress;
      const found = await find(accounts, named, () => listed);
      expect(found).to.deep.equal({ address, isKnown });
    });
  }

  it("is not guessed if the node cannot be reached: VAULT_NETWORK_UNREACHABLE", async () => {
    const finding = find("remote", {}, () => {
      throw codedError("ECONNREFUSED");
    });
    await expectVaultError(finding, "VAULT_NETWORK_UNREACHABLE");
  });
});

describe("findIfSettleable()", () => {
  const settler = { address: SETTLER, isKnown: true };
  const readings = { round: OPEN_ROUND, volume: 1n };
  const located = { address: GUARD, source: "a test" };
  const absent = failedReading(noCode("vault", located, "scripted"));
  const reverted = failedReading(
    vaultError("VAULT_CALL_REVERTED", {
      ...{ operation: "getLatestRoundInfo", contract: "factory" },
      ...{ address: VAULT, source: "a test", reason: "no", hint: "" },
    }),
  );
  const settled = settledRound(OPEN_ROUND);

  for (const [title, changes, isKnown, revertsWith, canBeSettled, says] of [
    ["yes", {}, true, undefined, true, /^null$/u],
    [
      "not known: no factory",
      { round: absent },
      true,
      undefined,
      null,
      /code/u,
    ],
    ["not known: no vault", { volume: absent }, true, undefined, null, /code/u],
    [
      "yes, whatever reverts",
      { round: reverted },
      true,
      undefined,
      true,
      /^n/u,
    ],
    [
      "no: settled",
      { round: settled },
      false,
      undefined,
      false,
      /is settled$/u,
    ],
    ["no: refused", {}, true, NOT_YET, false, /^not yet$/u],
    [
      "not known: refused from the zero address",
      ...([
        {},
        false,
        NOT_YET,
        null,
        /^the zero address is refused: not yet\. /u,
      ] as const),
    ],
  ] as const) {
    it(`is ${title}`, async () => {
      const chain = new ScriptedNode();
      chain.revertsWith = revertsWith;
      const { reason, ...found } = await findIfSettleable(
        chain.host(),
        { ...settler, isKnown },
        { ...readings, ...changes },
        5,
      );
      const canBeSettledBy = SETTLER;
      expect(found).to.deep.equal({ canBeSettled, canBeSettledBy });
      expect(String(reason)).to.match(says);
    });
  }

  it("calls at the block of the readings, with all gas of a block", async () => {
    const chain = new ScriptedNode();
    chain.mine();
    await findIfSettleable(chain.host(), settler, readings, 5);
    const calls = chain.asked.filter(
      ({ params: [call] }) => fieldsOf(call)["data"] === SETTLE,
    );
    expect(calls.map(({ params }) => params)).to.deep.equal([
      [{ from: SETTLER, to: VAULT, data: SETTLE, gas: "0x1c9c380" }, "0x5"],
    ]);
  });

  it("asks the guard that is there at the block of the readings for their round", async () => {
    const chain = new ScriptedNode();
    chain.on("eth_getCode", ([, block]) =>
      block === "0x5" ? guardCode() : "0x",
    );
    const host = chain.host();
    host.guard = GUARD;
    const round = nextRound(OPEN_ROUND);
    await findIfSettleable(host, settler, { ...readings, round }, 5);
    const { data } = fieldsOf(
      chain.asked.findLast(({ method }) => method === "eth_call")?.params[0],
    );
    const { startTime, strikePrice } = round;
    expect(parseGuarded(GUARD, String(data))?.guard.round).to.deep.equal({
      ...{ startTime, strikePrice },
    });
  });
});
