/**
 * Characters that a terminal obeys or that hide text: controls, lone surrogates,
 * line separators, what Unicode calls ignorable, and the blank of Braille.
 */
const unsafeCharacter =
  /[\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gu;

/** Characters of a foreign text that are looked at; it may be of any length. */
export const MAX_FOREIGN_TEXT = 4_096;

/**
 * Makes a foreign string safe to show: unsafe characters become visible `\u{…}`
 * escapes, and configured secrets are hidden.
 */
export function escapeUntrusted(text: string): string {
  return bound(text).replaceAll(
    unsafeCharacter,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/**
 * JSON that is safe on a terminal, and whose parser gets the original strings but
 * for secrets. Figures and addresses are no secrets, other hex data only as a whole.
 */
export function toSafeJson(value: unknown, indent?: number): string {
  // Line breaks between tokens are JSON's own layout: inside strings
  // JSON.stringify has escaped them already.
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

/** Shorter parts of a URL or a header are words like "rpc" or "v3". */
const MIN_PART = 6;
/** Shorter ones are only hidden where they stand alone. */
const MIN_ANYWHERE = 8;

/** In lower case, as they are and percent-encoded. */
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

/** @param publicNames Names of networks, which are no secret in a URL either. */
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
    ...hostname.split(".").filter(looksLikeKey),
  ].filter(
    (part) => part.length >= MIN_PART && !names.includes(part.toLowerCase()),
  );
  keepSecret(
    ...[username, password, ...parts].flatMap((part) => [part, decode(part)]),
  );
}

/** Other labels of a host's name are words, as in "eth-mainnet". */
function looksLikeKey(label: string): boolean {
  return (
    label.length >= 2 * MIN_ANYWHERE ||
    (label.length >= MIN_ANYWHERE && /\d/u.test(label) && /[a-z]/u.test(label))
  );
}

/** A header's value, and what follows the scheme in one like "Bearer …". */
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
    // Not what encodeURIComponent writes: then it says what it says.
    return part;
  }
}

function hideSecrets(text: string): string {
  if (secrets.size === 0) {
    return text;
  }
  secretsPattern ??= new RegExp(
    [...secrets]
      // A longer one may hold a shorter one, so it comes first.
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

/** URLs of RPC endpoints have keys in path, query or user part. */
export function redactUrls(text: string): string {
  return bound(text).replaceAll(
    // No scheme is longer; without a bound, this would go through dotted text
    // once for each of its dots.
    /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,31}:\/\/[^\s"'<>)\]]+/giu,
    "<url>",
  );
}

/**
 * Removes configured secrets, URLs, ends of URLs, and tokens long enough to be a
 * key. Hex data stays.
 */
export function redactSecrets(text: string): string {
  return redactUrls(text)
    .replaceAll(/(?<![^\s"'(=])\/[^\s"'<>)\]]+/gu, "<path>")
    .replaceAll(
      /(?<![\w-])(?!0x)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{20,}/giu,
      HIDDEN,
    );
}

/** A text of another origin, in one line, safe and without secrets. */
export function quoteForeignText(text: string, maxLength = 500): string {
  const oneLine = redactUrls(text).replaceAll(/\s+/gu, " ").trim();
  return escapeUntrusted(
    oneLine.length > maxLength ? `${oneLine.slice(0, maxLength)}…` : oneLine,
  );
}

/**
 * The beginning of a text without secrets. Hiding makes a text shorter, so that a
 * secret which the first cut has split could come into sight.
 */
function bound(text: string): string {
  const looked = hideSecrets(text.slice(0, 2 * MAX_FOREIGN_TEXT));
  const isCut = text.length > 2 * MAX_FOREIGN_TEXT;
  const whole = looked.length - (isCut ? longestSecret : 0);
  return isCut || whole > MAX_FOREIGN_TEXT
    ? `${looked.slice(0, Math.max(0, Math.min(MAX_FOREIGN_TEXT, whole)))}…`
    : looked;
}
