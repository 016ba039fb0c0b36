import { FileNotFoundError } from "@nomicfoundation/hardhat-utils/fs";
import { expect } from "chai";
import type { HardhatRuntimeEnvironment } from "hardhat/types/hre";
import { HardhatPluginError } from "hardhat/plugins";

import packageDescription from "../../package.json" with { type: "json" };
import { invalidArgument, vaultError } from "../../src/errors.js";
import type { VaultErrorCode } from "../../src/errors.js";
import { notes } from "../../tasks/output/screen.js";
import { parseGasPrice } from "../../tasks/parse-options.js";
import {
  inFlags,
  messageForCommandLine,
  repeatFlags,
  taskAction,
  toDocument,
} from "../../tasks/run-task.js";
import type { TaskReport } from "../../tasks/run-task.js";
import { fieldsOf } from "../helpers/fields.js";
import { createTestHre, httpNetwork } from "../helpers/hre.js";
import { replace } from "../helpers/run-vault-task.js";

const report: TaskReport = {
  json: { amount: 2n ** 70n, text: "a\u001b[31mb", list: [1n, null, true] },
  screen: [notes({ text: "fine", tone: "good" })],
};
const reporting = async () => await Promise.resolve(report);
const failWith = (thrown: unknown) => async (): Promise<never> => {
  await Promise.resolve();
  throw thrown;
};

const nothing = { description: "", options: {} };

type Work = Parameters<typeof taskAction>[1];

describe("running a task", () => {
  let hre: HardhatRuntimeEnvironment;
  before(async () => {
    hre = await createTestHre();
  });

  /** @param full Writes to stdout that fail, of a full disk. */
  const run = async (json: boolean, work: Work, full = 0) => {
    let [out, err] = ["", ""];
    let writes = 0;
    const restores = [
      replace(process.stdout, {
        write: (text: string, done: (error?: Error) => void): boolean => {
          writes += 1;
          if (writes <= full) {
            const problem = new Error("no space left on device");
            done(Object.assign(problem, { code: "ENOSPC" }));
          } else {
            out += text;
          }
          return true;
        },
      }),
      replace(process.stderr, {
        write: (text: string): boolean => Boolean((err += text)),
      }),
    ];
    const action = taskAction(nothing, work);
    const result: unknown = await Promise.resolve(
      action({ json }, hre),
    ).finally(() => {
      restores.forEach((restore) => {
        restore();
      });
    });
    return { out, err, success: fieldsOf(result)["success"] };
  };

  it("a task with --json prints one line of JSON with integers as text, and escapes control characters", async () => {
    expect(await run(true, reporting)).to.deep.equal({
      out: '{"amount":"1180591620717411303424","text":"a\\u001b[31mb","list":["1",null,true]}\n',
      ...{ err: "", success: true },
    });
  });

  it("a task whose report is not ok fails", async () => {
    const refuse = async () => await Promise.resolve({ ...report, ok: false });
    expect(await run(false, refuse)).to.include({ success: false });
  });

  for (const [title, work, full, shown] of [
    // Not a document of the error, which is shorter.
    [
      "its report",
      reporting,
      1,
      /^Error .*no space.*\n.*NOT_WRITTEN\)\nhttps.*#vault_output_not_written\n$/u,
    ],
    ["its error", failWith(new Error("else")), 9, /^Error .*else/u],
  ] as const) {
    it(`a task with --json prints on stderr if the disk is full for ${title}`, async () => {
      const { success, out, err } = await run(true, work, full);
      expect([success, out]).to.deep.equal([false, ""]);
      expect(err).to.match(shown);
    });
  }

  const HARDHAT = "VAULT_HARDHAT_ERROR";
  for (const [title, thrown, code, text] of [
    [
      "an error of ours",
      vaultError("VAULT_INVALID_FIXTURE", { file: "x", problem: "y" }),
      ...(["VAULT_INVALID_FIXTURE", "y"] as const),
    ],
    [
      "an error of a plugin",
      new HardhatPluginError("hardhat-other", "no"),
      ...([HARDHAT, "The plugin hardhat-other failed: no."] as const),
    ],
    [
      "an error of Hardhat's helpers",
      new FileNotFoundError("gone.json", new Error("no")),
      ...([HARDHAT, "gone.json"] as const),
    ],
    [
      "an error that names an option of the API",
      invalidArgument("json", "it is wrong"),
      ...(["VAULT_INVALID_ARGUMENT", "--json: it is wrong"] as const),
    ],
    ["a text", "oops", "VAULT_INTERNAL", "oops"],
    [
      "an error with a URL and a control character",
      new Error("at https://unheard-of.test/5d41402a \u001b[31m"),
      ...(["VAULT_INTERNAL", "at <url> \\u{1b}[31m"] as const),
    ],
  ] satisfies ReadonlyArray<
    readonly [string, unknown, VaultErrorCode, string]
  >) {
    it(`a task that fails with ${title} prints ${code} in both forms, without a stack`, async () => {
      const person = await run(false, failWith(thrown));
      expect(person).to.include({ out: "", success: false });
      expect(person.err)
        .to.match(/^Error .*\n.*\nhttps:\S+\n$/u)
        .and.contain(text);
      expect(person.err).to.contain(`(${code})`);
      const page = `${packageDescription.homepage}documents/Error_codes.html`;
      expect(person.err).to.contain(`${page}#${code.toLowerCase()}\n`);
      const script = await run(true, failWith(thrown));
      expect(script).to.include({ err: "", success: false });
      const document = fieldsOf(JSON.parse(script.out));
      expect(document).to.have.all.keys("error");
      const { message, ...error } = fieldsOf(document["error"]);
      expect(error).to.include({ code });
      expect(message).to.contain(text);
    });
  }

  it("a task to which a person says no ends with what settle shows, and no error", async () => {
    const refusing = failWith(vaultError("VAULT_NOT_CONFIRMED", {}));
    expect(await run(false, refusing)).to.include({
      err: "Cancelled. Nothing was sent.\n",
      success: false,
    });
  });

  const key = `0x${"1e7e4a1".repeat(9)}7`;
  for (const [title, thrown, shown] of [
    [
      "hides secrets of the configuration in an error that nobody expected",
      new Error(`no <${key}> at <5ecret-path>`),
      "no <<hidden>> at <<hidden>>",
    ],
    [
      "names its network in a command that it suggests",
      vaultError("VAULT_SETTLEMENT_UNFINISHED", {
        ...{ transaction: "0x12", file: "settlement.json" },
      }),
      "settle --resume --network live`",
    ],
  ] as const) {
    it(`a task ${title}`, async () => {
      const url = "http://node.test/v1/5ecret-path";
      const settings = httpNetwork(url, { accounts: [key] });
      const networks = { networks: { live: settings } };
      const live = await createTestHre(networks, { network: "live" });
      let written = "";
      const restore = replace(process.stderr, {
        write: (text: string): boolean => Boolean((written += text)),
      });
      const action = taskAction(nothing, failWith(thrown));
      await Promise.resolve(action({}, live)).finally(restore);
      expect(written).to.include(shown);
    });
  }
});

describe("an error on the command line", () => {
  const typed = {
    ...{ fromBlock: "1", block: undefined, maxFeePerGas: "6wei" },
    ...{ instance: "usdc", network: "live" },
  };
  const wrong = "it is wrong";
  const dear = {
    ...{ what: "a fee", price: "7", limit: "6", network: "live" },
    setting: "maxFeePerGas",
  };
  const unfinished = { transaction: "0x12", file: "settlement.json" };
  for (const [error, where, text] of [
    [
      invalidArgument("fromBlock", wrong),
      "--from-block",
      "--from-block: it is",
    ],
    [invalidArgument("blockTag", wrong), "--block", "--block: it is wrong."],
    [invalidArgument("engine", wrong), "--fork", "--fork: it is wrong."],
    [invalidArgument("lastId", wrong), "--ids", "--ids: it is wrong."],
    [
      invalidArgument("networks.main.url", wrong),
      ...(["networks.main.url", "networks.main.url: it is wrong."] as const),
    ],
    [
      vaultError("VAULT_FEE_ABOVE_LIMIT", dear),
      ...(["--max-fee-per-gas", "or raise --max-fee-per-gas: an"] as const),
    ],
    [
      vaultError("VAULT_SETTLEMENT_UNFINISHED", unfinished),
      undefined,
      " with `npx hardhat vault settle --resume --instance usdc --network live`; ",
    ],
  ] as const) {
    it(`an error names flags in place of API options: ${text}`, () => {
      expect(error.message).to.not.contain("--");
      const { shortMessage, fix, details } = inFlags(error, typed);
      expect(`${shortMessage} ${fix}`)
        .to.contain(text)
        .and.not.contain("option `");
      expect(details["where"] ?? details["setting"]).to.equal(where);
    });
  }

  it("the limit of the fee that an error tells to pass is one that --max-fee-per-gas takes", () => {
    const [price, limit] = ["1.2 gwei", 12_000_000_000n];
    const needed = { network: "live", price, limit };
    const error = vaultError("VAULT_FEE_LIMIT_NEEDED", needed);
    const [, text = ""] =
      /`--max-fee-per-gas ([^`]*)`/u.exec(messageForCommandLine(error)) ?? [];
    expect(parseGasPrice(text, "--max-fee-per-gas")).to.equal(limit);
  });

  it("a document has the advice of the command line for an error in it", () => {
    const round = { network: "live", hash: "0x12", block: 7 };
    const error = vaultError("VAULT_REVERTED_BEFORE", round);
    expect(toDocument({ volume: { error } }))
      .to.have.nested.property("volume.error.message")
      .that.includes("or with --retry-reverted");
  });

  for (const [args, flags] of [
    [
      { at: "vault=0x1, trading=0x2", instance: "a", network: "b", json: true },
      " --at vault=0x1,trading=0x2 --instance a --network b",
    ],
    [{ at: undefined, network: "live" }, " --network live"],
  ] as const) {
    it(`a suggested command repeats${flags}, which choose the contracts`, () => {
      expect(repeatFlags(args)).to.equal(flags);
    });
  }
});
