import { readFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";
import { getAddress } from "ethers";

import { parseSimulated } from "../../src/simulation/engines/simulate-v1.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

interface RecordedError {
  readonly code: number;
  readonly message: string;
  readonly data?: string;
}

interface RecordedAnswer {
  readonly name: string;
  readonly method: string;
  readonly error?: RecordedError;
  readonly result?: ReadonlyArray<{
    readonly number: string;
    readonly calls: ReadonlyArray<{
      readonly returnData: string;
      readonly gasUsed: string;
      readonly maxUsedGas: string;
      readonly status: string;
      readonly error?: RecordedError;
    }>;
  }>;
}

const recorded: unknown = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "recorded/geth.json"), "utf8"),
);
// the file beside this one
const { answers } = recorded as { readonly answers: readonly RecordedAnswer[] };

const simulated = answers.filter(({ method }) => method === "eth_simulateV1");

describe("eth_simulateV1 as geth answers it", () => {
  it("parseSimulated() reads every recorded answer of geth whole", () => {
    const results = simulated.flatMap(({ name, result }) =>
      result === undefined ? [] : [{ name, result }],
    );
    expect(results.length).to.be.greaterThan(50);
    for (const { name, result } of results) {
      const blocks = parseSimulated(result, "geth");
      expect(
        blocks.map(({ number }) => number),
        name,
      ).to.deep.equal(result.map(({ number }) => Number(number)));
      const [read, written] = [
        blocks.flatMap(({ calls }) => calls),
        result.flatMap(({ calls }) => calls),
      ];
      expect(read.length, name).to.equal(written.length);
      for (const [index, call] of written.entries()) {
        expect(read[index], `${name}, call ${index}`).to.include({
          succeeded: call.status === "0x1",
          data: call.error?.data ?? call.returnData,
          message: call.error?.code === 3 ? undefined : call.error?.message,
          gasUsed: BigInt(call.gasUsed),
          maxUsedGas: BigInt(call.maxUsedGas),
        });
      }
    }
  });

  it("a call has a transfer for native currency that moves, and none if it comes back", () => {
    const transfersOf = (name: string): unknown[] =>
      parseSimulated(
        simulated.find((answer) => answer.name === name)?.result,
        "geth",
      ).flatMap(({ calls }) => calls.flatMap(({ transfers }) => transfers));
    expect(transfersOf("eth-send-should-produce-logs")).to.deep.equal([
      {
        token: "native",
        from: getAddress("0xc000000000000000000000000000000000000000"),
        to: getAddress("0xc100000000000000000000000000000000000000"),
        amount: 1_000n,
      },
    ]);
    for (const [name, count] of [
      ["eth-send-should-produce-more-logs-on-forward", 2],
      ["eth-send-should-not-produce-logs-on-revert", 0],
      ["eth-send-should-produce-no-logs-on-forward-revert", 0],
      ["logs", 0],
    ] as const) {
      expect(transfersOf(name), name).to.have.length(count);
    }
  });

  const simulateOn = async (
    { error, result }: RecordedAnswer,
    options: SimulateSettleAllOptions = {},
  ): Promise<Simulation> => {
    const node = new ScriptedNode();
    node.on("eth_simulateV1", () => {
      if (error !== undefined) {
        throw Object.assign(new Error(error.message), error);
      }
      return result;
    });
    const networkConfig = { type: "http", gasPrice: "auto" };
    const host = node.host({ networkConfig, projectRoot: "" });
    return (await simulateSettleAll(host, options)).simulation;
  };

  it("simulateSettleAll uses the next engine if geth refuses or answers another request, and throws VAULT_ENGINE_UNAVAILABLE if simulateV1 is asked for and refused", async () => {
    let refusals = 0;
    for (const answer of simulated) {
      if (answer.error !== undefined) {
        refusals += 1;
        const { message } = await expectVaultError(
          simulateOn(answer, { engine: "simulateV1" }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
        expect(message, answer.name).to.contain("refuses eth_simulateV1");
      }
      // The next engine is the fork, which this node cannot have.
      await expectVaultError(simulateOn(answer), "VAULT_FORK_NETWORK_TAKEN");
    }
    expect(refusals).to.be.greaterThan(20);
  });
});
