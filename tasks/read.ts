import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { settingsOf } from "../src/plugin/addresses.js";
import { vaultError } from "../src/errors.js";
import { operationEntry, set, queriesOf } from "../src/protocol/index.js";
import type {
  Field,
  OperationArguments,
  ReadOperationName,
} from "../src/protocol/index.js";
import { describeArgument, isOptional } from "./arguments.js";
import type { ReadArguments } from "./arguments.js";
import { readAction, readEnvelope, selectedNetwork } from "./open-vault.js";
import { title } from "./output/blocks.js";
import { readingsBlock } from "./output/readings.js";
import {
  argumentName,
  parseArgument,
  parseReadTarget,
  toCallArguments,
} from "./parse-options.js";
import type { ParsedArgument } from "./parse-options.js";

/** The action of the task that reads one operation, all it has, at one block. */
export function createReadAction(
  operation: ReadOperationName,
): NewTaskActionFunction<ReadArguments> {
  return readAction(
    (args, hre) => ({
      ...parseReadTarget(args),
      parsed: parseOperationArguments(operation, args, selectedNetwork(hre)),
    }),
    async (vault, { parsed, ...target }, { args: { raw } }) => {
      const { inputs, key, title: name } = operationEntry(operation);
      const envelope = await readEnvelope(vault, target.blockTag);
      const { number, timestamp: chainTime } = envelope.block;
      const given = parsed.map((value) =>
        typeof value === "function" ? value(chainTime) : value,
      );
      const calls = given.every((value) => value === undefined)
        ? queriesOf(operation)
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
              {
                from: target.from,
                // A pending block has no number that a node could be asked for.
                blockTag: target.blockTag === "pending" ? "pending" : number,
              },
            ),
        ),
      );
      const places: Record<string, unknown> = {};
      calls.forEach(({ path }, index) => {
        set(places, path, withIdentity(inputs, given, values[index]));
      });
      return {
        json: { ...envelope, ...places },
        blocks: [
          title(name, envelope),
          readingsBlock(
            operation,
            calls.map(({ path: [, variant] }, index) => ({
              variant,
              value: values[index],
            })),
            { ...vault.settings, chainTime, raw },
          ),
        ],
      };
    },
  );
}

/** Reads the operation's own arguments, before a network is opened. */
function parseOperationArguments(
  operation: ReadOperationName,
  args: ReadArguments,
  { name: network, config }: ReturnType<typeof selectedNetwork>,
): ReadonlyArray<ParsedArgument | undefined> {
  const { tokenDecimals } = settingsOf(network, config, args.instance);
  // Which further options there are, only the operations table knows.
  const texts: Readonly<Record<string, unknown>> = { ...args };
  return operationEntry(operation).inputs.map((field) => {
    const text = texts[field.option ?? field.name];
    if (typeof text === "string") {
      return parseArgument(field, text, {
        network,
        tokenDecimals,
        raw: args.raw,
      });
    }
    if (isOptional(field)) {
      return undefined;
    }
    throw vaultError("VAULT_MISSING_OPTION", {
      where: argumentName(field),
      form: describeArgument(field),
    });
  });
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
