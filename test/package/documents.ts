import { readFile } from "node:fs/promises";
import path from "node:path";

import { expect } from "chai";
import { TaskDefinitionType } from "hardhat/types/tasks";
import { glob } from "node:fs/promises";

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

  it("should have no link to a file that does not exist", async () => {
    const broken: string[] = [];
    for await (const file of glob(["docs/*.md", "README.md"], {
      cwd: repositoryRoot,
    })) {
      const document = path.join(repositoryRoot, file);
      const text = await readFile(document, "utf8");
      const prose = text.replaceAll(/^```.*?^```$/gmsu, "");
      for (const [, link = ""] of prose.matchAll(
        /\]\(([^)#:]+)(?:#[^)]*)?\)/gu,
      )) {
        const target = path.resolve(path.dirname(document), link);
        await readFile(target).catch(() => broken.push(`${file}: ${link}`));
      }
    }
    expect(broken).to.deep.equal([]);
  });

  it("should make an API reference without a warning", async () => {
    // Warnings are on stderr, which runCommand shows only on failure.
    await runCommand(
      process.execPath,
      [
        path.join(repositoryRoot, "node_modules/typedoc/bin/typedoc"),
        ...["--emit", "none", "--treatWarningsAsErrors"],
      ],
      { cwd: repositoryRoot },
    );
  });
});
