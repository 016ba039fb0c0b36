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

const HIDDEN = "<hidden>";

/** The number of characters that a sentence of ours quotes. */
const MAX_QUOTED = 500;
/** More than a cut text can show, however much of it is hidden. */
const MAX_READ = 1_000_000;

/** Shorter parts of a URL or a header are words such as "rpc" or "v3". */
const MIN_PART = 6;
/** Shorter secrets are hidden as whole words only. */
const MIN_ANYWHERE = 8;
/** A label of a host's name that may be a key; others are words such as "eth-mainnet". */
const keyLabel = /^(?:.{16,}|(?=.*\d)(?=.*[a-z]).{8,})$/u;

/**
 * Knows the secrets of one connection, and hides them in texts from outside: those of
 * the node, its contracts, Hardhat and other plugins. Our own texts never pass through.
 */
export class Redactor {
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;

  /** @param publicNames Words that are no secrets, even in a URL. */
  constructor(private readonly publicNames: readonly string[] = []) {}

  public keep(...values: readonly string[]): void {
    for (const value of values) {
      // A node may repeat it in a URL.
      const encoded = encodeURIComponent(value.replaceAll(/\p{Cs}/gu, ""));
      this.#secrets.add(value).add(decode(value)).add(encoded);
    }
    this.#secrets.delete("");
    this.#pattern = undefined;
  }

  public keepKey(key: string): void {
    this.keep(key, key.replace(/^0x/iu, ""));
  }

  public keepUrl(url: string): void {
    if (!URL.canParse(url)) {
      this.keep(url);
      return;
    }
    const { username, password, hostname, pathname, search, hash } = new URL(
      url,
    );
    const names = this.publicNames.map((name) => name.toLowerCase());
    const parts = `${pathname}${search}${hash}`.split(/[/?#&=]/u);
    const labels = hostname.split(".").filter((label) => keyLabel.test(label));
    this.keep(
      username,
      password,
      ...[...parts, ...labels].filter(
        (part) =>
          part.length >= MIN_PART && !names.includes(part.toLowerCase()),
      ),
    );
  }

  /** Keeps a header's value and its parts, for example the token of "Bearer …". */
  public keepHeader(value: string): void {
    this.keep(
      ...[value, ...value.split(/[\s,;=]+/u)].filter(
        (part) =>
          part.length >= MIN_PART && !/^(?:basic|bearer|digest)$/iu.test(part),
      ),
    );
  }

  /** Hides the secrets in a text from outside, and cuts a long one. */
  public hide(text: string): string {
    if (this.#secrets.size === 0) {
      return text;
    }
    this.#pattern ??= toPattern(this.#secrets);
    return cut(text.slice(0, MAX_READ).replaceAll(this.#pattern, HIDDEN));
  }

  /** Puts a text from outside on one line, escaped and without secrets. */
  public quote(text: string): string {
    return quoteForeignText(this.hide(text));
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // It is not percent-encoded.
    return part;
  }
}

function toPattern(secrets: ReadonlySet<string>): RegExp {
  return new RegExp(
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
}

/** Puts a foreign text on one line, escaped and without URLs, which may hold a key anywhere. */
export function quoteForeignText(text: string): string {
  const shown = cut(text).replaceAll(
    // The bound keeps this linear in dotted text; no scheme is longer.
    /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,31}:\/\/[^\s"'<>)\]]+/giu,
    "<url>",
  );
  return escapeUntrusted(
    cut(shown.replaceAll(/\s+/gu, " ").trim(), MAX_QUOTED),
  );
}
