/**
 * Generates src/protocol/signatures.ts, what an editor shows of the operations:
 * named interfaces of their results and methods with named parameters, from the
 * operations table and the comments in it.
 */
import fs from "node:fs";
import path from "node:path";

import ts from "typescript";

import { operations } from "../src/protocol/operations.ts";
import type { Field, Operation } from "../src/protocol/operations.ts";
import { units } from "../src/protocol/units.ts";

const folder = path.join(import.meta.dirname, "../src/protocol");
const table = path.join(folder, "operations.ts");
const generated = path.join(folder, "signatures.ts");

const resultTypes = {
  uint256: "bigint",
  uint8: "number",
  bool: "boolean",
  string: "string",
  address: "string",
} as const;

const argumentTypes = {
  ...resultTypes,
  uint256: "bigint | number",
  uint8: "number | bigint",
} as const;

const reads: Array<readonly [name: string, operation: Operation]> =
  Object.entries(operations).filter(([, { kind }]) => kind === "read");

/** Returns the doc comment of each operation in the table. */
function readComments(): ReadonlyMap<string, string> {
  const text = fs.readFileSync(table, "utf8");
  const source = ts.createSourceFile(table, text, ts.ScriptTarget.Latest, true);
  const comments = new Map<string, string>();
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && node.name.getText() in operations) {
      const [comment] = ts.getJSDocCommentsAndTags(node);
      if (comment === undefined) {
        throw new Error(`${node.name.getText()} has no comment in ${table}`);
      }
      comments.set(node.name.getText(), comment.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return comments;
}

/** @param labels What the operations that have the field call it. */
function docOf({ unit, note }: Field, labels: ReadonlySet<string>): string {
  const { meaning }: { readonly meaning?: string } = units[unit];
  const label = [...labels].join(" / ");
  const first = meaning === undefined ? label : `${label}: ${meaning}`;
  return note === undefined ? `${first}.` : `${first}. ${note}.`;
}

/** @param alike The fields of each operation that takes or returns this. */
function interfaceOf(
  name: string,
  doc: string,
  alike: ReadonlyArray<readonly Field[]>,
  types: Readonly<Record<Field["type"], string>>,
): string {
  const [fields = []] = alike;
  return [
    `/** ${doc} */`,
    `export interface ${name} {`,
    ...fields.flatMap((field, index) => [
      `  /** ${docOf(field, new Set(alike.map((fieldsOfOne) => fieldsOfOne[index]?.label ?? "")))} */`,
      `  ${field.name}: ${typeOf(field, types)};`,
    ]),
    "}",
  ].join("\n");
}

function typeOf(
  { type, unit }: Field,
  types: Readonly<Record<Field["type"], string>>,
): string {
  return unit === "contractType" && types === argumentTypes
    ? "ContractType | ContractTypeName"
    : types[type];
}

function parametersName(operation: string): string {
  return `${operation.charAt(0).toUpperCase()}${operation.slice(1)}Parameters`;
}

function methodOf(name: string, operation: Operation): string {
  const { target, targetName, inputs, outputs, resultName } = operation;
  const [input, ...moreInputs] = inputs;
  const [output] = outputs;
  const parameters = [
    typeof target === "string"
      ? []
      : `${targetName ?? "target"}: ${Object.keys(target)
          .map((word) => JSON.stringify(word))
          .join(" | ")}`,
    input === undefined
      ? []
      : moreInputs.length === 0
        ? `${input.name}: ${typeOf(input, argumentTypes)}`
        : `values: ${parametersName(name)}`,
    "options?: OptionsT",
  ].flat();
  const result =
    resultName ?? (output === undefined ? "void" : resultTypes[output.type]);
  return `${name}(${parameters.join(", ")}): Promise<${result}>;`;
}

function resultInterfaces(): readonly string[] {
  const returning = new Map<string, Array<(typeof reads)[number]>>();
  for (const read of reads) {
    const [name, { outputs, resultName }] = read;
    if (resultName !== undefined) {
      returning.set(resultName, [...(returning.get(resultName) ?? []), read]);
    } else if (outputs.length !== 1) {
      throw new Error(`${name} returns several values: give a resultName`);
    }
  }
  return [...returning].map(([resultName, alike]) =>
    interfaceOf(
      resultName,
      `The result of ${alike.map(([name]) => `\`${name}\``).join(" and ")}.`,
      alike.map(([, { outputs }]) => outputs),
      resultTypes,
    ),
  );
}

function generate(): string {
  const comments = readComments();
  const parameters = reads
    .filter(([, { inputs }]) => inputs.length > 1)
    .map(([name, { inputs }]) =>
      interfaceOf(
        parametersName(name),
        `The arguments of \`${name}\`.`,
        [inputs],
        argumentTypes,
      ),
    );
  const methods = reads.map(
    ([name, operation]) =>
      `  ${comments.get(name) ?? ""}\n  ${methodOf(name, operation)}`,
  );
  return [
    "// Generated by scripts/generate-signatures.ts from operations.ts. Do not edit.",
    'import type { ContractType, ContractTypeName } from "./enums.js";',
    ...resultInterfaces(),
    ...parameters,
    [
      "/** The read operations as methods; each takes `OptionsT` last. */",
      "export interface ReadMethods<OptionsT> {",
      methods.join("\n\n"),
      "}",
    ].join("\n"),
    "",
  ].join("\n\n");
}

const text = generate();
if (!fs.existsSync(generated) || fs.readFileSync(generated, "utf8") !== text) {
  fs.writeFileSync(generated, text);
}
