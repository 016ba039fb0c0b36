import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { decodeOrThrow, encodeCall } from "../src/client/codec.js";
import { failedReading } from "../src/client/failed-reading.js";
import { entryAnswer } from "../src/client/lens/lens.js";
import type { ReadOptions } from "../src/client/reader.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { getNextBlock } from "../src/rpc/blocks.js";
import { asRecord } from "../src/json.js";
import { operationEntry, set, queriesOf } from "../src/protocol/index.js";
import type {
  Field,
  OperationArguments,
  ReadOperationName,
} from "../src/protocol/index.js";
import {
  hideInOrder,
  readAction,
  readBlock,
  readEnvelope,
} from "./open-vault.js";
import { notes, title, toned } from "./output/blocks.js";
import type { Envelope } from "./output/blocks.js";
import { readingsBlock } from "./output/readings.js";
import { Time } from "./parsers.js";
import { readTask } from "./definitions/read.js";

/** An older block is named, since its time is not the one that counts. */
const OLD_SECONDS = 60;

function describeOldBlock(seconds: number): string {
  return `The newest block is ${seconds} s old. Times are counted from the time that the next block would have.`;
}

export function createReadAction(
  operation: ReadOperationName,
): NewTaskActionFunction {
  const { inputs, key, title: name, description } = operationEntry(operation);
  return readAction(
    readTask(description, inputs),
    async (vault, { block, from, raw, ...rest }) => {
      const typed: Readonly<Record<string, unknown>> = rest;
      const values = inputs.map((field) => typed[field.option ?? field.name]);
      // The clock of the chain is read first only if a time counts from it.
      const known = values.some((value) => value instanceof Time)
        ? await readEnvelope(vault, block)
        : undefined;
      const given = values.map((value) =>
        value instanceof Time
          ? value.after(known?.block.timestamp ?? 0)
          : value,
      );
      const calls = given.every((value) => value === undefined)
        ? queriesOf(operation)
        : [
            {
              args: toCallArguments(inputs, given),
              path: pathOf(key, inputs, given),
            },
          ];
      const [{ envelope, results }, clock] = await Promise.all([
        readAtOnce(
          vault,
          operation,
          calls.map(({ args }) => args),
          { from, blockTag: block },
          known,
        ),
        // A round ends by the clock, though the newest block may be old.
        operation === "getLatestRoundInfo" && (block ?? "latest") === "latest"
          ? getNextBlock(vault.rpc)
          : undefined,
      ]);
      const { timestamp } = envelope.block;
      const chainTime = Math.max(timestamp, clock?.next.timestamp ?? 0);
      const shown = results.map((value) => hideInOrder(vault, value));
      const places: Record<string, unknown> = {};
      calls.forEach(({ path }, index) => {
        set(places, path, withIdentity(inputs, given, shown[index]));
      });
      return {
        json: { ...envelope, ...places },
        blocks: [
          title(name, envelope),
          readingsBlock(
            operation,
            calls.map(({ path: [, variant] }, index) => ({
              variant,
              value: shown[index],
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

/** Several arguments become one object, as `vault.read` takes them. */
export function toCallArguments(
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

/**
 * Reads the block and the values in one request if the node can run the lens.
 *
 * @param known Chain and block, if they were read already.
 */
async function readAtOnce(
  vault: HardhatVault,
  operation: ReadOperationName,
  given: ReadonlyArray<readonly unknown[]>,
  options: Pick<ReadOptions, "from" | "blockTag">,
  known: Envelope | undefined,
): Promise<{ envelope: Envelope; results: readonly unknown[] }> {
  const calls = await Promise.all(
    given.map(async (args) => {
      const call = encodeCall(operation, args);
      return { call, target: await vault.addressOf(call.role, operation) };
    }),
  );
  const { envelope, lens } =
    known === undefined
      ? await readBlock(
          vault,
          options,
          calls.map(({ call: { data }, target: { address: target } }) => ({
            target,
            data,
          })),
        )
      : { envelope: known, lens: undefined };
  // A pending block cannot be read by its number.
  const blockTag =
    options.blockTag === "pending" ? "pending" : envelope.block.number;
  const results = await Promise.all(
    calls.map(async ({ call, target }, index) => {
      const entry = lens?.entries[index];
      if (lens !== undefined && entry?.status === "returned") {
        const { network } = envelope;
        const lacksCode = !entry.hasCode;
        const answer = entryAnswer(lens, entry);
        try {
          return decodeOrThrow({ call, target, network, answer, lacksCode });
        } catch (error) {
          // The contract may answer a caller with code, such as the lens, otherwise.
          failedReading(error);
        }
      }
      return await vault.read(
        operation,
        // the table's own arguments, or values parsed by the table's units; the encoder checks them again
        given[index] as OperationArguments<typeof operation>,
        { from: options.from, blockTag },
      );
    }),
  );
  return { envelope, results };
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
  return inputs.length === 1 && only?.unit === "none"
    ? { [only.name]: given[0], ...asRecord(value) }
    : value;
}
