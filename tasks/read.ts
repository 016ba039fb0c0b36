import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { operationEntry, set, queriesOf } from "../src/protocol/index.js";
import type {
  Field,
  OperationArguments,
  ReadOperationName,
} from "../src/protocol/index.js";
import { isTime, readArguments } from "./arguments.js";
import { hideInOrder, readAction, readEnvelope } from "./open-vault.js";
import { notes, title, toned } from "./output/blocks.js";
import { readingsBlock } from "./output/readings.js";
import { toCallArguments } from "./parse-arguments.js";

/** An older block is named, since its time is not the one that counts. */
const OLD_SECONDS = 60;

function describeOldBlock(seconds: number): string {
  return `The newest block is ${seconds} s old. Times are counted from the time that the next block would have.`;
}

export function createReadAction(
  operation: ReadOperationName,
): NewTaskActionFunction {
  const { inputs, key, title: name } = operationEntry(operation);
  return readAction(
    readArguments(inputs),
    async (vault, { block, from, raw, ...rest }) => {
      const [envelope, clock] = await Promise.all([
        readEnvelope(vault, block),
        // A round ends by the clock, though the newest block may be old.
        operation === "getLatestRoundInfo" && (block ?? "latest") === "latest"
          ? vault.rpc.nextBlock()
          : undefined,
      ]);
      const { number, timestamp } = envelope.block;
      const chainTime = Math.max(timestamp, clock?.next.timestamp ?? 0);
      const typed: Readonly<Record<string, unknown>> = rest;
      const given = inputs.map((field) => {
        const value = typed[field.option ?? field.name];
        return isTime(value) ? value.after(chainTime) : value;
      });
      const calls = given.every((value) => value === undefined)
        ? queriesOf(operation)
        : [
            {
              args: toCallArguments(inputs, given),
              path: pathOf(key, inputs, given),
            },
          ];
      const values = await Promise.all(
        calls.map(async (call) =>
          hideInOrder(
            vault,
            await vault.read(
              operation,
              // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- the table's own arguments, or values parsed by the table's units; the encoder checks them again
              call.args as OperationArguments<typeof operation>,
              {
                from,
                // A pending block cannot be read by its number.
                blockTag: block === "pending" ? "pending" : number,
              },
            ),
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
          ...(chainTime - timestamp < OLD_SECONDS
            ? []
            : [notes(toned("warn", describeOldBlock(chainTime - timestamp)))]),
        ],
      };
    },
  );
}

/** A single enum argument is part of the path: `fundingFeeRate.call`. */
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

/** Adds the argument that identifies the value: an order gets its id. */
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
