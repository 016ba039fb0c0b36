import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  lstat,
  mkdtemp,
  open,
  readFile,
  readdir,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

import { expect } from "chai";

import { expectVaultError } from "../../helpers/assertions.js";
import { runCommand } from "../../helpers/consumers/run-command.js";
import { writeToFile } from "../../../tasks/output/destination.js";

async function* pieces(): AsyncGenerator<string, void, undefined> {
  yield await Promise.resolve("one\n");
  yield "two\n";
}

const WHOLE = "one\ntwo\n";

describe("output - what --out names", () => {
  let folder: string;
  const at = (name: string): string => path.join(folder, name);

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it("should be a file that is replaced whole", async () => {
    await writeFile(at("out.csv"), "before");
    await writeToFile(pieces(), at("out.csv"));
    expect(await readFile(at("out.csv"), "utf8")).to.equal(WHOLE);
    expect(await readdir(folder)).to.deep.equal(["out.csv"]);
  });

  it("should be the file that a link points to, and leave the link", async () => {
    await writeFile(at("real.csv"), "before");
    await symlink("real.csv", at("link.csv"));
    await writeToFile(pieces(), at("link.csv"));
    expect((await lstat(at("link.csv"))).isSymbolicLink()).to.equal(true);
    expect(await readFile(at("real.csv"), "utf8")).to.equal(WHOLE);
  });

  it("should be made where a link points to nothing yet", async () => {
    await symlink("new.csv", at("link.csv"));
    await writeToFile(pieces(), at("link.csv"));
    expect((await lstat(at("link.csv"))).isSymbolicLink()).to.equal(true);
    expect(await readFile(at("new.csv"), "utf8")).to.equal(WHOLE);
  });

  it("should be a pipe that somebody reads from, and stay one", async () => {
    await runCommand("mkfifo", [at("pipe")], { cwd: folder });
    const reader = spawn("cat", [at("pipe")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const read = text(reader.stdout);
      // Without a reader it is refused at once, so until cat has opened it.
      let written = false;
      while (!written) {
        written = await writeToFile(pieces(), at("pipe")).then(
          () => true,
          (error: unknown) => {
            expect(String(error)).to.contain("nobody reads from");
            return false;
          },
        );
      }
      expect((await lstat(at("pipe"))).isFIFO()).to.equal(true);
      expect(await read).to.equal(WHOLE);
    } finally {
      reader.kill();
    }
  });

  it("should be a pipe between processes, which no name leads to (on Linux)", async function () {
    if (process.platform !== "linux") {
      // eslint-disable-next-line no-restricted-syntax -- elsewhere, another process's pipe has no name at all
      this.skip();
    }
    // The left one holds the pipe open until it is told.
    const shell = spawn(
      "sh",
      ["-c", 'sh -c "echo \\$\\$ | cat >&2; read _" | cat'],
      {
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    try {
      const read = text(shell.stdout);
      const [pid = ""] = (await once(shell.stderr, "data")).map(String);
      await writeToFile(pieces(), `/proc/${pid.trim()}/fd/1`);
      shell.stdin.end("\n");
      expect(await read).to.equal(WHOLE);
    } finally {
      shell.kill();
    }
  });

  it("should be a file that is open already, by its number, and go on where that stands", async () => {
    for (const flags of ["a", "w"]) {
      await writeFile(at("log"), "before\n");
      await symlink("log", at(`link-${flags}`));
      const log = await open(at(`link-${flags}`), flags);
      try {
        await log.write("first\n");
        await symlink(`/dev/fd/${log.fd}`, at(`fd-${flags}`));
        await writeToFile(pieces(), `/dev/fd/${log.fd}`);
        await writeToFile(pieces(), at(`fd-${flags}`));
        await log.write("last\n");
      } finally {
        await log.close();
      }
      expect(await readFile(at("log"), "utf8")).to.equal(
        `${flags === "a" ? "before\n" : ""}first\n${WHOLE}${WHOLE}last\n`,
      );
    }
    const read = await open(at("log"), "r");
    const { message } = await expectVaultError(
      writeToFile(pieces(), `/dev/fd/${read.fd}`),
      "VAULT_INVALID_ARGUMENT",
    ).finally(async () => {
      await read.close();
    });
    expect(message).to.contain("EBADF");
  });

  it("should never wait for the reader of a pipe, nor read anything for it", async () => {
    await runCommand("mkfifo", [at("pipe")], { cwd: folder });
    let begun = false;
    const { message } = await expectVaultError(
      writeToFile(
        (async function* () {
          begun = true;
          yield* pieces();
        })(),
        at("pipe"),
      ),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message).to.contain("it is a pipe that nobody reads from");
    expect(begun).to.equal(false);
  });

  // Nodes of our own: the machine's are not what a mistake should cost. Only
  // root can make them, as only root could replace one.
  describe("a device", () => {
    const makeNode = async (name: string, minor: number): Promise<boolean> => {
      if (process.getuid?.() !== 0) {
        return false;
      }
      await runCommand("mknod", [at(name), "c", "1", String(minor)], {
        cwd: folder,
      });
      return true;
    };

    it("should be written to and stay one (as root)", async () => {
      const made = await makeNode("null", 3);
      await writeToFile(pieces(), at("null"));
      expect((await lstat(at("null"))).isCharacterDevice()).to.equal(made);
    });

    it("should be refused where it is full (as root)", async () => {
      const made = await makeNode("full", 7);
      const outcome = await writeToFile(pieces(), at("full")).catch(String);
      expect(outcome ?? "").to.match(
        made ? /cannot be written \(ENOSPC: no space left on device/u : /^$/u,
      );
    });
  });
});
