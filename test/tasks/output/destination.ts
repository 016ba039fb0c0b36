import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";

import { writeToFile } from "../../../tasks/output/destination.js";
import { expectVaultError } from "../../helpers/assertions.js";

describe("a file that is written", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hardhat-vault-out-"));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const pieces = async function* (): AsyncGenerator<string> {
    yield await Promise.resolve("all");
  };

  it("writeToFile stops listening for signals once the file is written", async () => {
    const listening = (): number =>
      process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");
    const earlier = listening();
    const during: number[] = [];
    const watched = async function* (): AsyncGenerator<string> {
      during.push(listening());
      yield* pieces();
    };
    await writeToFile(watched(), path.join(folder, "out.csv"));
    expect(during[0]).to.be.above(earlier);
    expect(listening()).to.equal(earlier);
  });

  it("writeToFile names the file and the reason, not the temporary file, if it cannot be created", async () => {
    const out = path.join(folder, "no\u001bne", "out.csv");
    const { message } = await expectVaultError(
      writeToFile(pieces(), out),
      "VAULT_INVALID_ARGUMENT",
    );
    expect(message)
      .to.include(`no\\u{1b}ne${path.sep}out.csv cannot be written (ENOENT`)
      .and.not.include(".partial");
  });
});
