import fc from "fast-check";

/** One change of 0x hex. */
export interface HexEdit {
  /** Where, in parts of its length. */
  readonly at: number;
  readonly edit:
    "flip" | "case" | "cut" | "insert" | "replace" | "drop" | "odd";
  /** What is put there, hex. */
  readonly word: string;
}

/** What becomes of one answer. */
export type Change =
  | {
      readonly change: "value";
      readonly path: readonly number[];
      readonly value: unknown;
    }
  | { readonly change: "delete"; readonly path: readonly number[] }
  | {
      readonly change: "hex";
      readonly path: readonly number[];
      readonly edits: readonly HexEdit[];
    }
  | {
      readonly change: "failure";
      readonly wrap: "bare" | "error" | "cause" | "data";
      readonly code: unknown;
      readonly message: unknown;
      readonly data: unknown;
    };

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

const boundaryWord = fc.constantFrom(
  ...[0n, 1n, 2n, 31n, 32n, 33n, 255n, 256n, 416n, 2n ** 31n, 2n ** 32n].map(
    wordOf,
  ),
  ...[2n ** 48n, 2n ** 53n, 2n ** 64n, 2n ** 160n, 2n ** 255n].map(wordOf),
  "f".repeat(64),
  "ff",
  "C1aF",
);

const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    2 ** 53,
    "",
    "0x",
    "0x0",
    "0x1",
    "0x00",
    "0xzz",
    "0X1",
    "-0x1",
    " 0x1",
    "1",
    `0x${"f".repeat(64)}`,
    `0x${"f".repeat(65)}`,
    `0x${"0".repeat(64)}`,
    `0x${"20".padStart(64, "0")}`,
    {},
    [],
    [[null]],
    { toString: 1, valueOf: 1 },
    { length: 2 ** 40 },
    JSON.parse('{"__proto__":{"code":3},"then":1}'),
    ...hostileTexts,
  ),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    "a.".repeat(100_000),
    "0x".repeat(100_000),
    "ff".repeat(300_000),
    "://".repeat(60_000),
    nested(5_000),
    Array.from({ length: 20_000 }, (_, index) => ({
      code: index,
      message: `text ${index}`,
    })),
  ),
);

const path = fc.array(fc.nat(40), { maxLength: 6 });

export const hexEdits: fc.Arbitrary<readonly HexEdit[]> = fc.array(
  fc.record({
    at: fc.nat(PARTS),
    edit: fc.constantFrom<HexEdit["edit"]>(
      "flip",
      "case",
      "cut",
      "insert",
      "replace",
      "drop",
      "odd",
    ),
    word: fc.oneof(
      boundaryWord,
      fc
        .bigInt({ min: 0n, max: 2n ** 256n - 1n })
        .map((number) => wordOf(number)),
    ),
  }),
  { minLength: 1, maxLength: 3 },
);

/** All that may become of an answer on its way, or in the node itself. */
export const anyChange: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      change: fc.constant("value"),
      path,
      value: anyValue,
    }),
  },
  { weight: 1, arbitrary: fc.record({ change: fc.constant("delete"), path }) },
  {
    weight: 5,
    arbitrary: fc.record({ change: fc.constant("hex"), path, edits: hexEdits }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      change: fc.constant("failure"),
      wrap: fc.constantFrom("bare", "error", "cause", "data"),
      code: fc.oneof(
        fc.constantFrom(3, -32_000, -32_005, -32_601, 429, "ECONNRESET"),
        anyValue,
      ),
      message: fc.oneof(fc.constantFrom(...hostileTexts), anyValue),
      data: anyValue,
    }),
  },
);

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

/** What an answer becomes. */
export function changed(answer: unknown, change: Change): unknown {
  switch (change.change) {
    case "failure":
      return new Failure(failureOf(change));
    case "value":
      return at(answer, change.path, () => change.value);
    case "delete":
      return at(answer, change.path, () => undefined);
    case "hex":
      return at(
        answer,
        change.path,
        (leaf) =>
          typeof leaf === "string" ? editHex(leaf, change.edits) : leaf,
        true,
      );
  }
}

function failureOf({
  wrap,
  code,
  message,
  data,
}: Extract<Change, { readonly change: "failure" }>): unknown {
  const said = { code, message, data };
  switch (wrap) {
    case "bare":
      return said;
    case "error":
      return Object.assign(new Error(), said);
    case "cause": {
      const error = new Error("call failed", { cause: said });
      // Circles happen, too.
      return Object.assign(error, { error });
    }
    case "data":
      return data;
  }
}

/**
 * Changes one place of a value, wherever the path leads in it.
 *
 * @param toLeaf Whether to go on to where nothing is inside any more.
 */
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
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      String(index) === key ? result : item,
    );
  }
  return Object.fromEntries(
    entries.map(([name, item]) => [name, name === key ? result : item]),
  );
}

/** Hex after some edits, each of it a byte or a word. */
export function editHex(hex: string, edits: readonly HexEdit[]): string {
  let digits = hex.startsWith("0x") ? hex.slice(2) : hex;
  for (const { at: part, edit, word } of edits) {
    // Whole words where there are any, so that more comes of it than refusals.
    const unit = digits.length >= 64 && edit !== "flip" ? 64 : 2;
    const place = Math.floor((part * digits.length) / PARTS / unit) * unit;
    const [before, after] = [digits.slice(0, place), digits.slice(place)];
    const aligned = word.length < unit ? word.padStart(unit, "0") : word;
    switch (edit) {
      case "flip":
        digits = `${before}${word.slice(-2)}${after.slice(2)}`;
        break;
      case "case":
        digits = `${before}${after.slice(0, 40).toUpperCase()}${after.slice(40)}`;
        break;
      case "cut":
        digits = before;
        break;
      case "insert":
        digits = `${before}${aligned}${after}`;
        break;
      case "replace":
        digits = `${before}${aligned}${after.slice(aligned.length)}`;
        break;
      case "drop":
        digits = `${before}${after.slice(unit)}`;
        break;
      case "odd":
        digits = `${before}${after.slice(1)}`;
        break;
    }
  }
  return `0x${digits}`;
}
