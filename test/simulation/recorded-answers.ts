import { readFileSync } from "node:fs";
import path from "node:path";

import { expect } from "chai";
import { getAddress } from "ethers";

import { parseSimulated } from "../../src/simulation/engines/simulate-v1.js";
import { decodeRevertReason } from "../../src/rpc/revert-reason.js";
import type { HardhatVault } from "../../src/types.js";
import { startAnvil } from "../helpers/anvil.js";
import { expectVaultError } from "../helpers/assertions.js";
import type { ServerProcess } from "../helpers/child-process.js";
import { connectTo } from "../helpers/hre.js";
import { deployProtocol, directProvider } from "../helpers/world.js";
import type { MockProtocol } from "../helpers/world.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import type { RpcServer } from "../helpers/rpc-server.js";

const FIRST_ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

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

describe("simulation - what geth answers", () => {
  it("should be read whole, from every recorded answer", () => {
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

  it("should tell a refusal with its reason from one without", () => {
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

  it("should tell what ran out of gas, in geth's words", () => {
    const [, starved] = callsOf("run-out-of-gas-in-block-38015");
    expect(starved).to.include({
      succeeded: false,
      data: "0x",
      message: "out of gas",
    });
  });

  it("should see native currency move, and nothing where it came back", () => {
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

  describe("to our own request", () => {
    let anvil: ServerProcess;
    let server: RpcServer;
    let protocol: MockProtocol;
    let answer: RecordedAnswer | undefined;

    before(async () => {
      anvil = await startAnvil();
      const provider = directProvider(anvil.url);
      protocol = await deployProtocol(await provider.getSigner(0));
      provider.destroy();
      server = await startRpcServer({
        upstream: anvil.url,
        handler: ({ request }) =>
          request.method !== "eth_simulateV1" || answer === undefined
            ? undefined
            : answer.error === undefined
              ? { result: answer.result }
              : { error: answer.error },
      });
    });
    after(async () => {
      await server.stop();
      await anvil.stop();
    });

    async function open(): Promise<HardhatVault> {
      const { vault } = await connectTo(server.url, {
        vault: { contracts: protocol.contracts },
      });
      return vault;
    }

    it("should be a reason to ask another engine, where it refuses the whole", async () => {
      const refusals = simulated.filter(({ error }) => error !== undefined);
      expect(refusals.length).to.be.greaterThan(20);
      for (answer of refusals) {
        const vault = await open();
        const error = await expectVaultError(
          vault.simulateSettleAll({ as: FIRST_ACCOUNT, engine: "simulateV1" }),
          "VAULT_ENGINE_UNAVAILABLE",
        );
        expect(error.message, answer.name).to.contain("refuses eth_simulateV1");
        expect(
          await vault.simulateSettleAll({ as: FIRST_ACCOUNT }),
          answer.name,
        ).to.include({ engine: "call", status: "settled" });
      }
    });

    it("should not be believed where it is the answer to another one", async () => {
      for (answer of simulated.filter(({ result }) => result !== undefined)) {
        const vault = await open();
        expect(
          await vault.simulateSettleAll({ as: FIRST_ACCOUNT }),
          answer.name,
        ).to.include({ engine: "call", status: "settled" });
      }
    });
  });
});
