import { readFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";
import { getAddress } from "ethers";

import { parseSimulated } from "../../src/simulation/engines/simulate-v1.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";
import { simulateSettleAll } from "../../src/simulation/simulate-settle-all.js";
import type { Simulation, SimulateSettleAllOptions } from "../../src/types.js";
import { expectVaultError } from "../helpers/assertions.js";
import { ScriptedNode } from "../helpers/scripted-node.js";

interface RecordedError {
  readonly code: number;
  readonly message: string;
  readonly data?: string;
}

interface RecordedCall {
  readonly returnData: string;
  readonly gasUsed: string;
  readonly maxUsedGas: string;
  readonly status: string;
  readonly error?: RecordedError;
  readonly logs: ReadonlyArray<{ readonly address: string }>;
}

interface RecordedAnswer {
  readonly name: string;
  readonly method: string;
  readonly error?: RecordedError;
  readonly result?: ReadonlyArray<{
    readonly number: string;
    readonly calls: readonly RecordedCall[];
  }>;
}

const recorded: unknown = JSON.parse(
  readFileSync(path.join(import.meta.dirname, "recorded/geth.json"), "utf8"),
);
// eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the file beside this one
const { answers } = recorded as { readonly answers: readonly RecordedAnswer[] };

const simulated = answers.filter(({ method }) => method === "eth_simulateV1");

describe("eth_simulateV1 as geth answers it", () => {
  it("every recorded answer of geth is read whole", () => {
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
          gasUsed: BigInt(call.gasUsed),
          maxUsedGas: BigInt(call.maxUsedGas),
        });
      }
    }
  });

  const callsOf = (name: string) =>
    parseSimulated(
      simulated.find((answer) => answer.name === name)?.result,
      "geth",
    ).flatMap(({ calls }) => calls);

  it("a revert with a reason is told from one without", () => {
    const [refused] = callsOf("eth-send-should-not-produce-logs-on-revert");
    expect(refused).to.include({ succeeded: false, message: undefined });
    expect(decodeRevertReason(refused?.data ?? "").text).to.equal(
      "Always reverting contract",
    );
    const [silent] = callsOf(
      "eth-send-should-produce-no-logs-on-forward-revert",
    );
    expect(silent).to.include({
      succeeded: false,
      data: "0x",
      message: undefined,
    });
  });

  it("a call that ran out of gas has geth's own message", () => {
    const [, starved] = callsOf("run-out-of-gas-in-block-38015");
    expect(starved).to.include({
      succeeded: false,
      data: "0x",
      message: "out of gas",
    });
  });

  it("native currency that moves is a transfer, and none if it comes back", () => {
    expect(
      callsOf("eth-send-should-produce-logs").flatMap(
        ({ transfers }) => transfers,
      ),
    ).to.deep.equal([
      {
        token: "native",
        from: getAddress("0xc000000000000000000000000000000000000000"),
        to: getAddress("0xc100000000000000000000000000000000000000"),
        amount: 1_000n,
      },
    ]);
    expect(
      callsOf("eth-send-should-produce-more-logs-on-forward").flatMap(
        ({ transfers }) => transfers,
      ),
    ).to.have.length(2);
    for (const name of [
      "eth-send-should-not-produce-logs-on-revert",
      "eth-send-should-produce-no-logs-on-forward-revert",
      "logs",
    ]) {
      expect(
        callsOf(name).flatMap(({ transfers }) => transfers),
        name,
      ).to.deep.equal([]);
    }
  });

  describe("to a request of simulateSettleAll", () => {
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

    it("a refusal of geth is a reason to use the next engine, and VAULT_ENGINE_UNAVAILABLE if simulateV1 is asked for", async () => {
      const refusals = simulated.filter(({ error }) => error !== undefined);
      expect(refusals.length).to.be.greaterThan(20);
      for (const refusal of refusals) {
        const { message } = await expectVaultError(
          simulateOn(refusal, { engine: "simulateV1" }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
        expect(message, refusal.name).to.contain("refuses eth_simulateV1");
        expect(await simulateOn(refusal), refusal.name).to.include({
          engine: "call",
          status: "settled",
        });
      }
    });

    it("an answer of geth to another request is not believed", async () => {
      for (const answer of simulated.filter(
        ({ result }) => result !== undefined,
      )) {
        expect(await simulateOn(answer), answer.name).to.include({
          engine: "call",
          status: "settled",
        });
      }
    });
  });
});
