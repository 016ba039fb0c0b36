import { Buffer } from "node:buffer";

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
    for (const value of values.filter((text) => text !== "")) {
      for (const spelling of [
        value,
        encodeURIComponent(value.replaceAll(/\p{Cs}/gu, "\ufffd")),
      ]) {
        this.#secrets.add(spelling.toLowerCase());
        this.#longest = Math.max(this.#longest, spelling.length);
      }
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
    this.keep(
      ...[username, password, ...parts].flatMap((part) => [part, decode(part)]),
    );
    if (username !== "" || password !== "") {
      const pair = `${decode(username)}:${decode(password)}`;
      const encoded = Buffer.from(pair).toString("base64");
      // With padding and without.
      this.keep(pair, encoded, encoded.replace(/=+$/u, ""));
    }
  }

  /** Keeps a header's value and its parts, for example the token of "Bearer …". */
  public keepHeader(value: string): void {
    this.keep(
      ...[value, ...value.split(/[\s,;=]+/u)].filter(
        (part) =>
          part.length >= MIN_PART && !/^(?:basic|bearer|digest)$/iu.test(part),
      ),
    );
    const [, encoded] = /^basic\s+([\w+/-]+=*)\s*$/iu.exec(value) ?? [];
    if (encoded !== undefined) {
      const pair = Buffer.from(encoded, "base64").toString("utf8");
      const [user = "", ...password] = pair.split(":");
      this.keep(pair, user, password.join(":"));
    }
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

/** Hides whole URLs: keys can be in the path, the query or the user part. */
export function redactUrls(text: string, links?: RegExp): string {
  return cut(text).replaceAll(
    // The bound keeps this linear in dotted text; no scheme is longer.
    /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,31}:\/\/[^\s"'<>)\]]+/giu,
    (url) => (links?.test(url) === true ? url : "<url>"),
  );
}

/** Hides URLs, paths, and tokens as long as a key; not hex data. */
export function redactSecrets(text: string): string {
  return redactUrls(text)
    .replaceAll(/(?<![^\s"'(=])\/[^\s"'<>)\]]+/gu, "<path>")
    .replaceAll(
      /(?<![\w-])(?!0x)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{20,}/giu,
      HIDDEN,
    );
}

/** Puts a foreign text on one line, escaped and without URLs. */
export function quoteForeignText(text: string, links?: RegExp): string {
  return escapeUntrusted(
    cut(redactUrls(text, links).replaceAll(/\s+/gu, " ").trim(), MAX_QUOTED),
  );
}
