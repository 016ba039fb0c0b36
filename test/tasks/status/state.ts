import { expect } from "chai";

import type { ContractAddresses } from "../../../src/client/index.js";
import { describeAttempt, readState } from "../../../tasks/status.js";
import { BareHost } from "../../helpers/bare-host.js";
import { fieldsOf } from "../../helpers/fields.js";
import {
  documentedAnswer,
  documentedContracts,
} from "../../helpers/documented-node.js";
import { pathsOf } from "../../helpers/readings.js";
import {
  FACTORY,
  SETTLE,
  SETTLER,
  VAULT,
} from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";

const contracts = { vault: VAULT, vaultFactory: FACTORY };
/** The time of the newest block, which is block 5. */
const HEAD_TIME = 1_700_000_005;

describe("the state of a vault", () => {
  const stateOf = async (
    node = new ScriptedNode(),
    {
      addresses = contracts,
      time,
    }: {
      readonly addresses?: ContractAddresses;
      readonly time?: number | undefined;
    } = {},
  ) => {
    const host = new BareHost(node, addresses, SETTLER, {
      // Of a live chain, whose blocks are old here.
      networkConfig: {
        type: "http",
        from: SETTLER,
        ...{ gas: "auto", gasPrice: "auto", gasMultiplier: 1 },
        vault: { maxHeadAge: 1e12 },
      },
      projectRoot: import.meta.dirname,
    });
    return await readState(host, {}, time);
  };

  for (const [title, endTime, given, expired, secondsToEnd] of [
    ["one second before its end", HEAD_TIME + 1, undefined, false, 1],
    ["by the newest block at its end", HEAD_TIME, undefined, true, 0],
    ["by a given time", HEAD_TIME + 9, HEAD_TIME + 10, true, -1],
    ["if there is no round", 0, undefined, null, null],
    [
      "as far away as a number can hold",
      2n ** 53n + BigInt(HEAD_TIME),
      undefined,
      false,
      null,
    ],
  ] as const) {
    it(`readState judges a round's end ${title}`, async () => {
      const node = new ScriptedNode();
      const end = { endTime: BigInt(endTime) };
      node.rounds = node.rounds.map((round) => ({ ...round, ...end }));
      const { keeper, time } = await stateOf(node, { time: given });
      expect(keeper).to.include({ expired, secondsToEnd });
      expect(time).to.equal(given ?? HEAD_TIME);
    });
  }

  it("readState reads the reason of the refusal at the block of the readings", async () => {
    const node = new ScriptedNode({ overrides: false });
    node.revertsWith = "0x";
    const state = await stateOf(node);
    expect(describeAttempt(state).text).to.match(/^no, no reason given/u);
    expect(state.keeper).to.include({
      ...{ canBeSettled: false, canBeSettledBy: SETTLER },
    });
    const tries = node.asked.filter(
      ({ params }) => fieldsOf(params[0])["data"] === SETTLE,
    );
    expect(tries.map((asked) => node.blockOf(asked))).to.include(5);
  });

  it("readState answers yes without a reason if the round can be settled", async () => {
    const state = await stateOf();
    expect(describeAttempt(state)).to.include({ text: "yes", tone: "good" });
    expect(state).to.include({ isUp: true, name: undefined });
    expect(state.keeper).to.include({ reason: null, code: null });
  });

  it("readState has the error of its question among the failures, and the vault is not up then", async () => {
    const node = new ScriptedNode({ overrides: false });
    node.on("eth_call", async ([call], answer) => {
      if (fieldsOf(call)["data"] === SETTLE) {
        throw Object.assign(new Error("lo\u001bst"), { code: -32_601 });
      }
      return await answer();
    });
    const state = await stateOf(node);
    expect(state).to.include({ isUp: false });
    expect(state.keeper).to.include({ reason: null });
    expect(state.failures.map(({ code }) => code)).to.include(
      "VAULT_RPC_ERROR",
    );
    expect(state.keeper)
      .to.have.nested.property("canBeSettled.error.code")
      .that.equals("VAULT_RPC_ERROR");
    expect(describeAttempt(state)).to.include({ tone: "bad" });
    expect(describeAttempt(state).text).to.match(/^failed: .*lo\\u\{1b\}st/u);
  });

  const { publicPool } = documentedContracts;
  for (const [title, addresses, reverting, isUp, failed] of [
    ["is up if all is read", documentedContracts, "", true, 0],
    ["is up with contracts not configured", contracts, "", true, 4],
    ["is not up without any address", {}, "", false, pathsOf().length],
    ["is not up if one fails", documentedContracts, publicPool, false, 1],
  ] satisfies ReadonlyArray<
    readonly [string, ContractAddresses, string, boolean, number]
  >) {
    it(`a vault ${title}, with ${failed} failures`, async () => {
      const node = new ScriptedNode({
        codeOf: () => "0x01",
        answerOf: (call) =>
          call.to === reverting
            ? { reverted: true, data: "0x" }
            : documentedAnswer(call),
      });
      const state = await stateOf(node, { addresses });
      expect(state.isUp).to.equal(isUp);
      const { canBeSettled, reason } = state.keeper;
      expect(reason === null).to.equal(canBeSettled === true);
      expect(state.failures).to.have.lengthOf(failed);
      expect(state.keeper.openSettlement).to.equal(null);
    });
  }
});
