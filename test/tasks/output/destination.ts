import { mkdtemp, open, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { writeToFile } from "../../../tasks/output/destination.js";
import { expectVaultError } from "../../helpers/assertions.js";
import { runCommand } from "../../helpers/consumers/run-command.js";
import { itOnPosix } from "../../helpers/posix.js";

const unread: AsyncIterable<string> = {
  [Symbol.asyncIterator]: () => {
    throw new Error("nothing may be read");
  },
};
const refusalOf = async (file: string): Promise<string> =>
  (await expectVaultError(writeToFile(unread, file), "VAULT_INVALID_ARGUMENT"))
    .message;

// How a file is written: test/files/replace-file.ts.
describe("the file that --out names", () => {
  let folder: string;
  const at = (name: string): string => path.join(folder, name);
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

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
