import { existsSync } from "node:fs";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";

import { readExamples } from "../../scripts/docs/examples.js";
import {
  generatedDocuments,
  tasksDocument,
} from "../../scripts/docs/generated-documents.js";
import { vaultTasks } from "../../tasks/index.js";
import { repositoryRoot } from "../helpers/consumers/consumer-project.js";
import { runCommand } from "../helpers/consumers/run-command.js";

describe("package - documents", () => {
  it("should have tasks, errors and scenarios as they are: else `npm run docs`", async () => {
    const examples = readExamples(await readFile(tasksDocument, "utf8"));
    for (const [file, text] of await generatedDocuments(examples)) {
      expect(await readFile(file, "utf8"), file).to.equal(text);
    }
  });

  it("should show what every task prints", async () => {
    const sections = (await readFile(tasksDocument, "utf8")).split(/^## /mu);
    const tasks = vaultTasks.filter(
      ({ type }) => type === TaskDefinitionType.NEW_TASK,
    );
    expect(sections.length).to.be.above(tasks.length);
    for (const section of sections.slice(1)) {
      const [title = ""] = section.split("\n");
      expect(section, title).to.contain(`$ npx hardhat ${title}`);
    }
  });

  describe("as a site", function () {
    this.timeout(60_000);
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

    it("should have a page for every document, by its heading", async () => {
      const missing: string[] = [];
      for await (const file of glob("{docs/*,CHANGELOG,CONTRIBUTING}.md", {
        cwd: repositoryRoot,
      })) {
        const text = await readFile(path.join(repositoryRoot, file), "utf8");
        const [, heading = ""] = /^# (.*)$/mu.exec(text) ?? [];
        const page = `documents/${heading.replaceAll(" ", "_")}.html`;
        if (!existsSync(path.join(site, page))) {
          missing.push(`${file}: ${page}`);
        }
      }
      expect(missing, "not in typedoc.json").to.deep.equal([]);
    });

    it("should have no link that leads nowhere, and ask no other host for anything", async () => {
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
      expect(pages.size).to.be.above(50);
      expect([...broken]).to.deep.equal([]);
    });
  });
});
