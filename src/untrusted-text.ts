import { VaultError } from "./errors.js";

/**
 * Characters that a terminal obeys or that hide text from a reader: C0 and C1
 * controls, DEL, bidirectional and zero-width marks, line separators, tags,
 * byte order marks and lone surrogates.
 */
const unsafeCharacter =
  // eslint-disable-next-line no-control-regex -- finding them is the point
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/**
 * Makes a string from the chain, a node or a configuration file safe to show:
 * every character that could move the cursor, change colours or reorder text
 * becomes a visible `\u{…}` escape.
 */
export function escapeUntrusted(text: string): string {
  return text.replaceAll(
    unsafeCharacter,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/**
 * A value as every JSON document of ours has it, at any depth: uint256 as a
 * decimal string, an error as its code and its message.
 */
export function toJsonValue(value: unknown): unknown {
  if (typeof value === "bigint") {
    return value.toString();
  }
  if (VaultError.isVaultError(value)) {
    return { code: value.code, message: value.message };
  }
  if (Array.isArray(value)) {
    return value.map(toJsonValue);
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, toJsonValue(inner)]),
    );
  }
  return value;
}

/**
 * JSON with the same characters escaped the JSON way, so that a terminal is
 * safe and a parser gets the original string.
 */
export function toSafeJson(value: unknown, indent?: number): string {
  // Line breaks between tokens are JSON's own layout: inside strings
  // JSON.stringify has escaped them already.
  return JSON.stringify(value, undefined, indent).replaceAll(
    unsafeCharacter,
    (character) =>
      character === "\n"
        ? character
        : Array.from(
            { length: character.length },
            (_, index) =>
              `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
          ).join(""),
  );
}

/**
 * Removes what may carry a secret from a text of another origin: URLs (RPC
 * endpoints have keys in path, query or user part).
 */
export function redactUrls(text: string): string {
  return text.replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/giu, "<url>");
}

/**
 * Removes from the words of a node also what is left of a URL without its
 * beginning: paths, and tokens long enough to be a key. Hex data stays.
 */
export function redactSecrets(text: string): string {
  return redactUrls(text)
    .replaceAll(/(?<![^\s"'(=])\/[^\s"'<>)\]]+/gu, "<path>")
    .replaceAll(
      /(?<![\w-])(?!0x)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{20,}/giu,
      "<hidden>",
    );
}

/** A text of another origin, in one line, safe and without secrets. */
export function quoteForeignText(text: string, maxLength = 500): string {
  const oneLine = redactUrls(text).replaceAll(/\s+/gu, " ").trim();
  const cut =
    oneLine.length > maxLength ? `${oneLine.slice(0, maxLength)}…` : oneLine;
  return escapeUntrusted(cut);
}
