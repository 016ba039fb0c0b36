import { MAX_FOREIGN_TEXT, cut, escapeUntrusted } from "./escape.js";

const HIDDEN = "<hidden>";

/** The number of characters that a sentence of ours quotes. */
const MAX_QUOTED = 500;

/** Shorter parts of a URL or a header are words such as "rpc" or "v3". */
const MIN_PART = 6;
/** Shorter secrets are hidden as whole words only. */
const MIN_ANYWHERE = 8;

/**
 * Knows the secrets of one connection, and hides them in texts from outside: those of
 * the node, its contracts, Hardhat and other plugins. Our own texts never pass through.
 */
export class Redactor {
  /** In lower case, plain and percent-encoded. */
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;
  #longest = 0;

  /** @param publicNames Words that are no secrets, even in a URL. */
  constructor(private readonly publicNames: readonly string[] = []) {}

  public keep(...values: readonly string[]): void {
    const spellings = values.flatMap((value) => [
      value,
      decode(value),
      encodeURIComponent(value.replaceAll(/\p{Cs}/gu, "\ufffd")),
    ]);
    for (const spelling of spellings.filter((text) => text !== "")) {
      this.#secrets.add(spelling.toLowerCase());
      this.#longest = Math.max(this.#longest, spelling.length);
    }
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
    const parts = [
      ...`${pathname}${search}${hash}`.split(/[/?#&=]/u),
      ...hostname.split(".").filter(isLikelyKey),
    ].filter(
      (part) => part.length >= MIN_PART && !names.includes(part.toLowerCase()),
    );
    this.keep(username, password, ...parts);
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
    const begin = text.slice(0, 2 * MAX_FOREIGN_TEXT);
    const shown = begin.replaceAll(this.#pattern, HIDDEN);
    // The end of a cut text may hold a part of a secret.
    return begin.length < text.length
      ? cut(`${shown.slice(0, Math.max(0, shown.length - this.#longest))}…`)
      : cut(shown);
  }

  /**
   * Puts a text from outside on one line, escaped and without secrets.
   *
   * @param links URLs to show.
   */
  public quote(text: string, links?: RegExp): string {
    return quoteForeignText(this.hide(text), links);
  }
}

/** Recognises a key in a host's name; other labels are words such as "eth-mainnet". */
function isLikelyKey(label: string): boolean {
  return (
    label.length >= 2 * MIN_ANYWHERE ||
    (label.length >= MIN_ANYWHERE && /\d/u.test(label) && /[a-z]/u.test(label))
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
export function quoteForeignText(text: string, links?: RegExp): string {
  const shown = cut(text).replaceAll(
    // The bound keeps this linear in dotted text; no scheme is longer.
    /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,31}:\/\/[^\s"'<>)\]]+/giu,
    (url) => (links?.test(url) === true ? url : "<url>"),
  );
  return escapeUntrusted(
    cut(shown.replaceAll(/\s+/gu, " ").trim(), MAX_QUOTED),
  );
}
