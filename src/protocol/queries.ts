import { ContractType, keysOf } from "./units.js";
import { operations } from "./operations.js";
import type {
  ContractRole,
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
  return targetsOf(name).flatMap(({ variant, role }) => {
    const words = inputs.length > 0 ? keysOf(ContractType) : [variant];
    return words.map((word): Query =>
      word === undefined
        ? { operation: name, role, args: [], path: [key] }
        : { operation: name, role, args: [word], path: [key, word] },
    );
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
  into[key] =
    variant === undefined
      ? value
      : Object.assign({}, into[key], { [variant]: value });
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
