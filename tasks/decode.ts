import { Buffer } from "node:buffer";

import { ErrorFragment, dataLength, isHexString } from "ethers";
import type { FunctionFragment } from "ethers";

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
import type { OperationName } from "../src/protocol/index.js";
import { decodeArguments } from "../src/rpc/abi-arguments.js";
import type { Values } from "../src/rpc/abi-arguments.js";
import { decodeRevertReason } from "../src/rpc/revert-reason.js";
import { toJsonValue } from "../src/json.js";
import { escapeUntrusted } from "../src/untrusted-text.js";
import type { ArgumentsOf } from "./arguments.js";
import { selectedNetwork } from "./open-vault.js";
import { formatValue } from "./output/format-value.js";
import { renderNotes } from "./output/readings.js";
import type { View } from "./output/style.js";
import { knownFacts, renderFacts, wrapText } from "./output/table.js";
import type { Fact } from "./output/table.js";
import { taskAction } from "./run-task.js";
import type { TaskReport } from "./run-task.js";

export default taskAction(async (args: ArgumentsOf<"decode">, hre) => {
  const { config } = selectedNetwork(hre);
  return await decode(args, {
    tokenDecimals: config.vault.tokenDecimals,
    lookUp: async (selector) => await findInProject(hre.artifacts, selector),
  });
});

/** What some bytes say. */
interface Decoded {
  readonly kind: "call" | "result" | "error";
  /** Null where it is of none, or of several. */
  readonly operation: OperationName | null;
  /** As in `getOrderInfo(uint256)`; null for what is returned. */
  readonly signature: string | null;
  readonly values: Values;
  /** What stands behind the encoding, 0x hex. */
  readonly trailing?: string;
  /** Contracts of the project that have it. */
  readonly definedIn?: readonly string[];
  /** Of an error, in words. */
  readonly reason?: string;
  /** Operations that return such values: the bytes do not tell which. */
  readonly candidates?: ReadonlyArray<Pick<Decoded, "operation" | "values">>;
}

/** What decoding needs of a project. */
export interface DecodeContext {
  readonly tokenDecimals: number | undefined;
  readonly lookUp: (selector: string) => Promise<readonly ProjectFragment[]>;
}

const knownErrors = [
  ErrorFragment.from("error Error(string message)"),
  ErrorFragment.from("error Panic(uint256 code)"),
  ...IMockErrors__factory.createInterface().fragments,
].filter((fragment) => fragment instanceof ErrorFragment);

/**
 * Tells what bytes are, a call, what one returned or why one reverted, and what
 * they say. Asks no network.
 *
 * @throws VaultError VAULT_INVALID_ARGUMENT, VAULT_NOT_DECODABLE
 */
export async function decode(
  { hex, raw }: Pick<ArgumentsOf<"decode">, "hex" | "raw">,
  { tokenDecimals, lookUp }: DecodeContext,
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
  const error = knownErrors.find((known) => known.selector === selector);
  const decoded =
    (operation === undefined
      ? undefined
      : decodeWith(data, fragmentOf(operation), { operation })) ??
    (error === undefined ? undefined : decodeWith(data, error)) ??
    decodeResults(data) ??
    (await decodeWithProject(data, lookUp));
  if (decoded === undefined) {
    throw vaultError("VAULT_NOT_DECODABLE", {
      problem: describeUnknown(data, operation),
    });
  }
  return {
    json: { decoded },
    // No chain is asked for its clock: times are shown without a distance.
    text: (style) =>
      render(decoded, { tokenDecimals, raw, chainTime: 0, ...style }),
  };
}

/** What follows the four bytes, as arguments of that call or error. */
function decodeWith(
  data: string,
  fragment: ErrorFragment | FunctionFragment,
  {
    operation = null,
    ...known
  }: Partial<Pick<Decoded, "operation" | "definedIn">> = {},
): Decoded | undefined {
  const inputs =
    operation === null ? undefined : operationEntry(operation).inputs;
  const decoded = decodeArguments(
    fragment,
    data,
    inputs?.map(({ name }) => name),
  );
  if (decoded === undefined) {
    return undefined;
  }
  // Enums have words, as in what is read.
  const enums = (inputs ?? [])
    .filter(({ type }) => type === "uint8")
    .map(({ name }) => [name, Number(decoded.values[name])] as const);
  const described = {
    operation,
    signature: fragment.format("sighash"),
    ...decoded,
    values: { ...decoded.values, ...Object.fromEntries(enums) },
    ...known,
  };
  return fragment instanceof ErrorFragment
    ? {
        kind: "error",
        ...described,
        reason: decodeRevertReason(data, [fragment]).text,
      }
    : { kind: "call", ...described };
}

/** By the functions and errors of the project's own contracts. */
async function decodeWithProject(
  data: string,
  lookUp: DecodeContext["lookUp"],
): Promise<Decoded | undefined> {
  if (dataLength(data) < 4) {
    return undefined;
  }
  for (const { fragment, definedIn } of await lookUp(data.slice(0, 10))) {
    const decoded = decodeWith(data, fragment, { definedIn });
    if (decoded !== undefined) {
      return decoded;
    }
  }
  return undefined;
}

/** What an operation returns carries no name: its shape has to tell. */
function decodeResults(data: string): Decoded | undefined {
  const bytes = Buffer.from(data.slice(2), "hex");
  const candidates = operationNames.flatMap((operation) => {
    const { outputs } = operationEntry(operation);
    const [only] = outputs;
    const result =
      only === undefined ? undefined : decodeResult(operation, bytes);
    if (only === undefined || result === undefined || !("value" in result)) {
      return [];
    }
    const { value } = result;
    const values: Values =
      outputs.length > 1 && typeof value === "object"
        ? { ...value }
        : { [only.name]: value };
    return [{ operation, values }];
  });
  const [first, ...others] = candidates;
  if (first === undefined) {
    return undefined;
  }
  const several = { operation: null, values: {}, candidates };
  return {
    kind: "result",
    signature: null,
    ...(others.length === 0 ? first : several),
  };
}

function describeUnknown(
  data: string,
  operation: OperationName | undefined,
): string {
  const length = dataLength(data);
  if (length === 0) {
    return "it is empty: so answer settleAll, a revert without a reason, and an address without code";
  }
  if (length < 4) {
    return "there are fewer than four bytes";
  }
  return operation === undefined
    ? `no operation returns such ${length} bytes, and ${data.slice(0, 10)} begins no call of an operation, no standard error, and nothing in the project's artifacts`
    : `it begins as a call of ${operation}, and what follows are not its arguments`;
}

function render(decoded: Decoded, view: View): string {
  return decoded.candidates === undefined
    ? renderOne(decoded, view)
    : [
        wrapText(
          "Several operations return such values; the bytes do not tell which.",
          view,
        ),
        ...decoded.candidates.map((candidate) =>
          renderOne({ ...decoded, ...candidate }, view),
        ),
      ].join("\n\n");
}

function renderOne(decoded: Decoded, view: View): string {
  const { kind, operation, values, definedIn = [], trailing = "" } = decoded;
  const signature = decoded.signature ?? "";
  const title = {
    call: `${view.title("Call")}  ${signature}`,
    result: `${view.title("Answer")}  of ${String(operation)}`,
    error: `${view.title("Error")}  ${escapeUntrusted(decoded.reason ?? "")}`,
  }[kind];
  const entry = operation === null ? undefined : operationEntry(operation);
  const fields = (kind === "result" ? entry?.outputs : entry?.inputs) ?? [];
  const facts: readonly Fact[] = [
    ...(operation === null ? [] : [contractsFact(operation)]),
    ...knownFacts([["Signature", kind === "error" ? signature : ""]]),
    ...(entry === undefined
      ? plainFacts(values)
      : fields.map((field): Fact => [
          field.label,
          formatValue(field, values[field.name], view).text,
        ])),
    ...knownFacts([
      ["Defined in", escapeUntrusted(definedIn.join(", "))],
      ["Behind it", trailing, "no part of the arguments"],
    ]),
  ];
  return [
    wrapText(title, view),
    renderFacts(facts, view),
    ...renderNotes(fields, view),
  ].join("\n");
}

function contractsFact(operation: OperationName): Fact {
  const labels = targetsOf(operation).map(
    ({ role }) => contractRoles[role].label,
  );
  return ["Contract", labels.join(" or ")];
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
