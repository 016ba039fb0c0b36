import { expect } from "chai";
import { ZeroHash, toBeHex } from "ethers";

import type { SettleAllOptions } from "../../src/types.js";
import { createStyle } from "../../tasks/output/style.js";
import type { TypedOptions } from "../../tasks/parse-options.js";
import type { TaskReport } from "../../tasks/run-task.js";
import { settle } from "../../tasks/settle.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre } from "../helpers/hre.js";
import { runTyped } from "../helpers/run-vault-task.js";
import { useKeeper } from "../helpers/keeper.js";
import type { NetworkChanges } from "../helpers/keeper.js";

/** The selector of `decimals()`. */
const DECIMALS = "0x313ce567";
const HINT = "To continue if this is interrupted: ";

describe("what vault settle says while it runs", () => {
  const stage = useKeeper();

  /** Settles as the task does; without an answer there is no terminal. */
  const run = async (
    typed: TypedOptions,
    {
      options = {},
      network = {},
      answer,
    }: {
      readonly options?: SettleAllOptions;
      readonly network?: NetworkChanges;
      readonly answer?: boolean;
    } = {},
  ): Promise<TaskReport & { said: string; questions: readonly string[] }> => {
    let said = "";
    const questions: string[] = [];
    const report = await settle(
      stage.host(network),
      typed,
      { pollingInterval: 1, ...options },
      {
        err: {
          style: createStyle({}),
          write: async (text) => {
            said += text;
            return await Promise.resolve(true);
          },
        },
        ask:
          answer === undefined
            ? undefined
            : async (question) => {
                questions.push(question);
                return await Promise.resolve(answer);
              },
      },
    );
    return { ...report, said, questions };
  };
  const end = (timestamp: number): void => {
    stage.chain.rounds = stage.chain.rounds.map((round) => ({
      ...round,
      endTime: BigInt(timestamp),
    }));
  };
  /** The next block's time. */
  const NEXT = 1_700_000_006;

  it("settle says how to continue once it sends, with the options that choose the contracts and the confirmations", async () => {
    const typed = { yes: true, network: "live", instance: "usdc" };
    for (const [options, flags] of [
      [{}, ""],
      [{ confirmations: 1 }, ""],
      [{ confirmations: 2 }, " --confirmations 2"],
    ] as const) {
      await stage.reset();
      stage.chain.on("eth_getTransactionReceipt", async (_params, answer) => {
        stage.chain.mine();
        return await answer();
      });
      const { said, ok } = await run(typed, { options });
      expect(ok).to.equal(true);
      expect(said.split(HINT).slice(1)).to.have.lengthOf(1);
      expect(said).to.include(
        `${HINT}npx hardhat vault settle --resume${flags} --instance usdc --network live\n`,
      );
    }
  });

  it("settle --resume that sends again does not say how to continue", async () => {
    const { hash } = await stage.interrupt();
    const { said, json } = await run(
      { resume: true },
      { options: { resume: true } },
    );
    expect(json).to.have.nested.property("settlement.status", "settled");
    expect(said)
      .to.include(`Transaction ${String(hash)}`)
      .and.not.include(HINT);
  });

  it("settle --resume asks no question", async () => {
    await stage.interrupt();
    const resumed = { answer: false, options: { resume: true } } as const;
    const { questions, ok } = await run({ resume: true }, resumed);
    expect(questions).to.deep.equal([]);
    expect(ok).to.equal(true);
  });

  it("settle in process does not say how to continue, as the chain ends with the process", async () => {
    const hre = await createTestHre();
    await hre.vault.deployMocks();
    const { stderr, exitCode } = await runTyped(hre, "settle --yes");
    expect(exitCode).to.equal(0);
    expect(stderr).to.include("Transaction 0x").and.not.include(HINT);
  });

  it("settle --json --yes says only the hash and trouble, settle --json all", async () => {
    stage.chain.on("eth_getTransactionReceipt", async (_params, answer) => {
      stage.chain.mine();
      return await answer();
    });
    const quiet = await run(
      { json: true, yes: true },
      { options: { confirmations: 2 } },
    );
    expect(quiet.said).to.match(/^Transaction 0x[\da-f]{64}\n$/u);
    await stage.reset();
    stage.chain.on("eth_getTransactionReceipt", async (_p, answer, seen) => {
      if (seen === 0) {
        throw Object.assign(new Error("no\u001bt now"), { code: -32_601 });
      }
      return await answer();
    });
    const troubled = await run({ json: true, yes: true });
    expect(troubled.said).to.match(
      /^Transaction 0x[\da-f]{64}\n.*no\\u\{1b\}t now/u,
    );
    await stage.reset();
    const { said } = await run({ json: true }, { answer: true });
    expect(said)
      .to.include("About to settle this round")
      .and.include(HINT)
      .and.include("Mined in block 6");
  });

  it("settle warns before the round's end only if the settlement would succeed", async () => {
    for (const [endTime, isEarly] of [
      [NEXT, false],
      [NEXT + 60, true],
    ] as const) {
      await stage.reset();
      stage.makeDevelopmentNode();
      // A block that may not be mined yet, as geth returns it.
      stage.chain.on("eth_getBlockByNumber", async ([tag], answer) => ({
        ...fieldsOf(await answer()),
        ...(tag === "pending" ? { stateRoot: ZeroHash } : {}),
      }));
      end(endTime);
      const { said } = await run({ yes: true });
      expect(said.includes("WARNING: this round has NOT ended")).to.equal(
        isEarly,
      );
    }
    await stage.reset();
    stage.chain.revertsWith = "0x";
    const { said } = await run({ yes: true });
    expect(said).to.include("About to settle").and.not.include("WARNING");
  });

  it("settle asks with the age of a newest block that is too old, and with what the simulation does not do", async () => {
    const network = { vault: { maxHeadAge: 300 } };
    end(1);
    const aged = await run({}, { network, answer: false });
    expect(aged.questions).to.have.lengthOf(1);
    expect(aged.questions[0]).to.match(
      /^The newest block is \d{8,} s old\. Settle this round now\?$/u,
    );
    await stage.reset();
    stage.chain.effect = (round) => round;
    const idle = await run({}, { answer: false });
    expect(idle.questions).to.deep.equal([
      "The simulation does NOT settle the round. This round has NOT ended. Settle it before its end?",
    ]);
  });

  it("settle without a terminal refuses with VAULT_NO_TERMINAL, and with a no as VAULT_NOT_CONFIRMED", async () => {
    for (const [settings, code] of [
      [{}, "VAULT_NO_TERMINAL"],
      [{ answer: false }, "VAULT_NOT_CONFIRMED"],
    ] as const) {
      const { json, ok } = await run({}, settings);
      expect(json).to.have.nested.property("settlement.code", code);
      expect(ok).to.equal(false);
    }
    expect(stage.sends).to.equal(0);
  });

  it("settle exits with 0 after a cancellation", async () => {
    await stage.interrupt();
    const options = { resume: true, cancel: true } as const;
    const { json, ok } = await run({ resume: true }, { options });
    expect(json).to.have.nested.property("settlement.status", "cancelled");
    expect(ok).to.equal(true);
  });

  it("settle's document has the decimals of each token in the preview's transfers", async () => {
    stage.chain.on("eth_call", async ([call], answer) =>
      fieldsOf(call)["data"] === DECIMALS ? toBeHex(6, 32) : await answer(),
    );
    const { json } = await run({ yes: true });
    expect(json)
      .to.have.nested.property("settlement.preview.transfers[0]")
      .that.includes({ decimals: 6, amount: 5n });
  });
});
