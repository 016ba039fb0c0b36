import { escapeUntrusted } from "../../src/escape.js";

/** HTML, which is not escaped. */
export class Markup {
  public constructor(public readonly text: string) {}
}

/** Strings are escaped; undefined and false are nothing. */
export type Content =
  | Markup
  | string
  | number
  | false
  | undefined
  | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Escapes inserted values by {@link escapeUntrusted} and for HTML, both between
 * tags and in quoted attributes.
 */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly Content[]
): Markup {
  const [first = "", ...others] = parts;
  return new Markup(
    others.reduce(
      (text, part, index) => text + toHtml(values[index]) + part,
      first,
    ),
  );
}

function toHtml(value: Content): string {
  if (value === undefined || value === false) {
    return "";
  }
  if (typeof value === "object") {
    return value instanceof Markup ? value.text : value.map(toHtml).join("");
  }
  return escapeUntrusted(String(value)).replaceAll(
    /[&<>"']/gu,
    (character) => entities[character] ?? "",
  );
}
