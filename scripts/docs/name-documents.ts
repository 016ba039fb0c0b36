import { Converter } from "typedoc";
import type { Application } from "typedoc";

/**
 * A plugin of TypeDoc: a page is called what its heading says. TypeDoc knows file
 * names and frontmatter, which other readers of Markdown would show.
 */
export function load(app: Application): void {
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const text = document.content.map((part) => part.text).join("");
    const [, heading] = /^# (.*)$/mu.exec(text) ?? [];
    if (heading === undefined) {
      throw new Error(`${document.name} does not begin with a heading`);
    }
    document.name = heading;
  });
}
