import { isFailedReading } from "../../src/client/failed-reading.js";
import type { VaultSnapshot } from "../../src/client/snapshot.js";
import {
  operationEntry,
  readingAt,
  readingsOf,
} from "../../src/protocol/index.js";
import type { Field, ReadOperationName } from "../../src/protocol/index.js";
import { formatValue } from "../output/format-value.js";
import type { FormatContext } from "../output/format-value.js";
import { html } from "./html.js";
import type { Content, Markup } from "./html.js";

/** A value as tasks show it; its integer, if it is one, is the tooltip. */
export function figureOf(
  field: Field,
  value: unknown,
  context: FormatContext,
): { readonly text: string; readonly note?: string; readonly title: Content } {
  return {
    ...formatValue(field, value, context),
    title:
      typeof value === "bigint"
        ? html` title="${value.toString()}"`
        : undefined,
  };
}

/** A long figure, which may be broken between its groups of digits alone. */
function breakable(text: string): Content {
  return text
    .split(",")
    .map((group, index) => (index === 0 ? group : html`,<wbr />${group}`));
}

/** Facts, one below the other: of what, what, and what else is to know. */
export function factsTable(rows: Content): Markup {
  return html`<table class="facts">
    <tbody>
      ${rows}
    </tbody>
  </table> `;
}

export function factRow(
  label: string,
  text: Content,
  note?: string,
  title?: Content,
): Markup {
  return html`<tr><th scope="row">${label}</th><td${title}>${text}${note === undefined || note === "" ? undefined : html`<small>${note}</small>`}</td></tr>
`;
}

/** The rows of all that one operation has to say, failures in their places. */
export function readingRows(
  operation: ReadOperationName,
  snapshot: VaultSnapshot,
  context: FormatContext,
): readonly Markup[] {
  const { outputs } = operationEntry(operation);
  return readingsOf(operation).flatMap(({ path }) => {
    const value = readingAt(snapshot, path);
    const [, variant] = path;
    const labelOf = (label: string): string =>
      variant === undefined
        ? label
        : `${capitalise(variant)} ${label.slice(0, 1).toLowerCase()}${label.slice(1)}`;
    if (isFailedReading(value)) {
      const label =
        variant === undefined
          ? operationEntry(operation).title
          : capitalise(variant);
      return [
        factRow(
          label,
          html`<span class="bad">failed: ${value.error.shortMessage}</span>`,
        ),
      ];
    }
    return outputs.map((field) => {
      const { text, note, title } = figureOf(
        field,
        outputs.length === 1
          ? value
          : readingAt({ value }, ["value", field.name]),
        context,
      );
      return factRow(labelOf(field.label), breakable(text), note, title);
    });
  });
}

export function capitalise(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
