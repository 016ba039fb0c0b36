import { expect } from "chai";

import { refuseLoss } from "../../src/settlement/propose.js";
import type { Simulated } from "../../src/simulation/simulate-settlement.js";
import type { Kept } from "../../src/simulation/tokens.js";
import type { Simulation } from "../../src/types.js";
import { VAULT, FACTORY as TOKEN } from "../helpers/scripted-contracts.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

const GUARD = "0x00000000000000000000000000000000000000A7";
const nothing: Kept = { tokens: [], others: [] };

function simulatedAs(
  changes: Partial<Simulation>,
  kept: Kept = nothing,
): Simulated {
  return {
    simulation: {
      ...{ status: "settled", code: null, reason: null, guard: GUARD },
      ...{ engine: "simulateV1", gasUsed: 60_000n, block: null },
      ...{ changes: [], balances: [], transfers: [], notes: [], ...changes },
    },
    ...{ chainId: 1, base: 5, sender: VAULT, contracts: [], ordersRead: 0 },
    ...{ balance: 0n, gasNeeded: null, moved: [], kept },
    route: { from: VAULT, vault: VAULT },
  };
}

describe("refuseLoss()", () => {
  const NOT_KNOWN = "VAULT_TOKENS_NOT_KNOWN";
  const KEEPS = "VAULT_GUARD_KEEPS_TOKENS";
  for (const [title, guard, simulated, code, codeIfNamed] of [
    ["no guard is on the way", null, undefined, undefined, undefined],
    ["no engine can simulate", GUARD, undefined, NOT_KNOWN, undefined],
    ["nothing stays", GUARD, simulatedAs({}), undefined, undefined],
    [
      "the simulation reverts, and may succeed later",
      GUARD,
      simulatedAs({ status: "reverted", reason: "not yet." }),
      NOT_KNOWN,
      undefined,
    ],
    [
      "only a plain call succeeds, whose effects are not known",
      GUARD,
      simulatedAs({ gasUsed: null, transfers: null }),
      NOT_KNOWN,
      undefined,
    ],
    [
      "the round is settled already",
      GUARD,
      simulatedAs({ status: "nothing-to-do", gasUsed: null }),
      undefined,
      undefined,
    ],
    [
      "a token stays",
      GUARD,
      simulatedAs({}, { tokens: [TOKEN], others: [] }),
      KEEPS,
      KEEPS,
    ],
    [
      "an item stays",
      GUARD,
      simulatedAs({}, { tokens: [], others: ["0x (ERC-721)"] }),
      KEEPS,
      KEEPS,
    ],
  ] as const) {
    it(`refuses ${String(code)}, and ${String(codeIfNamed)} with named tokens, if ${title}`, () => {
      const host = new ScriptedNode().host({
        ...{ networkConfig: { type: "http" }, projectRoot: "" },
      });
      const codeOf = (areNamed: boolean) =>
        refuseLoss(host, guard, simulated, areNamed)?.code;
      expect([codeOf(false), codeOf(true)]).to.eql([code, codeIfNamed]);
    });
  }
});
