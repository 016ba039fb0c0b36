import { EventEmitter, once } from "node:events";

import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import { expect } from "chai";

import { invalidArgument, vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { notes } from "../../tasks/output/blocks.js";
import { createStyle } from "../../tasks/output/style.js";
import { runTask, taskAction } from "../../tasks/run-task.js";
import type { TaskReport } from "../../tasks/run-task.js";
import type { Output, Terminal } from "../../tasks/terminal.js";
import { createTestHre } from "../helpers/hre.js";

/** A terminal that remembers what was written, and that it writes no more. */
function remembering(
  columns?: number,
  outFails?: VaultError,
): {
  terminal: Pick<Terminal, "out" | "err">;
  written: { out: string; err: string };
} {
  const written = { out: "", err: "" };
  const isTTY = columns !== undefined;
  const output = (stream: "out" | "err", failure?: VaultError): Output => ({
    style: createStyle({ isTTY, columns }),
    write: async (text) => {
      if (failure !== undefined) {
        throw failure;
      }
      written[stream] += text;
      return await Promise.resolve(true);
    },
  });
  return {
    written,
    terminal: {
      out: { ...output("out", outFails), isTTY },
      err: output("err"),
    },
  };
}

const report: TaskReport = {
  json: { amount: 2n ** 70n, text: "a\u001b[31mb", list: [1n, null, true] },
  blocks: [notes({ text: "fine", tone: "good" })],
};

describe("running a task", () => {
  it("should print one line of JSON without colours, integers as text", async () => {
    const { written, terminal } = remembering(80);
    const result = await runTask(
      { json: true },
      async () => await Promise.resolve(report),
      terminal,
    );
    expect(result.success).to.equal(true);
    expect(written).to.deep.equal({
      out: '{"amount":"1180591620717411303424","text":"a\\u001b[31mb","list":["1",null,true]}\n',
      err: "",
    });
  });

  it("should keep stdout for the documents of tasks that run at once, with --json", async () => {
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
      const run = async (number: number): Promise<unknown> =>
        await taskAction({}, async () => {
          await once(gate, `end ${number}`);
          console.log(`a contract of ${number}`);
          stdout.write(`a prompt of ${number}\n`);
          return { json: number, blocks: [] };
        })({ json: true }, hre);
      const running = [run(1), run(2)];
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

  for (const [name, work] of [
    ["a report", async () => await Promise.resolve(report)],
    [
      "an error",
      async () => await Promise.reject(new Error("of something else")),
    ],
  ] as const) {
    it(`should say on stderr that the disk is full, with --json: ${name}`, async () => {
      const problem = "ENOSPC: no space left on device";
      const { written, terminal } = remembering(
        undefined,
        vaultError("VAULT_OUTPUT_NOT_WRITTEN", { problem }),
      );
      const result = await runTask({ json: true }, work, terminal);
      expect(result.success).to.equal(false);
      expect(written.err).to.match(
        name === "an error"
          ? /^Error .*of something else.*\n.*\(VAULT_INTERNAL\)\n$/u
          : /^Error .*no space left on device\.\n.*\(VAULT_OUTPUT_NOT_WRITTEN\)\n$/u,
      );
    });
  }

  it("a failed task prints its error in both forms, without a stack", async () => {
    const failures: ReadonlyArray<
      readonly [thrown: unknown, code: string, says: string]
    > = [
      [
        vaultError("VAULT_NOT_DECODABLE", { problem: "x", remedy: "y" }),
        "VAULT_NOT_DECODABLE",
        "cannot be decoded: x",
      ],
      [
        Object.assign(new Error("HHE1: wrong"), { errorCode: "HHE1" }),
        "VAULT_HARDHAT_ERROR",
        "HHE1: wrong.",
      ],
      [new (class extends CustomError {})("no"), "VAULT_HARDHAT_ERROR", "no."],
      ["oops", "VAULT_INTERNAL", "oops"],
      [
        new Error("at https://node.test/secret \u001b[31m"),
        "VAULT_INTERNAL",
        "at <url> \\u{1b}[31m",
      ],
    ];
    for (const [thrown, code, says] of failures) {
      const fail = async (): Promise<never> => {
        await Promise.resolve();
        throw thrown;
      };
      const person = remembering();
      const script = remembering();
      for (const [json, { terminal }] of [
        [false, person],
        [true, script],
      ] as const) {
        const { success } = await runTask({ json }, fail, terminal);
        expect(success).to.equal(false);
      }
      expect(person.written.out).to.equal("");
      expect(person.written.err).to.match(/^Error /u);
      expect(person.written.err).to.contain(says).and.contain(code);
      expect(person.written.err.split("\n")).to.have.lengthOf(3);
      expect(script.written.err).to.equal("");
      const document: unknown = JSON.parse(script.written.out);
      expect(document).to.have.all.keys("error");
      expect(document).to.have.nested.property("error.code", code);
      expect(document)
        .to.have.nested.property("error.message")
        .that.contains(says);
    }
  });

  it("should name the flags where the API names its options", async () => {
    const refusals: ReadonlyArray<
      readonly [VaultError, string | undefined, RegExp]
    > = [
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
      [
        invalidArgument("deployMocks()", "it is wrong"),
        "deployMocks()",
        /^Error deployMocks\(\): it is wrong/u,
      ],
      [
        invalidArgument("networks.main.url", "it is wrong"),
        "networks.main.url",
        /^Error networks\.main\.url: it is wrong\.\nCorrect that value\. /u,
      ],
      [
        vaultError("VAULT_NO_SENDER", { network: "main", option: "as" }),
        undefined,
        /\nName an account with --as, or set/u,
      ],
      [
        vaultError("VAULT_SETTLEMENT_UNFINISHED", {
          ...{ transaction: "0x12", file: "settlement.json" },
        }),
        undefined,
        / with `npx hardhat vault settle --resume --instance usdc --network live`; /u,
      ],
    ];
    for (const [error, where, text] of refusals) {
      expect(error.message).to.not.contain("--");
      const fail = async (): Promise<never> => await Promise.reject(error);
      const options = {
        ...{ fromBlock: "1", block: undefined },
        ...{ instance: "usdc", network: "live" },
      };
      const { written, terminal } = remembering();
      await runTask({ json: false, ...options }, fail, terminal);
      await runTask({ json: true, ...options }, fail, terminal);
      expect(written.err).to.match(text);
      const document: unknown = JSON.parse(written.out);
      const details: unknown = Reflect.get(
        Object(Reflect.get(Object(document), "error")),
        "details",
      );
      expect(Reflect.get(Object(details), "where")).to.equal(where);
      expect(written.out).to.not.contain("option `");
    }
  });
});
