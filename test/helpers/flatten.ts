/** What an object has, however deep, by its path: `pools.public.deposit`. */
export function flatten(value: object, prefix = ""): Map<string, unknown> {
  return new Map(
    Object.entries(value).flatMap(([key, inner]: [string, unknown]) =>
      typeof inner === "object" && inner !== null
        ? [...flatten(inner, `${prefix}${key}.`)]
        : [[`${prefix}${key}`, inner] satisfies [string, unknown]],
    ),
  );
}
