import { Buffer } from "node:buffer";

import { ErrorFragment, dataLength, isHexString } from "ethers";

import { IMockErrors__factory } from "../src/bindings/factories/IMockErrors__factory.js";
import { decodeOutputs, fragmentOf } from "../src/client/codec.js";
import type { ErrorAbisOf } from "../src/client/error-abis.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { guardErrors } from "../src/guard/errors.js";
import { settingsOf } from "../src/plugin/addresses.js";
import { errorAbisInProject } from "../src/plugin/project-abis.js";
import type { DisplaySettings, OperationName } from "../src/protocol/index.js";
import {
  contractRoles,
  operationEntry,
  operationNames,
  targetsOf,
} from "../src/protocol/index.js";
import {
  decodeArguments,
  decodeRevertReason,
} from "../src/rpc/revert-reason.js";
import type { Values } from "../src/rpc/revert-reason.js";
import { asRecord, toJsonValue } from "../src/json.js";
import { escapeUntrusted } from "../src/escape.js";
import { decodeTask } from "./definitions/decode.js";
import type { TaskValues } from "./definitions/shared.js";
import { labelledValues, title } from "./output/blocks.js";
import type { Block, LabelledValue } from "./output/blocks.js";
import { formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { selectedNetwork } from "./parse-options.js";
import { taskAction } from "./run-task.js";
import type { TaskReport } from "./run-task.js";

export default taskAction(decodeTask, async (args, { hre }) => {
  const { name, config } = selectedNetwork(hre);
  const settings = settingsOf(name, config, args.instance);
  return await decode(args, settings, errorAbisInProject(hre.artifacts));
});

interface Decoded {
  readonly kind: "call" | "result" | "error";
  /** Null for an error. */
  readonly operation: OperationName | null;
  /** For example `getOrderInfo(uint256)`; null for a result. */
  readonly signature: string | null;
  readonly values: Values;
  /** The bytes after the encoding, 0x hex. */
  readonly trailing?: string;
  /** The text of an error. */
  readonly reason?: string;
}

const knownErrors = [
  ErrorFragment.from("error Error(string message)"),
  ErrorFragment.from("error Panic(uint256 code)"),
  ...guardErrors(),
  ...IMockErrors__factory.createInterface().fragments,
].filter((fragment) => fragment instanceof ErrorFragment);

/**
 * Decodes call data, returned data or revert data, without any request.
 *
 * @param errorAbisOf Finds errors of the project's own contracts.
 */
export async function decode(
  { hex, raw }: Pick<TaskValues<typeof decodeTask>, "hex" | "raw">,
  { tokenDecimals, displayDecimals }: DisplaySettings,
  errorAbisOf: ErrorAbisOf,
): Promise<TaskReport> {
  const data = hex.trim().toLowerCase();
  if (!isHexString(data, true)) {
    throw invalidArgument(
      "<hex>",
      "0x and an even number of hex digits are needed",
    );
  }
  const selector = data.slice(0, 10);
  const operation = operationNames.find(
    (name) => operationEntry(name).selector === selector,
  );
  const decoded =
    (operation === undefined ? undefined : decodeCall(data, operation)) ??
    decodeError(data, knownErrors) ??
    decodeReturned(data) ??
    decodeError(data, await errorAbisOf(selector));
  if (decoded === undefined) {
    const problem = describeUnknown(data, operation);
    const remedy =
      "Check that they are complete. For errors of the project's own contracts, run `npx hardhat build` first.";
    throw vaultError("VAULT_NOT_DECODABLE", { problem, remedy });
  }
  const scales = { tokenDecimals, displayDecimals, raw };
  return {
    json: { decoded },
    blocks: toBlocks(decoded, { ...scales, chainTime: 0 }),
  };
}

function decodeCall(
  data: string,
  operation: OperationName,
): Decoded | undefined {
  const { inputs } = operationEntry(operation);
  const fragment = fragmentOf(operation);
  const decoded = decodeArguments(
    fragment,
    data,
    inputs.map(({ name }) => name),
  );
  if (decoded === undefined) {
    return undefined;
  }
  // As numbers, like the enums of readings.
  const enums = inputs
    .filter(({ type }) => type === "uint8")
    .map(({ name }) => [name, Number(decoded.values[name])] as const);
  return {
    kind: "call",
    operation,
    signature: fragment.format("sighash"),
    ...decoded,
    values: { ...decoded.values, ...Object.fromEntries(enums) },
  };
}

function decodeError(
  data: string,
  errors: readonly ErrorFragment[],
): Decoded | undefined {
  for (const error of errors) {
    const decoded =
      error.selector === data.slice(0, 10)
        ? decodeArguments(error, data)
        : undefined;
    if (decoded !== undefined) {
      return {
        kind: "error",
        operation: null,
        signature: error.format("sighash"),
        ...decoded,
        reason: decodeRevertReason(data, [error]).text,
      };
    }
  }
  return undefined;
}

/**
 * Finds the operation by the shape of its result, which has no selector.
 *
 * @throws VaultError VAULT_NOT_DECODABLE if several operations return that shape
 */
function decodeReturned(data: string): Decoded | undefined {
  const bytes = Buffer.from(data.slice(2), "hex");
  const [found, ...others] = operationNames.flatMap((operation) => {
    const { outputs } = operationEntry(operation);
    const result =
      outputs.length === 0 ? undefined : decodeOutputs(operation, bytes);
    return result !== undefined && "value" in result
      ? { operation, outputs, value: result.value }
      : [];
  });
  if (found === undefined) {
    return undefined;
  }
  const { operation, outputs, value } = found;
  if (others.length > 0) {
    const names = [found, ...others].map((one) => one.operation).join(", ");
    const problem = `several operations return such values: ${names}`;
    const remedy = "Use the ABI of the operation that was called.";
    throw vaultError("VAULT_NOT_DECODABLE", { problem, remedy });
  }
  const values: Values =
    outputs.length > 1
      ? asRecord(value)
      : Object.fromEntries(outputs.map(({ name }) => [name, value]));
  return { kind: "result", operation, signature: null, values };
}

function describeUnknown(
  data: string,
  operation: OperationName | undefined,
): string {
  return dataLength(data) === 0
    ? "they are empty; settleAll, a revert without a reason, and an address without code return none"
    : operation === undefined
      ? "they are no call or result of an operation, no standard error, and no error in the project's artifacts"
      : `they begin like a call of ${operation}, but its arguments do not follow`;
}

function toBlocks(decoded: Decoded, context: FormatContext): readonly Block[] {
  const { kind, operation, values, trailing, reason = "" } = decoded;
  const signature = decoded.signature ?? "";
  const entry = operation === null ? undefined : operationEntry(operation);
  const fields = (kind === "result" ? entry?.outputs : entry?.inputs) ?? [];
  return [
    title(
      {
        call: `Call ${signature}`,
        result: `Answer of ${String(operation)}`,
        error: `Error ${escapeUntrusted(reason)}`,
      }[kind],
    ),
    labelledValues([
      ...(operation === null
        ? [["Signature", signature] as const, ...plainValues(values)]
        : [
            [
              "Contract",
              targetsOf(operation)
                .map(({ role }) => contractRoles[role].label)
                .join(" or "),
            ] as const,
          ]),
      ...fields.map((field): LabelledValue => [
        field.label,
        // Without a chain there is no clock for a countdown.
        { ...formatValue(field, values[field.name], context), note: undefined },
      ]),
      trailing !== undefined && [
        "Trailing bytes",
        { text: trailing, note: "no part of the arguments" },
      ],
    ]),
  ];
}

function plainValues(values: Values): readonly LabelledValue[] {
  return Object.entries(values).map(([name, value]) => [
    // ethers refuses an ABI with a name that is no identifier.
    name,
    escapeUntrusted(
      typeof value === "string" || typeof value === "bigint"
        ? String(value)
        : JSON.stringify(toJsonValue(value)),
    ),
  ]);
}
