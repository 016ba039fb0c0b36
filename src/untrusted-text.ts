/**
 * Characters that control a terminal or hide text: controls, lone surrogates, line
 * separators, Unicode's ignorable characters and the blank Braille pattern.
 */
const unsafeCharacter =
  /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gu;

/** The number of characters of a foreign text that are kept. */
export const MAX_FOREIGN_TEXT = 4_096;

/** Escapes unsafe characters as `\u{…}`, and hides configured secrets. */
export function escapeUntrusted(text: string): string {
  return bound(text).replaceAll(
    unsafeCharacter,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/**
 * Writes JSON that is safe on a terminal and parses to the original strings, except
 * secrets. Numbers and addresses are never hidden, other hex data only as a whole.
 */
export function toSafeJson(value: unknown, indent?: number): string {
  // Line breaks are layout: JSON.stringify has escaped those in strings.
  return JSON.stringify(
    value,
    (_key, inner: unknown) =>
      typeof inner !== "string" || /^(?:\d*|0x[0-9a-f]{40})$/iu.test(inner)
        ? inner
        : /^(?:0x)?[0-9a-f]+$/iu.test(inner)
          ? secrets.has(inner.toLowerCase())
            ? HIDDEN
            : inner
          : hideSecrets(inner),
    indent,
  ).replaceAll(unsafeCharacter, (character) =>
    character === "\n"
      ? character
      : Array.from(
          { length: character.length },
          (_, index) =>
            `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
        ).join(""),
  );
}

const HIDDEN = "<hidden>";

/** Shorter parts of a URL or a header are words such as "rpc" or "v3". */
const MIN_PART = 6;
/** Shorter secrets are hidden as whole words only. */
const MIN_ANYWHERE = 8;

/** In lower case, plain and percent-encoded. */
const secrets = new Set<string>();
let secretsPattern: RegExp | undefined;
let longestSecret = 0;

export function keepSecret(...values: readonly string[]): void {
  for (const value of values.filter((text) => text !== "")) {
    for (const spelling of [
      value,
      encodeURIComponent(value.replaceAll(/\p{Cs}/gu, "\ufffd")),
    ]) {
      secrets.add(spelling.toLowerCase());
      longestSecret = Math.max(longestSecret, spelling.length);
    }
  }
  secretsPattern = undefined;
}

export function keepKeySecret(key: string): void {
  keepSecret(key, key.replace(/^0x/iu, ""));
}

/** @param publicNames Words that are no secrets, even in a URL. */
export function keepUrlSecret(
  url: string,
  publicNames: readonly string[] = [],
): void {
  if (!URL.canParse(url)) {
    keepSecret(url);
    return;
  }
  const { username, password, hostname, pathname, search, hash } = new URL(url);
  const names = publicNames.map((name) => name.toLowerCase());
  const parts = [
    ...`${pathname}${search}${hash}`.split(/[/?#&=]/u),
    ...hostname.split(".").filter(isLikelyKey),
  ].filter(
    (part) => part.length >= MIN_PART && !names.includes(part.toLowerCase()),
  );
  keepSecret(
    ...[username, password, ...parts].flatMap((part) => [part, decode(part)]),
  );
}

/** Recognises a key in a host's name; other labels are words such as "eth-mainnet". */
function isLikelyKey(label: string): boolean {
  return (
    label.length >= 2 * MIN_ANYWHERE ||
    (label.length >= MIN_ANYWHERE && /\d/u.test(label) && /[a-z]/u.test(label))
  );
}

/** Hides a header's value and its parts, for example the token of "Bearer …". */
export function keepHeaderSecret(value: string): void {
  keepSecret(
    ...[value, ...value.split(/[\s,;=]+/u)].filter(
      (part) =>
        part.length >= MIN_PART && !/^(?:basic|bearer|digest)$/iu.test(part),
    ),
  );
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // It is not percent-encoded.
    return part;
  }
}

function hideSecrets(text: string): string {
  if (secrets.size === 0) {
    return text;
  }
  secretsPattern ??= new RegExp(
    [...secrets]
      // Longer ones first, because they may contain shorter ones.
      .sort((one, other) => other.length - one.length)
      .map((secret) => {
        const literal = secret.replaceAll(/[\\^$.*+?()[\]{}|]/gu, "\\$&");
        return secret.length < MIN_ANYWHERE
          ? `(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`
          : literal;
      })
      .join("|"),
    "giu",
  );
  return text.replaceAll(secretsPattern, HIDDEN);
}

/** Hides whole URLs: keys can be in the path, the query or the user part. */
export function redactUrls(text: string): string {
  return bound(text).replaceAll(
    // The bound keeps this linear in dotted text; no scheme is longer.
    /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,31}:\/\/[^\s"'<>)\]]+/giu,
    "<url>",
  );
}

/** Hides configured secrets, URLs, paths, and tokens as long as a key; not hex data. */
export function redactSecrets(text: string): string {
  return redactUrls(text)
    .replaceAll(/(?<![^\s"'(=])\/[^\s"'<>)\]]+/gu, "<path>")
    .replaceAll(
      /(?<![\w-])(?!0x)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{20,}/giu,
      HIDDEN,
    );
}

/** Puts a foreign text on one line, escaped and without secrets. */
export function quoteForeignText(text: string, maxLength = 500): string {
  const oneLine = redactUrls(text).replaceAll(/\s+/gu, " ").trim();
  return escapeUntrusted(
    oneLine.length > maxLength ? `${oneLine.slice(0, maxLength)}…` : oneLine,
  );
}

/**
 * Returns the beginning of a text without secrets. It drops the end of a cut text,
 * which may hold a part of a secret.
 */
function bound(text: string): string {
  const cleaned = hideSecrets(text.slice(0, 2 * MAX_FOREIGN_TEXT));
  const isCut = text.length > 2 * MAX_FOREIGN_TEXT;
  const whole = cleaned.length - (isCut ? longestSecret : 0);
  return isCut || whole > MAX_FOREIGN_TEXT
    ? `${cleaned.slice(0, Math.max(0, Math.min(MAX_FOREIGN_TEXT, whole)))}…`
    : cleaned;
}
