import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { encodeCall } from "../src/client/codec.js";
import {
  locate,
  readAt,
  readInOneCall,
  readTogether,
} from "../src/client/snapshot.js";
import type { LocatedCall, Together } from "../src/client/snapshot.js";
import type { Context } from "../src/client/reader.js";
import { getNextBlock } from "../src/rpc/blocks.js";
import type { BlockInfo } from "../src/rpc/blocks.js";
import { maxHeadAge } from "../src/settlement/head-age.js";
import { vaultError } from "../src/errors.js";
import { asRecord } from "../src/json.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import { operationEntry, set, queriesOf } from "../src/protocol/index.js";
import type { Field, ReadOperationName } from "../src/protocol/index.js";
import { hideInOrder, pinVault, readAction } from "./open-vault.js";
import { labelledValues, notes, title, toned } from "./output/blocks.js";
import type { Block } from "./output/blocks.js";
import { formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { readingsBlock } from "./output/readings.js";
import { Amount, Time } from "./parsers.js";
import { readTask } from "./definitions.js";

/** An older block is named, since its time is not the one that counts. */
const OLD_SECONDS = 60;

export function createReadAction(
  operation: ReadOperationName,
): NewTaskActionFunction {
  const { inputs, key, title: name } = operationEntry(operation);
  return readAction(
    readTask(operation),
    async (vault, { block, from, raw, ...rest }) => {
      const typed: Readonly<Record<string, unknown>> = rest;
      const values = inputs.map((field) => {
        const value = typed[field.option ?? field.name];
        return value instanceof Amount ? inTokensOf(vault, value) : value;
      });
      // The clock of the chain is read first only if a time counts from it.
      const known = values.some((value) => value instanceof Time)
        ? await pinVault(vault, block)
        : undefined;
      const time = known?.envelope.block.timestamp ?? 0;
      const given = values.map((value) =>
        value instanceof Time ? value.after(time) : value,
      );
      const queries = given.every((value) => value === undefined)
        ? queriesOf(operation)
        : [
            {
              operation,
              args: toCallArguments(inputs, given),
              path: pathOf(key, inputs, given),
            },
          ];
      const context = vault.readContext({ from, blockTag: block });
      const located = await Promise.all(
        queries.map(
          async (query) =>
            await locate(context, encodeCall(query.operation, query.args)),
        ),
      );
      const {
        values: results,
        chainId,
        block: at,
      } = known === undefined
        ? await readAtOneBlock(context, located)
        : {
            ...known.envelope,
            ...(await readAt(context, known.pin, located)),
          };
      const envelope = { network: vault.networkName, chainId, block: at };
      const { chainTime, note } =
        operation === "getLatestRoundInfo" && context.block === "latest"
          ? await clockOf(vault, at)
          : { chainTime: at.timestamp };
      const shown = results.map((value) => hideInOrder(vault, value));
      const places: Record<string, unknown> = {};
      queries.forEach(({ path }, index) => {
        set(places, path, withIdentity(inputs, given, shown[index]));
      });
      return {
        json: { ...envelope, ...places },
        blocks: [
          title(name, envelope),
          ...argumentBlocks(inputs, given, {
            ...vault.settings,
            chainTime,
            raw,
          }),
          readingsBlock(
            operation,
            queries.map(({ path: [, variant] }, index) => ({
              variant,
              value: shown[index],
            })),
            { ...vault.settings, chainTime, raw },
          ),
          notes(note !== undefined && toned("warn", note)),
        ],
      };
    },
  );
}

/** @throws VaultError VAULT_TOKEN_DECIMALS_NOT_CONFIGURED */
function inTokensOf(
  { networkName: network, settings }: HardhatVault,
  { scaledBy, where }: Amount,
): bigint {
  if (settings.tokenDecimals === undefined) {
    throw vaultError("VAULT_TOKEN_DECIMALS_NOT_CONFIGURED", { where, network });
  }
  return scaledBy(settings.tokenDecimals);
}

/** The time that a round's end is counted from, with a note if the newest block is old. */
async function clockOf(
  vault: HardhatVault,
  { timestamp }: BlockInfo,
): Promise<{ readonly chainTime: number; readonly note?: string }> {
  const makesOnDemand = maxHeadAge(vault) === undefined;
  const chainTime = makesOnDemand
    ? (await getNextBlock(vault.rpc)).next.timestamp
    : timestamp;
  const now = makesOnDemand ? chainTime : Math.floor(Date.now() / 1_000);
  const age = now - timestamp;
  const source = makesOnDemand
    ? "the time that the next block would have"
    : "its time";
  return {
    chainTime,
    ...(age >= OLD_SECONDS && {
      note: `The newest block is ${age} s old. Times are counted from ${source}.`,
    }),
  };
}

/** One call is of one block by itself; a block that is named is read by its hash. */
async function readAtOneBlock(
  context: Context,
  calls: readonly LocatedCall[],
): Promise<Omit<Together, "pin">> {
  const found =
    context.block === "latest"
      ? await readInOneCall(context, calls)
      : undefined;
  return found ?? (await readTogether(context, calls));
}

/** Shows how several arguments were read, such as the time of `+7d`. */
function argumentBlocks(
  inputs: readonly Field[],
  given: readonly unknown[],
  context: FormatContext,
): readonly Block[] {
  return inputs.length <= 1 || context.raw
    ? []
    : [
        labelledValues(
          inputs.map((field, index) => [
            field.label,
            formatValue(field, given[index], context),
          ]),
        ),
      ];
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
