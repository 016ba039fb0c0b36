/** Calls what JavaScript can call, and TypeScript refuses. */
export async function callMethod(
  target: object,
  name: string,
  ...args: readonly unknown[]
): Promise<void> {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") {
    throw new Error(`no method ${name}`);
  }
  await Promise.resolve<unknown>(Reflect.apply(method, target, args));
}
