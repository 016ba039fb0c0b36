import { emptyTask, task } from "hardhat/config";
import { ArgumentType } from "hardhat/types/arguments";
import type {
  NewTaskDefinitionBuilder,
  TaskDefinition,
} from "hardhat/types/tasks";

import { contractRoleNames } from "../src/protocol/contracts.js";
import {
  operationEntry,
  readOperationNames,
} from "../src/protocol/readings.js";
import type { ReadOperationName } from "../src/protocol/types.js";
import { actions } from "./actions.js";
import { describeArgument, isOptional } from "./arguments.js";

// This file describes the tasks and loads none of them: it is imported by every
// run of Hardhat.

// Values are parsed by us and not by Hardhat, whose integers have no bound and
// whose errors are not ours.
function textOption<Name extends string>(
  name: Name,
  description: string,
): {
  name: Name;
  description: string;
  type: ArgumentType.STRING_WITHOUT_DEFAULT;
  defaultValue: undefined;
} {
  return {
    name,
    description,
    type: ArgumentType.STRING_WITHOUT_DEFAULT,
    defaultValue: undefined,
  };
}

/** As Hardhat's own `(default: …)`, since it knows of no required option. */
function required(description: string): string {
  return `${description} (required)`;
}

const timeout = textOption(
  "timeout",
  "Give up after so many seconds, with whatever is asked again",
);
const from = textOption("from", "Send the call from this address");
const format = textOption(
  "format",
  "Stream without an envelope: ndjson (an object a line) or csv",
);
const out = textOption(
  "out",
  "Write to this file, which appears whole or not at all; .csv, .ndjson and .json choose the form",
);

const scripted = {
  name: "operation",
  description: required("Name of the operation, as in settleAll"),
} as const;
const scriptedPool = textOption(
  "pool",
  "The one pool that is meant, for getLPAmountInfo: public or private",
);

type VaultTaskBuilder = NewTaskDefinitionBuilder<{
  json: boolean;
  wide: boolean;
  at: string | undefined;
  instance: string | undefined;
}>;

function vaultTask(name: string, description: string): VaultTaskBuilder {
  return task(["vault", ...name.split(" ")], description)
    .addFlag({
      name: "json",
      description: "Print one JSON document on stdout and nothing else",
    })
    .addFlag({
      name: "wide",
      description: "Shorten and wrap nothing, however narrow the terminal",
    })
    .addOption(
      textOption(
        "at",
        `Use these addresses: role=0x…[,role=0x…]; roles: ${contractRoleNames.join(", ")}`,
      ),
    )
    .addOption(
      textOption(
        "instance",
        "Use this one of the sets of contracts that the network's settings name",
      ),
    );
}

type ReadTaskBuilder = NewTaskDefinitionBuilder<{
  json: boolean;
  wide: boolean;
  at: string | undefined;
  instance: string | undefined;
  raw: boolean;
  block: string | undefined;
  timeout: string | undefined;
  from: string | undefined;
}>;

function readTask(name: string, description: string): ReadTaskBuilder {
  return vaultTask(name, description)
    .addFlag({
      name: "raw",
      description: "Show and take integers as on the wire, unscaled",
    })
    .addOption(
      textOption(
        "block",
        "Read at this block: a number, latest, safe, finalized, earliest or pending",
      ),
    )
    .addOption(timeout)
    .addOption(from);
}

/** The task of one read operation, described by the operations table. */
function operationTask(operation: ReadOperationName): TaskDefinition {
  const { task: name, description, inputs } = operationEntry(operation);
  let builder = readTask(name, description);
  for (const field of inputs) {
    const { option, name: inputName, unit } = field;
    const argument = option ?? inputName;
    const text = required(describeArgument(field));
    builder =
      unit === "none"
        ? builder.addPositionalArgument({ name: argument, description: text })
        : builder.addOption(
            textOption(
              argument,
              isOptional(field) ? describeArgument(field) : text,
            ),
          );
  }
  return builder.setAction(() => actions.read(operation)).build();
}

export const vaultTasks: TaskDefinition[] = [
  emptyTask("vault", "Read, settle and test the vault protocol").build(),
  ...readOperationNames.map(operationTask),
  readTask("status", "Show every reading of the vault at one block")
    .addFlag({
      name: "all",
      description:
        "Show the network's own contracts and all its instances side by side",
    })
    .setAction(actions.status)
    .build(),
  readTask("orders", "List orders: all there are, a range, or those named")
    .addOption(
      textOption("firstId", "First order id of the range; 0 unless given"),
    )
    .addOption(
      textOption(
        "lastId",
        "Last order id of the range; that of the last order unless given",
      ),
    )
    .addOption(
      textOption("ids", "These orders, in the place of a range: 1,2,5-9"),
    )
    .addOption(textOption("state", "Only orders in this state: open or closed"))
    .addOption(textOption("holder", "Only orders of this address"))
    .addOption(format)
    .addOption(out)
    .addFlag({
      name: "skipEmpty",
      description: "Leave out orders whose every value is zero",
    })
    .setAction(actions.orders)
    .build(),
  readTask("rounds", "List every round that the vault ever had, oldest first")
    .addOption(
      textOption(
        "fromBlock",
        "First block to look at; the chain's first unless given",
      ),
    )
    .addOption(
      textOption("toBlock", "Last block to look at; the latest unless given"),
    )
    .addOption(format)
    .addOption(out)
    .setAction(actions.rounds)
    .build(),
  readTask(
    "report",
    "Write a page to look at: one HTML file that needs nothing",
  )
    .addOption(
      textOption("out", "File to write; vault-report.html unless given"),
    )
    .addOption(
      textOption("orders", "Show these orders too, as in 1-500 or 1,2,5-9"),
    )
    .addFlag({
      name: "rounds",
      description: "Show every round that the vault ever had",
    })
    .addFlag({
      name: "simulate",
      description: "Rehearse a settlement, and show what it would do",
    })
    .setAction(actions.report)
    .build(),
  vaultTask("settle", "Settle the vault's current round")
    .addFlag({ name: "yes", description: "Settle without asking" })
    .addOption(
      textOption("from", "Settle with this one of the network's accounts"),
    )
    .addOption(
      textOption(
        "confirmations",
        "Wait until so many blocks hold the transaction; 1 unless given",
      ),
    )
    .addOption(
      textOption(
        "timeout",
        "Wait so many seconds for that, after sending; 300 unless given",
      ),
    )
    .addFlag({
      name: "resume",
      description: "Find out, or finish, what an interrupted settlement did",
    })
    .addFlag({
      name: "assert",
      description: "Send nothing; exit with 1 if there is a round to settle",
    })
    .addFlag({
      name: "calldata",
      description: "Send nothing; print the unsigned transaction as JSON",
    })
    .addFlag({
      name: "safe",
      description:
        "With --calldata: as a file that Safe's Transaction Builder imports",
    })
    .setAction(actions.settle)
    .build(),
  vaultTask(
    "simulate",
    "Rehearse a settlement, show every value before and after, and send nothing",
  )
    .addOption(
      textOption("as", "Settle as this account; any one, no key is needed"),
    )
    .addOption(
      textOption(
        "atTime",
        "Settle at this time: end (of the round), ISO date, +1h (from the chain's clock) or Unix seconds",
      ),
    )
    .addOption(
      textOption("orders", "Show what changes in these orders, as in 1,2,5-9"),
    )
    .addOption(
      textOption(
        "tokens",
        "Show what changes in balances of these ERC-20 tokens: 0x…[,0x…]",
      ),
    )
    .addOption(
      textOption(
        "block",
        "Start from this block: a number, safe or finalized; the newest unless given",
      ),
    )
    .addOption(timeout)
    .addFlag({
      name: "fork",
      description: "Rehearse on a fork in this process, not in one request",
    })
    .addOption(
      textOption(
        "hardfork",
        "Fork, and execute by the rules of this hardfork, as in prague",
      ),
    )
    .setAction(actions.simulate)
    .build(),
  vaultTask("rehearse", "Rehearse a settlement at past blocks; nothing is sent")
    .addFlag({
      name: "raw",
      description: "Show integers as on the wire, unscaled",
    })
    .addOption(
      textOption("blocks", "At these blocks, as in 100,200,300; or --samples"),
    )
    .addOption(
      textOption(
        "samples",
        "At so many blocks, at equal distances; or --blocks",
      ),
    )
    .addOption(
      textOption(
        "fromBlock",
        "First sample; the chain's first block unless given",
      ),
    )
    .addOption(
      textOption("toBlock", "Last sample; the latest block unless given"),
    )
    .addOption(
      textOption("as", "Settle as this account; any one, no key is needed"),
    )
    .addOption(timeout)
    .setAction(actions.rehearse)
    .build(),
  vaultTask("deploy-mocks", "Deploy mocks of the six contracts")
    .addOption(
      textOption(
        "scenario",
        "Canned state of the mocks; open-round unless given",
      ),
    )
    .addFlag({
      name: "yes",
      description: "Deploy also to a network where it costs money",
    })
    .setAction(actions.deployMocks)
    .build(),
  emptyTask(
    ["vault", "mock"],
    "Script mocks that are deployed to a development node",
  ).build(),
  vaultTask("mock next-round", "Put a new round in place of the mocks' latest")
    .addVariadicArgument({
      name: "terms",
      description:
        "What differs from the latest round, as on the wire: strikePrice=66000e18 endTime=+7d",
      defaultValue: [],
    })
    .setAction(actions.mockNextRound)
    .build(),
  vaultTask("mock set", "Change what the mocks answer")
    .addVariadicArgument({
      name: "changes",
      description: required(
        "Values by path, as on the wire: round.APY=185e15 pools.public.locked=0 orders.7.state=closed orders.8=none",
      ),
      defaultValue: [],
    })
    .setAction(actions.mockSet)
    .build(),
  vaultTask("mock fail", "Let an operation of the mocks revert")
    .addPositionalArgument(scripted)
    .addPositionalArgument({
      name: "reason",
      description: required("Why: a text, or revert data as 0x hex"),
    })
    .addOption(scriptedPool)
    .setAction(actions.mockFail)
    .build(),
  vaultTask("mock succeed", "Let an operation of the mocks succeed again")
    .addPositionalArgument(scripted)
    .addOption(scriptedPool)
    .setAction(actions.mockSucceed)
    .build(),
  vaultTask(
    "capture",
    "Record every reading at one block, for tests to replay with mocks",
  )
    .addOption(textOption("out", required("File to write, as in fixture.json")))
    .addOption(textOption("orders", "Record these orders too, as in 1,2,5-9"))
    .addOption(
      textOption(
        "block",
        "Record this block: a number, latest, safe or finalized",
      ),
    )
    .addOption(timeout)
    .setAction(actions.capture)
    .build(),
  vaultTask("request", "Print the JSON-RPC request of an operation")
    .addPositionalArgument({
      name: "operation",
      description: required("Name of the operation, as in getLatestRoundInfo"),
    })
    .addVariadicArgument({
      name: "args",
      description: "The operation's arguments, as on the wire",
      defaultValue: [],
    })
    .addOption(
      textOption(
        "pool",
        "Pool to ask, for getLPAmountInfo alone: public or private (required there)",
      ),
    )
    .addOption(from)
    .addFlag({
      name: "curl",
      description: "Print a curl command; it takes the URL from $RPC_URL",
    })
    .setAction(actions.request)
    .build(),
  vaultTask(
    "watch",
    "Show what changes, as it changes, until something happens",
  )
    .addFlag({
      name: "raw",
      description: "Show integers as on the wire, unscaled",
    })
    .addOption(
      textOption("from", "Try a settlement by this address at every look"),
    )
    .addOption(
      textOption(
        "until",
        "End with exit code 0 once the round is settled, expired, or at a time: ISO date, +1h (from the chain's clock) or Unix seconds",
      ),
    )
    .addOption(
      textOption("interval", "Look every so many seconds; 5 unless given"),
    )
    .setAction(actions.watch)
    .build(),
  vaultTask(
    "doctor",
    "Check the network, the contracts and the signer, and say what to mend",
  )
    .addOption(timeout)
    .setAction(actions.doctor)
    .build(),
  vaultTask("decode", "Say what bytes are: a call, an answer or an error")
    .addPositionalArgument({
      name: "hex",
      description: required("Call data, returned data or revert data, 0x hex"),
    })
    .addFlag({
      name: "raw",
      description: "Show integers as on the wire, unscaled",
    })
    .setAction(actions.decode)
    .build(),
];
