import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { fieldsOf } from "../helpers/fields.js";
import { packTarball } from "../helpers/tarball.js";

/** Half of it are the sources for debuggers and their maps, a tenth the mocks' bytecode. */
const SIZE_BUDGET_BYTES = 985_000;

describe("the tarball of the package", () => {
  it("the tarball stays within its size budget", async () => {
    const { size } = await packTarball();
    expect(size).to.be.below(SIZE_BUDGET_BYTES);
  });

  it("the tarball has what users import or read, and no more", async () => {
    const { files } = await packTarball();
    const folders = new Set(files.map((file) => file.split("/")[0]));
    expect([...folders].sort().join(" ")).to.equal(
      "CHANGELOG.md LICENSE README.md abi contracts dist docs examples package.json src tasks",
    );
    expect(files.join("\n")).to.not.match(
      // contracts/test/ is for the tests of users.
      /\.(tsbuildinfo|tgz|env)$|^test\/|(^|\/)(cache|node_modules)\//mu,
    );
  });

  it("no page of the package links to a file that is not in the package", async () => {
    const { files } = await packTarball();
    const broken: string[] = [];
    let links = 0;
    for (const page of files.filter((file) => file.endsWith(".md"))) {
      const file = path.join(repositoryRoot, page);
      const text = (await readFile(file, "utf8")).replaceAll(
        /^```.*?^```$/gmsu,
        "",
      );
      for (const [, link = ""] of text.matchAll(/\]\(([^)#:\s]+)[^):]*\)/gu)) {
        links += 1;
        if (!files.includes(path.posix.join(path.posix.dirname(page), link))) {
          broken.push(`${page}: ${link}`);
        }
      }
    }
    expect(broken).to.deep.equal([]);
    expect(links).to.be.above(100);
  });

  it("npm runs no script when it installs the package", async () => {
    const manifest = path.join(repositoryRoot, "package.json");
    const { scripts } = fieldsOf(JSON.parse(await readFile(manifest, "utf8")));
    expect(Object.keys(fieldsOf(scripts))).to.not.include.oneOf([
      ...["preinstall", "install", "postinstall", "prepare"],
    ]);
  });

  it("publint finds nothing", async () => {
    const { file } = await packTarball();
    const { buffer, byteOffset, byteLength } = await readFile(file);
    const tarball = buffer.slice(byteOffset, byteOffset + byteLength);
    const { messages, pkg } = await publint({
      pack: { tarball },
      strict: true,
    });
    expect(
      messages.map((message) => formatMessage(message, pkg)),
    ).to.deep.equal([]);
  });
});
