import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { parseAddress } from "../src/client/inputs.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { vaultError } from "../src/errors.js";
import {
  operationEntry,
  placeReading,
  readingsOf,
} from "../src/protocol/index.js";
import type {
  Field,
  OperationArguments,
  ReadOperationName,
} from "../src/protocol/index.js";
import { selectedNetwork, withVault } from "./open-vault.js";
import { renderHeading } from "./output/heading.js";
import type { Envelope } from "./output/heading.js";
import { renderReadings } from "./output/readings.js";
import { optionName, parseArgument, parseBlock } from "./parse-options.js";
import { runTask } from "./run-task.js";
import type { TaskReport } from "./run-task.js";

/** The arguments that every read task has. */
export interface ReadTaskArguments {
  readonly json: boolean;
  readonly raw: boolean;
  readonly at: string | undefined;
  readonly block: string | undefined;
  readonly from: string | undefined;
}

/** The values of an operation's own arguments, as typed, by option name. */
export type OperationTexts = Readonly<Record<string, unknown>>;

/** The action of the task that reads one operation. */
export function createReadAction(
  operation: ReadOperationName,
): NewTaskActionFunction<ReadTaskArguments> {
  return async (args, hre) =>
    await runTask(args.json, async () => {
      // Which further options there are, only the operations table knows.
      const texts: OperationTexts = { ...args };
      checkArguments(operation, args, texts, selectedNetwork(hre));
      return await withVault(
        hre,
        "read",
        args.at,
        async (vault) => await readOperation(operation, args, texts, vault),
      );
    });
}

/** Reads everything that one operation has to say, at one block. */
export async function readOperation(
  operation: ReadOperationName,
  args: ReadTaskArguments,
  texts: OperationTexts,
  vault: HardhatVault,
): Promise<TaskReport> {
  const { inputs, key, title } = operationEntry(operation);
  const { tokenDecimals } = vault.connection.networkConfig.vault;
  const { envelope, options } = await pinBlock(vault, args);
  const context = {
    network: vault.networkName,
    tokenDecimals,
    chainTime: envelope.block.timestamp,
    raw: args.raw,
  };
  const given = inputs.map((field) => {
    const text = textOf(field, texts);
    return text === undefined ? undefined : parseArgument(field, text, context);
  });
  const calls = given.every((value) => value === undefined)
    ? readingsOf(operation)
    : [
        {
          args: toCallArguments(inputs, given),
          path: pathOf(key, inputs, given),
        },
      ];
  const values = await Promise.all(
    calls.map(
      async (call) =>
        await vault.read(
          operation,
          // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table's own arguments, or values parsed by the table's units; the encoder checks them again
          call.args as OperationArguments<typeof operation>,
          options,
        ),
    ),
  );
  const places: Record<string, unknown> = {};
  calls.forEach(({ path }, index) => {
    placeReading(places, path, withIdentity(inputs, given, values[index]));
  });
  return {
    json: { ...envelope, ...places },
    text: (style) =>
      `${renderHeading(title, envelope, style)}\n${renderReadings(
        operation,
        calls.map(({ path: [, variant] }, index) => ({
          variant,
          value: values[index],
        })),
        context,
        style,
      )}`,
  };
}

/**
 * Reads one block header, so that every figure of a document is of the block
 * that the document names.
 */
export async function pinBlock(
  vault: HardhatVault,
  args: Pick<ReadTaskArguments, "block" | "from">,
): Promise<{
  envelope: Envelope;
  options: { from: string | undefined; blockTag: number | "pending" };
}> {
  const blockTag = parseBlock(args.block);
  const from =
    args.from === undefined ? undefined : parseAddress(args.from, "--from");
  const [chainId, block] = await Promise.all([
    vault.chainId(),
    vault.block(blockTag),
  ]);
  return {
    envelope: { network: vault.networkName, chainId, block },
    // A pending block has no number that a node could be asked for.
    options: {
      from,
      blockTag: blockTag === "pending" ? blockTag : block.number,
    },
  };
}

/** Refuses what is wrong without any network before one is opened. */
function checkArguments(
  operation: ReadOperationName,
  args: ReadTaskArguments,
  texts: OperationTexts,
  { name: network, config }: ReturnType<typeof selectedNetwork>,
): void {
  const context = {
    network,
    tokenDecimals: config.vault.tokenDecimals,
    chainTime: undefined,
    raw: args.raw,
  };
  parseBlock(args.block);
  if (args.from !== undefined) {
    parseAddress(args.from, "--from");
  }
  for (const field of operationEntry(operation).inputs) {
    const text = textOf(field, texts);
    if (text === undefined && field.unit !== "contractType") {
      throw vaultError("VAULT_INVALID_ARGUMENT", {
        where: optionName(field.option ?? field.name, field.unit),
        problem: "it is missing",
      });
    }
    if (text !== undefined) {
      parseArgument(field, text, context);
    }
  }
}

function textOf(
  { option, name }: Field,
  texts: OperationTexts,
): string | undefined {
  const value = texts[option ?? name];
  return typeof value === "string" ? value : undefined;
}

function toCallArguments(
  inputs: readonly Field[],
  given: readonly unknown[],
): readonly unknown[] {
  return inputs.length <= 1
    ? given
    : [
        Object.fromEntries(
          inputs.map(({ name }, index) => [name, given[index]]),
        ),
      ];
}

/** A single enum argument names the reading's place: `fundingFeeRate.call`. */
function pathOf(
  key: string,
  inputs: readonly Field[],
  given: readonly unknown[],
): readonly [key: string, variant?: string] {
  const [only] = inputs;
  return inputs.length === 1 && only?.unit === "contractType"
    ? [key, String(given[0])]
    : [key];
}

/** What is identified by an argument carries it, as an order carries its id. */
function withIdentity(
  inputs: readonly Field[],
  given: readonly unknown[],
  value: unknown,
): unknown {
  const [only] = inputs;
  return inputs.length === 1 &&
    only?.unit === "none" &&
    typeof value === "object"
    ? { [only.name]: given[0], ...value }
    : value;
}
