import { existsSync } from "node:fs";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { network } from "hardhat";
import { TaskDefinitionType } from "hardhat/types/tasks";

import { runDocumentedCommands } from "../../scripts/docs/commands.js";
import { readExamples } from "../../scripts/docs/examples.js";
import {
  generatedDocuments,
  tasksDocument,
} from "../../scripts/docs/generated-documents.js";
import hardhatVault from "../../src/index.js";
import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { runCommand } from "../helpers/consumers/run-command.js";
import { parseTyped } from "../helpers/run-vault-task.js";

describe("documents", () => {
  it("generated documents are up to date: else `npm run docs`", async () => {
    const examples = readExamples(await readFile(tasksDocument, "utf8"));
    for (const [file, text] of await generatedDocuments(examples)) {
      expect(await readFile(file, "utf8"), file).to.equal(text);
    }
  });

  it("docs/tasks.md shows the output of every task", async () => {
    const sections = (await readFile(tasksDocument, "utf8")).split(/^## /mu);
    const tasks = (hardhatVault.tasks ?? []).filter(
      ({ type }) => type === TaskDefinitionType.NEW_TASK,
    );
    expect(sections.length).to.be.above(tasks.length);
    for (const section of sections.slice(1)) {
      const [title = ""] = section.split("\n");
      expect(section, title).to.contain(`$ npx hardhat ${title}`);
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
      "docs/wire-format.md: json",
      "docs/wire-format.md: text",
      // Units of systemd, and lines of cron that test/docs/keeper-examples.ts runs.
      ...["docs/monitoring.md: ini", "docs/monitoring.md: ini"],
      ...["docs/monitoring.md: ", "docs/monitoring.md: "],
      // Used by the consumer that runs Foundry, and the profile that it needs.
      ...["docs/solidity-tests.md: text", "docs/solidity-tests.md: toml"],
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
    await vault.deployMocks();
    // the document has a request
    const request = JSON.parse(codeOf("wire-format", "json")) as {
      readonly method: string;
      readonly params: unknown[];
    };
    const words = codeOf("wire-format", "text").matchAll(
      /^ *\d+ {2}([0-9a-f]{64}) /gmu,
    );
    expect(await provider.request(request)).to.equal(
      `0x${[...words].map(([, word]) => word).join("")}`,
    );
  });

  it("no command has a comment behind it, which zsh, the shell of macOS, takes for arguments", async () => {
    const commented: string[] = [];
    let commands = 0;
    for (const file of [
      ...(await readDocuments()).keys(),
      "examples/README.md",
    ]) {
      const text = await readFile(path.join(repositoryRoot, file), "utf8");
      for (const [, code = ""] of text.matchAll(/^```sh\n(.*?)^```$/gmsu)) {
        const lines = code.trimEnd().split("\n");
        commands += lines.length;
        commented.push(
          ...lines
            .filter((line) => /(?:^|\s)#/u.test(line))
            .map((line) => `${file}: ${line}`),
        );
      }
    }
    expect(commented).to.deep.equal([]);
    expect(commands).to.be.above(50);
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
    expect(commands).to.be.above(100);
  });

  it("README.md and coming-from.md show what their commands print: else `npm run docs`", async () => {
    for (const [file, text] of await runDocumentedCommands()) {
      expect(withoutGas(text)).to.equal(
        withoutGas(await readFile(file, "utf8")),
      );
    }
  });

  it("each path of a test in README, CONTRIBUTING and docs exists", async () => {
    const missing: string[] = [];
    let found = 0;
    for (const [file, text] of await readProse()) {
      for (const [name] of text.matchAll(/(?<![\w/])test\/[\w./-]*\w/gu)) {
        found += 1;
        if (!existsSync(path.join(repositoryRoot, name))) {
          missing.push(`${file}: ${name}`);
        }
      }
    }
    expect(missing).to.deep.equal([]);
    expect(found).to.be.above(50);
  });

  it("each --grep in README, CONTRIBUTING and docs selects a test of its file", async () => {
    const examples = (await readProse()).flatMap(([, text]) => [
      ...text.matchAll(/--grep "([^"]+)" (test\/\S+\.ts)/gu),
    ]);
    expect(examples).to.have.lengthOf.above(0);
    for (const [, pattern = "", file = ""] of examples) {
      const stdout = await runCommand(
        process.execPath,
        [
          ...["--import", "tsx", "node_modules/mocha/bin/mocha.js"],
          ...["--dry-run", "--exit", "--grep", pattern, file],
        ],
        { cwd: repositoryRoot },
      );
      expect(stdout, pattern).to.match(/^ +[1-9]\d* passing/mu);
    }
  });

  describe("as a site", function () {
    let site = "";

    before(async () => {
      site = await mkdtemp(path.join(tmpdir(), "hardhat-vault-site-"));
      // Warnings, those of links among them, are on stderr, which runCommand
      // shows only on failure.
      await runCommand(
        process.execPath,
        [
          path.join(repositoryRoot, "node_modules/typedoc/bin/typedoc"),
          ...["--out", site, "--treatWarningsAsErrors"],
        ],
        { cwd: repositoryRoot },
      );
    });
    after(async () => {
      await rm(site, { recursive: true });
    });

    it("the site has a page for every document and no broken link, and loads nothing from another host", async () => {
      const pages = new Map<string, string>();
      for await (const page of glob("**/*.html", { cwd: site })) {
        pages.set(page, await readFile(path.join(site, page), "utf8"));
      }
      const broken = new Set<string>();
      for (const [page, text] of pages) {
        for (const [tag, link = ""] of text.matchAll(
          /<\w+ [^>]*?(?:href|src)="([^"]*)"/gu,
        )) {
          if (/^https?:/u.test(link) && tag.startsWith("<a ")) {
            continue;
          }
          const [file = "", anchor = ""] = link.split("#");
          const target =
            file === "" ? page : path.join(path.dirname(page), decodeURI(file));
          const holds =
            anchor === "" || file.endsWith(".svg")
              ? existsSync(path.join(site, target))
              : pages.get(target)?.includes(`id="${decodeURI(anchor)}"`);
          if (holds !== true) {
            broken.add(`${page}: ${link}`);
          }
        }
      }
      for (const [file, text] of await readDocuments()) {
        const [, heading = ""] = /^# (.*)$/mu.exec(text) ?? [];
        const page = `documents/${heading.replaceAll(" ", "_")}.html`;
        if (file !== "README.md" && !pages.has(page)) {
          broken.add(`${file}: ${page}: not in typedoc.json`);
        }
      }
      expect(pages.size).to.be.above(50);
      expect([...broken]).to.deep.equal([]);
    });
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

/** The same without the changelog and without code of users. */
async function readProse(): Promise<ReadonlyArray<readonly [string, string]>> {
  return [...(await readDocuments())]
    .filter(([file]) => file !== "CHANGELOG.md")
    .map(([file, text]) => [
      file,
      text.replaceAll(/^```(?:ts|solidity)\n.*?^```$/gmsu, ""),
    ]);
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

/** Without what another build of the mocks, or of anvil, would change. */
function withoutGas(text: string): string {
  return text
    .replaceAll(/\b0x[0-9a-f]{43,}/gu, "0x#")
    .replaceAll(/-?\d[\d,]*\.\d{8,}/gu, "#")
    .replaceAll(/ {2,}/gu, "  ")
    .replaceAll(/(?<=[[ ])[\d,]+(?=\] 0x|n | used when)/gu, "#")
    .replaceAll(/(?<=^gas\b.*[ :])\d[\d,]*/gimu, "#");
}
