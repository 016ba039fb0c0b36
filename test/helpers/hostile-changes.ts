import fc from "fast-check";

import { keysOf } from "../../src/protocol/index.js";

/** What becomes of hex before and after a place; each edit is a byte or a word. */
const hexEditors = {
  flip: (before, after, word) => `${before}${word.slice(-2)}${after.slice(2)}`,
  case: (before, after) =>
    `${before}${after.slice(0, 40).toUpperCase()}${after.slice(40)}`,
  cut: (before) => before,
  insert: (before, after, word) => `${before}${word}${after}`,
  replace: (before, after, word) =>
    `${before}${word}${after.slice(word.length)}`,
  drop: (before, after, _word, unit) => `${before}${after.slice(unit)}`,
  odd: (before, after) => `${before}${after.slice(1)}`,
} satisfies Readonly<
  Record<
    string,
    (before: string, after: string, word: string, unit: number) => string
  >
>;

/** So many parts a length has, where something is to happen in one of them. */
const PARTS = 1_000;

const hostileTexts = [
  "execution reverted",
  "header not found",
  "too many requests",
  "upstream timed out",
  "\u001b[31mred\u001b[0m \u202e \u2028",
  "https://user:pass@rpc.test/v3/a1b2c3d4e5f60718293a4b5c6d7e8f90",
  "HHE708",
];

const wordOf = (value: bigint): string => value.toString(16).padStart(64, "0");

const powers = [31n, 32n, 48n, 53n, 64n, 160n, 255n].map((bits) => 2n ** bits);
const boundaryWord = fc.constantFrom(
  ...[0n, 1n, 2n, 31n, 32n, 33n, 255n, 256n, 416n, ...powers].map(wordOf),
  "f".repeat(64),
  "ff",
  "C1aF",
);

const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[undefined, null, true, false, 0, -1, 1.5, 1e308, 2 ** 53],
    ...",0x,0x0,0x1,0x00,0xzz,0X1,-0x1, 0x1,1".split(","),
    ...["f".repeat(64), "f".repeat(65), wordOf(0n), wordOf(32n)].map(
      (digits) => `0x${digits}`,
    ),
    ...[{}, [], [[null]], { toString: 1, valueOf: 1 }, { length: 2 ** 40 }],
    JSON.parse('{"__proto__":{"code":3},"then":1}'),
    ...hostileTexts,
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    ...["a.", "0x", "://", "ff"].map((text) => text.repeat(100_000)),
    nested(5_000),
    Array.from({ length: 20_000 }, (_, code) => ({ code, message: "text" })),
  ),
);

/** Changes of 0x hex, each at a place in parts of its length. */
export const hexEdits = fc.array(
  fc.record({
    at: fc.nat(PARTS),
    edit: fc.constantFrom(...keysOf(hexEditors)),
    word: fc.oneof(
      boundaryWord,
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(wordOf),
    ),
  }),
  { minLength: 1, maxLength: 3 },
);

/**
 * All that may become of an answer on its way, or in the node itself: one change
 * of a place in it, or a failure, whose data is the value.
 */
export const anyChange = fc.record({
  change: fc.oneof(
    { weight: 4, arbitrary: fc.constant("value" as const) },
    { weight: 5, arbitrary: fc.constant("hex" as const) },
    { weight: 2, arbitrary: fc.constant("failure" as const) },
  ),
  path: fc.array(fc.nat(40), { maxLength: 6 }),
  value: anyValue,
  edits: hexEdits,
  wrap: fc.constantFrom("bare", "error", "cause"),
  code: fc.oneof(
    fc.constantFrom(3, -32_000, -32_005, -32_601, 429, "ECONNRESET"),
    anyValue,
  ),
  message: fc.oneof(fc.constantFrom(...hostileTexts), anyValue),
});

type Drawn<Of> = Of extends fc.Arbitrary<infer Value> ? Value : never;
type AnyChange = Drawn<typeof anyChange>;
export type HexEdits = Drawn<typeof hexEdits>;
export type Change = Pick<AnyChange, "change" | "path" | "edits"> &
  Partial<AnyChange>;

function nested(depth: number): unknown {
  let value: unknown = [];
  for (let level = 0; level < depth; ++level) {
    value = level % 2 === 0 ? [value] : { errors: value, data: value };
  }
  return value;
}

/** A node fails with this in place of its answer. */
export class Failure {
  constructor(public readonly thrown: unknown) {}
}

export function changed(answer: unknown, change: Change): unknown {
  const { path, value, edits } = change;
  switch (change.change) {
    case "failure":
      return new Failure(failureOf(change));
    case "value":
      return at(answer, path, () => value);
    case "hex":
      return at(
        answer,
        path,
        (leaf) => (typeof leaf === "string" ? editHex(leaf, edits) : leaf),
        true,
      );
  }
}

function failureOf({ wrap, code, message, value: data }: Change): unknown {
  const said = { code, message, data };
  if (wrap === "cause") {
    const error = new Error("call failed", { cause: said });
    // Circles happen, too.
    return Object.assign(error, { error });
  }
  return wrap === "error" ? Object.assign(new Error(), said) : said;
}

/** @param toLeaf Whether to go on to where nothing is inside any more. */
function at(
  value: unknown,
  [step = 0, ...rest]: readonly number[],
  change: (found: unknown) => unknown,
  toLeaf = false,
): unknown {
  const entries =
    typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (entries.length === 0 || (!toLeaf && rest.length === 0)) {
    return change(value);
  }
  const [key, inner] = entries[step % entries.length] ?? [];
  const result: unknown = at(inner, rest, change, toLeaf);
  const replaced = entries.map(([name, item]): [string, unknown] => [
    name,
    name === key ? result : item,
  ]);
  return Array.isArray(value)
    ? replaced.map(([, item]) => item)
    : Object.fromEntries(replaced);
}

export function editHex(hex: string, edits: HexEdits): string {
  let digits = hex.startsWith("0x") ? hex.slice(2) : hex;
  for (const { at: part, edit, word } of edits) {
    // Whole words where there are any, so that more comes of it than refusals.
    const unit = digits.length >= 64 && edit !== "flip" ? 64 : 2;
    const place = Math.floor((part * digits.length) / PARTS / unit) * unit;
    digits = hexEditors[edit](
      digits.slice(0, place),
      digits.slice(place),
      word.padStart(unit, "0"),
      unit,
    );
  }
  return `0x${digits}`;
}
