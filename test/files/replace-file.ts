import {
  chmod,
  lstat,
  mkdtemp,
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

import { replaceFile } from "../../src/files/project-file.js";
import { itOnPosix } from "../helpers/posix.js";

const WHOLE = "one\ntwo\n";

async function* pieces(): AsyncGenerator<string, void, undefined> {
  yield await Promise.resolve("one\n");
  yield "two\n";
}

describe("a file that is replaced", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-replaced-"));
    file = path.join(folder, "out");
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it("replaceFile writes a new file, and replaces one, and leaves no other", async () => {
    for (const text of [pieces(), WHOLE]) {
      await replaceFile(file, text);
      expect(await readFile(file, "utf8")).to.equal(WHOLE);
      expect(await readdir(folder)).to.deep.equal(["out"]);
    }
  });

  it("replaceFile leaves the file as it was if its text ends in an error", async () => {
    await writeFile(file, "before");
    const broken = async function* (): AsyncGenerator<string> {
      yield* pieces();
      throw new Error("no more");
    };
    const failure = await replaceFile(file, broken()).catch(String);
    expect(failure).to.equal("Error: no more");
    expect(await readFile(file, "utf8")).to.equal("before");
    expect(await readdir(folder)).to.deep.equal(["out"]);
  });

  itOnPosix(
    "replaceFile gives a new file its mode, and keeps the mode of one that exists",
    async () => {
      const modeOf = async (): Promise<number> =>
        (await stat(file)).mode & 0o777;
      await replaceFile(file, "", 0o600);
      expect(await modeOf()).to.equal(0o600);
      await chmod(file, 0o666);
      await replaceFile(file, "", 0o600);
      expect(await modeOf()).to.equal(0o666);
    },
  );

  itOnPosix(
    "replaceFile writes the file that a link points to, and leaves the link",
    async () => {
      const link = path.join(folder, "link");
      await symlink("out", link);
      await writeFile(file, "before");
      await replaceFile(link, WHOLE);
      expect((await lstat(link)).isSymbolicLink()).to.equal(true);
      expect(await readFile(file, "utf8")).to.equal(WHOLE);
    },
  );
});
