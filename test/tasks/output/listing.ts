import { mkdtemp, open, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { vaultError } from "../../../src/errors.js";
import type { ListedOrder } from "../../../src/client/index.js";
import { someOrder } from "../../../src/mocks/scenarios.js";
import { writeToFile } from "../../../tasks/output/listing.js";
import { createStyle } from "../../../tasks/output/screen.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { runCommand } from "../../helpers/consumers/run-command.js";
import { writeOrders } from "../../helpers/listings.js";
import { itOnPosix } from "../../helpers/posix.js";
import { KeptOutput } from "../../helpers/screens.js";
import { zeroAnswer } from "../../helpers/zero-answer.js";

const order = (exType: string): ListedOrder => ({
  ...{ ...someOrder, orderID: 1n, exType },
});
const error = vaultError("VAULT_INTERNAL", { problem: "none" });
const failed: ListedOrder = { orderID: 3n, error };
const empty: ListedOrder = { orderID: 2n, ...zeroAnswer("getOrderInfo") };

describe("CSV", () => {
  const lineOf = async (pair: string): Promise<string> =>
    (await writeOrders([order(pair)], "csv")).out.split("\n")[1] ?? "";

  for (const pair of [
    ...[
      "=1",
      "  +1",
      "\u3000-1",
      "\u00a0@SUM(1)",
      '"@a',
      "' =1",
      "＝1",
      "\t=1",
    ],
    ...["a;=1", 'a; "-1', "a;;'+1", "a; \t＋1"],
  ]) {
    it(`CSV has no cell that starts like a formula for ${JSON.stringify(pair)}, also if it is cut at semicolons`, async () => {
      for (const cell of (await lineOf(pair)).split(/[,;]/u)) {
        expect(cell).to.not.match(/^[\s"]*[=+\-@＝＋－＠]/u);
      }
    });
  }

  for (const [pair, cell] of [
    ["a =1\u001b", "a =1\\u{1b}"],
    ["a;  -1;+2", "a;  '-1;'+2"],
    ["x".repeat(10_000), "x".repeat(10_000)],
  ] as const) {
    it(`CSV writes ${pair.slice(0, 20)} as ${cell.slice(0, 20)}`, async () => {
      expect(await lineOf(pair)).to.include(`1,${cell},`);
    });
  }
});

describe("the output of a listing", () => {
  const notes = "Empty, with every value zero: 1 id.\n";
  for (const [form, orders, err] of [
    ["table", [order("A"), empty], ""],
    ["ndjson", [order("A"), empty], notes],
    ["csv", [order("A")], ""],
    ["csv", [failed], `Failed: 1 id. The first, 3: ${error.shortMessage}\n`],
  ] as const) {
    it(`writeListing writes ${orders.length} orders as ${form} to stdout, and ${err === "" ? "nothing" : "notes"} to stderr`, async () => {
      const written = await writeOrders(orders, form);
      expect(written).to.deep.include({ isRead: true, err });
      expect(written.out).to.not.equal("");
    });
  }

  it("writeListing refuses --scaled for another form than CSV, before it reads", async () => {
    const { message } = await expectVaultError(
      writeOrders([order("A")], { scaled: true, format: "ndjson" }),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.include("--scaled: only CSV");
  });

  it("writeListing stops, and writes nothing more, once the reader of stdout has gone", async () => {
    const orders = Array.from({ length: 1_200 }, () => empty);
    const out = new KeptOutput({ isRead: false });
    const { isRead, err } = await writeOrders(orders, "ndjson", {}, out);
    expect(isRead).to.equal(false);
    expect(out.text.split("\n")).to.have.lengthOf(500 + 1);
    expect(err).to.equal("");
  });

  describe("in a file", () => {
    let folder: string;
    const at = (name: string): string => path.join(folder, name);
    before(async () => {
      folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
    });
    after(async () => {
      await rm(folder, { recursive: true });
    });

    for (const [name, options, form] of [
      ["a.CSV", {}, "csv"],
      ["a.jsonl", {}, "ndjson"],
      ["a.txt", { format: "ndjson" }, "ndjson"],
      ["b.txt", {}, "table"],
    ] as const) {
      it(`writeListing writes ${form} to ${name} with ${JSON.stringify(options)}`, async () => {
        const given = { ...options, out: at(name) };
        await writeOrders([order("A")], given);
        const { out } = await writeOrders([order("A")], form);
        expect(await readFile(at(name), "utf8")).to.equal(out);
      });
    }

    it("writeListing writes a table to a file without colours and line breaks of a terminal, and names the file, escaped", async () => {
      const style = createStyle({ isTTY: true, columns: 40 });
      const out = new KeptOutput({ isTTY: true, style });
      const given = { out: at("o\u202eut.txt") };
      const { err } = await writeOrders([order("A")], given, {}, out);
      const { out: text } = await writeOrders([order("A")], "table");
      expect(await readFile(given.out, "utf8")).to.equal(text);
      expect(out.text).to.equal("");
      expect(err).to.equal(`Written to ${at("o\\u{202e}ut.txt")}.\n`);
    });

    const unread: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => {
        throw new Error("nothing may be read");
      },
    };
    const refusalOf = async (file: string): Promise<string> => {
      const writing = writeToFile(unread, file);
      return (await expectVaultError(writing, "VAULT_INVALID_ARGUMENT"))
        .message;
    };

    for (const [title, name, why] of [
      ["a folder", "", "it is a folder)"],
      ["a missing folder", "no/out.csv", "ENOENT: no such file or directory)"],
    ] as const) {
      it(`writeToFile refuses ${title} with VAULT_INVALID_ARGUMENT, before it reads`, async () => {
        expect(await refusalOf(at(name))).to.contain(
          `--out: ${at(name)} cannot be written (${why}`,
        );
      });
    }

    itOnPosix(
      "writeToFile refuses a pipe, a link to one, a device and an open file, before it reads",
      async () => {
        await runCommand("mkfifo", [at("pipe")], { cwd: folder });
        await symlink("pipe", at("link"));
        const log = await open(at("log"), "a");
        for (const file of [
          ...[at("pipe"), at("link"), "/dev/null", "/dev/stdout"],
          ...[`/dev/../dev/fd/${log.fd}`, `/proc/self/fd/${log.fd}`],
        ]) {
          expect(await refusalOf(file)).to.contain("it is not a regular file)");
        }
        await log.close();
        expect(await readFile(at("log"), "utf8")).to.equal("");
      },
    );

    it("writeToFile names the file, escaped, and not the temporary one", async () => {
      expect(await refusalOf(at("no\u001bne/out.csv")))
        .to.include("no\\u{1b}ne/out.csv cannot be written (ENOENT")
        .and.not.include(".partial");
    });
  });
});
