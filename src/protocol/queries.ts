import type { ContractRole } from "./contracts.js";
import { enumWords } from "./enums.js";
import type { ContractTypeName } from "./enums.js";
import { keysOf } from "./keys-of.js";
import { operations } from "./operations.js";
import type { Field, Operation } from "./operations.js";
import type {
  OperationName,
  OperationResult,
  ReadOperationName,
} from "./types.js";

/** One call of a read operation, complete with its arguments. */
export interface Query {
  readonly operation: ReadOperationName;
  readonly role: ContractRole;
  /** The operation's arguments, as the client's method takes them. */
  readonly args: readonly unknown[];
  /** Place of its value in JSON and in a snapshot, as in `pools.public`. */
  readonly path: readonly [key: string, variant?: string];
}

type Places<
  Name extends ReadOperationName,
  Wrapped,
> = (typeof operations)[Name]["target"] extends string
  ? (typeof operations)[Name]["inputs"] extends readonly []
    ? Wrapped
    : Record<ContractTypeName, Wrapped>
  : Record<keyof (typeof operations)[Name]["target"], Wrapped>;

/** Read operations that need no argument a person would have to choose. */
export type StandaloneOperationName = {
  [Name in ReadOperationName]: Exclude<
    (typeof operations)[Name]["inputs"][number]["unit"],
    "contractType"
  > extends never
    ? Name
    : never;
}[ReadOperationName];

/**
 * Every reading that needs no argument from a person, by JSON key, each value
 * or what `Otherwise` names in its place.
 */
export type StandaloneReadings<Otherwise = never> = {
  [Name in StandaloneOperationName as (typeof operations)[Name]["key"]]: Places<
    Name,
    OperationResult<Name> | Otherwise
  >;
};

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

/** The table's entry by its general type, for code that serves every entry. */
export function operationEntry(name: OperationName): Operation {
  return operations[name];
}

/** The function's name on the wire. */
export function wireName(name: OperationName): string {
  return operationEntry(name).functionName ?? name;
}

/**
 * Builds a result of an operation: an object by its fields, or the only value by
 * itself.
 */
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

/** Some of an operation's values, in the order of their names here. */
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

/** The contracts an operation can be asked of, by the word that chooses one. */
export function targetsOf(
  name: OperationName,
): ReadonlyArray<{ variant?: string; role: ContractRole }> {
  const { target } = operationEntry(name);
  return typeof target === "string"
    ? [{ role: target }]
    : Object.entries(target).map(([variant, role]) => ({ variant, role }));
}

/** True if no argument has to be chosen by a person, but for enums. */
export function isStandalone(name: ReadOperationName): boolean {
  return operationEntry(name).inputs.every(
    ({ unit }) => unit === "contractType",
  );
}

/**
 * The calls that read everything one operation has to say: one for each
 * contract it can be asked of and for each value of its enum argument.
 */
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

/** Every reading that needs no argument from a person, in table order. */
export const standaloneQueries: readonly Query[] = readOperationNames
  .filter(isStandalone)
  .flatMap(queriesOf);

/** The single values of a reading, and where each stands, as in `round.settled`. */
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

/** Puts a value at a reading's place in the object under construction. */
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

/** @returns The value at a reading's or a field's place, undefined if it is none. */
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

/** Counts the arguments of the client's method, options left out. */
export function argumentCount(name: OperationName): number {
  const { target, inputs } = operationEntry(name);
  return (typeof target === "string" ? 0 : 1) + (inputs.length === 0 ? 0 : 1);
}
