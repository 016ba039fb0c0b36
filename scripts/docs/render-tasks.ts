import { ArgumentType } from "hardhat/types/arguments";
import type { OptionDefinition } from "hardhat/types/arguments";
import { TaskDefinitionType } from "hardhat/types/tasks";
import type { NewTaskDefinition } from "hardhat/types/tasks";

import {
  operationEntry,
  readOperationNames,
} from "../../src/protocol/index.js";
import { vaultTasks } from "../../tasks/index.js";
import { toFlag } from "../../tasks/parse-options.js";

const introduction = `<!-- Generated from tasks/index.ts by \`npm run docs\`. Do not edit. -->

# Tasks

\`npx hardhat vault <task> [--network <name>]\`. The outputs are those of a local
anvil with the mocks of \`vault deploy-mocks\`. Every figure is read at the
block that the output names.

The exit code is 0 only for success. With \`--json\`, stdout has exactly one
[JSON document](reference-json.md), also for a failure, but for the errors of Hardhat's own parser.
`;

/** The options that most tasks take are listed once. */
const shared = ["json", "instance", "at", "raw", "block", "from", "timeout"];
/** Those of tasks that list something, too. */
const ofListings = ["format", "scaled", "out"];

/** What a section has besides the task's own help. */
interface Section {
  /** After `npx hardhat vault`; they run in this order, on one chain. */
  readonly examples: readonly string[];
  readonly text?: string;
}

const oneReading = "One reading";

const sections: Readonly<Record<string, Section>> = {
  [oneReading]: { examples: [] },
  "vault status": { examples: ["status"] },
  "vault orders": {
    examples: ["orders"],
    text: "[Outputs, ranges, and where the list ends](reading-many-orders.md).",
  },
  "vault rounds": {
    examples: [],
    text: "It needs a node with [old state](round-history.md).",
  },
  "vault report": {
    examples: [],
    text: `It begins with whether the vault can be settled now, and why not; then come the round, the orders
and the other readings, all at one block. The page has no script and loads nothing. If a reading fails, the exit code is 1.

\`--ids\` adds, for each of the four pairs with the most orders, a chart of opening prices
and a table of the first 1,000 orders.`,
  },
  "vault simulate": {
    examples: [],
    text: "[How it works, and its limits](simulating-a-settlement.md), [an output](../README.md#simulate).",
  },
  "vault settle": {
    examples: [],
    text: "[What it checks, and how it ends](settling-safely.md), [a picture](../README.md#settle-safely).",
  },
  "vault deploy-guard": {
    examples: [],
    text: "[What a guard is for](settling-safely.md#a-guard-on-the-chain).",
  },
  "vault deploy-mocks": { examples: [] },
  "vault mock": { examples: [] },
  "vault capture": {
    examples: [],
    text: "[What a replay does](testing-with-mocks.md#capture-a-live-vault-and-replay-it).",
  },
  "vault request": {
    examples: [],
    text: "[A request, and its bytes](protocol.md#wire-format).",
  },
  "vault watch": {
    examples: [],
    text: "[How to use it](monitoring.md#print-every-change).",
  },
  "vault doctor": {
    examples: [],
    text: "[Each check](monitoring.md#check-your-set-up).",
  },
};

/** The reference of all tasks, from their definitions, as Markdown, without outputs. */
export function renderTasks(): string {
  const tasks = vaultTasks.filter(
    (definition): definition is NewTaskDefinition =>
      definition.type === TaskDefinitionType.NEW_TASK,
  );
  const [first] = tasks;
  const listing = tasks.find(({ options }) => "scaled" in options);
  const common = [
    ...shared.flatMap((name) => first?.options[name] ?? []),
    ...ofListings.flatMap((name) => listing?.options[name] ?? []),
  ];
  const groups = Map.groupBy(tasks, sectionOf);
  return [
    introduction,
    "Options that several tasks take:\n",
    ...common.map(optionItem),
    "",
    ...[...groups].map(([heading, group]) =>
      renderSection(heading, group, common),
    ),
  ].join("\n");
}

function sectionOf({ id }: NewTaskDefinition): string {
  const isReading = readOperationNames.some(
    (operation) => operationEntry(operation).task === id[1],
  );
  return isReading ? oneReading : id.slice(0, 2).join(" ");
}

function renderSection(
  heading: string,
  tasks: readonly NewTaskDefinition[],
  common: readonly OptionDefinition[],
): string {
  const section = sections[heading];
  if (section === undefined) {
    throw new Error(
      `scripts/docs/render-tasks.ts has no example of ${heading}`,
    );
  }
  const [first] = tasks;
  const single = tasks.length === 1 ? first : undefined;
  const isCommon = (option: OptionDefinition): boolean =>
    common.some(({ description }) => description === option.description);
  const taken = Object.values(first?.options ?? {}).filter(isCommon);
  /** Options that every task of the section takes, listed once. */
  const ofAll = Object.values(first?.options ?? {}).filter(
    (option) =>
      tasks.length > 1 &&
      !isCommon(option) &&
      tasks.every(
        ({ options }) =>
          options[option.name]?.description === option.description,
      ),
  );
  const items = tasks.flatMap((task) => {
    const own = [
      ...task.positionalArguments.map(({ name, description }) =>
        item(`<${name}>`, description),
      ),
      ...Object.values(task.options)
        .filter((option) => !isCommon(option))
        .filter(({ name }) => !ofAll.some((option) => option.name === name))
        .map(optionItem),
    ];
    return single === undefined
      ? [
          item(usageOf(task), task.description),
          ...own.map((line) => `  ${line}`),
        ]
      : own;
  });
  return [
    `## ${heading}\n`,
    ...(single === undefined ? [] : [`${single.description}.`]),
    ...(section.text === undefined ? [] : [section.text]),
    `\n${single === undefined ? "They take" : `\`${usageOf(single)}\` takes`} ${taken
      .map(({ name }) => `\`${toFlag(name)}\``)
      .join(", ")}, and:\n`,
    ...ofAll.map(optionItem),
    ...items,
    "",
    ...section.examples.flatMap((typed) => [
      "```console",
      `$ npx hardhat vault ${typed} --network localhost`,
      "```\n",
    ]),
  ].join("\n");
}

function usageOf({ id, positionalArguments }: NewTaskDefinition): string {
  return [
    ...id,
    ...positionalArguments.map(({ name, description }) =>
      description.endsWith("(required)") ? `<${name}>` : `[${name}]`,
    ),
  ].join(" ");
}

function optionItem({ name, type, description }: OptionDefinition): string {
  const flag = toFlag(name);
  return item(type === ArgumentType.FLAG ? flag : `${flag} …`, description);
}

function item(typed: string, description: string): string {
  return `- \`${typed}\`: ${description.replaceAll("<", "\\<")}`;
}
