/** `Object.keys` of a constant, with the type of its keys. */
export function keysOf<Key extends string>(
  table: Readonly<Record<Key, unknown>>,
): readonly Key[] {
  // Object.keys is typed string[]; a constant has no keys but those of its type
  return Object.keys(table) as Key[];
}
