import { ArgumentType } from "hardhat/types/arguments";
import type { OptionDefinition } from "hardhat/types/arguments";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { NewTaskDefinition } from "hardhat/types/tasks";

import { vaultTasks } from "../../tasks/index.js";

const introduction = `<!-- Generated from tasks/index.ts by \`npm run docs\`. Do not edit. -->

# Tasks

\`npx hardhat vault <task> [--network <name>]\`. README.md shows the output of
each.

All tasks take \`--json\` (one JSON document on stdout and nothing else; integers
of the chain are decimal strings) and \`--at\`. A failure under \`--json\` is
\`{ "error": { "code", "message", "details" } }\`. The exit code is 0 only for
success. Codes are explained in [troubleshooting](troubleshooting.md).
`;

/** The reference of all tasks, from their definitions, as Markdown. */
export function renderTasks(): string {
  const tasks = vaultTasks.filter(
    (definition): definition is NewTaskDefinition =>
      definition.type === TaskDefinitionType.NEW_TASK,
  );
  return [introduction, ...tasks.map(renderTask)].join("\n");
}

function renderTask({
  id,
  description,
  positionalArguments,
  options,
}: NewTaskDefinition): string {
  const usage = [
    `npx hardhat ${id.join(" ")}`,
    ...positionalArguments.map(({ name, defaultValue }) =>
      defaultValue === undefined ? `<${name}>` : `[${name}]`,
    ),
  ].join(" ");
  const rows = [
    ...positionalArguments.map(({ name, description: text }) => [
      `\`<${name}>\``,
      text,
    ]),
    ...Object.values(options).map((option) => [
      `\`${renderOption(option)}\``,
      option.description,
    ]),
  ];
  return [
    `## ${id.join(" ")}\n`,
    `${description}.\n`,
    `\`${usage}\`\n`,
    "| argument | meaning |",
    "|---|---|",
    ...rows.map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`),
    "",
  ].join("\n");
}

function renderOption({ name, type }: OptionDefinition): string {
  const flag = `--${name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
  return type === ArgumentType.FLAG ? flag : `${flag} …`;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|");
}
