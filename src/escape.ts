/**
 * Characters that control a terminal or hide text: controls, lone surrogates, line
 * separators, Unicode's ignorable characters and the blank Braille pattern.
 */
const unsafeCharacter =
  /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gu;

/** A line with `##vso[` anywhere in it is a command of Azure Pipelines. */
const runnerCommand = /##(?=\w*\[)/gu;

/** The number of characters of a foreign text that are kept. */
export const MAX_FOREIGN_TEXT = 4_096;

/**
 * Escapes unsafe characters as `\u{…}`, and commands of a build's runner.
 *
 * @param most The number of characters that are kept.
 */
export function escapeUntrusted(text: string, most = MAX_FOREIGN_TEXT): string {
  return cut(text, most)
    .replaceAll(
      unsafeCharacter,
      (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
    )
    .replaceAll(runnerCommand, "#\\u{23}");
}

/** Writes JSON that is safe on a terminal and parses to the original strings. */
export function toSafeJson(value: unknown, indent?: number): string {
  // Line breaks are layout: JSON.stringify has escaped those in strings.
  return JSON.stringify(value, undefined, indent)
    .replaceAll(unsafeCharacter, (character) =>
      character === "\n"
        ? character
        : Array.from(
            { length: character.length },
            (_, index) =>
              `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
          ).join(""),
    )
    .replaceAll(runnerCommand, "#\\u0023");
}

/** Returns the beginning of a long text. */
export function cut(text: string, length = MAX_FOREIGN_TEXT): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
