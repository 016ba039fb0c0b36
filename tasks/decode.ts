import { Buffer } from "node:buffer";

import { Interface, dataLength } from "ethers";
import type { ErrorFragment } from "ethers";
import type { NewTaskActionFunction } from "hardhat/types/tasks";

import { IMockErrors__factory } from "../src/bindings/factories/IMockErrors__factory.js";
import { decodeResult, fragmentOf } from "../src/client/codec.js";
import { invalidArgument, vaultError } from "../src/errors.js";
import { findInProject } from "../src/plugin/project-abis.js";
import type { ProjectFragment } from "../src/plugin/project-abis.js";
import {
  contractRoles,
  operationEntry,
  operationNames,
  targetsOf,
} from "../src/protocol/index.js";
import type { Field, OperationName } from "../src/protocol/index.js";
import { decodeArguments } from "../src/rpc/abi-arguments.js";
import type { Values } from "../src/rpc/abi-arguments.js";
import { isHexData } from "../src/rpc/request.js";
import {
  decodeRevertReason,
  describeCustomError,
} from "../src/rpc/revert-reason.js";
import { toJsonValue } from "../src/json.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import { selectedNetwork } from "./open-vault.js";
import { formatValue } from "./output/format-value.js";
import type { FormatContext } from "./output/format-value.js";
import { renderNotes } from "./output/readings.js";
import type { Style } from "./output/style.js";
import { renderFacts, wrapText } from "./output/table.js";
import type { Fact } from "./output/table.js";
import { runTask } from "./run-task.js";
import type { TaskArguments, TaskReport } from "./run-task.js";

interface DecodeTaskArguments extends TaskArguments {
  readonly hex: string;
  readonly raw: boolean;
}

const action: NewTaskActionFunction<DecodeTaskArguments> = async (args, hre) =>
  await runTask(args, async () => {
    const { config } = selectedNetwork(hre);
    return await decode(args, {
      tokenDecimals: config.vault.tokenDecimals,
      lookUp: async (selector) => await findInProject(hre.artifacts, selector),
    });
  });

export default action;

/** What some bytes say. */
type Decoded = {
  /** As in `getOrderInfo(uint256)`; null for returned values. */
  readonly signature: string | null;
  readonly values: Values;
  /** Contracts of the project that have it. */
  readonly definedIn?: readonly string[];
  /** What stands behind the encoding, 0x hex. */
  readonly trailing?: string;
} & (
  | { readonly kind: "call"; readonly operation: OperationName | null }
  | {
      readonly kind: "result";
      readonly operation: OperationName | null;
      /** What else it may be, where several operations return such values. */
      readonly candidates?: ReadonlyArray<{
        readonly operation: OperationName;
        readonly values: Values;
      }>;
    }
  | {
      readonly kind: "error";
      readonly operation: null;
      /** In words. */
      readonly reason: string;
    }
);

/** What decoding needs of a project. */
export interface DecodeContext {
  readonly tokenDecimals: number | undefined;
  readonly lookUp: (selector: string) => Promise<readonly ProjectFragment[]>;
}

/**
 * Tells what bytes are, a call, what one returned or why one reverted, and what
 * they say. Asks no network.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_NOT_DECODABLE
 */
export async function decode(
  { hex, raw }: Pick<DecodeTaskArguments, "hex" | "raw">,
  { tokenDecimals, lookUp }: DecodeContext,
): Promise<TaskReport> {
  const data = parseHex(hex);
  const decoded =
    decodeOwnCall(data) ??
    decodeKnownError(data) ??
    decodeOwnResult(data) ??
    (await decodeWithProject(data, lookUp));
  if (decoded === undefined) {
    throw vaultError("VAULT_NOT_DECODABLE", { problem: describeUnknown(data) });
  }
  return {
    json: { decoded },
    // No chain is asked for its clock: times are shown without a distance.
    text: (style) =>
      render(decoded, { tokenDecimals, raw, chainTime: 0 }, style),
  };
}

function parseHex(hex: string): string {
  const data = hex.trim().toLowerCase();
  if (!isHexData(data)) {
    throw invalidArgument(
      "<hex>",
      "0x and an even number of hex digits are needed",
    );
  }
  return data;
}

function decodeOwnCall(data: string): Decoded | undefined {
  const operation = operationNames.find(
    (name) => operationEntry(name).selector === data.slice(0, 10),
  );
  if (operation === undefined) {
    return undefined;
  }
  const fragment = fragmentOf(operation);
  const { inputs } = operationEntry(operation);
  const arguments_ = decodeArguments(
    fragment,
    data,
    inputs.map(({ name }) => name),
  );
  return arguments_ === undefined
    ? undefined
    : {
        kind: "call",
        operation,
        signature: fragment.format("sighash"),
        ...arguments_,
        // Enums have words, as in what is read.
        values: Object.fromEntries(
          inputs.map(({ name, type }) => {
            const value = arguments_.values[name];
            return [name, type === "uint8" ? Number(value) : value];
          }),
        ),
      };
}

const standardErrors = new Interface([
  "error Error(string message)",
  "error Panic(uint256 code)",
]);

function decodeKnownError(data: string): Decoded | undefined {
  for (const contractInterface of [
    standardErrors,
    IMockErrors__factory.createInterface(),
  ]) {
    const fragment = contractInterface.fragments.find(
      (candidate): candidate is ErrorFragment =>
        "selector" in candidate && candidate.selector === data.slice(0, 10),
    );
    const arguments_ =
      fragment === undefined ? undefined : decodeArguments(fragment, data);
    if (fragment !== undefined && arguments_ !== undefined) {
      return {
        kind: "error",
        operation: null,
        signature: fragment.format("sighash"),
        ...arguments_,
        reason: decodeRevertReason(data).text,
      };
    }
  }
  return undefined;
}

/** What an operation returns carries no name: its shape has to tell. */
function decodeOwnResult(data: string): Decoded | undefined {
  const bytes = Buffer.from(data.slice(2), "hex");
  const candidates = operationNames.flatMap((operation) => {
    const { outputs } = operationEntry(operation);
    const [only] = outputs;
    if (only === undefined) {
      return [];
    }
    const result = decodeResult(operation, bytes);
    if (!("value" in result)) {
      return [];
    }
    const { value } = result;
    const values: Values =
      outputs.length > 1 && typeof value === "object"
        ? { ...value }
        : { [only.name]: value };
    return [{ operation, values }];
  });
  const [first] = candidates;
  if (first === undefined) {
    return undefined;
  }
  const returned = { kind: "result", signature: null } as const;
  return candidates.length === 1
    ? { ...returned, ...first }
    : { ...returned, operation: null, values: {}, candidates };
}

async function decodeWithProject(
  data: string,
  lookUp: DecodeContext["lookUp"],
): Promise<Decoded | undefined> {
  if (dataLength(data) < 4) {
    return undefined;
  }
  for (const { fragment, definedIn } of await lookUp(data.slice(0, 10))) {
    const arguments_ = decodeArguments(fragment, data);
    if (arguments_ === undefined) {
      continue;
    }
    const described = {
      operation: null,
      signature: fragment.format("sighash"),
      ...arguments_,
      definedIn,
    };
    return fragment.type === "error"
      ? {
          kind: "error",
          ...described,
          reason: describeCustomError(fragment, described),
        }
      : { kind: "call", ...described };
  }
  return undefined;
}

function describeUnknown(data: string): string {
  const length = dataLength(data);
  if (length === 0) {
    return "it is empty: so answer settleAll, a revert without a reason, and an address without code";
  }
  if (length < 4) {
    return "there are fewer than four bytes";
  }
  const selector = data.slice(0, 10);
  const operation = operationNames.find(
    (name) => operationEntry(name).selector === selector,
  );
  return operation === undefined
    ? `no operation returns such ${length} bytes, and ${selector} begins no call of an operation, no standard error, and nothing in the project's artifacts`
    : `it begins as a call of ${operation}, and what follows are not its arguments`;
}

function render(
  decoded: Decoded,
  context: FormatContext,
  style: Style,
): string {
  const { kind, signature, operation, values, definedIn, trailing } = decoded;
  if (kind === "result") {
    const blocks =
      operation === null ? (decoded.candidates ?? []) : [{ operation, values }];
    const several =
      blocks.length > 1
        ? [
            "Several operations return such values; the bytes do not tell which.",
          ]
        : [];
    return [
      ...several.map((line) => wrapText(line, style)),
      ...blocks.map((block) => renderResult(block, context, style)),
    ].join("\n\n");
  }
  const fields =
    operation === null ? undefined : operationEntry(operation).inputs;
  const title =
    kind === "call"
      ? `${style.title("Call")}  ${signature ?? ""}`
      : `${style.title("Error")}  ${escapeUntrusted(decoded.reason)}`;
  return [
    wrapText(title, style),
    renderFacts(
      [
        ...(operation === null ? [] : [contractsFact(operation)]),
        ...(kind === "error"
          ? ([["Signature", signature ?? ""]] as const)
          : []),
        ...(fields === undefined
          ? plainFacts(values)
          : fieldFacts(fields, values, context)),
        ...(definedIn === undefined
          ? []
          : ([["Defined in", escapeUntrusted(definedIn.join(", "))]] as const)),
        ...(trailing === undefined
          ? []
          : ([["Behind it", trailing, "no part of the arguments"]] as const)),
      ],
      style,
    ),
    ...(fields === undefined ? [] : renderNotes(fields, context, style)),
  ].join("\n");
}

function renderResult(
  { operation, values }: { operation: OperationName; values: Values },
  context: FormatContext,
  style: Style,
): string {
  const { outputs } = operationEntry(operation);
  return [
    wrapText(`${style.title("Answer")}  of ${operation}`, style),
    renderFacts(
      [contractsFact(operation), ...fieldFacts(outputs, values, context)],
      style,
    ),
    ...renderNotes(outputs, context, style),
  ].join("\n");
}

function contractsFact(operation: OperationName): Fact {
  const labels = targetsOf(operation).map(
    ({ role }) => contractRoles[role].label,
  );
  return ["Contract", labels.join(" or ")];
}

function fieldFacts(
  fields: readonly Field[],
  values: Values,
  context: FormatContext,
): Fact[] {
  return fields.map((field) => [
    field.label,
    formatValue(field, values[field.name], context).text,
  ]);
}

function plainFacts(values: Values): Fact[] {
  return Object.entries(values).map(([name, value]) => [
    escapeUntrusted(name),
    escapeUntrusted(
      typeof value === "string" || typeof value === "bigint"
        ? String(value)
        : JSON.stringify(toJsonValue(value)),
    ),
  ]);
}
