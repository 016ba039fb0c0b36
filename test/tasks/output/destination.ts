import {
  chmod,
  lstat,
  mkdtemp,
  open,
  readFile,
  readdir,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { expectVaultError } from "../../helpers/assertions.js";
import { runCommand } from "../../helpers/consumers/run-command.js";
import { writeToFile } from "../../../tasks/output/destination.js";

async function* pieces(): AsyncGenerator<string, void, undefined> {
  yield await Promise.resolve("one\n");
  yield "two\n";
}

const unread: AsyncIterable<string> = {
  [Symbol.asyncIterator]: () => {
    throw new Error("nothing may be read");
  },
};

const WHOLE = "one\ntwo\n";

describe("the file that --out names", () => {
  let folder: string;
  const at = (name: string): string => path.join(folder, name);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it("writeToFile writes the file that a link points to, there or not yet, and leaves the link", async () => {
    await symlink("real.csv", at("link.csv"));
    for (const earlier of [undefined, "before"]) {
      if (earlier !== undefined) {
        await writeFile(at("real.csv"), earlier);
      }
      await writeToFile(pieces(), at("link.csv"));
      expect((await lstat(at("link.csv"))).isSymbolicLink()).to.equal(true);
      expect(await readFile(at("real.csv"), "utf8")).to.equal(WHOLE);
    }
  });

  it("writeToFile replaces a file whole, and keeps its mode", async () => {
    await writeFile(at("out.csv"), "before");
    for (const mode of [0o600, 0o666]) {
      await chmod(at("out.csv"), mode);
      await writeToFile(pieces(), at("out.csv"));
      expect((await stat(at("out.csv"))).mode & 0o777).to.equal(mode);
    }
    expect(await readFile(at("out.csv"), "utf8")).to.equal(WHOLE);
    expect(await readdir(folder)).to.deep.equal(["out.csv"]);
  });

  it("writeToFile leaves the file as it was if the output ends in an error", async () => {
    await writeFile(at("out.csv"), "before");
    const broken = async function* (): AsyncGenerator<string> {
      yield* pieces();
      throw new Error("no more");
    };
    const failure = await writeToFile(broken(), at("out.csv")).catch(String);
    expect(failure).to.equal("Error: no more");
    expect(await readFile(at("out.csv"), "utf8")).to.equal("before");
    expect(await readdir(folder)).to.deep.equal(["out.csv"]);
  });

  it("writeToFile refuses a folder, a missing folder, and what is no regular file, with VAULT_INVALID_ARGUMENT, before it reads", async () => {
    await runCommand("mkfifo", [at("pipe")], { cwd: folder });
    await symlink("pipe", at("link"));
    const log = await open(at("log"), "a");
    const irregular = [
      ...[at("pipe"), at("link"), "/dev/null", "/dev/stdout"],
      ...[`/dev/fd/${log.fd}`, `/proc/self/fd/${log.fd}`],
    ].map((file) => [file, "it is not a regular file"] as const);
    for (const [file, why] of [
      [folder, "it is a folder"],
      [at("no/such/out.csv"), "ENOENT: no such file or directory"],
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
  });
});
