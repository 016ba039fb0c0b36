import { EventEmitter, once } from "node:events";
import { stripVTControlCharacters } from "node:util";

import { CustomError } from "@nomicfoundation/hardhat-utils/error";
import { expect } from "chai";

import { invalidArgument, vaultError } from "../../src/errors.js";
import type { VaultError } from "../../src/errors.js";
import { notes } from "../../tasks/output/blocks.js";
import { createStyle } from "../../tasks/output/style.js";
import { runTask, taskAction } from "../../tasks/run-task.js";
import type { TaskReport } from "../../tasks/run-task.js";
import { withTerminal } from "../../tasks/terminal.js";
import type { Output } from "../../tasks/output/style.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, hreOnLive } from "../helpers/hre.js";
import { startRpcServer } from "../helpers/rpc-server.js";
import { replace } from "../helpers/run-vault-task.js";
import {
  documentedContracts,
  documentedHandler,
} from "../helpers/documented-node.js";

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

  it("a failed task prints its error in both forms, without a stack", async () => {
    for (const [thrown, code, says] of [
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

/** What was written to stderr since the last call, with `⌫` for each line erased. */
async function onTerminal(
  isTTY: boolean,
  work: (latest: () => string) => Promise<unknown>,
): Promise<void> {
  let written = "";
  const restore = replace(process.stderr, {
    isTTY,
    columns: 80,
    write: (text: string): boolean => {
      written += text;
      return true;
    },
  });
  try {
    await work(() => {
      const text = written;
      written = "";
      return stripVTControlCharacters(text.replaceAll("\u001b[2K", "⌫"));
    });
  } finally {
    restore();
  }
}

describe("the line on a terminal while a task waits", () => {
  const { env } = process;
  beforeEach(() => {
    process.env = { ...env, TERM: "xterm" };
  });
  afterEach(() => {
    process.env = env;
  });

  it("the line is replaced by the next one, and by the output of the task or Hardhat", async () => {
    const hre = await createTestHre();
    await onTerminal(true, async (latest) => {
      hre.hooks.registerHandlers("userInterruptions", {
        requestSecretInput: async () => await Promise.resolve(latest()),
      });
      const result = await withTerminal(
        hre.hooks,
        async ({ progress, err }) => {
          progress("Waiting for live");
          expect(latest()).to.equal("Waiting for live…\n");
          progress("Reading orders", { done: 1_200, total: 20_000 });
          expect(latest()).to.match(/^⌫+Reading orders: 1,200 of 20,000\n$/u);
          await err.write("told\n");
          expect(latest()).to.match(/^⌫+told\n$/u);
          await err.write("once more\n");
          expect(latest()).to.equal("once more\n");

          progress("again");
          latest();
          expect(
            await hre.interruptions.requestSecretInput(
              "a keystore",
              "password",
            ),
          ).to.match(/^⌫+$/u);

          progress("the last");
          latest();
          return await Promise.reject(new Error("no"));
        },
      ).catch(String);
      expect(result).to.equal("Error: no");
      expect(latest()).to.match(/^⌫+$/u);
    });
  });

  it("a task can ask if stdin and stderr are a terminal, also if stdout is a file", async () => {
    const { hooks } = await createTestHre();
    for (const [stdin, stdout, stderr, canAsk] of [
      [true, false, true, true],
      [true, true, false, false],
      [false, true, true, false],
    ] as const) {
      const restoreStdin = replace(process.stdin, { isTTY: stdin });
      const restoreStdout = replace(process.stdout, { isTTY: stdout });
      let found: unknown;
      await onTerminal(stderr, async () => {
        await withTerminal(hooks, async ({ ask }) => {
          found = ask;
          await Promise.resolve();
        });
      }).finally(() => {
        restoreStdin();
        restoreStdout();
      });
      expect(found !== undefined).to.equal(canAsk);
    }
  });

  it("the line shows how often a request of a read task has failed, from the second time on", async () => {
    const server = await startRpcServer({
      handler: async (exchange) => {
        const { occurrence, request, response } = exchange;
        if (request.method !== "eth_call" || occurrence > 2) {
          return await documentedHandler(exchange);
        }
        response.writeHead(503).end();
        return "handled";
      },
    });
    const contracts = documentedContracts;
    const hre = await hreOnLive(server.url, { vault: { contracts } });
    await onTerminal(true, async (latest) => {
      const restore = replace(process.stdout, { write: () => true });
      await hre.tasks.getTask(["vault", "volume"]).run({}).finally(restore);
      expect(latest())
        .to.include("Waiting for live: eth_call failed 2 times…")
        .and.not.include("failed 1 times");
    });
    await server.stop();
  });

  for (const [name, isTTY, variable] of [
    ["no terminal", false, "xterm"],
    ["a dumb terminal", true, "dumb"],
  ] as const) {
    it(`the line is not shown on ${name}`, async () => {
      process.env["TERM"] = variable;
      const { hooks } = await createTestHre();
      await onTerminal(isTTY, async (latest) => {
        await withTerminal(hooks, async ({ progress, err }) => {
          progress("Waiting for live");
          await err.write("told\n");
        });
        expect(latest()).to.equal("told\n");
      });
    });
  }
});
