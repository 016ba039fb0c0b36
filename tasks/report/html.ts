import { escapeUntrusted } from "../../src/untrusted-text.js";

/** Text that is HTML already, and written as it is. */
export class Markup {
  public constructor(public readonly text: string) {}
}

/** What a template takes; a string is text and never markup. */
export type Content = Markup | string | number | undefined | readonly Content[];

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * A piece of a page. Whatever is put into it is escaped, for a reader (see
 * {@link escapeUntrusted}) and for HTML, between tags and in quoted attributes.
 *
 * @example
 * ```ts
 * html`<b title="${'"'}">${"<i>"}</b>`.text;
 * // <b title="&quot;">&lt;i&gt;</b>
 * ```
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
  if (value === undefined) {
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
