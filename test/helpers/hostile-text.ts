import fc from "fast-check";

/** Of all characters; `fc.string({ unit: "binary" })` takes a second to be made. */
export const anyString = fc
  .uint32Array({ max: 0x10_ffff })
  .map((codes) => Buffer.from(String.fromCodePoint(...codes)).toString());

/** What a contract, a node or a file may call itself, by what it does. */
export const hostileTexts: Readonly<Record<string, string>> = {
  colours: "a\u001b[31;45;7m\u001b[2Jb",
  title: "a\u001b]0;owned\u0007b",
  hyperlink: "\u001b]8;;http://evil.test\u001b\\a\u001b]8;;\u001b\\",
  "eight-bit controls": "a\u009b31mb\u0085c\u0090d\u007f",
  "moves of the cursor": "a\b\b\r\tb\u000b\u000c\u0000",
  lines: "a\nb\u2028c\u2029d",
  "bidirectional marks": "a\u202eb\u2066c\u200fd\u061c",
  "zero width": "a\u200b\u200d\ufeff\u00ad\u034f\u180eb",
  fillers: "a\u3164\u115f\uffa0\u2800\u{e0100}b",
  tags: "a\u{e0041}\u{e007f}\ufe0f\ufff9b",
  formula: "=1+1",
  "formula behind a blank": " =1+1",
  "formula behind a no-break space": "\u00a0@SUM(1)",
  "formula behind an ideographic space": "\u3000+1",
  "formula behind a tab": "\t-1",
  "formula behind a separator": "a;=1+1",
  HTML: "<script>alert('a')</script>&lt;",
  long: "x".repeat(9_000),
};

/** Short ones of all that commands a terminal, in one. */
export const everythingHostile = Object.entries(hostileTexts)
  .filter(([name]) => name !== "long" && !name.startsWith("formula"))
  .map(([, text]) => text)
  .join("");

/** Written independently of the code that escapes these. */
const harmful: ReadonlyArray<readonly [from: number, to: number]> = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x2800, 0x2800],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xe0000, 0xe0fff],
];

/** The harmful characters of a text, as numbers; line feeds are layout. */
export function harmfulIn(text: string): string[] {
  return Array.from(text, (each) => each.codePointAt(0) ?? 0)
    .filter(
      (code) =>
        code !== 0x0a &&
        harmful.some(([from, to]) => from <= code && code <= to),
    )
    .map((code) => `U+${code.toString(16)}`);
}
