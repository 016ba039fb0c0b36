/** Calls a method by its name, also with what TypeScript refuses. */
export async function callMethod(
  target: object,
  name: string,
  ...args: readonly unknown[]
): Promise<unknown> {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") {
    throw new Error(`no method ${name}`);
  }
  return await Promise.resolve<unknown>(Reflect.apply(method, target, args));
}
