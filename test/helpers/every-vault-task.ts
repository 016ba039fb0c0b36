import { TaskDefinitionType } from "hardhat/types/tasks";
import type { NewTaskDefinition } from "hardhat/types/tasks";

import hardhatVault from "../../src/index.js";

export const newTasks = (hardhatVault.tasks ?? []).filter(
  (definition): definition is NewTaskDefinition =>
    definition.type === TaskDefinitionType.NEW_TASK,
);

/** One way to run a task, with all that it cannot run without. */
export interface TaskRun {
  readonly task: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What is taken for an argument that has to be there, by its name. */
const required: Readonly<Record<string, unknown>> = {
  id: "1",
  type: "call",
  maxVolume: "1",
  apy: "10",
  endTime: "+7d",
  operation: "queryVolume",
  reason: "closed today",
  changes: ["round.APY=185e15"],
  terms: ["strikePrice=66000e18"],
  hex: `0x${(10n ** 18n).toString(16).padStart(64, "0").repeat(9)}${"0".repeat(64)}`,
  out: "required",
};

/** What lets a task end by itself, where it has the option. */
const bounded: Readonly<Record<string, unknown>> = {
  timeout: "60",
  interval: "0.1",
  until: "expired",
};

/** What a task can do beside what it does without options. */
const variants: Readonly<
  Record<string, ReadonlyArray<Readonly<Record<string, unknown>>>>
> = {
  orders: [
    { ids: "1-4" },
    ...["csv", "ndjson"].map((format) => ({
      ids: "1-4",
      format,
    })),
    ...["csv", "ndjson", "json"].map((extension) => ({
      ids: "1-4",
      out: `orders.${extension}`,
    })),
  ],
  rounds: [{}, { format: "csv" }, { out: "rounds.ndjson" }],
  capture: [{ out: "fixture.json", ids: "1-4" }],
  report: [{ out: "report.html", ids: "1-4", rounds: true, simulate: true }],
  simulate: [{ ids: "1" }, { fork: true }],
  request: [{}, { curl: true }],
  "deploy-guard": [{ yes: true }],
  settle: [
    { assert: true },
    { calldata: true },
    { calldata: true, safe: true },
    { yes: true },
    { resume: true },
  ],
};

/**
 * Every task of the plugin, by its definition: one that is new is among them by
 * itself. What changes the chain comes last.
 */
export function everyTaskRun(): readonly TaskRun[] {
  return newTasks
    .flatMap(runsOf)
    .sort((one, other) => rankOf(one) - rankOf(other));
}

function runsOf(definition: NewTaskDefinition): readonly TaskRun[] {
  const { positionalArguments } = definition;
  const options = Object.values(definition.options);
  const task = definition.id.slice(1).join(" ");
  const needed = [
    ...positionalArguments.filter(({ name }) => name !== "args"),
    ...options.filter(({ description }) => description.endsWith("(required)")),
  ];
  const args = {
    ...Object.fromEntries(
      needed.map(({ name }) => [name, required[name] ?? "1"]),
    ),
    ...Object.fromEntries(
      options.flatMap(({ name }) =>
        name in bounded ? [[name, bounded[name]]] : [],
      ),
    ),
  };
  return (variants[task] ?? [{}]).map((variant) => ({
    task,
    args: { ...args, ...variant },
  }));
}

function rankOf({ task, args }: TaskRun): number {
  return task === "settle" && (args["yes"] ?? args["resume"]) === true
    ? 1
    : task.startsWith("mock") || task === "deploy-mocks"
      ? 2
      : 0;
}
