import { glob, readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { network } from "hardhat";

import { recordDocuments } from "../../scripts/docs/record.js";
import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { parseTyped } from "../helpers/run-vault-task.js";

describe("documents", () => {
  it("documents are what the code and its commands give: else `npm run docs`", async () => {
    for (const [file, text] of await recordDocuments()) {
      const written = await readFile(path.join(repositoryRoot, file), "utf8");
      expect(withoutGas(written), file).to.equal(withoutGas(text));
    }
  });

  it("every block of code is compiled, run or compared", async () => {
    const blocks = [...(await readDocuments())].flatMap(([file, text]) =>
      [...text.matchAll(/^```(.*)\n([^]*?)^```$/gmu)].map(
        ([, language = "", code = ""]) => ({ file, language, code }),
      ),
    );
    // consumers.ts compiles or runs code; commands are compared below.
    const others = blocks.filter(
      ({ language }) =>
        !["ts", "js", "solidity", "console", "sh"].includes(language),
    );
    expect(
      others.map(({ file, language }) => `${file}: ${language}`),
    ).to.have.members([
      // Here.
      "docs/getting-started.md: json",
      // A picture on the repository's pages.
      "docs/how-a-settlement-works.md: mermaid",
      "docs/protocol.md: json",
      // Lines of cron that shell.ts runs.
      ...["docs/monitoring.md: ", "docs/monitoring.md: "],
      // Used by the consumer that runs Foundry.
      "docs/solidity-tests.md: text",
    ]);
    const codeOf = (name: string, language: string): string =>
      others.find(
        (block) =>
          block.file === `docs/${name}.md` && block.language === language,
      )?.code ?? "";

    const configuration =
      "test/fixture-projects/consumers/readme/tsconfig.json";
    expect(codeOf("getting-started", "json")).to.equal(
      await readFile(path.join(repositoryRoot, configuration), "utf8"),
    );

    const { vault, provider } = await network.create();
    const { addresses } = await vault.deployMocks();
    // the document has a request
    const request = JSON.parse(codeOf("protocol", "json")) as {
      readonly method: string;
      readonly params: unknown[];
    };
    const [call] = request.params;
    expect(call).to.include({ to: addresses.trading });
    expect(await provider.request(request)).to.include(
      Buffer.from("BTC-USDT").toString("hex"),
    );
  });

  it("every command names a task with its arguments and options", async () => {
    const wrong: string[] = [];
    let commands = 0;
    for (const [file, text] of await readDocuments()) {
      for (const [, command = ""] of text
        .replaceAll("\\\n", " ")
        .matchAll(
          /(?<=npx hardhat |^\| `|[^\w]`)(vault [a-z][^`|>#;&)\n]*)/gmu,
        )) {
        const problem = problemOf(command);
        commands += 1;
        if (problem !== undefined) {
          wrong.push(`${file}: ${command}: ${problem}`);
        }
      }
    }
    expect(wrong).to.deep.equal([]);
    expect(commands).to.be.above(50);
  });
});

/** The documents that people write and read, by file. */
async function readDocuments(): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for await (const file of glob("{docs/*,README,CHANGELOG,CONTRIBUTING}.md", {
    cwd: repositoryRoot,
  })) {
    texts.set(file, await readFile(path.join(repositoryRoot, file), "utf8"));
  }
  return texts;
}

/** Why Hardhat would refuse a command; undefined if it would not. */
function problemOf(command: string): string | undefined {
  const typed = command
    .replace(/^vault /u, "")
    .replaceAll(/--(?:network \S+|help)/gu, "")
    .replaceAll('"', "'");
  try {
    parseTyped(typed);
  } catch (error) {
    return typed === "mock" ? undefined : String(error);
  }
  return undefined;
}

/** Without the gas and the fees, which another build of the mocks would change. */
function withoutGas(text: string): string {
  return text
    .replaceAll(/-?\d[\d,]*\.\d{8,}/gu, "#")
    .replaceAll(/ {2,}/gu, "  ")
    .replaceAll(/\b0x[0-9a-f]{64}\b/gu, "#")
    .replaceAll(/(?<=^Gas.* )\d[\d,]*/gmu, "#");
}
