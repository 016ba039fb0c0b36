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

// How a file is written: test/files/replace-file.ts.
describe("the file that --out names", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  itOnPosix(
    "writeToFile refuses a folder, a missing folder, and what is no regular file, with VAULT_INVALID_ARGUMENT, before it reads",
    async () => {
      const at = (name: string): string => path.join(folder, name);
      await runCommand("mkfifo", [at("pipe")], { cwd: folder });
      await symlink("pipe", at("link"));
      const log = await open(at("log"), "a");
      const irregular = [
        ...[at("pipe"), at("link"), "/dev/null", "/dev/stdout"],
        ...[`/dev/fd/${log.fd}`, `/proc/self/fd/${log.fd}`],
      ].map((file) => [file, "it is not a regular file)"] as const);
      for (const [file, why] of [
        [folder, "it is a folder)"],
        [at("no/such/out.csv"), "ENOENT: no such file or directory)"],
        ...irregular,
      ] as const) {
        const { message } = await expectVaultError(
          writeToFile(unread, file),
          "VAULT_INVALID_ARGUMENT",
        );
        expect(message).to.contain(`--out: ${file} cannot be written (${why}`);
      }
      await log.close();
      expect(await readFile(at("log"), "utf8")).to.equal("");
    },
  );

  it("writeToFile names the file, escaped, and not the temporary one", async () => {
    const { message } = await expectVaultError(
      writeToFile(unread, path.join(folder, "no\u001bne", "out.csv")),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message)
      .to.include(`no\\u{1b}ne${path.sep}out.csv cannot be written (ENOENT`)
      .and.not.include(".partial");
  });
});
