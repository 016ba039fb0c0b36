import { EventEmitter, once } from "node:events";
import { stripVTControlCharacters } from "node:util";

import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import { expect } from "chai";
import { HardhatPluginError } from "hardhat/plugins";

import { invalidArgument, vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { repeatFlags, toDocument } from "../../tasks/error-texts.js";
import { notes } from "../../tasks/output/blocks.js";
import { createStyle } from "../../tasks/output/style.js";
import { runTask, taskAction } from "../../tasks/run-task.js";
import type { TaskReport } from "../../tasks/run-task.js";
import type { Output } from "../../tasks/output/style.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { replace } from "../helpers/run-vault-task.js";

/** Runs a task on a terminal, and returns what it wrote. */
async function run(
  options: Parameters<typeof runTask>[0],
  work: Parameters<typeof runTask>[1],
  outFails?: VaultError,
): Promise<{ out: string; err: string; success: boolean }> {
  const written = { out: "", err: "" };
  const output = (stream: "out" | "err", failure?: VaultError): Output => ({
    style: createStyle({ isTTY: true, columns: 1_000 }),
    write: async (text) => {
      if (failure !== undefined) {
        throw failure;
      }
      written[stream] += stripVTControlCharacters(text);
      return await Promise.resolve(true);
    },
  });
  const { success } = await runTask(options, work, {
    out: { ...output("out", outFails), isTTY: true },
    err: output("err"),
  });
  return { ...written, success };
}

const failWith = (thrown: unknown) => async (): Promise<never> => {
  await Promise.resolve();
  throw thrown;
};

const report: TaskReport = {
  json: { amount: 2n ** 70n, text: "a\u001b[31mb", list: [1n, null, true] },
  blocks: [notes({ text: "fine", tone: "good" })],
};

describe("running a task", () => {
  it("a task prints one line of JSON with integers as text, and escapes control characters", async () => {
    expect(
      await run({ json: true }, async () => await Promise.resolve(report)),
    ).to.deep.equal({
      out: '{"amount":"1180591620717411303424","text":"a\\u001b[31mb","list":["1",null,true]}\n',
      err: "",
      success: true,
    });
  });

  it("tasks that run at once keep stdout for their own output", async () => {
    const { stdout, stderr } = process;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- put back as they were
    const own = [stdout.write, stderr.write] as const;
    const written = { stdout: "", stderr: "" };
    stdout.write = (text): boolean => Boolean((written.stdout += String(text)));
    stderr.write = (text): boolean => Boolean((written.stderr += String(text)));
    const fake = Reflect.get(stdout, "write");
    try {
      const gate = new EventEmitter();
      const hre = await createTestHre();
      const start = async (number: number): Promise<unknown> =>
        await taskAction({ description: "", options: {} }, async () => {
          await once(gate, `end ${number}`);
          console.log(`a contract of ${number}`);
          stdout.write(`a prompt of ${number}\n`);
          return { json: number, blocks: [notes(String(number))] };
        })({ json: number === 1 }, hre);
      const running = [start(1), start(2)];
      await new Promise(setImmediate);
      gate.emit("end 1");
      await running[0];
      gate.emit("end 2");
      await running[1];
      expect(Reflect.get(stdout, "write")).to.equal(fake);
    } finally {
      stdout.write = own[0];
      stderr.write = own[1];
    }
    expect(written).to.deep.equal({
      stdout: "1\n2\n",
      stderr:
        "a contract of 1\na prompt of 1\na contract of 2\na prompt of 2\n",
    });
  });

  for (const [name, work, shown] of [
    [
      "a report",
      async () => await Promise.resolve(report),
      /^Error .*no space left on device\.\n.*\(VAULT_OUTPUT_NOT_WRITTEN\)\n$/u,
    ],
    [
      "an error",
      failWith(new Error("of something else")),
      /^Error .*of something else.*\n.*\(VAULT_INTERNAL\)\n$/u,
    ],
  ] as const) {
    it(`a task with --json prints on stderr that the disk is full for ${name}`, async () => {
      const problem = "ENOSPC: no space left on device";
      const full = vaultError("VAULT_OUTPUT_NOT_WRITTEN", { problem });
      const { success, err } = await run({ json: true }, work, full);
      expect(success).to.equal(false);
      expect(err).to.match(shown);
    });
  }

  it("a task with --json prints on stderr that its report could not be written, also if stdout has room for less", async () => {
    const written: string[] = [];
    let room = 0;
    const { success } = await runTask(
      { json: true },
      async () => await Promise.resolve(report),
      {
        out: {
          ...{ style: createStyle({}), isTTY: false },
          write: async (text) => {
            room += 1;
            if (room === 1) {
              const problem = "no space left on device";
              throw vaultError("VAULT_OUTPUT_NOT_WRITTEN", { problem });
            }
            written.push(`stdout: ${text}`);
            return await Promise.resolve(true);
          },
        },
        err: {
          style: createStyle({}),
          write: async (text) => {
            written.push(`stderr: ${text}`);
            return await Promise.resolve(true);
          },
        },
      },
    );
    expect(success).to.equal(false);
    expect(written).to.have.lengthOf(1);
    expect(written[0]).to.match(/^stderr: Error .*no space left/u);
  });

  it("a failed task prints its error in both forms, without a stack", async () => {
    for (const [thrown, code, says] of [
      [
        vaultError("VAULT_NOT_DECODABLE", { problem: "x", remedy: "y" }),
        "VAULT_NOT_DECODABLE",
        "cannot be decoded: x",
      ],
      [
        new HardhatPluginError("hardhat-other", "no"),
        "VAULT_HARDHAT_ERROR",
        "The plugin hardhat-other failed: no.",
      ],
      [new (class extends CustomError {})("no"), "VAULT_HARDHAT_ERROR", "no."],
      // Of another copy of Hardhat.
      [
        Object.defineProperties(new Error("HHE1: wrong"), {
          _isHardhatError: { value: true },
          errorCode: { value: "HHE1" },
        }),
        "VAULT_HARDHAT_ERROR",
        "Hardhat failed: HHE1: wrong.",
      ],
      ["oops", "VAULT_INTERNAL", "oops"],
      [
        new Error("at https://unheard-of.test/5d41402a \u001b[31m"),
        "VAULT_INTERNAL",
        "at <url> \\u{1b}[31m",
      ],
    ] as const) {
      const person = await run({ json: false }, failWith(thrown));
      expect(person).to.include({ out: "", success: false });
      expect(person.err).to.match(/^Error /u);
      expect(person.err).to.contain(says).and.contain(code);
      expect(person.err.split("\n")).to.have.lengthOf(3);
      const script = await run({ json: true }, failWith(thrown));
      expect(script).to.include({ err: "", success: false });
      const document: unknown = JSON.parse(script.out);
      expect(document).to.have.all.keys("error");
      expect(document).to.have.nested.property("error.code", code);
      expect(document)
        .to.have.nested.property("error.message")
        .that.contains(says);
    }
  });

  it("a task hides secrets of the configuration in an error that nobody expected", async () => {
    const key = `0x${"1e7e4a1".repeat(9)}7`;
    const hre = await createTestHre({
      networks: {
        live: httpNetwork("http://node.test/v1/5ecret-path", {
          accounts: [key],
        }),
      },
    });
    let written = "";
    const restore = replace(process.stderr, {
      write: (text: string): boolean => Boolean((written += text)),
    });
    const action = taskAction(
      { description: "", options: {} },
      failWith(new Error(`no <${key}> at <5ecret-path>`)),
    );
    await Promise.resolve(action({}, hre)).finally(restore);
    expect(written).to.include("no <<hidden>> at <<hidden>>");
  });

  it("an error of a task names flags if that of the API names options", async () => {
    for (const [error, where, text] of [
      [
        invalidArgument("fromBlock", "it is wrong"),
        "--from-block",
        /^Error --from-block: it is wrong\.\nCorrect that value\. /u,
      ],
      [
        vaultError("VAULT_INVALID_BLOCK", { where: "blockTag", value: "x" }),
        "--block",
        /^Error --block is not a block/u,
      ],
      ...[
        ["blockNumber", "--block"],
        ["engine", "--fork"],
        ["lastId", "--ids"],
        ["orders", "--ids"],
      ].map(
        ([option = "", flag = ""]) =>
          [
            invalidArgument(option, "it is wrong"),
            flag,
            new RegExp(`^Error ${flag}: it is wrong\\.\n`, "u"),
          ] as const,
      ),
      [
        invalidArgument("networks.main.url", "it is wrong"),
        "networks.main.url",
        /^Error networks\.main\.url: it is wrong\.\nCorrect that value\. /u,
      ],
      [
        vaultError("VAULT_NO_SENDER", { network: "main" }),
        undefined,
        /\nName an account with --from, or set/u,
      ],
      [
        vaultError("VAULT_SETTLEMENT_UNFINISHED", {
          ...{ transaction: "0x12", file: "settlement.json" },
        }),
        undefined,
        / with `npx hardhat vault settle --resume --instance usdc --network live`; /u,
      ],
    ] as const) {
      expect(error.message).to.not.contain("--");
      const options = {
        ...{ fromBlock: "1", block: undefined },
        ...{ instance: "usdc", network: "live" },
      };
      expect((await run(options, failWith(error))).err).to.match(text);
      const { out } = await run({ json: true, ...options }, failWith(error));
      const { details } = fieldsOf(fieldsOf(JSON.parse(out))["error"]);
      expect(fieldsOf(details)["where"]).to.equal(where);
      expect(out).to.not.contain("option `");
    }
  });
});

describe("what a task advises", () => {
  const late = vaultError("VAULT_RPC_TIMEOUT", {
    ...{ network: "live", method: "eth_call" },
  });

  it("a task with --timeout advises it if the node does not answer, and no other task does", async () => {
    const setting = "raise networks.live.timeout";
    const { err } = await run({ timeout: undefined }, failWith(late));
    expect(err).to.include(`${setting} or --timeout.`);
    expect((await run({}, failWith(late))).err).to.include(`${setting}.`);
  });

  it("a document has the advice of the command line for an error in it", () => {
    expect(toDocument({ volume: { error: late } }))
      .to.have.nested.property("volume.error.message")
      .that.includes("networks.live.timeout or --timeout.");
  });

  it("a suggested command repeats the options that choose the contracts, without blanks", () => {
    const typed = { at: "vault=0x1, trading=0x2", instance: "usdc" };
    expect(repeatFlags({ ...typed, network: "live", json: true })).to.equal(
      " --at vault=0x1,trading=0x2 --instance usdc --network live",
    );
    expect(repeatFlags({ at: undefined, network: "live" })).to.equal(
      " --network live",
    );
  });
});
