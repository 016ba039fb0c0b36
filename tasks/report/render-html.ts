import { describeEnvelope } from "../output/render-text.js";
import { textOf, toCell } from "../output/blocks.js";
import type { Block, Content, LabelledValue } from "../output/blocks.js";
import { html } from "./html.js";
import type { Markup } from "./html.js";

export function renderHtml(blocks: readonly Block[]): readonly Markup[] {
  return blocks.map(renderBlock);
}

function renderBlock(block: Block): Markup {
  switch (block.kind) {
    case "heading": {
      const { level, text, envelope } = block;
      return level === 1
        ? html`<h1>${text}</h1>
            <p class="dim">
              ${envelope === undefined ? undefined : describeEnvelope(envelope)}
            </p> `
        : level === 2
          ? html`<h2>${text}</h2> `
          : html`<h3>${text}</h3> `;
    }
    case "values":
      return html`<table class="values">
        <tbody>
          ${block.values.map(renderValue)}
        </tbody>
      </table> `;
    case "table":
      return renderTable(block);
    case "notes":
      return html`${block.notes.map((note) => html`<p>${toned(note)}</p> `)}`;
    case "code":
      return html`<pre>${block.text}</pre> `;
  }
}

function renderValue([label, value]: LabelledValue): Markup {
  const { note = "" } = toCell(value);
  return html`<tr>
    <th scope="row">${toned(label)}</th>
    <td>
      ${toned(value)}${note === "" ? undefined : html`<small>${note}</small>`}
    </td>
  </tr> `;
}

/** On a narrow screen, the style sheet shows rows as labelled values. */
function renderTable({
  columns,
  rows,
}: Extract<Block, { kind: "table" }>): Markup {
  const shown = columns.flatMap(({ heading, align = "left" }, index) => {
    const texts = rows.map((row) => textOf(row[index] ?? ""));
    return texts.every((text) => text === "")
      ? []
      : {
          heading,
          index,
          classes: texts.some(isLong) ? `${align} long` : align,
        };
  });
  return html`<table class="rows">
    <thead>
      <tr>
        ${shown.map(({ heading, classes }) => html`<th scope="col" class="${classes}">${heading}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${shown.map(({ heading, index, classes }) => html`<td class="${classes}" data-label="${heading}">${toned(row[index] ?? "")}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table> `;
}

function toned(content: Content): Markup {
  const { text, tone, unscaled } = toCell(content);
  const shown = breakable(text);
  return unscaled !== undefined
    ? html`<data value="${unscaled.toString()}">${shown}</data>`
    : tone === undefined
      ? shown
      : html`<span class="${tone}">${shown}</span>`;
}

/** Lets a browser break a long number between groups of digits. */
function breakable(text: string): Markup {
  const [first = "", ...groups] = isLong(text)
    ? text.split(/(?<=\d,)(?=\d{3})/u)
    : [text];
  return html`${first}${groups.map((group) => html`<wbr />${group}`)}`;
}

function isLong(text: string): boolean {
  return text.length > 20;
}
