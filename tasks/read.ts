import type { NewTaskActionFunction } from "hardhat/types/tasks";

import {
  firstOf,
  fixedAddresses,
  requireAddress,
} from "../src/client/contracts.js";
import { encodeCall } from "../src/client/codec.js";
import {
  locate,
  pinBlock,
  readNewest,
  readPinned,
} from "../src/client/read-at-block.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { toSafeJson } from "../src/foreign-text.js";
import { asRecord } from "../src/json.js";
import { configuredAddresses } from "../src/plugin/addresses.js";
import { configuredCaller } from "../src/plugin/hardhat-vault.js";
import type { HardhatVault } from "../src/plugin/hardhat-vault.js";
import {
  isReadOperation,
  operationEntry,
  queriesOf,
  set,
} from "../src/protocol/index.js";
import type { Field, Query, ReadOperationName } from "../src/protocol/index.js";
import { readTask, tasks } from "./definitions.js";
import type { TaskValues } from "./definitions.js";
import { code, labelledValues, title } from "./output/screen.js";
import { describeCount, formatValue, readingsPart } from "./output/values.js";
import {
  parseDecimal,
  parseFutureTime,
  parseInteger,
  toFlag,
} from "./parse-options.js";
import {
  hideInOrder,
  readAction,
  selectedNetwork,
  taskAction,
} from "./run-task.js";

export function createReadAction(
  operation: ReadOperationName,
): NewTaskActionFunction {
  const { inputs, key, title: name } = operationEntry(operation);
  return readAction(readTask(operation), async (vault, args) => {
    const { block: blockTag, from, raw, ...rest } = args;
    const context = vault.withOptions({ from }).readContext({ blockTag });
    const typed = inputs.map((field) => inUnits(vault, field, asRecord(rest)));
    // The clock of the chain is read first only if a time counts from it.
    const pinned = inputs.some(({ unit }) => unit === "timestamp")
      ? await pinBlock(context)
      : undefined;
    const given = inputs.map((field, index) =>
      pinned !== undefined && field.unit === "timestamp"
        ? parseFutureTime(
            String(typed[index]),
            flagOf(field),
            pinned.block.timestamp,
          )
        : typed[index],
    );
    const [first] = given;
    const isVariant = inputs[0]?.unit === "contractType";
    // Without arguments, a call for each contract or contract type.
    const queries: ReadonlyArray<Pick<Query, "args" | "path">> = given.every(
      (value) => value === undefined,
    )
      ? queriesOf(operation)
      : [
          {
            args: toCallArguments(inputs, given),
            path: isVariant ? [key, String(first)] : [key],
          },
        ];
    const calls = await Promise.all(
      queries.map(
        async (query) =>
          await locate(context, encodeCall(operation, query.args)),
      ),
    );
    const pinAndRead = async () => {
      const { block, pin } = pinned ?? (await pinBlock(context));
      return { block, ...(await readPinned(context, pin, calls)) };
    };
    // One call is of one block by itself; a block that is named is read by its hash.
    const isAlone = pinned === undefined && context.block === "latest";
    const { chainId, block, values } =
      (isAlone ? await readNewest(context, calls) : undefined) ??
      (await pinAndRead());
    const envelope = { network: vault.networkName, chainId, block };
    const isId = inputs[0]?.unit === "none" && typeof first === "bigint";
    const places: Record<string, unknown> = {};
    const readings = values.map((value, index) => {
      const shown = hideInOrder(vault, value);
      const path = queries[index]?.path ?? [key];
      // The order of a document has its id.
      const document = isId ? { orderID: first, ...asRecord(shown) } : shown;
      set(places, path, document);
      return { variant: path[1], value: shown };
    });
    const format = { ...vault.display, chainTime: block.timestamp, raw };
    return {
      json: { ...envelope, ...places },
      screen: [
        title(isId ? `${name} ${first}` : name, envelope),
        // Shows how several arguments were read, such as the time of `+7d`.
        labelledValues(
          inputs.map(
            (field, index) =>
              inputs.length > 1 &&
              !raw && [field.label, formatValue(field, given[index], format)],
          ),
        ),
        readingsPart(operation, readings, format),
      ],
    };
  });
}

const flagOf = ({ name, option = name }: Field): string => toFlag(option);

/**
 * An input as it was parsed; an amount in tokens becomes an integer.
 *
 * @throws VaultError VAULT_TOKEN_DECIMALS_NOT_CONFIGURED
 */
function inUnits(
  { networkName: network, display: { tokenDecimals } }: HardhatVault,
  field: Field,
  args: Readonly<Record<string, unknown>>,
): unknown {
  const value = args[field.option ?? field.name];
  if (field.unit !== "token" || typeof value !== "string") {
    return value;
  }
  const where = flagOf(field);
  if (tokenDecimals === undefined) {
    throw vaultError("VAULT_TOKEN_DECIMALS_NOT_CONFIGURED", { where, network });
  }
  return parseDecimal(value, where, tokenDecimals);
}

/** The network is not opened: its URL may be a secret that is not available. */
export const requestAction = taskAction(
  tasks.request,
  async (args, { hre }) => {
    const { operation, at = {}, instance } = args;
    const { role, data } = encodeCall(operation, parseWireArguments(args));
    const { name: network, config } = selectedNetwork(hre);
    const { from = configuredCaller(network, config) } = args;
    const configured = [instance, undefined].map((one) =>
      configuredAddresses(network, config, one),
    );
    const addresses = [fixedAddresses(at, "--at"), ...configured].reduce(
      firstOf,
    );
    const place = { operation, network };
    const { address: to } = await requireAddress(addresses, role, place);
    const request = isReadOperation(operation)
      ? {
          jsonrpc: "2.0",
          id: 1,
          method: "eth_call",
          params: [{ from, to, data }, "latest"],
        }
      : {
          operation,
          to,
          data,
          value: "0x0",
          explanation:
            "settleAll changes state: it is sent as a transaction, not with eth_call. The protocol does not document how that transaction is to be submitted, so only its call data is printed. `vault settle` sends it.",
        };
    if (args.curl && !isReadOperation(operation)) {
      const problem = `${operation} needs a signed transaction; the task \`vault settle\` sends one`;
      throw invalidArgument("--curl", problem, "Omit it.");
    }
    const curl = `curl -sS -X POST -H 'Content-Type: application/json' --data '${toSafeJson(request)}' "$RPC_URL"`;
    return args.curl
      ? { json: { curl }, screen: [code(curl)] }
      : {
          json: request,
          screen: [code(JSON.stringify(request, undefined, 2))],
        };
  },
);

/** Numbers are unscaled. */
function parseWireArguments({
  operation,
  args,
  pool,
}: TaskValues<"request">): readonly unknown[] {
  const { inputs } = operationEntry(operation);
  if (args.length !== inputs.length) {
    const names = inputs.map(({ name }) => `<${name}>`);
    const wanted = names.length === 0 ? "no argument" : names.join(" ");
    const count = describeCount(args.length, "argument");
    const problem = `${operation} takes ${wanted}, got ${count}`;
    throw invalidArgument("<args>", problem);
  }
  const values = args.map((text, index) => {
    const input = inputs[index];
    return input?.unit === "contractType" && !/^[0-9]+$/u.test(text)
      ? text
      : parseInteger(text, `<${input?.name ?? "args"}>`);
  });
  const given = toCallArguments(inputs, values);
  return pool === undefined ? given : [pool, ...given];
}

/** Several arguments become one object, as `vault.read` takes them. */
function toCallArguments(
  inputs: readonly Field[],
  given: readonly unknown[],
): readonly unknown[] {
  const named = inputs.map(({ name }, index) => [name, given[index]] as const);
  return named.length <= 1 ? given : [Object.fromEntries(named)];
}
