import { ArgumentType } from "hardhat/types/arguments";
import type { OptionDefinition } from "hardhat/types/arguments";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { NewTaskDefinition } from "hardhat/types/tasks";

import { vaultTasks } from "../../tasks/index.js";
import { toFlag } from "../../tasks/parse-options.js";
import type { Examples } from "./examples.js";

const introduction = `<!-- Generated from tasks/index.ts by \`npm run docs\`. Do not edit. -->

# Tasks

\`npx hardhat vault <task> [--network <name>]\`. The outputs are those of a local
anvil with the mocks that the first example deploys.

With \`--json\` stdout holds exactly one JSON document (\`vault watch\`: one a line,
for each change); integers of the chain are decimal strings. A failure is then
\`{ "error": { "code", "message", "details" } }\`, and a settlement that is refused or
reverts is \`{ "settlement": { "status", "code", "reason", … } }\`, as one that
succeeds is; so is a simulation, in \`simulation\`. The exit code is 0 only for success. If Hardhat's own parser refuses the
command (an unknown flag, a missing argument), the error is Hardhat's, in text. Codes are explained in
[troubleshooting](troubleshooting.md).

A task of the command line ends its process when its output is written. A task that a
script runs, with \`hre.tasks.getTask(…).run()\`, never does.

Every figure of one output is read at the block that the output names.
`;

/** The options that most tasks take are listed once. */
const ofEveryTask = ["json", "instance", "at"];
const ofReads = ["raw", "block", "from"];

/** The reference of all tasks, from their definitions, as Markdown. */
export function renderTasks(examples: Examples): string {
  const tasks = vaultTasks.filter(
    (definition): definition is NewTaskDefinition =>
      definition.type === TaskDefinitionType.NEW_TASK,
  );
  const [first] = tasks;
  const common = [...ofEveryTask, ...ofReads].flatMap(
    (name) => first?.options[name] ?? [],
  );
  return [
    introduction,
    ...table("option of most tasks", common.map(optionRow)),
    ...tasks.map((task) => renderTask(task, common, examples)),
  ].join("\n");
}

function renderTask(
  { id, description, positionalArguments, options }: NewTaskDefinition,
  common: readonly OptionDefinition[],
  examples: Examples,
): string {
  const usage = [
    `npx hardhat ${id.join(" ")}`,
    ...positionalArguments.map(({ name, description: text }) =>
      text.endsWith("(required)") ? `<${name}>` : `[${name}]`,
    ),
  ].join(" ");
  const isRead = ofReads.every((name) => name in options);
  const shared = [...ofEveryTask, ...(isRead ? ofReads : [])].filter(
    (name) => name in options,
  );
  const rows = [
    ...positionalArguments.map(({ name, description: text }) => [
      `\`<${name}>\``,
      text,
    ]),
    ...Object.values(options)
      .filter(
        (option) =>
          !shared.includes(option.name) ||
          // Another text than that of the shared table.
          common.every((other) => other.description !== option.description),
      )
      .map(optionRow),
  ];
  return [
    `## ${id.join(" ")}\n`,
    `${description}.\n`,
    `\`${usage}\`, with ${shared.map((name) => `\`--${name}\``).join(", ")}${rows.length === 0 ? "" : " and:"}\n`,
    ...(rows.length === 0 ? [] : table("argument", rows)),
    ...[...examples]
      .filter(([typed]) =>
        `${typed} `.startsWith(`npx hardhat ${id.join(" ")} `),
      )
      .flatMap(([typed, output]) => [
        "```console",
        `$ ${typed}`,
        output,
        "```\n",
      ]),
  ].join("\n");
}

function table(
  heading: string,
  rows: ReadonlyArray<readonly string[]>,
): string[] {
  return [
    `| ${heading} | meaning |`,
    "|---|---|",
    ...rows.map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`),
    "",
  ];
}

function optionRow({ name, type, description }: OptionDefinition): string[] {
  const flag = toFlag(name);
  return [
    `\`${type === ArgumentType.FLAG ? flag : `${flag} …`}\``,
    description,
  ];
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|");
}
