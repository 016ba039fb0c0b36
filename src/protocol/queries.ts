import type { ContractRole } from "./contracts.js";
import { enumWords, keysOf } from "./enums.js";
import { operations } from "./operations.js";
import type {
  Field,
  Operation,
  OperationName,
  ReadOperationName,
} from "./operations.js";

/** One call of a read operation. */
export interface Query {
  readonly operation: ReadOperationName;
  readonly role: ContractRole;
  readonly args: readonly unknown[];
  /** Place of the value in JSON and in a snapshot. Example: `pools.public` */
  readonly path: readonly [key: string, variant?: string];
}

export const operationNames = keysOf(operations);

export const readOperationNames: readonly ReadOperationName[] =
  operationNames.filter(isReadOperation);

export function isOperationName(name: string): name is OperationName {
  return Object.hasOwn(operations, name);
}

export function isReadOperation(
  name: OperationName,
): name is ReadOperationName {
  return operations[name].kind === "read";
}

/** Returns the table's entry by its general type. */
export function operationEntry(name: OperationName): Operation {
  return operations[name];
}

export function wireName(name: OperationName): string {
  return operationEntry(name).functionName ?? name;
}

/** Builds a result of an operation: its only value, or an object of its values. */
export function answerOf<Value>(
  name: OperationName,
  valueOf: (field: Field) => Value,
): Value | Readonly<Record<string, Value>> {
  const { outputs } = operationEntry(name);
  const [only, ...others] = outputs;
  return only !== undefined && others.length === 0
    ? valueOf(only)
    : Object.fromEntries(outputs.map((field) => [field.name, valueOf(field)]));
}

export function fieldsOf<
  Name extends ReadOperationName,
  Value extends (typeof operations)[Name]["outputs"][number]["name"],
>(
  operation: Name,
  names: readonly Value[],
): ReadonlyArray<Field & { readonly name: Value }> {
  const { outputs } = operationEntry(operation);
  return names.flatMap((name) =>
    outputs.filter(
      (field): field is Field & { readonly name: Value } => field.name === name,
    ),
  );
}

/** Returns the contracts that have the operation, by the argument that chooses one. */
export function targetsOf(
  name: OperationName,
): ReadonlyArray<{ variant?: string; role: ContractRole }> {
  const { target } = operationEntry(name);
  return typeof target === "string"
    ? [{ role: target }]
    : Object.entries(target).map(([variant, role]) => ({ variant, role }));
}

/** True of an operation without arguments, or with a `contractType` only. */
export function isStandalone(name: ReadOperationName): boolean {
  return operationEntry(name).inputs.every(
    ({ unit }) => unit === "contractType",
  );
}

/** Returns a call for each contract of an operation, or for each contract type. */
export function queriesOf(name: ReadOperationName): readonly Query[] {
  const { inputs, key } = operationEntry(name);
  return targetsOf(name).flatMap(({ variant, role }): Query[] => {
    if (variant !== undefined) {
      return [{ operation: name, role, args: [variant], path: [key, variant] }];
    }
    if (inputs.length === 0) {
      return [{ operation: name, role, args: [], path: [key] }];
    }
    return enumWords.contractType.map((word) => ({
      operation: name,
      role,
      args: [word],
      path: [key, word],
    }));
  });
}

/** The calls of every standalone operation, in table order. */
export const standaloneQueries: readonly Query[] = readOperationNames
  .filter(isStandalone)
  .flatMap(queriesOf);

/** Returns the place of each value of a reading. Example: `round.settled` */
export function placesOf({
  operation,
  path: [key, variant],
}: Query): ReadonlyArray<{
  readonly path: readonly string[];
  readonly field: Field;
}> {
  const place = variant === undefined ? [key] : [key, variant];
  const { outputs } = operationEntry(operation);
  return outputs.map((field) => ({
    path: outputs.length === 1 ? place : [...place, field.name],
    field,
  }));
}

export function set(
  into: Record<string, unknown>,
  [key, variant]: Query["path"],
  value: unknown,
): void {
  if (variant === undefined) {
    into[key] = value;
    return;
  }
  into[key] = Object.assign({}, into[key], { [variant]: value });
}

/** @returns The value at a place; undefined if there is none. */
export function get(
  from: object,
  path: ReadonlyArray<string | undefined>,
): unknown {
  return path.reduce<unknown>(
    (place, name) =>
      name === undefined
        ? place
        : typeof place === "object" && place !== null
          ? Reflect.get(place, name)
          : undefined,
    from,
  );
}
