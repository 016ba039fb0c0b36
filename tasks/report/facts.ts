import { capitalize } from "@nomicfoundation/hardhat-utils/string";

import { isFailedReading } from "../../src/client/failed-reading.js";
import { operationEntry } from "../../src/protocol/index.js";
import type { Field } from "../../src/protocol/index.js";
import { formatValue } from "../output/format-value.js";
import type { FormatContext, FormattedValue } from "../output/format-value.js";
import { valuesOf } from "../output/readings.js";
import type { StatusSection } from "../output/status-sections.js";
import { attribute, html } from "./html.js";
import type { Content, Markup } from "./html.js";
import type { Cell } from "./table.js";

/** A text, what else is to know, and the tooltip. */
export interface Figure extends FormattedValue {
  readonly title?: string | undefined;
}

/** A value as tasks show it; its integer, if it is one, is the tooltip. */
export function figureOf(
  field: Field,
  value: unknown,
  context: FormatContext,
): Figure {
  return {
    ...formatValue(field, value, context),
    title: typeof value === "bigint" ? value.toString() : undefined,
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
  { text, note = "", title }: Cell & { readonly note?: string | undefined },
): Markup {
  return html`<tr><th scope="row">${label}</th><td${attribute("title", title)}>${text}${note === "" ? undefined : html`<small>${note}</small>`}</td></tr>
`;
}

/** The rows of all that one operation has to say, failures in their places. */
export function readingRows(
  { operation, readings }: StatusSection,
  context: FormatContext,
): readonly Markup[] {
  return readings.flatMap((reading) => {
    const { variant, value } = reading;
    if (isFailedReading(value)) {
      const { shortMessage } = value.error;
      return [
        factRow(capitalize(variant ?? operationEntry(operation).title), {
          text: html`<span class="bad">failed: ${shortMessage}</span>`,
        }),
      ];
    }
    return valuesOf(operation, reading).map(({ label, field, value: one }) => {
      const { text, ...figure } = figureOf(field, one, context);
      return factRow(label, { text: breakable(text), ...figure });
    });
  });
}
