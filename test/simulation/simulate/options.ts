import { inspect } from "node:util";

import { expect } from "chai";

import type { VaultErrorCode } from "../../../src/client/index.js";
import type { SimulateSettleAllOptions } from "../../../src/types.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { fieldsOf } from "../../helpers/fields.js";
import { VAULT, nextRound } from "../../helpers/scripted-contracts.js";
import { ScriptedNode } from "../../helpers/scripted-node.js";
import {
  askedOf,
  simulateOn,
  settlementIn,
} from "../../helpers/simulate-on.js";

const shown = (value: unknown): string =>
  inspect(value, { breakLength: Infinity, maxArrayLength: 2 });
const ids = (count: number): number[] =>
  Array.from({ length: count }, (_, id) => id);

describe("options of simulateSettleAll", () => {
  const refused: ReadonlyArray<
    readonly [
      options: SimulateSettleAllOptions,
      where: string | undefined,
      code: VaultErrorCode,
    ]
  > = [
    [{ from: "0x12" }, "from", "VAULT_INVALID_ADDRESS"],
    [{ tokens: ["SHARE"] }, "tokens", "VAULT_INVALID_ADDRESS"],
    [{ orders: [1, -1] }, "orders", "VAULT_INVALID_INTEGER"],
    [{ orders: ids(401) }, "orders", "VAULT_INVALID_ARGUMENT"],
    [{ timeout: 0 }, "timeout", "VAULT_INVALID_ARGUMENT"],
    // @ts-expect-error -- no such engine
    [{ engine: "all" }, undefined, "VAULT_INVALID_ARGUMENT"],
    [
      { engine: "simulateV1", hardfork: "prague" },
      "hardfork",
      "VAULT_INVALID_ARGUMENT",
    ],
  ];
  for (const [options, where, code] of refused) {
    it(`simulateSettleAll(${shown(options)}) throws ${code} of ${where} before any request`, async () => {
      const node = new ScriptedNode();
      const { details } = await expectVaultError(
        simulateOn(node, options),
        code,
      );
      if (where !== undefined) {
        expect(details["where"]).to.equal(where);
      }
      expect(node.asked).to.deep.equal([]);
    });
  }

  for (const [options, code] of [
    [{ atTime: "soon" }, "VAULT_INVALID_ARGUMENT"],
    [{ atTime: 2n ** 53n }, "VAULT_INVALID_ARGUMENT"],
    [{ atTime: 1_700_000_005 }, "VAULT_INVALID_ARGUMENT"],
    [{ blockNumber: 2, atTime: 1_700_000_002 }, "VAULT_INVALID_ARGUMENT"],
    [{ blockNumber: 9 }, "VAULT_BLOCK_NOT_FOUND"],
  ] as const) {
    it(`simulateSettleAll(${shown(options)}) throws ${code}, and simulates nothing`, async () => {
      const node = new ScriptedNode();
      await expectVaultError(simulateOn(node, options), code);
      expect(node.count("eth_simulateV1")).to.equal(0);
    });
  }

  it("simulateSettleAll({ signal }) asks nothing if the signal is aborted before", async () => {
    const node = new ScriptedNode();
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    const thrown: unknown = await simulateOn(node, { signal }).catch(
      (error: unknown) => error,
    );
    expect(thrown).to.equal(reason);
    expect(node.asked).to.deep.equal([]);
  });

  it("simulateSettleAll({ atTime: 'end' }) throws the error of the round if it cannot be read", async () => {
    const asked = { atTime: "end" };
    const network = { contracts: { vault: VAULT } };
    await expectVaultError(
      simulateOn(new ScriptedNode(), asked, network),
      "VAULT_CONTRACT_NOT_CONFIGURED",
    );
  });

  /** A node whose next block is dated later than a second after the last one. */
  const slowNode = (): ScriptedNode => {
    const node = new ScriptedNode();
    node.rounds = node.rounds.map((round, block) =>
      block > 2 ? nextRound(round) : round,
    );
    node.on("eth_getBlockByNumber", async ([tag], answer) => ({
      ...fieldsOf(await answer()),
      ...(tag === "pending" && { timestamp: "0x6553f200" }),
    }));
    return node;
  };
  for (const [options, number, timestamp] of [
    [{ orders: ids(400) }, 6, 1_700_000_256],
    [{ blockNumber: 5 }, 6, 1_700_000_006],
    [{ blockNumber: "safe" }, 6, 1_700_000_006],
    [{ blockNumber: "finalized", atTime: "+1m" }, 6, 1_700_000_065],
    [{ blockNumber: 2n }, 3, 1_700_000_003],
    [{ blockNumber: 2, atTime: "+1h" }, 3, 1_700_003_602],
    [{ blockNumber: 2, atTime: "end" }, 3, 1_800_604_800],
    [{ atTime: "+1h" }, 6, 1_700_003_605],
    [{ atTime: "end" }, 6, 1_801_209_600],
  ] as const) {
    it(`simulateSettleAll(${shown(options)}) simulates in block ${number} at ${timestamp}`, async () => {
      const { status, block } = await simulateOn(slowNode(), options);
      expect(status).to.equal("settled");
      expect(block).to.deep.equal({ number, timestamp });
    });
  }

  for (const [endTime, timestamp] of [
    [1_700_000_005n, 1_700_000_006],
    [1_700_000_006n, 1_700_000_006],
    [1_700_000_007n, 1_700_000_007],
  ] as const) {
    it(`simulateSettleAll({ atTime: 'end' }) simulates at ${timestamp} if the round ends at ${endTime} and the latest block is of 1700000005`, async () => {
      const node = new ScriptedNode();
      node.rounds = node.rounds.map((round) => ({ ...round, endTime }));
      const { block } = await simulateOn(node, { atTime: "end" });
      expect(block?.timestamp).to.equal(timestamp);
    });
  }

  for (const [options, settings, limits] of [
    [{}, {}, [30_000_000, 140_000_000]],
    [{ gas: 0 }, {}, [0, 110_000_000]],
    [{}, { gas: 50_000n }, [50_000, 110_050_000]],
    [{ gas: 60_000n }, { gas: 50_000n }, [60_000, 110_060_000]],
  ] as const) {
    it(`simulateSettleAll(${shown(options)}) gives settleAll ${limits[0]} gas, and the block ${limits[1]}, if the network's settings are ${shown(settings)}`, async () => {
      const node = new ScriptedNode();
      await simulateOn(node, options, { settings });
      const { blockOverrides, calls } = askedOf(node);
      expect([
        Number(calls[settlementIn(calls)]?.["gas"]),
        Number(blockOverrides["gasLimit"]),
      ]).to.deep.equal(limits);
    });
  }

  it("simulateSettleAll({ tokens }) lists each token once, however its address is written", async () => {
    const token = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
    const node = new ScriptedNode();
    await simulateOn(node, { tokens: [token, token.toLowerCase()] });
    const other = new ScriptedNode();
    await simulateOn(other, { tokens: [token] });
    expect(askedOf(node)).to.deep.equal(askedOf(other));
  });
});
