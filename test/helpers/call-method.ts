/** Calls what JavaScript can call, and TypeScript refuses; a list of what is generated. */
export async function callMethod(
  target: object,
  name: string,
  ...args: readonly unknown[]
): Promise<unknown> {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") {
    throw new Error(`no method ${name}`);
  }
  const called: unknown = Reflect.apply(method, target, args);
  const result: unknown = await called;
  return typeof result === "object" &&
    result !== null &&
    Symbol.asyncIterator in result
    ? await Array.fromAsync(
        // the symbol was found
        result as AsyncIterable<unknown>,
      )
    : result;
}
